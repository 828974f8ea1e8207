"""Patra's harvest: the use cases in one process, without Prefect and without a publisher."""

import sys
import time
from datetime import timedelta

import yaml

from ingest_core.bootstrap import check_source, open_core_app, upgrade_database
from ingest_core.model.codes import SchedulerCode
from ingest_core.planning.request import PlanRequest, Trigger
from ingest_core.settings import Settings
from ingest_core.shipped import shipped_sources
from tests.bench.measured import tell
from tests.bench.upstream import DAYS, PAGE, STEP_DAYS, UNTIL


def quick_crossref() -> str:
    """Crossref at full speed, in slices as large as the bench's windows."""
    document = yaml.safe_load(shipped_sources()["crossref.yaml"])
    document["rate_limit"] = {"requests_per_second": 100_000, "burst": 1000}
    document["pagination"]["page_size"] = PAGE
    document["window"]["step"] = f"P{STEP_DAYS}D"
    return yaml.safe_dump(document)


def prepare(settings: Settings) -> None:
    """A schema, the source, and a plan whose tasks wait."""
    upgrade_database(settings)
    with open_core_app(settings) as app:
        app.registry.apply([check_source(quick_crossref(), "bench", app.database)])
        request = PlanRequest("crossref", user_from=UNTIL - timedelta(days=DAYS), user_to=UNTIL)
        app.planner.plan(request, Trigger(SchedulerCode.CLI, "bench"))


def main(database_url: str, upstream: str) -> None:
    """Work what is planned, and tell how quickly."""
    with open_core_app(Settings(database_url=database_url, upstreams={"crossref": upstream})) as app:
        started = time.perf_counter()
        report = app.executor.execute()
        seconds = time.perf_counter() - started
    assert not report.errors, report.errors
    tell(report.counts.received, seconds)


if __name__ == "__main__":
    main(*sys.argv[1:])
