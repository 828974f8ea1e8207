"""A refresh by id, from a list to the store: each id once, under the search that owns it, resumed where it stopped."""

import json
from threading import Event
from typing import Any

import pytest

from ingest_core.execution.outcomes import RunSummary
from ingest_core.execution.ports import Request, Response
from ingest_core.model.codes import Operation, TaskStatus
from ingest_core.model.instant import format_instant
from ingest_core.model.spec import AuthSpec
from ingest_core.planning.report import PlanReport
from ingest_core.planning.request import PlanRequest
from ingest_core.store.schema.tables import ing_cursor, ing_cursor_event, ing_item, ing_quarantine, ing_task_run_batch
from tests.support.books import SOURCE, at, source_rows
from tests.support.compiling import compile_spec
from tests.support.tables import change, column, rows
from tests.support.wiring import Stores, runner_of
from tests.support.working import claim, plan_harvest, trigger

ANSWER = {"items": "$.items", "id": "$.id", "updated_at": "$.at"}
REFRESHED: dict[str, Any] = {
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
            "operations": ["UPDATE"],
            "body": {"format": "JSON", "template": {"ids": "{ids}"}},
            "response": ANSWER,
        },
    ],
    "batching": {"id_batch_size": 2},
    "rate_limit": {"requests_per_second": 100_000, "burst": 1000},
    "retry": {"initial": "PT0S", "max": "PT0S", "max_attempts": 2},
}


class Library:
    """An Upstream that gives books by id; one that is not there is not given."""

    def __init__(self, *gone: str, title: str = "Book") -> None:
        self.gone = set(gone)
        self.title = title
        self.asked: list[list[str]] = []
        self.stop: Event | None = None

    def send(self, request: Request) -> Response:
        """The books asked for."""
        assert request.body is not None
        ids = [*request.body["ids"]]
        self.asked.append(ids)
        books = [
            {"id": one, "at": format_instant(at(1)), "title": f"{self.title} {one}"}
            for one in ids
            if one not in self.gone
        ]
        if self.stop and len(self.asked) == 2:
            self.stop.set()
        return Response("https://books.example/whole", 200, {}, json.dumps({"items": books}).encode(), 0.01)

    def knows(self, auth: AuthSpec) -> bool:
        """There is no secret here."""
        return False


@pytest.fixture
def library() -> Library:
    return Library()


def plan_refresh(stores: Stores, *ids: str, **overrides: str) -> PlanReport:
    """Plan a refresh of these ids."""
    stores.registry.apply([source_rows(**REFRESHED)])
    settings = {name.replace("__", "."): value for name, value in overrides.items()}
    return stores.planner.plan(PlanRequest(SOURCE, Operation.UPDATE, ids=ids, overrides=settings), trigger())


def work(stores: Stores, upstream: Library, stop: Event | None = None) -> RunSummary:
    """Claim the task and work it."""
    return runner_of(stores, upstream, stop).run(claim(stores))


def test_every_id_is_asked_for_once_a_batch_a_page(stores: Stores, library: Library) -> None:
    plan_refresh(stores, "b3", "b1", "b2", "b1")
    summary = work(stores, library)
    assert (summary.status, summary.batches, summary.counts.inserted) == (TaskStatus.SUCCEEDED, 2, 3)
    assert library.asked == [["b1", "b2"], ["b3"]]
    assert column(stores.database, ing_task_run_batch, "before_token") == ["0", "2"]


def test_records_belong_to_the_search_whose_details_they_are(stores: Stores, library: Library) -> None:
    plan_refresh(stores, "b1")
    work(stores, library)
    assert column(stores.database, ing_item, "endpoint_name") == ["list"]


def test_a_refresh_takes_what_has_changed_though_its_time_has_not(stores: Stores, library: Library) -> None:
    plan_refresh(stores, "b1")
    work(stores, library)
    plan_refresh(stores, "b1")
    summary = work(stores, Library(title="Better book"))
    assert summary.counts.updated == 1
    assert [row["record"]["title"] for row in rows(stores.database, ing_item)] == ["Better book b1"]


def test_an_id_that_is_gone_is_in_quarantine(stores: Stores) -> None:
    plan_refresh(stores, "b1", "b2", "b3")
    summary = work(stores, Library("b2"))
    assert (summary.status, summary.counts.inserted, summary.counts.quarantined) == (TaskStatus.SUCCEEDED, 2, 1)
    assert [(row["provider_id"], row["reason_code"]) for row in rows(stores.database, ing_quarantine)] == [
        ("b2", "DETAIL_MISSING")
    ]


def test_another_attempt_goes_on_with_the_ids_that_are_left(stores: Stores, library: Library) -> None:
    plan_refresh(stores, *(f"b{number}" for number in range(8)))
    stop = library.stop = Event()
    assert work(stores, library, stop).status == TaskStatus.QUEUED
    committed = set(column(stores.database, ing_item, "provider_id"))
    again = Library()
    assert work(stores, again).status == TaskStatus.SUCCEEDED
    assert committed
    assert not committed & {one for batch in again.asked for one in batch}
    assert len(column(stores.database, ing_item, "provider_id")) == 8


def test_it_moves_no_watermark(stores: Stores, library: Library) -> None:
    plan_refresh(stores, "b1")
    work(stores, library)
    assert rows(stores.database, ing_cursor) == rows(stores.database, ing_cursor_event) == []


def test_hash_buckets_group_the_same_ids_and_lose_none(stores: Stores, library: Library) -> None:
    ids = [f"b{number}" for number in range(30)]
    report = plan_refresh(stores, *ids, slicing__id_buckets="3")
    assert report.plan.slices == 3
    for _ in range(3):
        assert work(stores, library).status == TaskStatus.SUCCEEDED
    assert sorted(one for batch in library.asked for one in batch) == sorted(ids)


class TestIdsKnownToBeBad:
    """A search that lists them again asks for them apart, and at last not at all."""

    @staticmethod
    def search(stores: Stores, hour: int, library: "Shelf") -> RunSummary:
        """Harvest another hour, in which the same ids are listed."""
        spec = compile_spec(source_rows(**REFRESHED), SOURCE, "list", Operation.HARVEST, at(0))
        plan_harvest(stores, at(hour), at(hour + 1), spec=spec)
        return work(stores, library)

    def test_one_is_asked_for_until_it_has_failed_three_times(self, stores: Stores) -> None:
        library = Shelf("b2")
        for hour in range(4):
            library.asked.clear()
            summary = self.search(stores, hour, library)
            assert (summary.status, summary.counts.quarantined) == (TaskStatus.SUCCEEDED, 1)
            assert sum("b2" in batch for batch in library.asked) == [2, 1, 1, 0][hour]
        (row,) = rows(stores.database, ing_quarantine)
        assert (row["provider_id"], row["reason_code"], row["seen_count"]) == ("b2", "DETAIL_FAILED", 4)

    @pytest.mark.parametrize(("state", "asked"), [("RETRYING", True), ("RELEASED", True), ("DISCARDED", False)])
    def test_whoever_settles_it_decides_whether_it_is_asked_for(
        self, stores: Stores, *, state: str, asked: bool
    ) -> None:
        for hour in range(3):
            self.search(stores, hour, Shelf("b2"))
        change(stores.database, ing_quarantine, state_code=state)
        mended = Shelf()
        self.search(stores, 3, mended)
        assert any("b2" in batch for batch in mended.asked) is asked
        expected = "DISCARDED" if state == "DISCARDED" else "RELEASED"
        assert column(stores.database, ing_quarantine, "state_code") == [expected]

    def test_a_refresh_by_id_asks_for_it_however_often_it_failed(self, stores: Stores) -> None:
        for hour in range(3):
            self.search(stores, hour, Shelf("b2"))
        plan_refresh(stores, "b1", "b2")
        mended = Shelf()
        work(stores, mended)
        assert mended.asked == [["b1"], ["b2"]]
        assert column(stores.database, ing_quarantine, "state_code") == ["RELEASED"]


class Shelf(Library):
    """Lists three books whatever is asked, and refuses every batch that holds a bad one."""

    def send(self, request: Request) -> Response:
        """The list, or the books asked for."""
        if request.body is None:
            return Response("https://books.example/list", 200, {}, b'{"items": ["b1", "b2", "b3"], "total": 3}', 0.01)
        if self.gone & set(request.body["ids"]):
            self.asked.append([*request.body["ids"]])
            return Response("https://books.example/whole", 400, {}, b"bad id", 0.01)
        return super().send(request)


class TestRecordsKnownToBeBad:
    """They are no schema drift when they are asked for again."""

    IDS = tuple(f"b{number:02}" for number in range(12))

    def test_a_refresh_of_nothing_else_ends_well(self, stores: Stores) -> None:
        plan_refresh(stores, *self.IDS, batching__id_batch_size="4")
        assert work(stores, Library(*self.IDS)).status == TaskStatus.SUCCEEDED
        plan_refresh(stores, *self.IDS, batching__id_batch_size="100")
        summary = work(stores, Library(*self.IDS))
        assert (summary.status, summary.counts.quarantined) == (TaskStatus.SUCCEEDED, 12)
        assert {row["seen_count"] for row in rows(stores.database, ing_quarantine)} == {2}

    def test_records_that_are_new_to_quarantine_are_drift(self, stores: Stores) -> None:
        plan_refresh(stores, *self.IDS, batching__id_batch_size="100")
        assert work(stores, Library(*self.IDS)).status == TaskStatus.FAILED
        assert rows(stores.database, ing_quarantine) == []
