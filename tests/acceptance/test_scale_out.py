"""Past one machine: both databases on PostgreSQL, two API servers, the services apart, Redis, and two workers."""

from collections import Counter
from collections.abc import Iterator

import pytest

from deployments.sandbox.remote import Sandbox
from tests.conftest import DatabaseFactory
from tests.support.patra import Patra, Row
from tests.support.prefect import until
from tests.support.redis import private_redis
from tests.support.scaled_out import ScaledOut

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(900),
    pytest.mark.parametrize("dialect", ["postgresql"], indirect=True),
]

START, END = "2026-01-01T00:00:00Z", "2026-01-02T12:00:00Z"
SLICES = 36
HOURLY = {"step": "PT1H", "max_window": "PT1H"}
PAGE_SIZE = 5
LATENCY = {"kind": "latency", "seconds": 0.3, "times": None}
"""Slow enough that two executors are surely at it together."""
SLOT_LEASE_SECONDS = 60
TOTAL = "ingest.total"


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory, database_factory: DatabaseFactory) -> Iterator[ScaledOut]:
    folder = tmp_path_factory.mktemp("scale-out")
    database = database_factory.fresh("postgresql")
    with private_redis(folder) as redis_url, ScaledOut(folder, database, redis_url) as room:
        yield room


@pytest.fixture
def planned(room: ScaledOut, patra: Patra, quiet_sandbox: Sandbox) -> Iterator[Patra]:
    """A plan of many slices, made by the planner's deployment through one of two workers."""
    patra.environment |= {"PATRA_LEASE_TTL_SECONDS": "20", "PATRA_SLOT_LEASE_SECONDS": str(SLOT_LEASE_SECONDS)}
    room.environment |= patra.environment
    quiet_sandbox.configure(scroll="token")
    patra.apply_crossref(pagination={"page_size": PAGE_SIZE, "position": "CLIENT"}, window=HOURLY)
    room.patra("deploy")
    room.pause_schedules()
    room.patra_worker("one", limit=1)
    room.patra_worker("two", limit=1, PREFECT_API_URL=room.api_of(1))
    window = {"source": "crossref", "window_from": START, "window_to": END}
    run = room.run("planner/planner", window)
    assert run["state_type"] == "COMPLETED", run["state"]["message"]
    assert len(patra.rows("ing_task")) == SLICES
    quiet_sandbox.clear_requests()
    quiet_sandbox.script(LATENCY)
    yield patra
    for worker in room.workers:
        worker.kill()
    room.workers.clear()


def _begin(room: ScaledOut, **parameters: object) -> str:
    return room.begin("executor/executor", {"source": "crossref", "at_once": 1, **parameters})


def _worked(patra: Patra) -> Counter[str]:
    """How many tasks each flow run has worked."""
    return Counter(row["flow_run_id"] for row in patra.rows("ing_task_run", "flow_run_id"))


def _assert_no_page_twice(requests: list[Row]) -> None:
    asked = Counter((request["query"]["filter"], request["page"]) for request in requests)
    assert requests
    assert {place: times for place, times in asked.items() if times > 1} == {}


def test_two_workers_share_a_plan(room: ScaledOut, planned: Patra, quiet_sandbox: Sandbox) -> None:
    runs = [_begin(room), _begin(room)]
    ends = [room.ended(run, seconds=400) for run in runs]
    assert {end["state_type"] for end in ends} == {"COMPLETED"}, [end["state"]["message"] for end in ends]
    worked = _worked(planned)
    assert set(worked) == set(runs)
    assert min(worked.values()) >= SLICES // 6
    assert sum(worked.values()) == SLICES
    _assert_no_page_twice(quiet_sandbox.requests("crossref"))
    quiet_sandbox.script()
    planned.assert_truth(quiet_sandbox.truth(from_=START, to=END))
    until(lambda: room.limits()[TOTAL]["active_slots"] == 0, 30, "slots given back")
