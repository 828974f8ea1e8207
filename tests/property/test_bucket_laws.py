"""Promise 8, no overrun: laws of the token bucket over any sequence of askers."""

from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from ingest_core.gate.bucket import LONGEST_BACKLOG_SECONDS, GateState, rescaled, reserve_permit
from ingest_core.model.spec import RateSpec
from tests.support.strategies import ORIGIN, rates

FRESH = GateState(ORIGIN, ORIGIN)
PAUSES = st.lists(
    st.sampled_from([0, 0, 0, 1, 50_000, 142_857, 200_000, 333_333, 1_000_000, 5_000_000]) | st.integers(0, 10**7),
    min_size=1,
    max_size=25,
).map(lambda micros: [timedelta(microseconds=one) for one in micros])


def granted_turns(rate: RateSpec, pauses: list[timedelta], state: GateState = FRESH) -> list[datetime]:
    """When each asker, one after the other with these pauses between, may send."""
    now, turns = ORIGIN, []
    for pause in pauses:
        now += pause
        state, wait = reserve_permit(state, rate, now)
        assert wait >= timedelta(0)
        turns.append(now + wait)
    return turns


@given(rates(), PAUSES)
def test_no_interval_holds_more_turns_than_the_burst_and_the_rate_allow(
    rate: RateSpec, pauses: list[timedelta]
) -> None:
    turns = granted_turns(rate, pauses)
    rounding = 1.00001  # a turn's interval is kept in whole microseconds

    for first, start in enumerate(turns):
        for last, end in enumerate(turns[first:], first):
            allowed = rate.burst + rate.requests_per_second * (end - start).total_seconds() * rounding
            assert last - first + 1 <= allowed + 1e-6


@given(rates(), PAUSES)
def test_turns_are_granted_in_the_order_they_were_asked_for(rate: RateSpec, pauses: list[timedelta]) -> None:
    turns = granted_turns(rate, pauses)

    assert turns == sorted(turns)


@given(rates(), PAUSES, st.integers(0, 10**8))
def test_no_turn_is_before_the_end_of_a_cooldown(rate: RateSpec, pauses: list[timedelta], micros: int) -> None:
    until = ORIGIN + timedelta(microseconds=micros)

    assert all(turn >= until for turn in granted_turns(rate, pauses, GateState(ORIGIN, until)))


@given(rates(), PAUSES)
def test_who_asks_slower_than_the_rate_never_waits(rate: RateSpec, pauses: list[timedelta]) -> None:
    interval = timedelta(seconds=1 / rate.requests_per_second)
    slow = [pause + interval for pause in pauses]
    now = ORIGIN
    for turn, pause in zip(granted_turns(rate, slow), slow, strict=True):
        now += pause
        assert turn == now


@given(rates(), st.integers(1, 30))
def test_nobody_waits_longer_than_those_before_take(rate: RateSpec, askers: int) -> None:
    turns = granted_turns(rate, [timedelta(0)] * askers)
    longest = timedelta(seconds=1 / rate.requests_per_second) * max(0, askers - rate.burst)

    assert abs(turns[-1] - ORIGIN - longest) < timedelta(milliseconds=1)


@given(rates(), rates(), PAUSES, PAUSES)
def test_after_a_change_of_rate_turns_taken_before_and_since_are_within_the_new_rate(
    old: RateSpec, new: RateSpec, before: list[timedelta], since: list[timedelta]
) -> None:
    now, state = ORIGIN, FRESH
    for pause in before:
        now += pause
        state, _ = reserve_permit(state, old, now)
    changed_at, taken = now, max((state.tat - now).total_seconds(), 0) * old.requests_per_second
    state = rescaled(state, old.requests_per_second, new.requests_per_second, now)
    turns = []
    for pause in since:
        now += pause
        state, wait = reserve_permit(state, new, now)
        turns.append(now + wait)
    for number, turn in enumerate(turns, 1):
        length = (turn - changed_at).total_seconds()
        allowed = max(new.burst, new.cost) + new.requests_per_second * length * 1.00001
        assert min(taken, LONGEST_BACKLOG_SECONDS * new.requests_per_second) + number * new.cost <= allowed + 1e-3
    for first, start in enumerate(turns):
        for last, end in enumerate(turns[first:], first):
            allowed = new.burst + new.requests_per_second * (end - start).total_seconds() * 1.00001
            assert last - first + 1 <= allowed + 1e-6


@given(rates(), rates(), st.integers(0, 30))
def test_the_wait_after_a_change_does_not_depend_on_the_old_rate(old: RateSpec, new: RateSpec, askers: int) -> None:
    state = FRESH
    for _ in range(askers):
        state, _ = reserve_permit(state, old, ORIGIN)
    state = rescaled(state, old.requests_per_second, new.requests_per_second, ORIGIN)
    _, wait = reserve_permit(state, new, ORIGIN)
    longest = timedelta(seconds=1 / new.requests_per_second) * max(askers * old.cost + new.cost - new.burst, 0)
    assert abs(wait - longest) < timedelta(milliseconds=1) or old.cost > old.burst or new.cost > new.burst


@given(rates(), st.integers(0, 30))
def test_a_change_to_the_same_rate_is_none(rate: RateSpec, askers: int) -> None:
    state = FRESH
    for _ in range(askers):
        state, _ = reserve_permit(state, rate, ORIGIN)
    same = rescaled(state, rate.requests_per_second, rate.requests_per_second, ORIGIN)
    assert abs(same.tat - state.tat) < timedelta(milliseconds=1)


def test_a_change_to_hardly_any_rate_is_bounded() -> None:
    backlog = GateState(ORIGIN + timedelta(days=300), ORIGIN)
    assert rescaled(backlog, 10, 1e-12, ORIGIN).tat - ORIGIN == timedelta(seconds=LONGEST_BACKLOG_SECONDS)
