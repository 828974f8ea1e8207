"""Past one machine: both databases on PostgreSQL, two API servers, the services apart, Redis, and two workers."""

import signal
from collections import Counter
from collections.abc import Iterator

import pytest

from deployments.sandbox.remote import Sandbox
from ingest_core.model.errors import ExitCode
from tests.conftest import DatabaseFactory
from tests.support.patra import Patra, Row
from tests.support.prefect import until
from tests.support.redis import private_redis
from tests.support.scaled_out import ScaledOut

pytestmark = [
    pytest.mark.long,
    pytest.mark.alone,
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


def test_a_worker_that_does_not_know_the_password_says_so(room: ScaledOut, patra: Patra) -> None:
    stranger = room.patra_worker("stranger", PREFECT_API_AUTH_STRING="operator:guessed")
    assert stranger.wait(120) == ExitCode.BAD_INPUT
    assert "PREFECT_API_AUTH_STRING" in stranger.log.read_text()
    room.workers.remove(stranger)


def test_slots_of_a_killed_worker_come_back_though_the_servers_were_restarted(
    room: ScaledOut, planned: Patra, quiet_sandbox: Sandbox
) -> None:
    for _ in room.workers:
        _begin(room)
    until(lambda: room.limits()[TOTAL]["active_slots"] == 2, 120, "two slots taken")
    for worker in room.workers:
        worker.kill()
    room.restart()
    assert room.limits()[TOTAL]["active_slots"] == 2
    until(lambda: room.limits()[TOTAL]["active_slots"] == 0, SLOT_LEASE_SECONDS + 60, "leases in Redis to run out")
    room.patra_worker("three", limit=1)
    end = room.ended(_begin(room, until_idle=True), seconds=400)
    assert end["state_type"] == "COMPLETED", end["state"]["message"]
    quiet_sandbox.script()
    planned.assert_truth(quiet_sandbox.truth(from_=START, to=END))


def test_a_worker_that_is_told_to_end_lets_its_executor_give_back_what_it_holds(
    room: ScaledOut, planned: Patra, quiet_sandbox: Sandbox
) -> None:
    run = _begin(room)
    until(lambda: len(quiet_sandbox.requests("crossref")) > 3, 120, "the executor at work")
    for worker in room.workers:
        worker.signal(signal.SIGTERM)
    end = room.ended(run, seconds=120)
    assert end["state_type"] == "COMPLETED", end["state"]["message"]
    for worker in room.workers:
        assert worker.wait(60) == 0
    assert 0 < sum(_worked(planned).values()) < SLICES
    assert {row["status_code"] for row in planned.rows("ing_task", "status_code")} - {"SUCCEEDED"} == {"QUEUED"}
    assert planned.rows("ing_task", "id", where="lease_owner IS NOT NULL") == []
    assert room.limits()[TOTAL]["active_slots"] == 0
    _assert_no_page_twice(quiet_sandbox.requests("crossref"))
