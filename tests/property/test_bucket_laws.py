"""Promise 8, no overrun: laws of the rate limiter's arithmetic, over any sequence of askers and answers."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from ingest_core.gate.adaptation import MIN_RATE, decreased, due_increase, holds_planning, with_configured
from ingest_core.gate.bucket import HORIZON, given_back, take
from ingest_core.gate.feedback import Feedback, after_answer
from ingest_core.gate.state import CircuitState, CloseReason, GateState, capacity
from ingest_core.model.spec import RateSpec
from tests.support.strategies import ORIGIN, rates

LAPSE = timedelta(seconds=30)
SPANS = st.sampled_from([0, 1, 1_000, 50_000, 100_000, 142_857, 333_333, 1_000_000, 5_000_000, 70_000_000]).map(
    lambda micros: timedelta(microseconds=micros)
)
ANSWERS = st.sampled_from([
    Feedback(200), Feedback(200), Feedback(429, refused=True), Feedback(429, timedelta(seconds=3), refused=True),
    Feedback(503), Feedback(503, timedelta(seconds=7)), Feedback(None), Feedback(404),
    Feedback(200, limit=2, interval_seconds=1), Feedback(200, remaining=0, resets_at=ORIGIN + timedelta(seconds=90)),
])  # fmt: skip


@dataclass(frozen=True)
class Step:
    """What happens next: time passes, and permits are asked for, returned, or an answer comes."""

    after: timedelta
    wanted: int = 1
    returned: int = 0
    answer: Feedback | None = None
    stale: bool = False
    """Whether the answer belongs to a request from before the last decrease."""
    configured: float | None = None


STEPS_OF = st.lists(
    st.builds(
        Step,
        SPANS,
        st.integers(1, 8),
        st.just(0),
        st.none() | ANSWERS,
        st.booleans(),
        st.none() | st.sampled_from([0.5, 2.0, 10.0, 40.0]),
    ),
    min_size=1,
    max_size=40,
)


@dataclass
class History:
    """A limiter that was used: each permit's instant and cost, and the rate that was in force since when."""

    rate: RateSpec
    state: GateState
    now: datetime = ORIGIN
    permits: list[datetime] = field(default_factory=list)
    rates: list[tuple[datetime, float]] = field(default_factory=list)

    def run(self, steps: list[Step]) -> "History":
        for step in steps:
            self.now += step.after
            self._use(step)
        return self

    def _use(self, step: Step) -> None:
        if step.configured is not None:
            self.rate = self.rate.model_copy(update={"requests_per_second": step.configured})
        if step.answer is not None:
            seen = self.state.decreases - (1 if step.stale and self.state.decreases else 0)
            told = replace(step.answer, task="t", decreases=seen)
            self.state = after_answer(self.state, self.rate, told, self.now, chance=0.5)
        before = self.state
        self.state, grant = take(self.state, self.rate, self.now, LAPSE, step.wanted)
        assert len(grant.instants) <= step.wanted
        assert all(self.now <= instant <= self.now + HORIZON for instant in grant.instants)
        assert grant.instants or grant.wait > timedelta(0)
        if before.closed_until is not None and before.closed_until > self.now:
            assert not grant.instants, "a permit was given by a closed limiter"
        self.permits += grant.instants
        self.rates.append((self.now, max(self.state.rate_now, before.rate_now)))


def used(rate: RateSpec, steps: list[Step]) -> History:
    """A fresh limiter after these steps."""
    return History(rate, GateState.fresh(rate, ORIGIN)).run(steps)


@given(rates(), STEPS_OF)
def test_no_interval_holds_more_permits_than_the_burst_and_the_rates_in_force_allow(
    rate: RateSpec, steps: list[Step]
) -> None:
    history = used(rate, steps)
    permits = sorted(history.permits)
    fastest = max([rate.requests_per_second, *(one for _, one in history.rates)])

    for first, start in enumerate(permits):
        for last, end in enumerate(permits[first:], first):
            allowed = capacity(rate) + fastest * (end - start + HORIZON).total_seconds()
            assert (last - first + 1) * rate.cost <= allowed + rate.cost * 1e-6 + 1e-6


@given(rates(), STEPS_OF)
def test_the_rate_stays_between_the_floor_and_what_is_allowed(rate: RateSpec, steps: list[Step]) -> None:
    history = used(rate, steps)

    assert history.state.rate_now <= history.state.ceiling + 1e-9
    assert history.state.rate_now >= min(MIN_RATE, history.state.ceiling) - 1e-9


@given(rates(), st.integers(1, 50), SPANS)
def test_refusals_of_one_moment_decrease_the_rate_once(rate: RateSpec, refusals: int, apart: timedelta) -> None:
    state = GateState.fresh(rate, ORIGIN)
    for number in range(refusals):
        state = decreased(state, rate, ORIGIN + apart * number, seen=0)

    assert state.decreases == 1
    assert state.rate_now == max(rate.requests_per_second / rate.demote, min(MIN_RATE, rate.requests_per_second))


@given(rates(), st.integers(1, 12))
def test_the_rate_comes_back_while_the_provider_is_well(rate: RateSpec, refusals: int) -> None:
    state, now = GateState.fresh(rate, ORIGIN), ORIGIN
    for _ in range(refusals):
        now += timedelta(seconds=60)
        state = decreased(state, rate, now, seen=state.decreases)

    for _ in range(200):
        now += timedelta(seconds=rate.cool_down_seconds + 0.001)
        state = due_increase(after_answer(state, rate, Feedback(200), now, 0), rate, now)

    assert state.rate_now == state.ceiling == rate.requests_per_second
    assert state.low_since is None


@given(rates(), st.integers(1, 8))
def test_a_refusal_within_a_step_returns_to_the_rate_before_it(rate: RateSpec, refusals: int) -> None:
    state, now = GateState.fresh(rate, ORIGIN), ORIGIN
    for _ in range(refusals):
        now += timedelta(seconds=60)
        state = decreased(state, rate, now, seen=state.decreases)
    before = state.rate_now
    now += timedelta(seconds=rate.cool_down_seconds + 1)
    raised = due_increase(after_answer(state, rate, Feedback(200), now, 0), rate, now + timedelta(seconds=1))
    assert raised.rate_now > before or raised.rate_now == raised.ceiling

    back = decreased(raised, rate, now + timedelta(seconds=2), seen=raised.decreases)
    assert back.rate_now == before
    again = decreased(back, rate, now + timedelta(seconds=3), seen=back.decreases)
    assert again.rate_now <= before


@given(rates(), STEPS_OF, SPANS)
def test_a_clock_that_is_set_back_makes_nobody_wait_longer(rate: RateSpec, steps: list[Step], back: timedelta) -> None:
    history = used(rate, steps)
    _, then = take(history.state, history.rate, history.now, LAPSE)
    _, now = take(history.state.shifted(back), history.rate, history.now - back, LAPSE)

    assert then.wait == now.wait
    assert len(then.instants) == len(now.instants)


@given(rates(), st.integers(1, 8))
def test_permits_that_come_back_can_be_given_again(rate: RateSpec, wanted: int) -> None:
    state, grant = take(GateState.fresh(rate, ORIGIN), rate, ORIGIN, LAPSE, wanted)
    returned = given_back(state, rate, len(grant.instants))
    _, again = take(returned, rate, ORIGIN, LAPSE, wanted)

    assert len(again.instants) == len(grant.instants)


@given(rates(), st.sampled_from([0.000001, 0.1, 3.0, 500.0]))
def test_a_changed_rate_counts_at_once(rate: RateSpec, configured: float) -> None:
    state, _ = take(GateState.fresh(rate, ORIGIN), rate, ORIGIN, LAPSE)
    new = rate.model_copy(update={"requests_per_second": configured})

    assert with_configured(state, new, ORIGIN).rate_now == configured


def test_failures_of_two_tasks_open_the_circuit_and_one_request_tries() -> None:
    rate = RateSpec(requests_per_second=10, burst=5)
    state = GateState.fresh(rate, ORIGIN)
    for task in ("1", "1", "2"):
        assert state.circuit == CircuitState.CLOSED
        state = after_answer(state, rate, Feedback(None, task=task), ORIGIN, chance=0.0)
    assert state.circuit == CircuitState.OPEN
    _, shut = take(state, rate, ORIGIN + timedelta(seconds=59), LAPSE)
    assert (shut.instants, shut.closed) == ((), CloseReason.CIRCUIT)

    later = ORIGIN + timedelta(seconds=60)
    state, probe = take(state, rate, later, LAPSE, wanted=5)
    assert (len(probe.instants), probe.probes) == (1, True)
    _, other = take(state, rate, later, LAPSE)
    assert (other.instants, other.closed) == ((), CloseReason.CIRCUIT)

    worse = after_answer(state, rate, Feedback(503, task="3"), later, chance=0.0)
    assert worse.circuit_until == later + timedelta(seconds=120)
    well = after_answer(state, rate, Feedback(200, task="3"), later, chance=0.0)
    assert (well.circuit, well.failures) == (CircuitState.CLOSED, 0)


def test_failures_of_one_task_alone_do_not_open_it() -> None:
    rate = RateSpec(requests_per_second=10, burst=5)
    state = GateState.fresh(rate, ORIGIN)
    for _ in range(20):
        state = after_answer(state, rate, Feedback(500, task="1"), ORIGIN, chance=0.0)

    assert state.circuit == CircuitState.CLOSED


def test_the_permit_of_a_try_that_never_ends_lapses() -> None:
    rate = RateSpec(requests_per_second=10, burst=5)
    state = GateState.fresh(rate, ORIGIN)
    for task in ("1", "2", "3"):
        state = after_answer(state, rate, Feedback(None, task=task), ORIGIN, chance=1.0)
    begun = ORIGIN + timedelta(seconds=120)
    state, _ = take(state, rate, begun, LAPSE)

    _, early = take(state, rate, begun + LAPSE - timedelta(seconds=1), LAPSE)
    _, due = take(state, rate, begun + LAPSE, LAPSE)
    assert (early.instants, due.probes) == ((), True)


def test_a_limiter_warms_up_from_a_quarter() -> None:
    rate = RateSpec(requests_per_second=100, burst=1)
    state, now = GateState.fresh(rate, ORIGIN), ORIGIN
    permits: list[datetime] = []
    for _ in range(4_000):
        now += timedelta(milliseconds=1)
        state, grant = take(state, rate, now, LAPSE)
        permits += grant.instants

    seconds = [
        sum(ORIGIN + timedelta(seconds=n) <= one < ORIGIN + timedelta(seconds=n + 1) for one in permits)
        for n in range(4)
    ]
    assert [round(count / 25) for count in seconds] == [1, 2, 3, 4]


def test_planning_is_held_after_five_minutes_at_less_than_a_third() -> None:
    rate = RateSpec(requests_per_second=10, burst=1)
    state = GateState.fresh(rate, ORIGIN)
    for number in range(2):
        state = decreased(state, rate, ORIGIN + timedelta(minutes=number), seen=state.decreases)
    assert not holds_planning(state, ORIGIN + timedelta(minutes=5, seconds=59))
    assert holds_planning(state, ORIGIN + timedelta(minutes=6))
