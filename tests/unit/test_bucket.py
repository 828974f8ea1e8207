"""The arithmetic of turns; the laws over any sequence are in tests/property."""

from datetime import timedelta

import pytest

from ingest_core.gate.bucket import GateState, reserve_permit
from ingest_core.model.spec import RateSpec
from tests.support.specs import at

LONG_AGO = at("2020-01-01")
FRESH = GateState(LONG_AGO, LONG_AGO)


def waits(rate: RateSpec, asked: list[str], state: GateState = FRESH) -> list[float]:
    """How many seconds each of the askers waits."""
    found = []
    for now in asked:
        state, wait = reserve_permit(state, rate, at(now))
        found.append(wait.total_seconds())
    return found


@pytest.mark.parametrize(
    ("rate", "burst", "asked", "expected"),
    [
        (1, 1, ["12:00:00"] * 4, [0, 1, 2, 3]),
        (5, 1, ["12:00:00"] * 3, [0, 0.2, 0.4]),
        (1, 3, ["12:00:00"] * 5, [0, 0, 0, 1, 2]),
        (1, 1, ["12:00:00", "12:00:01", "12:00:02"], [0, 0, 0]),
        (1, 1, ["12:00:00", "12:00:00.250"], [0, 0.75]),
        (1, 2, ["12:00:00", "12:00:00", "12:00:10", "12:00:10", "12:00:10"], [0, 0, 0, 0, 1]),
        (0.1, 1, ["12:00:00", "12:00:05"], [0, 5]),
    ],
    ids=["one a second", "five a second", "a burst", "in time", "a little early", "a burst refills", "one in ten"],
)
def test_turns_come_at_the_rate(rate: float, burst: int, asked: list[str], expected: list[float]) -> None:
    assert waits(RateSpec(requests_per_second=rate, burst=burst), asked) == expected


def test_idling_saves_up_no_more_than_the_burst() -> None:
    state, _ = reserve_permit(FRESH, RateSpec(requests_per_second=1, burst=2), at("12:00"))

    assert waits(RateSpec(requests_per_second=1, burst=2), ["18:00"] * 4, state) == [0, 0, 1, 2]


def test_nobody_asks_before_a_cooldown_is_over_and_then_at_the_rate() -> None:
    cooling = GateState(LONG_AGO, at("12:01"))

    assert waits(RateSpec(requests_per_second=2, burst=1), ["12:00:00"] * 3, cooling) == [60, 60.5, 61]


def test_a_cooldown_that_is_over_does_not_matter() -> None:
    assert waits(RateSpec(requests_per_second=1, burst=1), ["12:00"], GateState(LONG_AGO, at("12:00"))) == [0]


def test_a_turn_keeps_the_cooldown() -> None:
    state, _ = reserve_permit(GateState(LONG_AGO, at("12:01")), RateSpec(requests_per_second=1, burst=1), at("12:00"))

    assert state == GateState(at("12:01:01"), at("12:01"))


def test_a_new_rate_holds_from_the_next_turn_on() -> None:
    state, _ = reserve_permit(FRESH, RateSpec(requests_per_second=1, burst=1), at("12:00"))
    state, wait = reserve_permit(state, RateSpec(requests_per_second=10, burst=1), at("12:00"))

    assert wait == timedelta(seconds=1)
    assert reserve_permit(state, RateSpec(requests_per_second=10, burst=1), at("12:00"))[1] == timedelta(seconds=1.1)
