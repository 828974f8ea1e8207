"""Schema drift: the source's thresholds, what a page beyond them does, and how an operator accepts one page."""

import logging
from typing import Any

import pytest

from ingest_core.model.codes import Operation, TaskStatus
from ingest_core.model.partition import Partition
from ingest_core.model.scope import ScopeKind, WorkScope
from ingest_core.store.queue.work_control import SqlWorkControl
from ingest_core.store.schema.tables import (
    ing_cursor,
    ing_partition_control,
    ing_plan,
    ing_plan_slice,
    ing_task,
    ing_task_run_batch,
)
from tests.contract.test_walks import FAST, OFFSET, QUICK, ROWS, SKIP, Shelf, kept, names, planned, quarantined, work
from tests.support.books import PARTITION, at, compiled, source_block
from tests.support.tables import change, column, rows
from tests.support.wiring import Stores
from tests.support.working import TTL_SECONDS, plan_harvest

STRICT = source_block(drift_share=0.5, drift_records=2)
"""Two unusable records in a page of three are drift, one is not."""

REASON = "they moved the ids"


@pytest.fixture
def control(stores: Stores) -> SqlWorkControl:
    return SqlWorkControl(stores.database)


def shelf_with(count: int, *bad: int) -> Shelf:
    """Books of which some have no id."""
    shelf = Shelf(count)
    for number in bad:
        shelf.books[number] = {"name": f"no id {number}", "at": shelf.books[number]["at"]}
    return shelf


def accept(stores: Stores, control: SqlWorkControl) -> int:
    """What `patra resume --accept-drift` does."""
    count = control.accept_drift([PARTITION], REASON)
    control.resume([PARTITION], REASON)
    return count


def last_error(stores: Stores) -> dict[str, Any]:
    error: dict[str, Any] = column(stores.database, ing_task, "last_error")[-1]
    return error


def test_a_page_beyond_the_sources_thresholds_fails_without_a_traceback(
    stores: Stores, caplog: pytest.LogCaptureFixture
) -> None:
    planned(stores, source=STRICT)
    with caplog.at_level(logging.DEBUG):
        summary = work(stores, shelf_with(9, 3, 4))
    assert (summary.status, summary.fused) == (TaskStatus.FAILED, True)
    assert column(stores.database, ing_partition_control, "control_code") == ["FUSED"]
    error = last_error(stores)
    assert (error["level"], error["code"]) == ("L4", "SCHEMA_DRIFT")
    assert error["message"] == (
        "page 2: 2 of 3 records are unusable (2 ID_MISSING at $.id): correct the source file,"
        " or accept this page with `patra resume books --accept-drift --reason TEXT`"
    )
    assert column(stores.database, ing_task_run_batch, "error") == [None, error]
    assert [record for record in caplog.records if record.exc_info] == []


@pytest.mark.parametrize(
    "source",
    [source_block(), source_block(drift_share=0.7, drift_records=2), source_block(drift_share=0.5, drift_records=3)],
    ids=["the defaults", "a larger share", "more records"],
)
def test_below_either_threshold_the_records_go_to_quarantine(stores: Stores, source: dict[str, Any]) -> None:
    planned(stores, source=source)
    assert work(stores, shelf_with(9, 3, 4)).status == TaskStatus.SUCCEEDED
    assert quarantined(stores) == [(None, "ID_MISSING")] * 2


def test_an_accepted_page_goes_to_quarantine_and_the_walk_goes_on(stores: Stores, control: SqlWorkControl) -> None:
    planned(stores, source=STRICT)
    shelf = shelf_with(9, 3, 4)
    work(stores, shelf)
    assert quarantined(stores) == []

    assert accept(stores, control) == 1
    assert column(stores.database, ing_plan_slice, "status_code") == ["READY"]
    asked_before = len(shelf.offsets)
    summary = work(stores, shelf)

    assert summary.status == TaskStatus.SUCCEEDED
    assert shelf.offsets[asked_before] == 3, "it goes on at the page that failed"
    assert quarantined(stores) == [(None, "ID_MISSING")] * 2
    assert kept(stores) == names(0, 1, 2, 5, 6, 7, 8)
    assert column(stores.database, ing_plan, "status_code") == ["SUCCEEDED"]
    assert column(stores.database, ing_cursor, "normalized_instant") == [at(1)]
    accepted = [row["stats"].get("driftAccepted") for row in rows(stores.database, ing_task_run_batch) if row["stats"]]
    assert [one for one in accepted if one] == [REASON]


def test_only_the_page_that_failed_is_accepted(stores: Stores, control: SqlWorkControl) -> None:
    planned(stores, source=STRICT)
    shelf = shelf_with(12, 3, 4, 9, 10)
    work(stores, shelf)
    accept(stores, control)
    assert work(stores, shelf).fused
    assert last_error(stores)["message"].startswith("page 4: 2 of 3 records are unusable")

    assert accept(stores, control) == 1
    assert work(stores, shelf).status == TaskStatus.SUCCEEDED
    assert kept(stores) == names(0, 1, 2, 5, 6, 7, 8, 11)
    assert len(quarantined(stores)) == 4


def test_an_acceptance_is_used_up_by_its_page_even_if_that_has_been_mended(
    stores: Stores, control: SqlWorkControl
) -> None:
    planned(stores, source=STRICT)
    work(stores, shelf_with(12, 3, 4))
    accept(stores, control)
    summary = work(stores, shelf_with(12, 6, 7))
    assert (summary.status, summary.fused) == (TaskStatus.FAILED, True)
    assert last_error(stores)["message"].startswith("page 3: ")


def test_a_retry_alone_accepts_nothing(stores: Stores, control: SqlWorkControl) -> None:
    planned(stores, source=STRICT)
    shelf = shelf_with(9, 3, 4)
    work(stores, shelf)
    control.resume([PARTITION], REASON)
    assert control.retry(WorkScope(ScopeKind.PLAN, str(column(stores.database, ing_plan, "id")[0]))) == 1
    assert work(stores, shelf).fused
    assert quarantined(stores) == []


def test_tasks_that_failed_otherwise_or_elsewhere_stay_as_they_are(stores: Stores, control: SqlWorkControl) -> None:
    planned(stores, source=STRICT)
    work(stores, shelf_with(9, 3, 4))
    assert control.accept_drift([Partition("books", "list", Operation.BACKFILL)], REASON) == 0
    change(stores.database, ing_task, last_error={"level": "L2", "code": "HTTP_400", "message": "no"})
    assert accept(stores, control) == 0
    assert column(stores.database, ing_task, "status_code") == ["FAILED"]
    change(stores.database, ing_task, last_error=None)
    assert accept(stores, control) == 0


def test_a_cancelled_plan_stays_cancelled(stores: Stores, control: SqlWorkControl) -> None:
    paged: dict[str, Any] = {"pagination": OFFSET, "params": [ROWS, SKIP], "rate_limit": FAST, "retry": QUICK}
    plan_id = plan_harvest(stores, at(0), at(2), spec=compiled(source=STRICT, **paged)).plan.plan_id
    work(stores, shelf_with(9, 3, 4))
    control.cancel(WorkScope(ScopeKind.PLAN, str(plan_id)))
    assert accept(stores, control) == 0
    assert stores.queue.claim("ann", TTL_SECONDS) is None


def test_accepting_twice_queues_a_task_once(stores: Stores, control: SqlWorkControl) -> None:
    planned(stores, source=STRICT)
    work(stores, shelf_with(9, 3, 4))
    assert [accept(stores, control), accept(stores, control)] == [1, 0]
