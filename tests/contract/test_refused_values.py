"""A value that a database refuses costs its own task: the worker goes on, and the next task finds nothing amiss."""

import json
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from ingest_core.execution import outcomes, run_task
from ingest_core.execution.ports import Request, Response, RunOutcome
from ingest_core.model.codes import ErrorLevel, TaskStatus
from ingest_core.model.errors import DataRefused, Unreachable
from ingest_core.model.instant import format_instant
from ingest_core.model.record import PageOutcome
from ingest_core.store.engine.database import Database
from ingest_core.store.engine.dialect import is_data_error
from ingest_core.store.schema.tables import ing_item, ing_task, ing_task_run_batch
from tests.support.books import at, compiled
from tests.support.pages import deleted, page, record, rejected
from tests.support.tables import column, rows
from tests.support.wiring import Stores, runner_of
from tests.support.working import begin, claim, finish, open_page, plan_harvest, read_page

HALF = "\ud800"
FAST = {"requests_per_second": 100_000, "burst": 1000}
QUICK = {"initial": "PT0S", "max": "PT0S", "max_attempts": 3}


def with_fields(one: str, **fields: Any) -> PageOutcome:
    """A page with one record of these common fields."""
    return page(replace(record(one), fields=fields))


def nested(levels: int) -> Any:
    """Lists within lists."""
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


def with_version(one: str, version: str) -> PageOutcome:
    """A page with one record of that version."""
    return page(replace(record(one), version=version))


HOSTILE: dict[str, Callable[[str], PageOutcome]] = {
    "half a pair in an id": lambda one: replace(page(), records=[record(one), replace(record("b"), provider_id=HALF)]),
    "NUL in an id": lambda one: page(record(one + "\x00")),
    "a long id": lambda one: page(record(one * 10_000)),
    "half a pair in a payload": lambda one: page(replace(record(one), payload=f'{{"a": "{HALF}"}}')),
    "a payload that is no JSON": lambda one: page(record(one, payload="{")),
    "a payload of NaN": lambda one: page(record(one, payload='{"a": NaN}')),
    "half a pair in a field": lambda one: with_fields(one, title=HALF),
    "NUL in a field": lambda one: with_fields(one, title="\x00"),
    "half a pair as a field's name": lambda one: with_fields(one, **{HALF: 1}),
    "a field of 5,000 digits": lambda one: with_fields(one, n=10**4000),
    "a field that is no number": lambda one: with_fields(one, n=float("nan")),
    "a field of 60 levels": lambda one: with_fields(one, deep=nested(60)),
    "a field of 500 levels": lambda one: with_fields(one, deep=nested(500)),
    "a long version": lambda one: with_version(one, "v" * 10_000),
    "half a pair in a version": lambda one: with_version(one, HALF),
    "half a pair in the id of a merged record": lambda one: page(gone=[deleted(one, merged_into=HALF)]),
    "a long id of a merged record": lambda one: page(gone=[deleted(one, merged_into="b" * 10_000)]),
    "half a pair in a fragment": lambda one: page(rejected=[replace(rejected(one), fragment=HALF)]),
    "NUL in a fragment": lambda one: page(rejected=[replace(rejected(one), fragment="\x00")]),
    "half a pair in a token": lambda one: replace(page(record(one)), after_token=HALF),
    "NUL in a token": lambda one: replace(page(record(one)), after_token="a\x00b"),
    "half a pair in a digest": lambda one: replace(page(record(one)), response_digest={"sample": HALF}),
    "a total beyond 64 bits": lambda one: replace(page(record(one)), response_digest={"total": 10**30}),
    "NUL in a digest": lambda one: replace(page(record(one)), response_digest={"sample": "\x00"}),
}


def test_a_value_is_stored_or_refused_and_its_task_can_end(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(len(HOSTILE) + 1))
    for number, hostile in enumerate(HOSTILE.values()):
        run = begin(stores)
        with suppress(DataRefused):  # and nothing else
            stores.ledger.commit_page(run, open_page(stores, run), hostile(f"r{number}"), run.task.checkpoint)
        finish(stores, run, TaskStatus.FAILED)

    run = begin(stores)
    read_page(stores, run, page(record("good")))
    finish(stores, run)
    assert Counter(column(stores.database, ing_task, "status_code")) == {"FAILED": len(HOSTILE), "SUCCEEDED": 1}
    assert "good" in column(stores.database, ing_item, "provider_id")


@pytest.mark.parametrize(("stats", "error"), [({"a": HALF}, None), ({}, {"code": "X", "message": HALF})])
def test_an_outcome_is_refused_as_a_value_is(stores: Stores, stats: Any, error: Any) -> None:
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    with pytest.raises(DataRefused):
        stores.ledger.finish(run, RunOutcome(TaskStatus.FAILED, stats, error=error))
    finish(stores, run, TaskStatus.FAILED)


def test_a_database_that_does_not_answer_is_no_values_fault() -> None:
    database = Database("postgresql://nobody@127.0.0.1:1/none")
    with pytest.raises(Unreachable, match="no connection"), database.read():
        pass


@pytest.mark.parametrize(
    ("dialect", "origin", "data"),
    [
        ("mysql", (1153, "Got a packet bigger than 'max_allowed_packet' bytes"), True),
        ("mysql", (4025, "CONSTRAINT failed"), True),
        ("mysql", (1021, "Disk full"), False),
        ("mysql", (1290, "running with the --read-only option"), False),
        ("postgresql", "54000", True),
        ("postgresql", "22021", True),
        ("postgresql", "53100", False),
        ("postgresql", "42P01", False),
        ("sqlite", ("database or disk is full",), False),
    ],
)
def test_a_database_in_need_is_told_from_a_value_it_refuses(dialect: str, origin: Any, *, data: bool) -> None:
    class Driver(Exception):
        sqlstate = origin if dialect == "postgresql" else None

    error = OperationalError("INSERT", {}, Driver(*(origin if dialect != "postgresql" else ("words",))))
    assert is_data_error(error) is data


def test_many_large_records_are_written_though_no_statement_takes_them_all(stores: Stores) -> None:
    """Five of 3 MB, not ASCII, together with one of nearly the largest size: MariaDB takes 16 MB at once."""
    plan_harvest(stores, at(0), at(1))
    large = [record(f"{at}", payload=json.dumps({"a": "\\学" * 600_000}, ensure_ascii=False)) for at in range(3)]
    largest = record("z", payload=json.dumps({"a": "'\\" * 2_300_000}))
    counts = read_page(stores, begin(stores), page(*large, largest))
    assert counts.inserted == 4


class Tokens:
    """An Upstream of one record a page and, as its next token, whatever it is given."""

    def __init__(self, token: Any, good_pages: int = 0) -> None:
        self.token = token
        self.good_pages = good_pages
        self.asked = 0

    def send(self, request: Request) -> Response:
        """The page after the token."""
        self.asked += 1
        first = dict(request.query)["cursor"] == "*"
        items = [{"id": f"r{self.asked}", "at": format_instant(at(0.5))}]
        answer = {"items": items if first else [], "total": 1, "next": self.token if first else None}
        if self.good_pages:
            good = self.asked <= self.good_pages
            answer = {"items": items, "next": f"t{self.asked}" if good else self.token}
        return Response("https://books.example/list", 200, {}, json.dumps(answer).encode(), 0.01)

    def knows(self, _auth: Any) -> bool:
        """Whether the secret is there."""
        return False


BAD_TOKENS = ["a\x00b", f"a{HALF}", "a\x1bb", "x" * 20_000]


@pytest.mark.parametrize("token", BAD_TOKENS, ids=["NUL", "half a pair", "escape", "long"])
def test_a_token_that_cannot_be_one_fails_its_task_alone(stores: Stores, token: str) -> None:
    plan_harvest(stores, at(0), at(2), spec=compiled(rate_limit=FAST, retry=QUICK))
    upstream = Tokens(token)
    assert runner_of(stores, upstream).run(claim(stores)).status == TaskStatus.FAILED
    (failed,) = rows(stores.database, ing_task, ing_task.c.status_code == "FAILED")
    assert (failed["last_error"]["code"], failed["last_error"]["level"]) == ("NEXT_TOKEN_INVALID", ErrorLevel.L2)
    assert failed["last_error"]["message"].startswith("pagination.next_token $.next found")
    assert upstream.asked == 1

    upstream.token = None
    assert runner_of(stores, upstream).run(claim(stores)).status == TaskStatus.SUCCEEDED
    assert column(stores.database, ing_item, "provider_id") == ["r2"]


def test_a_token_that_cannot_be_one_restarts_no_scroll(stores: Stores) -> None:
    """A slice read from its start would meet it again."""
    paging = {"type": "TOKEN", "max_page_size": 1, "initial_token": "*", "next_token": "$.next", "position": "SERVER"}
    plan_harvest(stores, at(0), at(1), spec=compiled(rate_limit=FAST, retry=QUICK, pagination=paging))
    upstream = Tokens("a\x00b", good_pages=1)
    assert runner_of(stores, upstream).run(claim(stores)).status == TaskStatus.FAILED
    (failed,) = rows(stores.database, ing_task)
    assert (failed["last_error"]["code"], upstream.asked) == ("NEXT_TOKEN_INVALID", 2)


def test_an_outcome_that_is_refused_fails_its_task_and_not_its_worker(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan_harvest(stores, at(0), at(1), spec=compiled(rate_limit=FAST, retry=QUICK))

    def odd(walk: Any) -> Any:
        outcome, summary = outcomes.succeeded(walk)
        return replace(outcome, stats={"odd": HALF}), summary

    monkeypatch.setattr(run_task, "succeeded", odd)
    assert runner_of(stores, Tokens(None)).run(claim(stores)).status == TaskStatus.FAILED
    (task,) = rows(stores.database, ing_task)
    assert (task["status_code"], task["last_error"]["code"]) == ("FAILED", "DATA_REFUSED")


def test_a_value_that_no_check_foresaw_fails_its_task_and_not_its_worker(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan_harvest(stores, at(0), at(2), spec=compiled(rate_limit=FAST, retry=QUICK))
    upstream = Tokens(None)
    with monkeypatch.context() as unchecked:
        unchecked.setattr(run_task, "response_digest", lambda _fetched: {"sample": HALF})
        summary = runner_of(stores, upstream).run(claim(stores))
    assert summary.status == TaskStatus.FAILED
    (failed,) = rows(stores.database, ing_task, ing_task.c.status_code == "FAILED")
    assert failed["last_error"]["code"] == "DATA_REFUSED"
    assert failed["lease_owner"] is None
    assert column(stores.database, ing_item, "id") == []  # nothing of the page

    assert runner_of(stores, upstream).run(claim(stores)).status == TaskStatus.SUCCEEDED
    assert "RUNNING" not in column(stores.database, ing_task_run_batch, "status_code")
