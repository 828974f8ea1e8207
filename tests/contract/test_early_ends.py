"""Slices that end before the provider does: budgets, large pages, lost scrolls, fuses, cancels; and leases kept."""

import json
import time
from collections.abc import Callable
from datetime import timedelta
from threading import Event
from typing import Any

import pytest

from ingest_core.execution import run_task
from ingest_core.execution.outcomes import BUDGET_PAUSE
from ingest_core.execution.ports import Request, Response
from ingest_core.model.codes import TaskStatus
from ingest_core.model.scope import ScopeKind, WorkScope
from ingest_core.model.spec import AuthSpec
from ingest_core.store.queue.work_control import SqlWorkControl
from ingest_core.store.schema.tables import (
    ing_cursor,
    ing_cursor_event,
    ing_partition_control,
    ing_plan_slice,
    ing_reslice_request,
    ing_task,
    ing_task_run,
    ing_task_run_batch,
)
from tests.contract.test_walks import ANSWER, FAST, OFFSET, QUICK, ROWS, SKIP, Shelf, book, kept, names, work
from tests.support.books import at, compiled
from tests.support.tables import change, column, rows
from tests.support.wiring import Stores, runner_of
from tests.support.working import TTL_SECONDS, claim, plan_harvest

TOKEN = {
    "type": "TOKEN",
    "position": "SERVER",
    "max_page_size": 3,
    "page_size": 3,
    "initial_token": "*",
    "next_token": "$.next",
}
BY_TOKEN = {"name": "cursor", "value": "page_token"}
ASCENDING = {**TOKEN, "position": "CLIENT", "ascending": True}
BY_HOUR = {"unit": "HOUR"}
WINDOW = {
    "field": "changed_at",
    "watermark_key": "changed_at",
    "unit": "SECOND",
    "format": "%Y-%m-%dT%H:%M:%S",
    "upper_inclusive": False,
}


def plan_one(stores: Stores, hours: int = 4, budget: dict[str, int] | None = None, **blocks: Any) -> None:
    """One slice of some hours, with a budget of its own."""
    usual = {"pagination": OFFSET, "params": [ROWS, SKIP], "rate_limit": FAST, "retry": QUICK}
    window = {**WINDOW, "step": f"PT{hours}H", **blocks.pop("window", {})}
    plan_harvest(stores, at(0), at(hours), spec=compiled(**{**usual, **blocks, "window": window}))
    (part,) = rows(stores.database, ing_plan_slice)
    spec = part["slice_spec"]
    change(stores.database, ing_plan_slice, slice_spec={**spec, "budget": {**spec["budget"], **(budget or {})}})


def requests_for_rest(stores: Stores) -> list[tuple[Any, Any, str]]:
    return [
        (row["remaining_from"], row["remaining_to"], row["reason_code"])
        for row in rows(stores.database, ing_reslice_request)
    ]


def covered(stores: Stores) -> list[tuple[Any, Any]]:
    events = rows(stores.database, ing_cursor_event, ing_cursor_event.c.event_type == "COVERAGE")
    return [(row["window_from"], row["window_to"]) for row in events]


class TestABudget:
    @pytest.mark.parametrize(
        ("budget", "pages"),
        [({"maxRequests": 2}, 2), ({"maxRecords": 7}, 3), ({"maxRecords": 6}, 2), ({"maxDurationSec": 1}, 1)],
        ids=["requests", "records", "records that just fit", "seconds"],
    )
    def test_that_is_spent_gives_the_task_back_for_later_and_it_goes_on(
        self, stores: Stores, budget: dict[str, int], pages: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plan_one(stores, budget=budget)
        if "maxDurationSec" in budget:
            monkeypatch.setattr("ingest_core.execution.walk.time", SlowClock())
        shelf = Shelf(12)
        summary = work(stores, shelf)
        assert (summary.status, summary.batches) == (TaskStatus.QUEUED, pages)
        assert "budget" in (summary.error or "")
        (task,) = rows(stores.database, ing_task)
        assert timedelta(0) < task["scheduled_at"] - stores.database.now() <= BUDGET_PAUSE
        assert task["last_error"]["code"] == "BUDGET_SPENT"
        assert [*covered(stores), *requests_for_rest(stores)] == []
        assert stores.queue.claim("ann", TTL_SECONDS) is None
        monkeypatch.undo()
        for _ in range(12):
            change(stores.database, ing_task, scheduled_at=at(0))
            if work(stores, shelf).status == TaskStatus.SUCCEEDED:
                break
        assert kept(stores) == names(*range(12))
        assert shelf.offsets == [0, 3, 6, 9] * 2

    def test_of_the_last_page_does_not_matter(self, stores: Stores) -> None:
        plan_one(stores, budget={"maxRequests": 1})
        assert work(stores, Shelf(3)).status == TaskStatus.SUCCEEDED

    def test_keeps_what_was_read_in_order_of_time_and_has_the_rest_cut(self, stores: Stores) -> None:
        plan_one(stores, budget={"maxRequests": 2}, pagination=ASCENDING, params=[ROWS, BY_TOKEN], window=BY_HOUR)
        summary = work(stores, Tokens(12))
        assert (summary.status, summary.batches) == (TaskStatus.PARTIAL, 2)
        assert covered(stores) == [(at(0), at(1))]
        assert requests_for_rest(stores) == [(at(1), at(4), "BUDGET")]
        assert column(stores.database, ing_cursor, "normalized_instant") == [at(1)]

    def test_covers_nothing_where_records_do_not_come_in_the_order_they_should(self, stores: Stores) -> None:
        plan_one(stores, budget={"maxRequests": 2}, pagination=ASCENDING, params=[ROWS, BY_TOKEN], window=BY_HOUR)
        assert work(stores, Tokens(12, backwards=True)).status == TaskStatus.QUEUED
        assert [*covered(stores), *requests_for_rest(stores)] == []

    def test_covers_nothing_in_an_attempt_that_did_not_begin_at_the_start(self, stores: Stores) -> None:
        plan_one(stores, budget={"maxRequests": 2}, pagination=ASCENDING, params=[ROWS, BY_TOKEN], window=BY_HOUR)
        assert work(stores, Tokens(18, backwards=True)).status == TaskStatus.QUEUED
        change(stores.database, ing_task, scheduled_at=at(0))
        assert work(stores, Tokens(18)).status == TaskStatus.QUEUED
        assert [*covered(stores), *requests_for_rest(stores)] == []

    def test_covers_nothing_where_we_count_the_place(self, stores: Stores) -> None:
        ascending = {**OFFSET, "ascending": True}
        plan_one(stores, budget={"maxRequests": 2}, pagination=ascending, window=BY_HOUR)
        shelf = Shelf(12)
        shelf.books = [book(number, number / 3) for number in range(12)]
        assert work(stores, shelf).status == TaskStatus.QUEUED
        assert covered(stores) == []

    def test_cuts_a_walk_whose_token_would_not_live_so_long(self, stores: Stores) -> None:
        mortal = {**ASCENDING, "ascending": False, "token_ttl": "PT5M"}
        plan_one(stores, budget={"maxRequests": 2}, pagination=mortal, params=[ROWS, BY_TOKEN])
        assert work(stores, Tokens(12)).status == TaskStatus.PARTIAL
        assert requests_for_rest(stores) == [(at(0), at(4), "BUDGET")]

    def test_halves_a_scroll_whose_place_would_be_lost(self, stores: Stores) -> None:
        plan_one(stores, budget={"maxRequests": 2}, pagination=TOKEN, params=[ROWS, BY_TOKEN])
        assert work(stores, Scroll(12)).status == TaskStatus.PARTIAL
        assert covered(stores) == []
        assert requests_for_rest(stores) == [(at(0), at(4), "BUDGET")]

    def test_is_passed_by_a_scroll_that_cannot_be_cut(self, stores: Stores) -> None:
        plan_one(stores, 1, {"maxRequests": 2}, pagination=TOKEN, params=[ROWS, BY_TOKEN], window={"unit": "HOUR"})
        assert work(stores, Scroll(12)).status == TaskStatus.SUCCEEDED
        assert kept(stores) == names(*range(12))


class SlowClock:
    """A clock that goes on by two seconds whenever it is looked at."""

    def __init__(self) -> None:
        self.now = time.monotonic()

    def monotonic(self) -> float:
        """Later than before."""
        self.now += 2
        return self.now


class Scroll:
    """An Upstream whose place is its own: asked by the same token, it goes on."""

    def __init__(self, count: int, fails: Callable[[int], bool] = lambda _asked: False) -> None:
        self.books = [book(number) for number in range(count)]
        self.place = 0
        self.asked = 0
        self.fails = fails

    def send(self, request: Request) -> Response:
        """The next books."""
        self.asked += 1
        if dict(request.query)["cursor"] == "*":
            self.place = 0
        items = self.books[self.place : self.place + 3]
        self.place += 3
        status = 503 if self.fails(self.asked) else 200
        answer = {"items": items, "total": len(self.books), "next": "same"}
        return Response("https://books.example/list", status, {}, json.dumps(answer).encode(), 0.01)

    def knows(self, auth: AuthSpec) -> bool:
        """There is no secret here."""
        return False


class Tokens:
    """An Upstream whose tokens are places; books are spread over four hours in the order they are read."""

    def __init__(self, count: int, *, backwards: bool = False) -> None:
        self.books = [book(number, 4 * number / count) for number in range(count)]
        self.books = self.books[::-1] if backwards else self.books

    def send(self, request: Request) -> Response:
        """The books from the token on."""
        token = dict(request.query)["cursor"]
        place = 0 if token == "*" else int(token)
        answer: dict[str, Any] = {"items": self.books[place : place + 3], "total": len(self.books)}
        if place + 3 < len(self.books):
            answer["next"] = str(place + 3)
        return Response("https://books.example/list", 200, {}, json.dumps(answer).encode(), 0.01)

    def knows(self, auth: AuthSpec) -> bool:
        """There is no secret here."""
        return False


def test_a_page_that_is_too_large_has_its_slice_cut(stores: Stores) -> None:
    plan_one(stores, pagination={**OFFSET, "max_page_bytes": 100})
    assert work(stores, Shelf(12)).status == TaskStatus.PARTIAL
    assert requests_for_rest(stores) == [(at(0), at(4), "PAGE_BYTES")]
    assert kept(stores) == names(0, 1, 2)


def test_a_large_page_of_a_slice_that_cannot_be_cut_is_taken(stores: Stores) -> None:
    plan_one(stores, 1, pagination={**OFFSET, "max_page_bytes": 100}, window={"unit": "HOUR"})
    assert work(stores, Shelf(12)).status == TaskStatus.SUCCEEDED


def test_a_scroll_that_is_lost_three_times_is_cut(stores: Stores) -> None:
    plan_one(stores, pagination=TOKEN, params=[ROWS, BY_TOKEN])
    scroll = Scroll(12, lambda asked: asked % 2 == 0)
    ended = [work(stores, scroll).status for _ in range(3)]
    assert ended == [TaskStatus.QUEUED, TaskStatus.QUEUED, TaskStatus.PARTIAL]
    assert requests_for_rest(stores) == [(at(0), at(4), "RESTARTED")]
    assert covered(stores) == []


def answering(status: int) -> Callable[[Request], Response]:
    return lambda _request: Response("https://books.example/list", status, {}, b"who are you?", 0.01)


class TestAFuse:
    def test_blows_when_the_provider_does_not_know_us(self, stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
        plan_one(stores)
        monkeypatch.setattr(Shelf, "send", lambda _self, request: answering(403)(request))
        summary = work(stores, Shelf(3))
        assert (summary.status, summary.fused) == (TaskStatus.FAILED, True)
        (control,) = rows(stores.database, ing_partition_control)
        assert (control["control_code"], control["version"]) == ("FUSED", 1)
        assert "403" in control["reason"]

    def test_blows_when_the_answers_have_changed(self, stores: Stores) -> None:
        plan_one(stores, pagination={**OFFSET, "max_page_size": 20, "page_size": 20})
        strange = {"items": [{"name": number} for number in range(20)], "total": 20}
        summary = work(stores, Shelf(20, lambda _shelf, _asked: strange))
        assert (summary.status, summary.fused) == (TaskStatus.FAILED, True)
        assert column(stores.database, ing_task, "last_error")[0]["code"] == "SCHEMA_DRIFT"

    @pytest.mark.parametrize("status", [400, 404, 422])
    def test_does_not_blow_for_one_request(self, stores: Stores, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
        plan_one(stores)
        monkeypatch.setattr(Shelf, "send", lambda _self, request: answering(status)(request))
        summary = work(stores, Shelf(3))
        assert (summary.status, summary.fused) == (TaskStatus.FAILED, False)
        assert column(stores.database, ing_partition_control, "control_code") == ["ACTIVE"]

    def test_does_not_blow_for_what_nobody_foresaw(self, stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
        plan_one(stores)

        def fail(*_: object) -> None:
            raise KeyError("a mistake of ours")

        monkeypatch.setattr(Shelf, "send", fail)
        summary = work(stores, Shelf(3))
        assert (summary.status, summary.fused) == (TaskStatus.FAILED, False)


def test_a_worker_notices_within_a_page_that_its_task_was_cancelled(stores: Stores) -> None:
    plan_one(stores)

    def cancel(_shelf: Shelf, asked: int) -> None:
        if asked == 2:
            (task_id,) = column(stores.database, ing_task, "id")
            SqlWorkControl(stores.database).cancel(WorkScope(ScopeKind.TASK, str(task_id)))

    shelf = Shelf(30, cancel)
    summary = work(stores, shelf)
    assert summary.lost
    assert len(shelf.offsets) <= 3
    assert column(stores.database, ing_task, "status_code") == ["CANCELLED"]
    assert column(stores.database, ing_task_run, "status_code") == ["CANCELLED"]
    assert set(column(stores.database, ing_task_run_batch, "status_code")) <= {"SUCCEEDED", "SKIPPED"}


def test_a_lease_is_kept_while_an_answer_is_awaited(stores: Stores, others: Stores) -> None:
    plan_one(stores)
    task = claim(stores, ttl_seconds=1)

    def slow(_shelf: Shelf, asked: int) -> None:
        if asked == 1:
            Event().wait(2.5)
            assert others.queue.give_back_expired() == 0

    runner = runner_of(stores, Shelf(3, slow))
    assert runner.run(task).status == TaskStatus.SUCCEEDED
    assert rows(stores.database, ing_task)[0]["lease_count"] >= 6


def test_details_cost_what_the_registry_says_today(stores: Stores) -> None:
    endpoints = [
        {
            "name": "list",
            "path": "/list",
            "operations": ["HARVEST"],
            "detail": "whole",
            "response": {**ANSWER, "id": "$.id"},
        },
        {"name": "whole", "role": "DETAIL", "path": "/whole", "response": ANSWER},
    ]
    params = [ROWS, SKIP, {"name": "ids", "value": "ids", "for": {"endpoint": "whole"}}]
    rates = [FAST, {"cost": 5, "for": {"endpoint": "whole"}}]
    plan_one(stores, endpoints=endpoints, params=params, rate_limit=rates)
    summary = work(stores, Shelf(3))
    assert summary.status == TaskStatus.SUCCEEDED, summary.error
    (run,) = rows(stores.database, ing_task_run)
    assert (run["stats"]["reqCount"], run["stats"]["permitsTotal"]) == (2, 6)


class Died(BaseException):
    """The worker is gone."""


def test_a_crash_after_the_page_that_met_a_limit_asks_for_nothing_beyond_it(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan_one(stores, pagination={**OFFSET, "max_records": 6})
    shelf = Shelf(12)

    def die(*_: object) -> None:
        raise Died

    monkeypatch.setattr(stores.ledger, "finish", die)
    with pytest.raises(Died):
        work(stores, shelf)
    monkeypatch.undo()
    change(stores.database, ing_task, leased_until=at(0))
    stores.queue.give_back_expired()
    assert work(stores, shelf).status == TaskStatus.PARTIAL
    assert shelf.offsets == [0, 3]
    assert requests_for_rest(stores) == [(at(0), at(4), "RECORD_CAP")]


def test_attempts_that_got_on_do_not_count_against_a_task(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    plan_one(stores, budget={"maxRequests": 1})
    shelf = Shelf(60)
    for _ in range(9):
        assert work(stores, shelf).status == TaskStatus.QUEUED
        change(stores.database, ing_task, scheduled_at=at(0))
    monkeypatch.setattr(Shelf, "send", lambda _self, request: answering(503)(request))
    assert work(stores, shelf).status == TaskStatus.QUEUED


def test_a_page_nobody_waits_for_any_more_is_asked_for_no_further(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_task, "FINISH_SECONDS", run_task.STOP_POLL_SECONDS)
    endpoints = [
        {"name": "list", "path": "/list", "operations": ["HARVEST"], "detail": "whole", "response": ANSWER},
        {"name": "whole", "role": "DETAIL", "path": "/whole", "response": ANSWER},
    ]
    params = [ROWS, SKIP, {"name": "ids", "value": "ids", "for": {"endpoint": "whole"}}]
    plan_one(stores, endpoints=endpoints, params=params, batching={"id_batch_size": 1})
    stop, asked = Event(), []

    class Details(Shelf):
        def send(self, request: Request) -> Response:
            if "ids" in dict(request.query):
                asked.append(request)
                stop.set()
                Event().wait(0.5)
            return super().send(request)

    assert work(stores, Details(3), stop).status == TaskStatus.QUEUED
    Event().wait(1.2)
    assert len(asked) == 1
