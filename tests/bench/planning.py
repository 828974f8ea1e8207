"""Planning many slices: time and memory of ten years by the hour against one, each in a process of its own."""

import json
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta

from ingest_core.bootstrap import open_core_app, upgrade_database
from ingest_core.model.codes import Operation, SchedulerCode
from ingest_core.planning.request import PlanRequest, Trigger
from ingest_core.settings import Settings
from tests.bench.databases import Servers
from tests.bench.measured import peak_mb

UNTIL = datetime(2026, 1, 1, tzinfo=UTC)
FEW, MANY = 8_760, 87_600
OVERRIDES = {"window.step": "PT1H", "slicing.probe_budget": "0", "slicing.max_queued": "0"}


def plan_hours(database_url: str, hours: int) -> dict[str, float]:
    """Plan a campaign of so many hourly slices with no limit on stock; seconds, and this process's peak memory."""
    with open_core_app(Settings(database_url=database_url, max_queued=0)) as app:
        request = PlanRequest(
            "crossref",
            Operation.BACKFILL,
            user_from=UNTIL - timedelta(hours=hours),
            user_to=UNTIL,
            campaign=f"bench-{hours}",
            overrides=OVERRIDES,
        )
        started = time.perf_counter()
        report = app.planner.plan(request, Trigger(SchedulerCode.CLI, f"bench-{hours}"))
        seconds = time.perf_counter() - started
    assert report.plan.slices == hours, report.plan.slices
    return {"seconds": seconds, "peak_mb": peak_mb()}


def compare_planning(servers: Servers) -> None:
    """Print both, and the ratio of time and the difference of memory, for every database."""
    print(f"planning {FEW} and {MANY} hourly slices, stock limit off")
    print(f"{'database':<12}{'few s':>8}{'many s':>8}{'ratio':>8}{'few MB':>8}{'many MB':>8}{'more MB':>8}")
    for dialect in servers.dialects:
        with servers.new_database(dialect) as url:
            upgrade_database(Settings(database_url=url))
            few, many = _measured(url, FEW), _measured(url, MANY)
        more = many["peak_mb"] - few["peak_mb"]
        print(
            f"{dialect:<12}{few['seconds']:>8.1f}{many['seconds']:>8.1f}{many['seconds'] / few['seconds']:>8.1f}"
            f"{few['peak_mb']:>8.0f}{many['peak_mb']:>8.0f}{more:>8.1f}"
        )


def _measured(url: str, hours: int) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.bench.planning", url, str(hours)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    measured: dict[str, float] = json.loads(answer.stdout)
    return measured


if __name__ == "__main__":
    print(json.dumps(plan_hours(sys.argv[1], int(sys.argv[2]))))
