"""Laws of the safety lag: whatever arrives, it stays within its bounds, moves slowly and comes to rest."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ingest_core.model.cursor import CursorState
from ingest_core.model.record import Arrivals
from ingest_core.planning.lag import LagDecision, decide_lag, evidence_since
from tests.support.specs import at

START = at("2026-03-10")
HOUR = timedelta(hours=1)
NEW = CursorState(START, START)

configured = st.integers(0, 10_000)
arrivals = st.builds(
    lambda received, late, behind: Arrivals(received, min(late, received), behind),
    st.integers(0, 10**6),
    st.integers(0, 10**4),
    st.integers(0, 10**5),
)
ticks = st.lists(st.tuples(st.integers(0, 60), arrivals), min_size=1, max_size=60)


def live(lag: int, by_default: bool, happened: list[tuple[int, Arrivals]]) -> list[tuple[CursorState, LagDecision]]:
    """Tick after tick: what was known before each, and what was decided; a change is noted as planning does."""
    cursor, now, decided = NEW, START, []
    for hours, arrived in happened:
        now += hours * HOUR
        decision = decide_lag(lag, cursor, arrived, now, by_default=by_default)
        decided.append((cursor, decision))
        if decision.changed:
            cursor = replace(cursor, lag_seconds=decision.learned_seconds, lag_changed_at=now)
    return decided


@given(configured, st.booleans(), ticks)
def test_a_lag_stays_between_its_bounds(lag: int, by_default: bool, happened: list[tuple[int, Arrivals]]) -> None:
    least = min(300, lag) if by_default else lag
    for _, decision in live(lag, by_default, happened):
        assert least <= decision.learned_seconds <= max(3600, lag)
        assert 0 <= decision.seconds - decision.learned_seconds <= 3600


@given(configured, st.booleans(), ticks)
def test_a_lag_moves_five_minutes_up_or_one_down_at_most_and_only_with_reason(
    lag: int, by_default: bool, happened: list[tuple[int, Arrivals]]
) -> None:
    for (cursor, decision), (_, arrived) in zip(live(lag, by_default, happened), happened, strict=True):
        moved = decision.learned_seconds - (lag if cursor.lag_seconds is None else cursor.lag_seconds)
        assert -60 <= moved <= 300
        assert decision.changed == (moved != 0)
        assert moved <= 0 or arrived.late > 0.005 * arrived.received
        assert moved >= 0 or arrived.late < 0.001 * arrived.received


@given(configured, st.booleans(), ticks)
def test_a_lag_changes_once_a_day_at_most(lag: int, by_default: bool, happened: list[tuple[int, Arrivals]]) -> None:
    changes = [cursor.lag_changed_at for cursor, _ in live(lag, by_default, happened) if cursor.lag_changed_at]
    moments = sorted(set(changes))

    assert all(later - earlier >= timedelta(days=1) for earlier, later in pairwise(moments))


@given(configured, st.booleans(), st.integers(1, 10**6), st.booleans())
def test_a_lag_comes_to_rest(lag: int, by_default: bool, received: int, late: bool) -> None:
    a_day = (24, Arrivals(received, received if late else 0))
    decisions = [decision for _, decision in live(lag, by_default, [a_day] * 200)]
    rest = decisions[-1].learned_seconds

    assert not decisions[-1].changed
    assert rest == max(lag, 3600) if late else rest == (min(lag, 300) if by_default else lag)


@given(configured, st.booleans(), ticks)
def test_what_counts_is_never_older_than_the_lag_in_force(
    lag: int, by_default: bool, happened: list[tuple[int, Arrivals]]
) -> None:
    for cursor, _ in live(lag, by_default, happened):
        now = START + 100 * 24 * HOUR
        assert evidence_since(cursor, now) >= max(now - timedelta(days=7), cursor.lag_changed_at or START)


@given(configured, arrivals)
def test_without_a_cursor_the_configured_lag_is_where_learning_begins(lag: int, arrived: Arrivals) -> None:
    assert decide_lag(lag, None, arrived, START, by_default=True) == decide_lag(
        lag, NEW, arrived, START, by_default=True
    )
