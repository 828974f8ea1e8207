"""A task worked to its end with every kind of paging and in two phases: what the provider did, what the stores hold."""

import json
import time
from collections.abc import Callable
from threading import Event
from typing import Any

import pytest

from ingest_core.execution import run_task
from ingest_core.execution.outcomes import RunSummary
from ingest_core.execution.ports import Request, Response
from ingest_core.execution.run_task import STOP_POLL_SECONDS
from ingest_core.model.codes import TaskStatus
from ingest_core.model.instant import format_instant
from ingest_core.model.spec import AuthSpec
from ingest_core.store.schema.tables import ing_cursor, ing_item, ing_quarantine, ing_task, ing_task_run_batch
from tests.support.books import at, compiled
from tests.support.tables import column, rows
from tests.support.wiring import Stores, runner_of
from tests.support.working import claim, plan_harvest

SIZE = 3
FAST = {"requests_per_second": 100_000, "burst": 1000}
QUICK = {"initial": "PT0S", "max": "PT0S", "max_attempts": 3}
OFFSET = {"type": "OFFSET", "max_page_size": SIZE, "page_size": SIZE, "total_kind": "EXACT"}
ROWS, SKIP = {"name": "rows", "value": "page_size"}, {"name": "skip", "value": "page_offset"}
ANSWER = {"items": "$.items", "id": "$.id", "updated_at": "$.at", "total": "$.total"}


def book(number: int, hour: float = 0.5) -> dict[str, Any]:
    """A record that was changed at that hour."""
    return {"id": f"b{number}", "at": format_instant(at(hour)), "title": f"Book {number}"}


class Shelf:
    """An Upstream that pages by offset over books; a rule may change the shelf, or answer instead."""

    def __init__(self, count: int, rule: Callable[["Shelf", int], Any] = lambda _shelf, _asked: None) -> None:
        self.books = [book(number) for number in range(count)]
        self.rule = rule
        self.offsets: list[int] = []

    def send(self, request: Request) -> Response:
        """The books from the offset on."""
        skip = int(dict(request.query).get("skip", 0))
        self.offsets.append(skip)
        answer = self.rule(self, len(self.offsets))
        if answer is None:
            answer = {"items": self.books[skip : skip + SIZE], "total": len(self.books)}
        return Response("https://books.example/list", 200, {}, json.dumps(answer).encode(), 0.01)

    def knows(self, auth: AuthSpec) -> bool:
        """Whether the secret is there."""
        return auth.credential_ref == "env:KNOWN"

    def take(self, *numbers: int) -> None:
        """Take books away."""
        self.books = [one for one in self.books if one["id"] not in {f"b{number}" for number in numbers}]


def planned(stores: Stores, **blocks: Any) -> None:
    """One slice of an hour, of the test source paged by offset or as given."""
    usual = {"pagination": OFFSET, "params": [ROWS, SKIP], "rate_limit": FAST, "retry": QUICK}
    plan_harvest(stores, at(0), at(1), spec=compiled(**{**usual, **blocks}))


def work(stores: Stores, upstream: Any, stop: Event | None = None) -> RunSummary:
    """Claim the task and work it."""
    return runner_of(stores, upstream, stop).run(claim(stores))


def kept(stores: Stores) -> set[str]:
    """The ids in the store."""
    return set(column(stores.database, ing_item, "provider_id"))


def quarantined(stores: Stores) -> list[tuple[str | None, str]]:
    """Who is in quarantine and why."""
    return sorted((row["provider_id"], row["reason_code"]) for row in rows(stores.database, ing_quarantine))


def names(*numbers: int) -> set[str]:
    return {f"b{number}" for number in numbers}


def test_positions_are_read_in_two_passes_and_an_exact_total_ends_each_without_an_empty_page(stores: Stores) -> None:
    planned(stores)
    shelf = Shelf(8)
    summary = work(stores, shelf)
    assert (summary.status, summary.counts.inserted, shelf.offsets) == (TaskStatus.SUCCEEDED, 8, [0, 3, 6] * 2)
    assert column(stores.database, ing_task_run_batch, "before_token") == ["0", "3", "6"] * 2
    assert column(stores.database, ing_task_run_batch, "page_no") == [1, 2, 3] * 2
    assert column(stores.database, ing_cursor, "normalized_instant") == [at(1)]


@pytest.mark.parametrize(
    ("taken", "offsets"),
    [
        ((0,), [0, 3, 2, 5, 8, *[0, 3, 6, 9] * 2]),
        ((0, 1, 2), [0, 3, 0, 3, 6, *[0, 3, 6] * 2]),
        ((11,), [0, 3, 2, 5, 8, 0, 3, 6, 9]),
    ],
    ids=["one that was read", "a whole page", "one that was to come"],
)
def test_what_stays_is_read_though_records_leave_meanwhile(
    stores: Stores, taken: tuple[int, ...], offsets: list[int]
) -> None:
    """The same place is asked for again for good reason, which is no loop."""
    planned(stores)
    shelf = Shelf(12, lambda shelf, asked: shelf.take(*taken) if asked == 2 else None)
    summary = work(stores, shelf)
    assert (summary.status, shelf.offsets) == (TaskStatus.SUCCEEDED, offsets)
    assert kept(stores) >= {one["id"] for one in shelf.books}
    assert quarantined(stores) == []


def leave(stop: Event) -> None:
    """The worker is told to end while it waits for an answer, which never comes."""
    stop.set()
    time.sleep(STOP_POLL_SECONDS * 2.5)
    raise RuntimeError("nobody waits for this answer")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that are to end wait for no answer."""
    monkeypatch.setattr(run_task, "FINISH_SECONDS", STOP_POLL_SECONDS)


def test_a_worker_that_is_to_end_takes_in_the_page_it_asked_for_and_asks_for_no_more(stores: Stores) -> None:
    planned(stores)
    stop = Event()

    def answer_late(_shelf: Shelf, asked: int) -> None:
        if asked == 2:
            stop.set()
            time.sleep(STOP_POLL_SECONDS * 2.5)

    shelf = Shelf(12, answer_late)
    summary = work(stores, shelf, stop)
    assert (summary.status, summary.batches, shelf.offsets) == (TaskStatus.QUEUED, 2, [0, 3])
    assert kept(stores) == names(*range(6))
    assert work(stores, shelf).status == TaskStatus.SUCCEEDED
    assert shelf.offsets == [0, 3, 6, 9] * 2


def test_a_worker_that_is_to_end_begins_nothing(stores: Stores) -> None:
    planned(stores)
    stop, shelf = Event(), Shelf(12)
    stop.set()
    assert work(stores, shelf, stop).status == TaskStatus.QUEUED
    assert shelf.offsets == []


def test_a_worker_that_is_to_end_ends_the_task_whose_last_page_came(stores: Stores) -> None:
    planned(stores)
    stop = Event()
    shelf = Shelf(3, lambda _shelf, asked: stop.set() if asked == 1 else None)
    assert (work(stores, shelf, stop).status, shelf.offsets) == (TaskStatus.SUCCEEDED, [0])


def test_a_worker_that_is_to_end_leaves_the_next_pass_to_another(stores: Stores) -> None:
    planned(stores)
    stop = Event()
    shelf = Shelf(6, lambda _shelf, asked: stop.set() if asked == 2 else None)
    assert (work(stores, shelf, stop).status, shelf.offsets) == (TaskStatus.QUEUED, [0, 3])
    assert (work(stores, shelf).status, shelf.offsets) == (TaskStatus.SUCCEEDED, [0, 3, 0, 3])


@pytest.mark.usefixtures("impatient")
def test_another_attempt_goes_on_where_the_last_one_stopped_and_still_sees_what_left(stores: Stores) -> None:
    planned(stores)
    stop = Event()
    shelf = Shelf(12, lambda _shelf, asked: leave(stop) if asked == 2 else None)
    assert work(stores, shelf, stop).status == TaskStatus.QUEUED
    shelf.take(0)
    assert work(stores, shelf).status == TaskStatus.SUCCEEDED
    assert shelf.offsets == [0, 3, 3, 2, 5, 8, *[0, 3, 6, 9] * 2]
    assert kept(stores) == names(*range(12))


def test_an_empty_page_before_the_total_is_asked_for_again(stores: Stores) -> None:
    planned(stores)
    shelf = Shelf(6, lambda _shelf, asked: {"items": [], "total": 6} if asked == 2 else None)
    assert work(stores, shelf).status == TaskStatus.SUCCEEDED
    assert (shelf.offsets, kept(stores)) == ([0, 3, 3, 0, 3], names(*range(6)))


def test_a_result_larger_than_the_provider_gives_covers_nothing(stores: Stores) -> None:
    planned(stores, pagination={**OFFSET, "max_records": 6})
    shelf = Shelf(20)
    summary = work(stores, shelf)
    assert (summary.status, shelf.offsets) == (TaskStatus.PARTIAL, [0, 3])
    assert "only the first 6 records" in str(summary.error)
    assert kept(stores) == names(*range(6))
    assert column(stores.database, ing_cursor, "normalized_instant") == [at(0)]


@pytest.mark.parametrize(("count", "status"), [(2, TaskStatus.SUCCEEDED), (3, TaskStatus.PARTIAL)])
def test_a_slice_of_one_page_is_complete_only_if_the_page_is_not_full(
    stores: Stores, count: int, status: TaskStatus
) -> None:
    planned(stores, pagination={**OFFSET, "type": "TIME"}, params=[ROWS])
    assert work(stores, Shelf(count)).status == status
    assert column(stores.database, ing_cursor, "normalized_instant") == [at(1 if status == TaskStatus.SUCCEEDED else 0)]


def test_records_of_another_time_are_counted_and_not_kept(stores: Stores) -> None:
    base = {"field": "changed_at", "watermark_key": "changed_at", "step": "PT1H", "unit": "SECOND"}
    window = {**base, "format": "%Y-%m-%dT%H:%M:%S", "upper_inclusive": False}
    planned(stores, window={**window, "supports_updated_since": False, "stable_order": True})
    shelf = Shelf(0)
    shelf.books = [book(1, -0.5), book(2, 0.25), book(3, 0.75), book(4, 1.0)]
    summary = work(stores, shelf)
    assert (summary.counts.received, summary.counts.inserted, summary.counts.skipped) == (8, 2, 6)  # two passes
    assert kept(stores) == names(2, 3)


class Library(Shelf):
    """An Upstream of two phases: a list of ids, and records by POST, some of which are refused or unknown."""

    def __init__(
        self, count: int, unknown: frozenset[str] = frozenset(), refused: frozenset[str] = frozenset()
    ) -> None:
        super().__init__(count)
        self.unknown = unknown
        self.refused = refused
        self.batches: list[list[str]] = []

    def send(self, request: Request) -> Response:
        """The list, or the records asked for."""
        if request.body is None:
            skip = int(dict(request.query)["skip"])
            ids = [one["id"] for one in self.books[skip : skip + SIZE]]
            return self._answer({"items": ids, "total": len(self.books)})
        ids = list(request.body["ids"])
        self.batches.append(ids)
        if self.refused & set(ids):
            return Response("https://books.example/whole", 400, {}, b"an id is not valid", 0.01)
        whole = [one for one in self.books if one["id"] in ids and one["id"] not in self.unknown]
        return self._answer({"items": whole})

    @staticmethod
    def _answer(content: Any) -> Response:
        return Response("https://books.example", 200, {}, json.dumps(content).encode(), 0.01)


TWO_PHASES: dict[str, Any] = {
    "endpoints": [
        {
            "name": "list",
            "path": "/list",
            "operations": ["HARVEST"],
            "detail": "whole",
            "response": {"items": "$.items", "id": "$", "total": "$.total"},
        },
        {
            "name": "whole",
            "role": "DETAIL",
            "method": "POST",
            "path": "/whole",
            "body": {"format": "JSON", "template": {"ids": "{ids}"}},
            "response": {**ANSWER, "total": None},
        },
    ],
    "params": [ROWS | {"for": {"endpoint": "list"}}, SKIP | {"for": {"endpoint": "list"}}],
    "batching": {"id_batch_size": 2},
}


def test_in_two_phases_a_search_page_with_its_details_is_one_batch(stores: Stores) -> None:
    planned(stores, **TWO_PHASES)
    library = Library(5)
    summary = work(stores, library)
    assert (summary.status, summary.counts.inserted, summary.batches) == (TaskStatus.SUCCEEDED, 5, 4)
    # The second pass confirms the ids that were listed, and asks for no record again.
    assert [len(batch) for batch in library.batches] == [2, 1, 2]
    assert set(column(stores.database, ing_item, "endpoint_name")) == {"list"}
    details = [one.get("details", []) for one in column(stores.database, ing_task_run_batch, "response_digest")]
    assert [len(one) for one in details] == [2, 1, 0, 0]


def test_ids_without_a_record_are_in_quarantine_and_the_slice_is_complete(stores: Stores) -> None:
    planned(stores, **TWO_PHASES)
    summary = work(stores, Library(6, unknown=frozenset({"b1"}), refused=frozenset({"b4"})))
    assert summary.status == TaskStatus.SUCCEEDED
    assert (summary.counts.received, summary.counts.inserted, summary.counts.quarantined) == (12, 4, 2)
    assert quarantined(stores) == [("b1", "DETAIL_MISSING"), ("b4", "DETAIL_FAILED")]
    assert kept(stores) == names(0, 2, 3, 5)


@pytest.mark.usefixtures("impatient")
def test_another_attempt_does_not_fetch_the_details_of_a_committed_page_again(stores: Stores) -> None:
    planned(stores, **TWO_PHASES)
    library, stop = Library(6), Event()
    send = library.send

    def stopping(request: Request) -> Response:
        if request.body is None and int(dict(request.query)["skip"]) == SIZE:
            leave(stop)
        return send(request)

    library.send = stopping  # type: ignore[method-assign]
    assert work(stores, library, stop).status == TaskStatus.QUEUED
    committed = kept(stores)
    library.send, library.batches = send, []  # type: ignore[method-assign]
    assert work(stores, library).status == TaskStatus.SUCCEEDED
    assert committed == names(0, 1, 2)
    assert not committed & {one for batch in library.batches for one in batch}
    assert kept(stores) == names(*range(6))


def test_a_task_that_ended_says_so_in_the_queue(stores: Stores) -> None:
    planned(stores)
    work(stores, Shelf(2))
    assert column(stores.database, ing_task, "status_code") == ["SUCCEEDED"]


@pytest.mark.parametrize(
    ("books", "total", "offsets"),
    [(2, 2, [0, 2]), (2, 1, [0, 2] * 2), (3, 3, [0, 3] * 2)],
    ids=["a short page with just its total", "a total that is too small", "a full page"],
)
def test_one_page_is_confirmed_only_by_exactly_its_own_total(
    stores: Stores, books: int, total: int, offsets: list[int]
) -> None:
    planned(stores, pagination={**OFFSET, "total_kind": "CHECKED"})
    shelf = Shelf(books)
    shelf.rule = lambda shelf, _asked: {"items": shelf.books[shelf.offsets[-1] :][:SIZE], "total": total}
    assert (work(stores, shelf).status, shelf.offsets) == (TaskStatus.SUCCEEDED, offsets)
