"""One executor over twelve sources: a hostile one does not slow the other eleven down."""

import socket
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.conftest import DatabaseFactory
from tests.support.hostile_answers import HOSTILE, answer, page, record
from tests.support.hostile_harvest import hostile_document, register
from tests.support.hostile_provider import HostileProvider, hostile_provider
from tests.support.patra import Patra, Row
from tests.support.prefect import ControlRoom, until

pytestmark = [pytest.mark.long, pytest.mark.alone, pytest.mark.timeout(2400)]

HONEST = [f"honest_{letter}" for letter in "abcdefghijk"]
PAGES, RECORDS = 20, 10
MOST_SLOWER, NOISE_SECONDS = 1.10, 1.0
DAY_SECONDS = 120
AT_ONCE = {"minutes": 5, "at_once": len(HONEST) + 1}

_WAYS = (
    "head: body a byte at a time",
    "head: 100 Continue for ever",
    "head: 1,000 cookies",
    "head: Retry-After of a thousand million",
    "coding: gzip in gzip",
    "coding: gzip of half a gigabyte",
    "body: empty lists by the million",
    "body: deep lists",
    "body: one text of 20 MB",
    "value: number of a million digits",
    "next: NUL",
    "next: 20 MB",
    "xml: text at every one of 200 levels",
    "xml: elements by the million",
    "xml: billion laughs",
)
WAYS = {way: f"hostile_{number}" for number, way in enumerate(_WAYS)}


def honest(line: socket.socket, target: str) -> None:
    """Send the page that was asked for, of a result of twenty."""
    number = int(parse_qs(urlsplit(target).query).get("at", ["0"])[0])
    records = [record(f"{number}-{one}") for one in range(RECORDS)]
    place = f'"{number + 1}"' if number + 1 < PAGES else "null"
    answer(page(*records, rest=f'"total": {PAGES * RECORDS}, "next": {place}'))(line, target)


@pytest.fixture(scope="module")
def server() -> Iterator[HostileProvider]:
    """The provider of the honest sources and of a hostile one for each way."""
    hostile = {code: HOSTILE[way].send for way, code in WAYS.items()}
    with hostile_provider({**dict.fromkeys(HONEST, honest), **hostile}) as server:
        yield server


@pytest.fixture(scope="module")
def environment(
    database_factory: DatabaseFactory, server: HostileProvider, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """One database for all ways; each has a day of its own."""
    return {
        "PATRA_DATABASE_URL": database_factory.fresh("postgresql"),
        "PATRA_HOME": str(tmp_path_factory.mktemp("home")),
        "PATRA_TOTAL_CONCURRENCY": str(len(HONEST) + 1),
        **{f"PATRA_UPSTREAM_{code.upper()}": server.url for code in (*HONEST, *WAYS.values())},
    }


@pytest.fixture(scope="module")
def room(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlRoom]:
    """A Prefect server with the deployments and a worker."""
    with ControlRoom(tmp_path_factory.mktemp("room"), environment) as room:
        room.patra("db", "upgrade")
        room.deploy()
        room.worker()
        yield room


def documents() -> list[Row]:
    """Eleven sources that take twenty seconds at a request a second, and the hostile ones."""
    slow = [hostile_document(code, "JSON") for code in HONEST]
    for document in slow:
        document["rate_limit"] = {"requests_per_second": 1, "burst": 1}
    return [*slow, *(hostile_document(code, HOSTILE[way].format) for way, code in WAYS.items())]


def seconds_taken(patra: Patra, room: ControlRoom, day: int, hostile: list[str]) -> dict[str, float]:
    """Execute a day of the honest sources beside these; how long each honest one took."""
    start = date(2026, 1, 1) + timedelta(days=day)
    period = ("--from", str(start), "--to", str(start + timedelta(days=1)))
    plans = {code: patra("plan", code, *period)["plan_id"] for code in (*hostile, *HONEST)}
    honest = f"plan_id IN ({', '.join(str(plans[code]) for code in HONEST)})"
    unfinished = f"{honest} AND status_code IN ('QUEUED', 'DISPATCHED', 'EXECUTING')"
    executor = room.begin("executor/executor", AT_ONCE)
    until(lambda: not patra.rows("ing_task", "id", where=unfinished), DAY_SECONDS, f"the honest sources on {start}")
    for code in hostile:
        patra.tried("cancel", "--plan", str(plans[code]))  # the executor would wait for its next attempt
    room.ended(executor)
    runs = patra.rows("ing_task_run", where=honest)
    assert [run["status_code"] for run in runs] == ["SUCCEEDED"] * len(HONEST)
    return {run["provenance_code"]: (run["finished_at"] - run["started_at"]).total_seconds() for run in runs}


def test_a_hostile_source_slows_no_other_down(
    room: ControlRoom, environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patra = Patra(environment["PATRA_DATABASE_URL"], "http://127.0.0.1:1", tmp_path, monkeypatch)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    register(patra, tmp_path, documents())
    seconds_taken(patra, room, 0, [])  # a first run starts slowly
    alone = seconds_taken(patra, room, 1, [])
    slower: dict[str, tuple[float, float]] = {}
    for day, (way, code) in enumerate(WAYS.items(), start=2):
        beside = seconds_taken(patra, room, day, [code])
        slower |= {
            f"{way}: {one}": (alone[one], beside[one])
            for one in HONEST
            if beside[one] > alone[one] * MOST_SLOWER + NOISE_SECONDS
        }
    assert not slower
