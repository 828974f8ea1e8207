"""`patra up` with every harvest: what its server logs, and how many of its flow runs are not the user's."""

import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import FlowFilter, FlowFilterName, FlowRunFilter, FlowRunFilterId
from prefect.client.schemas.objects import FlowRun

from tests.support.patra import StoredRows
from tests.support.up import Up

MOST_LOCKED = 5
"""Lines with "database is locked" in half an hour."""

MOST_HOUSEKEEPING_A_DAY = 300
_PAGE = 200
_LOCKED = re.compile("database is locked")


@dataclass(frozen=True)
class Noise:
    """What was counted after some minutes."""

    minutes: float
    locked: dict[str, int]
    """Lines with "database is locked" by log file."""
    began: Counter[str]
    """Flow runs that began, by flow."""
    shown: Counter[str]
    """Of those, the ones that are still in Prefect's history."""
    harvests: Counter[str]
    """The states of the harvests that were started by hand."""
    tasks: Counter[str]
    """Tasks by status."""


@contextmanager
def default_installation() -> Iterator[Up]:
    """`patra up` in a new folder."""
    with TemporaryDirectory(prefix="patra-bench-up-") as folder:
        up = Up(Path(folder))
        try:
            up.start()
            yield up
        finally:
            up.kill()


def listen(up: Up, minutes: float) -> Noise:
    """Switch every harvest on, start each of them at once, and count after so many minutes."""
    until = time.monotonic() + 60 * minutes
    with up.client() as client:
        flows = {flow.id: flow.name for flow in client.read_flows()}
        harvests = [one for one in client.read_deployments(limit=_PAGE) if one.name.startswith("harvest-")]
        started = [client.create_flow_run_from_deployment(one.id).id for one in harvests]
        for one in harvests:
            for schedule in one.schedules:
                client.update_deployment_schedule(one.id, schedule.id, active=True)
        seen: dict[object, str] = {}
        shown: list[FlowRun] = []
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, 60))
            shown = [run for run in _runs(client) if run.start_time]
            seen |= {run.id: flows[run.flow_id] for run in shown}
        ended = client.read_flow_runs(flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=started)))
    logs = Path(up.room["logs"]).glob("*.log")
    return Noise(
        minutes,
        {log.name: len(_LOCKED.findall(log.read_text(encoding="utf-8", errors="replace"))) for log in logs},
        Counter(seen.values()),
        Counter(flows[run.flow_id] for run in shown),
        Counter(str(run.state_name) for run in ended),
        Counter(row["status_code"] for row in StoredRows(up.room["database"]).rows("ing_task", "status_code")),
    )


def _runs(client: SyncPrefectClient) -> list[FlowRun]:
    ours = FlowFilter(name=FlowFilterName(any_=["planner", "backfill", "executor", "housekeeping"]))
    found: list[FlowRun] = []
    while page := client.read_flow_runs(flow_filter=ours, limit=_PAGE, offset=len(found)):
        found += page
    return found


def compare_noise(minutes: float) -> None:
    """Print what is counted, beside what it may be."""
    with default_installation() as up:
        noise = listen(up, minutes)
    print(f"noise: patra up with {noise.harvests.total()} harvests, {minutes:g} minutes")
    print(f'"database is locked": {noise.locked} (at most {MOST_LOCKED} in 30 minutes)')
    rate = noise.began["housekeeping"] * 1440 / minutes
    print(f"flow runs: {dict(noise.began)}; housekeeping: {rate:.0f} a day (at most {MOST_HOUSEKEEPING_A_DAY})")
    print(f"still shown: {dict(noise.shown)}")
    print(f"harvests: {dict(noise.harvests)}; tasks: {dict(noise.tasks)}", flush=True)
