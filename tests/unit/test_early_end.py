"""What is covered of a slice that ends early, and what is not."""

from datetime import datetime

import pytest

from ingest_core.execution.early_end import Progress, Spent
from ingest_core.model.record import Record
from ingest_core.model.slice_codes import BudgetPriority
from ingest_core.model.slice_spec import BudgetPayload
from tests.support.specs import at, span

BUDGET = BudgetPayload(max_requests=10, max_records=100, max_duration_sec=60, priority=BudgetPriority.HIGH)


def records(*times: str, flagged: bool = False) -> list[Record]:
    fields = {"flags": ["UPDATED_AT_IN_FUTURE"]} if flagged else {}
    return [Record(time, at(time), "{}", "h", fields) for time in times]


def reached(*pages: list[Record]) -> tuple[datetime | None, bool]:
    """How far the pages lead, and whether they came in order."""
    progress = Progress()
    for page in pages:
        progress = progress.after(page, span("08:00", "16:00"))
    return progress.reached, progress.in_order


def test_the_newest_time_in_the_window_is_reached() -> None:
    assert reached(records("09:00", "10:00"), records("10:00", "11:00")) == (at("11:00"), True)


@pytest.mark.parametrize(
    "pages",
    [
        [records("10:00", "09:00")],
        [records("09:00", "11:00"), records("10:00")],
    ],
    ids=["within a page", "from page to page"],
)
def test_times_that_go_back_are_no_order(pages: list[list[Record]]) -> None:
    assert not reached(*pages)[1]


def test_order_that_was_broken_stays_broken() -> None:
    assert not reached(records("10:00", "09:00"), records("11:00"))[1]


def test_a_time_of_another_slice_or_one_that_was_corrected_tells_nothing() -> None:
    pages = [records("07:00", "09:00"), records("15:00", flagged=True), records("10:00", "16:00")]
    assert reached(*pages) == (at("10:00"), True)


def test_an_empty_page_changes_nothing() -> None:
    assert reached([]) == (None, True)
    assert reached(records("09:00"), []) == (at("09:00"), True)


@pytest.mark.parametrize(
    ("spent", "part"),
    [
        (Spent(9, 99, 59.9), None),
        (Spent(10, 0, 0), "10 requests"),
        (Spent(0, 100, 0), "100 records"),
        (Spent(0, 0, 60), "60 seconds"),
    ],
)
def test_a_budget_is_spent_when_any_part_of_it_is(spent: Spent, part: str | None) -> None:
    assert spent.beyond(BUDGET) == part
