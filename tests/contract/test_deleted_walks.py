"""Deleted records from the provider's answer to the store: harvested, listed by a search, or not found by id."""

import json
from typing import Any

import pytest

from ingest_core.execution.outcomes import RunSummary
from ingest_core.execution.ports import Request, Response
from ingest_core.model.codes import Operation, TaskStatus
from ingest_core.model.instant import format_instant
from ingest_core.model.spec import AuthSpec
from ingest_core.planning.request import PlanRequest
from ingest_core.store.schema.tables import (
    ing_item,
    ing_partition_control,
    ing_quarantine,
    ing_task_run,
    ing_task_run_batch,
)
from tests.contract.test_refresh import ANSWER, REFRESHED
from tests.support.books import SOURCE, at, source_rows
from tests.support.compiling import compile_spec
from tests.support.tables import column, rows
from tests.support.wiring import Stores, runner_of
from tests.support.working import claim, plan_harvest, trigger

DELETED = {"path": "$.status", "equals": "deleted"}
FEED: dict[str, Any] = {
    "endpoints": [
        {
            "name": "list",
            "path": "/list",
            "operations": ["HARVEST"],
            "response": {**ANSWER, "total": "$.total", "deleted": DELETED, "merged_into": "$.into"},
        }
    ],
    "rate_limit": {"requests_per_second": 100_000, "burst": 1000},
}
LISTED: dict[str, Any] = {
    **REFRESHED,
    "endpoints": [
        {
            "name": "list",
            "path": "/list",
            "operations": ["HARVEST"],
            "detail": "whole",
            "response": {
                "items": "$.items",
                "id": "$.id",
                "updated_at": "$.at",
                "total": "$.total",
                "deleted": DELETED,
            },
        },
        {**REFRESHED["endpoints"][1], "response": {**ANSWER, "deleted": DELETED}},
    ],
}


def live(name: str, hour: float = 1) -> dict[str, Any]:
    return {"id": name, "at": format_instant(at(hour)), "title": f"Book {name}"}


def dead(name: str, hour: float | None = 1.5, **more: Any) -> dict[str, Any]:
    """A deleted record: nothing but its id, perhaps a time, and that it is deleted."""
    return {"id": name, "status": "deleted", **({"at": format_instant(at(hour))} if hour else {}), **more}


class Provider:
    """An Upstream with one page of records, and details of those ids it knows."""

    def __init__(self, *listed: dict[str, Any], details: dict[str, dict[str, Any]] | None = None) -> None:
        self.listed = list(listed)
        self.details = details or {}
        self.missing_status = 404
        self.asked: list[list[str]] = []

    def send(self, request: Request) -> Response:
        """The page, or the records asked for; 404 where one of them is not there."""
        if request.body is None:
            return self._answer({"items": self.listed, "total": len({str(one.get("id")) for one in self.listed})})
        ids = [*request.body["ids"]]
        self.asked.append(ids)
        if not self.details.keys() >= set(ids):
            return Response("https://books.example/whole", self.missing_status, {}, b"not here", 0.01)
        return self._answer({"items": [self.details[one] for one in ids]})

    @staticmethod
    def _answer(body: Any) -> Response:
        return Response("https://books.example/list", 200, {}, json.dumps(body).encode(), 0.01)

    def knows(self, auth: AuthSpec) -> bool:
        """There is no secret here."""
        return False


def harvest(stores: Stores, hour: int, provider: Provider, source: dict[str, Any] | None = None) -> RunSummary:
    """Harvest one hour, whatever it lists."""
    spec = compile_spec(source_rows(**(source or FEED)), SOURCE, "list", Operation.HARVEST, at(0))
    plan_harvest(stores, at(hour), at(hour + 1), spec=spec)
    return runner_of(stores, provider).run(claim(stores))


def refresh(stores: Stores, provider: Provider, *ids: str, size: int = 2) -> RunSummary:
    """Refresh these ids, so many in a request."""
    stores.registry.apply([source_rows(**{**LISTED, "batching": {"id_batch_size": size}})])
    stores.planner.plan(PlanRequest(SOURCE, Operation.UPDATE, ids=ids), trigger())
    return runner_of(stores, provider).run(claim(stores))


def states(stores: Stores) -> dict[str, str]:
    return {row["provider_id"]: row["state_code"] for row in rows(stores.database, ing_item)}


def names(count: int, start: int = 0) -> list[str]:
    return [f"b{number:02}" for number in range(start, start + count)]


# Harvests


def test_twenty_deletions_of_forty_records_are_no_drift(stores: Stores) -> None:
    assert harvest(stores, 0, Provider(*map(live, names(40)))).counts.inserted == 40
    before = {row["provider_id"]: (row["payload"], row["record"]) for row in rows(stores.database, ing_item)}
    summary = harvest(stores, 1, Provider(*map(dead, names(20)), *(live(one, 1.5) for one in names(20, 20))))
    assert (summary.status, summary.fused, summary.error) == (TaskStatus.SUCCEEDED, False, None)
    counts = summary.counts
    assert (counts.received, counts.updated, counts.gone, counts.quarantined) == (40, 20, 20, 0)
    assert counts.json()["gone"] == 20
    found = states(stores)
    assert {name for name, state in found.items() if state == "GONE"} == set(names(20))
    assert all(before[row["provider_id"]] == (row["payload"], row["record"]) for row in _gone(stores))
    assert rows(stores.database, ing_quarantine) == []
    assert "FUSED" not in column(stores.database, ing_partition_control, "control_code")
    stats = column(stores.database, ing_task_run, "stats")[1]
    assert (stats["gone"], stats["retCount"], stats["distinctCount"]) == (20, 40, 40)


def _gone(stores: Stores) -> list[dict[str, Any]]:
    return rows(stores.database, ing_item, ing_item.c.state_code == "GONE")


def test_a_page_of_deletions_alone_succeeds(stores: Stores) -> None:
    summary = harvest(stores, 0, Provider(*map(dead, names(40))))
    assert (summary.status, summary.counts.gone) == (TaskStatus.SUCCEEDED, 40)


def test_deletions_do_not_thin_out_records_that_are_unusable(stores: Stores) -> None:
    """Ten unusable records are 20 % of the page, and all of what is not deleted."""
    unusable = [{"id": one, "title": "no time"} for one in names(10)]
    summary = harvest(stores, 0, Provider(*unusable, *map(dead, names(40, 10))))
    assert (summary.status, summary.fused) == (TaskStatus.FAILED, True)
    assert "10 of 10 records are unusable" in str(summary.error)


def test_a_deletion_needs_an_id_and_nothing_more(stores: Stores) -> None:
    summary = harvest(stores, 0, Provider(dead("a", None), {"status": "deleted"}, dead("b", into="c")))
    assert (summary.counts.gone, summary.counts.quarantined) == (2, 1)
    assert column(stores.database, ing_quarantine, "reason_code") == ["ID_MISSING"]
    assert [(row["gone_reason_code"], row["merged_into"]) for row in rows(stores.database, ing_item)] == [
        ("DELETED", None),
        ("MERGED", "c"),
    ]


# Two phases


def test_a_hit_that_the_search_reports_deleted_is_not_asked_for(stores: Stores) -> None:
    provider = Provider(live("a"), dead("b"), live("c"), details={"a": live("a"), "c": dead("c")})
    summary = harvest(stores, 0, provider, LISTED)
    assert (summary.status, provider.asked) == (TaskStatus.SUCCEEDED, [["a", "c"]])
    assert (summary.counts.received, summary.counts.inserted, summary.counts.gone) == (3, 1, 2)
    assert states(stores) == {"a": "PRESENT", "b": "GONE", "c": "GONE"}
    assert len(column(stores.database, ing_task_run_batch, "id_hashes")[0]) == 3 * 8


def test_a_hit_listed_both_alive_and_deleted_is_asked_for(stores: Stores) -> None:
    provider = Provider(dead("a", 1.2), live("a", 1.5), details={"a": live("a", 1.5)})
    summary = harvest(stores, 0, provider, LISTED)
    assert (provider.asked, states(stores)) == ([["a"]], {"a": "PRESENT"})
    assert (summary.counts.received, summary.counts.inserted, summary.counts.older) == (2, 1, 1)


def test_in_a_harvest_an_id_without_details_is_bad_and_not_gone(stores: Stores) -> None:
    """The search lists it: whether it is deleted, or its details are late, is not known."""
    summary = harvest(stores, 0, Provider(live("a"), live("b"), details={"a": live("a")}), LISTED)
    assert (summary.counts.gone, summary.counts.quarantined) == (0, 1)
    assert column(stores.database, ing_quarantine, "reason_code") == ["DETAIL_FAILED"]


# Refreshes by id


@pytest.fixture
def shelf(stores: Stores) -> Provider:
    """A provider with forty books, all of which are stored, each updated after the one before it."""
    books = {one: live(one, 1 + number / 100) for number, one in enumerate(names(40))}
    provider = Provider(*books.values(), details=books)
    assert harvest(stores, 0, provider, LISTED).counts.inserted == 40
    return Provider(details=dict(books))


@pytest.mark.parametrize("status", [404, 410])
@pytest.mark.parametrize("size", [1, 4])
def test_an_id_that_is_not_found_alone_is_gone(stores: Stores, shelf: Provider, status: int, size: int) -> None:
    del shelf.details["b03"]
    shelf.missing_status = status
    summary = refresh(stores, shelf, *names(8), size=size)
    assert (summary.status, summary.counts.gone, summary.counts.quarantined) == (TaskStatus.SUCCEEDED, 1, 0)
    (row,) = _gone(stores)
    assert (row["provider_id"], row["gone_reason_code"]) == ("b03", "NOT_FOUND")
    assert row["gone_at"] == row["refresh_checked_at"]
    assert row["record"] == {"title": "Book b03"}


def test_an_unknown_id_that_is_not_found_stores_nothing(stores: Stores, shelf: Provider) -> None:
    assert refresh(stores, shelf, "typo", "b01").counts.gone == 1
    assert len(states(stores)) == 40


def test_another_refusal_of_an_id_is_quarantine(stores: Stores, shelf: Provider) -> None:
    del shelf.details["b03"]
    shelf.missing_status = 400
    summary = refresh(stores, shelf, *names(8))
    assert (summary.counts.gone, summary.counts.quarantined) == (0, 1)


@pytest.mark.parametrize("size", [1, 4, 100])
def test_a_provider_that_finds_no_id_at_all_deletes_nothing(stores: Stores, shelf: Provider, size: int) -> None:
    shelf.details.clear()
    summary = refresh(stores, shelf, *names(3), size=size)
    assert (summary.status, summary.fused) == (TaskStatus.FAILED, True)
    assert _gone(stores) == []
    error = column(stores.database, ing_task_run, "error")[1]
    assert (error["code"], error["level"]) == ("ALL_GONE", "L4")


def test_a_provider_that_loses_its_ids_midway_deletes_none_of_the_rest(stores: Stores, shelf: Provider) -> None:
    shelf.details = {one: shelf.details[one] for one in names(4)}
    summary = refresh(stores, shelf, *names(10), size=1)
    assert (summary.status, summary.counts.equal, _gone(stores)) == (TaskStatus.FAILED, 4, [])


def test_a_whole_list_is_gone_if_another_record_is_found(stores: Stores, shelf: Provider) -> None:
    shelf.details = {one: live(one) for one in names(40)[20:]}
    summary = refresh(stores, shelf, *names(20))
    assert (summary.status, summary.counts.gone, len(_gone(stores))) == (TaskStatus.SUCCEEDED, 20, 20)
    assert len(states(stores)) == 40


def test_records_that_were_gone_before_are_no_reason_for_doubt(stores: Stores, shelf: Provider) -> None:
    shelf.details = {one: live(one) for one in names(40)[20:]}
    refresh(stores, shelf, *names(20))
    shelf.details.clear()
    summary = refresh(stores, shelf, *names(20))
    assert (summary.status, summary.counts.gone) == (TaskStatus.SUCCEEDED, 20)


@pytest.mark.parametrize(("count", "status"), [(9, TaskStatus.SUCCEEDED), (10, TaskStatus.FAILED)])
def test_without_another_record_to_ask_for_only_few_are_believed(
    stores: Stores, count: int, status: TaskStatus
) -> None:
    books = {one: live(one) for one in names(count)}
    harvest(stores, 0, Provider(*books.values(), details=books), LISTED)
    summary = refresh(stores, Provider(), *books, size=20)
    assert (summary.status, len(_gone(stores))) == (status, count if status == TaskStatus.SUCCEEDED else 0)


def test_records_that_were_not_found_come_back(stores: Stores, shelf: Provider) -> None:
    books, shelf.details = shelf.details, {one: live(one) for one in names(40)[20:]}
    assert refresh(stores, shelf, *names(9), size=1).counts.gone == 9
    shelf.details = books
    summary = refresh(stores, shelf, *names(9), size=4)
    assert (summary.counts.updated, _gone(stores)) == (9, [])
