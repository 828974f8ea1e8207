"""Totals that are wrong: too small ends nothing, and too large is never accepted without a limit."""

from pathlib import Path

import pytest

from deployments.sandbox.remote import Sandbox
from tests.acceptance.no_silent_loss.conftest import WORKS
from tests.support.patra import Patra, Row
from tests.support.shelf_endings import (
    KINDS,
    LINKED_KINDS,
    ONE_DAY,
    UNCUT,
    WATERMARK_AT_END,
    harvest_day,
    missing,
    only_task,
    shortfall_rows,
    work_off,
)
from tests.support.shelf_source import CODE, SIZE, assert_exact, register, shelf_document

MANY = 340
STATED = WORKS + MANY
REASON = "the provider says that these were withdrawn"


def over(by: int) -> Row:
    """A total that counts so many records that never come."""
    return {"total": "over", "total_off": by}


class TestATotalThatIsTooSmall:
    """The provider has more than it says: paging goes on while there is a next place."""

    @pytest.mark.parametrize("kind", KINDS)
    def test_everything_is_read(self, patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str) -> None:
        shelf.configure(shelf={"total": "under", "total_off": 60})
        register(patra, tmp_path, shelf_document(kind))
        harvest_day(patra, shelf)

        assert missing(patra, shelf) == set()
        assert_exact(patra, shelf)

    @pytest.mark.long
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("by", [1, 10, 110, 1000], ids=["one", "the last page", "all but one page", "none said"])
    def test_however_small_it_is(self, patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str, by: int) -> None:
        shelf.configure(shelf={"total": "under", "total_off": by})
        register(patra, tmp_path, shelf_document(kind))
        harvest_day(patra, shelf)

        assert missing(patra, shelf) == set()
        assert_exact(patra, shelf)

    @pytest.mark.parametrize("kind", ["token", "offset"])
    def test_short_pages_in_the_middle_change_nothing(
        self, patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str
    ) -> None:
        shelf.configure(shelf={"total": "under", "total_off": 60, "short_every": 2})
        register(patra, tmp_path, shelf_document(kind))
        harvest_day(patra, shelf)

        assert missing(patra, shelf) == set()
        assert_exact(patra, shelf)


class TestALargeShortfall:
    """More records are missing than may be: the task does not succeed, and the watermark does not pass."""

    @pytest.mark.parametrize("kind", LINKED_KINDS)
    def test_the_slice_is_cut_smaller(self, patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str) -> None:
        shelf.configure(shelf=over(MANY))
        register(patra, tmp_path, shelf_document(kind))
        ending = harvest_day(patra, shelf, cuts=False)

        assert ending.tasks == ["PARTIAL"]
        assert [row["reason_code"] for row in patra.rows("ing_reslice_request")] == ["SHORTFALL"]
        assert shortfall_rows(patra) == []
        assert ending.watermark != WATERMARK_AT_END

    @pytest.mark.parametrize("kind", KINDS)
    def test_at_the_smallest_unit_the_task_fails(self, patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str) -> None:
        shelf.configure(shelf=over(MANY))
        register(patra, tmp_path, shelf_document(kind, window=UNCUT))
        ending = harvest_day(patra, shelf)

        assert ending.tasks == ["FAILED"]
        assert f"{WORKS} of {STATED}" in ending.messages
        assert shortfall_rows(patra) == []
        assert ending.watermark != WATERMARK_AT_END

    @pytest.mark.parametrize("kind", KINDS)
    def test_an_end_that_is_said_too_soon_is_not_believed(
        self, patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str
    ) -> None:
        shelf.configure(shelf={"more": "never"})
        register(patra, tmp_path, shelf_document(kind, pagination={"has_more": "$.more"}))
        patra("plan", CODE, *ONE_DAY)
        first = work_off(patra, shelf, cuts=False)
        stored = len(patra.items())
        last = work_off(patra, shelf)

        assert (first.tasks, stored, first.succeeded) == (["PARTIAL"], SIZE, False)
        assert missing(patra, shelf) == set()
        assert last.succeeded

    def test_cut_to_the_smallest_unit_every_part_fails(self, patra: Patra, shelf: Sandbox, tmp_path: Path) -> None:
        shelf.configure(shelf=over(MANY))
        register(patra, tmp_path, shelf_document("token", window={"min_window": "PT12H"}))
        ending = harvest_day(patra, shelf)

        assert ending.idle
        assert "SUCCEEDED" not in ending.tasks
        assert ending.tasks.count("FAILED") >= 2
        assert (missing(patra, shelf), ending.watermark == WATERMARK_AT_END) == (set(), False)


class TestASmallShortfall:
    """At most max(2, min(20, 1 %)) records missing twice in a row are accepted and written down."""

    @pytest.mark.parametrize("kind", KINDS)
    def test_it_is_accepted_and_written_down(self, patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str) -> None:
        shelf.configure(shelf=over(2))
        register(patra, tmp_path, shelf_document(kind, window=UNCUT))
        ending = harvest_day(patra, shelf)

        assert ending.tasks == ["SUCCEEDED"]
        assert len(shortfall_rows(patra)) == 1
        assert_exact(patra, shelf)

    @pytest.mark.parametrize(
        ("by", "pagination", "status"),
        [
            pytest.param(3, {}, "FAILED", id="one more than the limit"),
            pytest.param(2, {"max_shortfall": 0}, "FAILED", id="none is accepted"),
            pytest.param(MANY, {"max_shortfall": MANY}, "SUCCEEDED", id="as many as the source says"),
            pytest.param(MANY + 1, {"max_shortfall": MANY}, "FAILED", id="one more than it says"),
        ],
    )
    def test_the_limit_is_kept(
        self, patra: Patra, shelf: Sandbox, tmp_path: Path, by: int, pagination: Row, status: str
    ) -> None:
        shelf.configure(shelf=over(by))
        register(patra, tmp_path, shelf_document("token", window=UNCUT, pagination=pagination))
        ending = harvest_day(patra, shelf)

        assert ending.tasks == [status]
        assert len(shortfall_rows(patra)) == (status == "SUCCEEDED")
        assert (ending.watermark == WATERMARK_AT_END) == (status == "SUCCEEDED")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ways", [over(MANY), {"total": "rounded"}], ids=["far too large", "rounded"])
def test_an_estimate_is_never_a_shortfall(patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str, ways: Row) -> None:
    shelf.configure(shelf=ways)
    register(patra, tmp_path, shelf_document(kind, window=UNCUT, pagination={"total_kind": "ESTIMATE"}))
    ending = harvest_day(patra, shelf)

    assert (ending.tasks, shortfall_rows(patra)) == (["SUCCEEDED"], [])
    assert_exact(patra, shelf)


class TestTheOperatorAcceptsIt:
    """`patra retry --accept-shortfall` is the way out of a shortfall above the limit."""

    def accept(self, patra: Patra, *, exit_code: int = 0) -> Row:
        """Accept the shortfall of the only task, with a reason."""
        given = ("--task", only_task(patra), "--accept-shortfall", "--reason", REASON)
        done: Row = patra("retry", *given, exit_code=exit_code)
        return done

    def test_the_task_succeeds_and_the_row_holds_the_reason(self, patra: Patra, shelf: Sandbox, tmp_path: Path) -> None:
        shelf.configure(shelf=over(MANY))
        register(patra, tmp_path, shelf_document("token", window=UNCUT))
        harvest_day(patra, shelf)
        accepted = self.accept(patra)
        ending = work_off(patra, shelf)
        (row,) = shortfall_rows(patra)

        assert (accepted["tasks"], ending.tasks) == (1, ["SUCCEEDED"])
        assert REASON in str(row)
        assert_exact(patra, shelf)

    def test_a_plain_retry_does_not_accept_it(self, patra: Patra, shelf: Sandbox, tmp_path: Path) -> None:
        shelf.configure(shelf=over(MANY))
        register(patra, tmp_path, shelf_document("token", window=UNCUT))
        harvest_day(patra, shelf)
        patra("retry", "--task", only_task(patra))
        ending = work_off(patra, shelf)

        assert (ending.tasks, shortfall_rows(patra)) == (["FAILED"], [])

    def test_it_needs_a_reason(self, patra: Patra, shelf: Sandbox, tmp_path: Path) -> None:
        shelf.configure(shelf=over(MANY))
        register(patra, tmp_path, shelf_document("token", window=UNCUT))
        harvest_day(patra, shelf)
        refused = patra.tried("retry", "--task", only_task(patra), "--accept-shortfall")

        assert "--reason" in str(refused)
