"""Whether a slice that was read to its end is complete (D22), and when it counts as endless."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest_core.execution.completeness import (
    BUDGETS,
    MAX_FRUITLESS_PAGES,
    MAX_PASSES,
    TOTALS,
    Judgement,
    PassVerdict,
    endless_reason,
    judge_end,
)
from ingest_core.model.checkpoint import Checkpoint
from ingest_core.model.shortfall import shortfall_limit
from ingest_core.model.slice_codes import ResliceReason
from tests.support.specs import at

SECOND: dict[str, Any] = {"passes": 1, "last_pass_from": at("10:00")}


def judged(distinct: int, *, agrees: bool = False, can_cut: bool = True, **given: Any) -> PassVerdict:
    """The verdict on a pass with that many distinct records; the rest is the checkpoint's."""
    limit = given.pop("max_shortfall", None)
    checkpoint = Checkpoint(page_no=3, as_of=at("11:00"), ended=True, **given)
    return judge_end(checkpoint, distinct, agrees=agrees, max_shortfall=limit, can_cut=can_cut)


class TestAShortfall:
    """Fewer records came than the total states."""

    def test_the_first_time_the_slice_is_read_again(self) -> None:
        verdict = judged(98, total=100)
        assert (verdict.judgement, verdict.missing) == (Judgement.AGAIN, 2)

    def test_a_small_one_is_accepted_the_second_time(self) -> None:
        assert judged(98, total=100, shortfall=2, **SECOND).judgement == Judgement.ACCEPTED

    @pytest.mark.parametrize(("can_cut", "judgement"), [(True, Judgement.CUT), (False, Judgement.FAILED)])
    def test_a_large_one_is_not(self, can_cut: bool, judgement: Judgement) -> None:
        verdict = judged(97, total=100, shortfall=3, can_cut=can_cut, **SECOND)
        assert (verdict.judgement, verdict.reslice) == (judgement, ResliceReason.SHORTFALL)
        assert "97 of 100" in verdict.why

    @pytest.mark.parametrize(("limit", "accepted"), [(0, False), (1, False), (2, True)])
    def test_the_source_may_set_the_limit(self, limit: int, accepted: bool) -> None:
        verdict = judged(98, total=100, shortfall=2, max_shortfall=limit, **SECOND)
        assert (verdict.judgement == Judgement.ACCEPTED) is accepted

    def test_an_operator_may_accept_any(self) -> None:
        assert judged(1, total=100, accepted="they know").judgement == Judgement.ACCEPTED
        assert judged(100, total=100, accepted="they know").judgement == Judgement.COMPLETE


class TestPositions:
    """Pages that were found by position are trusted only if two passes brought the same records."""

    def test_another_pass_until_two_agree(self) -> None:
        assert judged(100, total=100, unsure=True).judgement == Judgement.AGAIN
        assert judged(100, total=100, unsure=True, agrees=True, **SECOND).judgement == Judgement.COMPLETE

    def test_passes_that_never_agree_are_cut(self) -> None:
        last: dict[str, Any] = {"passes": MAX_PASSES - 1, "last_pass_from": at("10:00")}
        assert judged(100, unsure=True, **{**last, "passes": MAX_PASSES - 2}).judgement == Judgement.AGAIN
        verdict = judged(100, unsure=True, **last)
        assert (verdict.judgement, verdict.reslice) == (Judgement.CUT, ResliceReason.UNSTABLE)

    def test_a_largest_total_that_was_never_reached_is_doubted_too(self) -> None:
        assert judged(99, total=99, most_total=100).judgement == Judgement.AGAIN
        assert judged(100, total=99, most_total=100).judgement == Judgement.COMPLETE


@given(
    total=st.none() | st.integers(0, 3000),
    distinct=st.integers(0, 3000),
    limit=st.none() | st.integers(0, 50),
    unsure=st.booleans(),
    agrees=st.booleans(),
    passes=st.integers(0, MAX_PASSES),
    shortfall=st.none() | st.integers(1, 3000),
    can_cut=st.booleans(),
)
def test_nothing_succeeds_that_is_known_to_be_incomplete(
    total: int | None,
    distinct: int,
    limit: int | None,
    unsure: bool,
    agrees: bool,
    passes: int,
    shortfall: int | None,
    can_cut: bool,
) -> None:
    given: dict[str, Any] = {
        "total": total,
        "most_total": total,
        "passes": passes,
        "shortfall": shortfall,
        "unsure": unsure,
    }
    verdict = judged(distinct, agrees=agrees and passes > 0, can_cut=can_cut, max_shortfall=limit, **given)
    missing = max(0, (total or 0) - distinct)
    if verdict.judgement in (Judgement.COMPLETE, Judgement.ACCEPTED):
        assert not unsure or agrees
        assert missing <= (shortfall_limit(total, limit) if total and missing else 0)
        assert not missing or verdict.judgement == Judgement.ACCEPTED
    if passes + 1 >= MAX_PASSES and shortfall is not None:
        assert verdict.judgement != Judgement.AGAIN, "the passes must come to an end"


class TestEndless:
    """Pages of one pass, over all attempts, have a bound."""

    READ = Checkpoint(page_no=10, received=100)

    def test_a_multiple_of_the_budget_is_the_bound(self) -> None:
        assert endless_reason(replace(self.READ, page_no=BUDGETS * 5 - 1), 5, 1000) is None
        assert endless_reason(replace(self.READ, page_no=BUDGETS * 5), 5, 1000)
        assert endless_reason(replace(self.READ, received=BUDGETS * 1000), 5, 1000)

    def test_a_large_first_total_moves_it_and_a_growing_one_does_not(self) -> None:
        large = replace(self.READ, page_no=BUDGETS * 5, first_total=1000, total=1000)
        assert endless_reason(large, 5, 1000) is None
        assert endless_reason(replace(large, page_no=TOTALS * 1000), 5, 1000)
        assert endless_reason(replace(self.READ, page_no=BUDGETS * 5, first_total=3, total=10**9), 5, 1000)

    def test_pages_without_a_new_record_end_it_sooner(self) -> None:
        assert endless_reason(replace(self.READ, fruitless=MAX_FRUITLESS_PAGES - 1), 5, 1000) is None
        assert "no new record" in str(endless_reason(replace(self.READ, fruitless=MAX_FRUITLESS_PAGES), 5, 1000))


class TestARetry:
    """An operator's retry begins with a clean record, and never finds itself ended."""

    def test_passes_and_bounds_start_over(self) -> None:
        before = Checkpoint(page_no=4, token="9", passes=2, shortfall=3, empties=9, fruitless=40, restarts=2)
        after = before.retried(7)
        assert (after.passes, after.shortfall, after.empties, after.fruitless, after.restarts) == (0, None, 0, 0, 0)
        assert (after.page_no, after.token, after.since_attempt) == (4, "9", 7)

    def test_a_limit_without_a_place_starts_over(self) -> None:
        ended = Checkpoint(page_no=4, token="", limit="a full page", reslice=ResliceReason.END_UNCERTAIN)
        assert ended.retried(7) == Checkpoint(since_attempt=7)

    def test_what_was_accepted_stays_so(self) -> None:
        assert Checkpoint().retried(1, "why").anew().next_pass(3).accepted == "why"
