"""Records that leave and arrive while counted pages are read: none that stayed is lost."""

from pathlib import Path

import pytest

from deployments.sandbox.remote import Sandbox
from tests.acceptance.no_silent_loss.conftest import WORKS
from tests.support.patra import Patra, Row
from tests.support.shelf_endings import COUNTED_KINDS, Ending, harvest_day, missing
from tests.support.shelf_source import CODE, END, SIZE, START, assert_exact, register, shelf_document

PAGES = -(-WORKS // SIZE)
LATER: Row = {"path": "/shelf/*", "cursor": "later"}
MOST_PASSES = 4
A_FEW = 3
"""Requests that a harvest may send beside those of its pages."""


def ids(sandbox: Sandbox) -> set[str]:
    """The records that are in the window now."""
    return {row["id"] for row in sandbox.truth(CODE, from_=START, to=END)}


def churned(
    patra: Patra, sandbox: Sandbox, *, times: int | None, after: int = 0, kind: str = "churn", cuts: bool = True
) -> tuple[set[str], Ending]:
    """Harvest while records leave and arrive; those that stayed and are not stored."""
    before = ids(sandbox)
    sandbox.script({"kind": kind, "works": 1, "times": times, "after": after, "match": LATER})
    ending = harvest_day(patra, sandbox, cuts=cuts)
    sandbox.script()
    return (before & ids(sandbox)) - set(patra.items()), ending


@pytest.mark.parametrize("kind", COUNTED_KINDS)
@pytest.mark.parametrize("total", ["exact", "none"])
@pytest.mark.parametrize("after", [0, pytest.param(3, marks=pytest.mark.long)], ids=["early", "late"])
def test_records_that_stayed_are_stored(
    patra: Patra, own_shelf: Sandbox, tmp_path: Path, kind: str, total: str, after: int
) -> None:
    own_shelf.configure(shelf={"total": total})
    register(patra, tmp_path, shelf_document(kind))
    lost, ending = churned(patra, own_shelf, times=3, after=after)

    assert lost == set()
    assert ending.succeeded


@pytest.mark.parametrize("kind", COUNTED_KINDS)
def test_records_that_only_leave_cost_none_without_a_total(
    patra: Patra, own_shelf: Sandbox, tmp_path: Path, kind: str
) -> None:
    own_shelf.configure(shelf={"total": "none"})
    register(patra, tmp_path, shelf_document(kind))
    lost, ending = churned(patra, own_shelf, times=3, kind="touch")

    assert lost == set()
    assert ending.succeeded


@pytest.mark.parametrize("order", ["descending", "unsorted"])
@pytest.mark.parametrize("kind", COUNTED_KINDS)
def test_so_it_is_in_any_order(patra: Patra, own_shelf: Sandbox, tmp_path: Path, kind: str, order: str) -> None:
    own_shelf.configure(shelf={"total": "none", "order": order})
    register(patra, tmp_path, shelf_document(kind))
    lost, ending = churned(patra, own_shelf, times=3)

    assert lost == set()
    assert ending.succeeded


@pytest.mark.parametrize("kind", COUNTED_KINDS)
@pytest.mark.parametrize("total", ["exact", "none"])
def test_a_result_that_never_settles_is_cut_smaller(
    patra: Patra, own_shelf: Sandbox, tmp_path: Path, kind: str, total: str
) -> None:
    own_shelf.configure(shelf={"total": total})
    register(patra, tmp_path, shelf_document(kind))
    _, ending = churned(patra, own_shelf, times=None, cuts=False)

    assert ending.tasks == ["PARTIAL"]
    assert [row["reason_code"] for row in patra.rows("ing_reslice_request")] == ["UNSTABLE"]
    assert ending.requests <= MOST_PASSES * (PAGES + 1)  # and one request behind the last page
    assert not ending.succeeded


@pytest.mark.parametrize("kind", COUNTED_KINDS)
@pytest.mark.parametrize("total", ["exact", "none"])
def test_a_result_that_stands_still_is_read_at_most_twice(
    patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str, total: str
) -> None:
    shelf.configure(shelf={"total": total, "order": "unsorted"})
    register(patra, tmp_path, shelf_document(kind))
    ending = harvest_day(patra, shelf)

    assert_exact(patra, shelf)
    assert ending.requests <= 2 * PAGES + A_FEW


ASCENDING: Row = {"pagination": {"ascending": True}}


class TestASourceThatSortsByTime:
    """`ascending: true`: each page is asked for by the time that was reached, so that no record is shifted."""

    @pytest.mark.parametrize("kind", COUNTED_KINDS)
    @pytest.mark.parametrize("total", ["exact", "none"])
    def test_each_record_is_read_about_once(
        self, patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str, total: str
    ) -> None:
        shelf.configure(shelf={"total": total})
        register(patra, tmp_path, shelf_document(kind, **ASCENDING))
        ending = harvest_day(patra, shelf)

        # Without a total the last page is not confirmed by its own answer: a second pass confirms it.
        passes = 1 if total == "exact" else 2
        assert_exact(patra, shelf)
        assert ending.requests <= passes * (PAGES + A_FEW)
        received = sum(row["stats"]["retCount"] for row in patra.rows("ing_task_run"))
        assert received <= passes * (WORKS + A_FEW * PAGES)

    @pytest.mark.parametrize("kind", COUNTED_KINDS)
    @pytest.mark.parametrize("total", ["exact", "none"])
    @pytest.mark.parametrize("after", [0, pytest.param(3, marks=pytest.mark.long)], ids=["early", "late"])
    def test_records_that_stayed_are_stored(
        self, patra: Patra, own_shelf: Sandbox, tmp_path: Path, kind: str, total: str, after: int
    ) -> None:
        own_shelf.configure(shelf={"total": total})
        register(patra, tmp_path, shelf_document(kind, **ASCENDING))
        lost, ending = churned(patra, own_shelf, times=3, after=after)

        assert lost == set()
        assert ending.succeeded

    @pytest.mark.parametrize("order", ["descending", "unsorted"])
    @pytest.mark.parametrize("kind", COUNTED_KINDS)
    @pytest.mark.parametrize("total", ["exact", "none"])
    def test_an_order_that_is_not_kept_costs_no_record(
        self, patra: Patra, own_shelf: Sandbox, tmp_path: Path, kind: str, order: str, total: str
    ) -> None:
        own_shelf.configure(shelf={"total": total, "order": order})
        register(patra, tmp_path, shelf_document(kind, **ASCENDING))
        lost, ending = churned(patra, own_shelf, times=3)

        assert not lost or not ending.succeeded

    @pytest.mark.parametrize("kind", COUNTED_KINDS)
    @pytest.mark.parametrize("total", ["exact", "none"])
    def test_records_of_one_time_fill_more_than_a_page(
        self, patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str, total: str
    ) -> None:
        shelf.configure(shelf={"total": total, "day_stamps": True})
        window = {"unit": "DAY", "format": "%Y-%m-%d"}
        register(patra, tmp_path, shelf_document(kind, window=window, **ASCENDING))
        ending = harvest_day(patra, shelf)

        assert missing(patra, shelf) == set()
        assert ending.succeeded
