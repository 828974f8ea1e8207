"""Laws of expired leases, over any history of lost workers."""

from datetime import datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ingest_core.execution.expiry import (
    FIRST_DELAY,
    LONGEST_DELAY,
    MAX_BLAMED,
    MAX_EXPIRIES,
    STORM_SPAN,
    Expiry,
    ExpiryDecision,
    LostWorker,
    decide_expiry,
)
from tests.support.strategies import ORIGIN

GAPS = st.lists(st.integers(1, 1200), min_size=1, max_size=MAX_EXPIRIES + 3)


def lose(losses: list[tuple[datetime, str]], others: list[LostWorker]) -> list[ExpiryDecision]:
    """What is decided of one task as it is lost with these workers, until it is FAILED; others are lost without it."""
    verdicts: list[ExpiryDecision] = []
    expiry = Expiry(1, "")
    for now, owner in losses:
        expiry = Expiry(1, owner, expiry.count, expiry.blamed, expiry.last_at, expiry.last_owner)
        mine = [LostWorker(owner, now)]
        verdict = decide_expiry(expiry, [*mine, *(one for one in others if one.at <= now)], now)
        verdicts.append(verdict)
        expiry = Expiry(1, owner, verdict.count, verdict.blamed, now, owner)
        if verdict.failed:
            break
    return verdicts


def moments(gaps: list[int]) -> list[tuple[datetime, str]]:
    """A worker of its own for each of the task's losses, these many seconds apart."""
    return [(ORIGIN + timedelta(seconds=sum(gaps[: number + 1])), f"w{number}") for number in range(len(gaps))]


@given(GAPS)
def test_a_task_that_alone_ends_its_workers_is_failed_after_as_many_as_it_may_be_blamed_for(gaps: list[int]) -> None:
    verdicts = lose(moments(gaps), [])
    assert [one.blamed for one in verdicts] == list(range(1, len(verdicts) + 1))
    assert [one.failed for one in verdicts] == [one.blamed == MAX_BLAMED for one in verdicts]


@given(st.lists(st.integers(2, 1200), min_size=1, max_size=MAX_EXPIRIES))
def test_companions_in_the_same_workers_hands_change_nothing(gaps: list[int]) -> None:
    losses = moments(gaps)
    late = timedelta(seconds=1)  # leases of one worker expire one after the other
    companions = [LostWorker(owner, now + late) for now, owner in losses]
    assert lose(losses, companions) == lose(losses, [])


@given(GAPS, st.data())
def test_no_task_is_blamed_while_another_worker_is_lost_in_between(gaps: list[int], data: st.DataObject) -> None:
    losses = moments(gaps)
    others = []
    for number, (now, _) in enumerate(losses):
        least = min(gaps[number], int(STORM_SPAN.total_seconds()))
        before = data.draw(st.integers(0, least - 1))
        others.append(LostWorker(f"other {number}", now - timedelta(seconds=before)))
    verdicts = lose(losses, others)
    assert {one.blamed for one in verdicts} == {0}
    assert len(verdicts) == min(len(losses), MAX_EXPIRIES)


@given(GAPS, st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 5)), max_size=20))
def test_every_task_without_a_page_is_failed_in_the_end(gaps: list[int], others: list[tuple[int, int]]) -> None:
    lost = [LostWorker(f"other {name}", ORIGIN + timedelta(seconds=after)) for after, name in others]
    verdicts = lose(moments(gaps), lost)
    assert len(verdicts) <= MAX_EXPIRIES
    assert verdicts[-1].failed or len(verdicts) == len(gaps)
    assert all(one.failed == (one.blamed >= MAX_BLAMED or one.count >= MAX_EXPIRIES) for one in verdicts)


@given(st.integers(1, 2**40), st.integers(0, MAX_EXPIRIES - 1))
def test_delays_grow_and_are_bounded(task_id: int, count: int) -> None:
    delay = decide_expiry(Expiry(task_id, "w", count), [], ORIGIN).delay
    if count == 0:
        assert delay == timedelta(0)
    else:
        longest = min(FIRST_DELAY * 2 ** (count - 1), LONGEST_DELAY)
        assert longest / 2 <= delay <= longest


def test_tasks_that_were_lost_together_are_tried_apart() -> None:
    delays = sorted(decide_expiry(Expiry(task_id, "w", 1), [], ORIGIN).delay for task_id in range(40))
    assert len(set(delays)) == len(delays)
    assert max(after - before for before, after in pairwise(delays)) < FIRST_DELAY / 2


def test_a_clock_that_was_ahead_is_no_evidence() -> None:
    ahead = [LostWorker("other", ORIGIN + timedelta(hours=1))]
    assert decide_expiry(Expiry(1, "w"), ahead, ORIGIN).blamed == 1
