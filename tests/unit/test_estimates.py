"""Sizes: counted before remembered, remembered before sampled, sampled before supposed; never asked for without end."""

from datetime import timedelta

import pytest

from ingest_core.model.id_range import IdRange
from ingest_core.model.slice_codes import EstimateMethod
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.window import Window
from ingest_core.planning.estimate import Estimate, History, ProbingEstimator, StoredEstimates, WindowPart, probe_budget
from tests.support.specs import crossref_spec, span

COUNT, HISTORY, FIRST_PAGE, CONSTANT, SHARE = (
    EstimateMethod(name) for name in ("COUNT", "HISTORY", "FIRST_PAGE", "CONSTANT", "SHARE")
)
WINDOW = span("00:00", "06:00")
DENSITY = History(100, timedelta(hours=1))


class Provider:
    """A Probe that knows one number, or does not answer."""

    def __init__(self, answer: Estimate | None) -> None:
        self.answer = answer
        self.asked: list[WindowPart] = []

    def ask(self, _spec: SpecSnapshot, window: Window, part: IdRange | None = None) -> Estimate | None:
        """What it knows."""
        self.asked.append((window, part))
        return self.answer


def estimator(
    provider: Provider,
    *,
    total: bool = True,
    history: History | None = None,
    known: Estimate | None = None,
    budget: int = 5,
) -> ProbingEstimator:
    """An estimator of a source that states totals, or does not."""
    response = {} if total else {"total_path": None}
    stored = StoredEstimates(700, {(WINDOW, None): known} if known else {}, history)
    return ProbingEstimator(crossref_spec(response=response), stored, provider, budget)


@pytest.mark.parametrize(
    ("answer", "total", "history", "method"),
    [
        (Estimate(42, COUNT), True, DENSITY, COUNT),
        (Estimate(42, FIRST_PAGE), False, DENSITY, HISTORY),
        (Estimate(42, FIRST_PAGE), False, None, FIRST_PAGE),
        (None, True, DENSITY, HISTORY),
        (None, True, None, CONSTANT),
        (None, False, None, CONSTANT),
    ],
    ids=["count", "history before a sample", "a sample", "no answer: history", "no answer: a constant", "the same"],
)
def test_the_best_that_is_to_be_had(
    answer: Estimate | None, total: bool, history: History | None, method: EstimateMethod
) -> None:
    assert estimator(Provider(answer), total=total, history=history).estimate(WINDOW).method == method


def test_what_was_counted_lately_is_not_asked_for_again() -> None:
    provider = Provider(Estimate(1, COUNT))

    assert estimator(provider, known=Estimate(42, COUNT)).estimate(WINDOW) == Estimate(42, COUNT)
    assert provider.asked == []


def test_the_same_question_is_asked_once() -> None:
    provider = Provider(Estimate(42, COUNT))
    asking = estimator(provider)

    assert asking.estimate(WINDOW) == asking.estimate(WINDOW)
    assert provider.asked == [(WINDOW, None)]
    assert asking.found == {(WINDOW, None): Estimate(42, COUNT)}


def test_a_budget_is_kept() -> None:
    provider = Provider(Estimate(42, COUNT))
    asking = estimator(provider, budget=3)
    for hour in range(6):
        asking.estimate(span(f"{hour:02d}:00", f"{hour + 1:02d}:00"))

    assert len(provider.asked) == len(asking.found) == 3
    assert asking.exhausted


def test_a_provider_that_does_not_answer_is_not_asked_again() -> None:
    provider = Provider(None)
    asking = estimator(provider)
    asking.estimate(WINDOW)
    asking.estimate(span("06:00", "12:00"))

    assert len(provider.asked) == 1
    assert asking.exhausted


def test_history_speaks_of_time_not_of_ranges() -> None:
    stored = StoredEstimates(700, history=DENSITY)

    assert stored.estimate(WINDOW) == Estimate(600, HISTORY)
    assert stored.estimate(WINDOW, IdRange("uid", 1, 9)) == Estimate(700, CONSTANT)


@pytest.mark.parametrize(
    ("whole", "part", "rest"),
    [
        (Estimate(10, COUNT), Estimate(4, COUNT), Estimate(6, COUNT)),
        (Estimate(4, COUNT), Estimate(10, COUNT), Estimate(0, COUNT)),
        (Estimate(10, HISTORY), Estimate(4, COUNT), None),
        (Estimate(10, COUNT), Estimate(4, HISTORY), None),
    ],
    ids=["less", "never below nothing", "not of a memory", "nor with one"],
)
def test_what_one_part_holds_the_other_does_not(whole: Estimate, part: Estimate, rest: Estimate | None) -> None:
    assert whole.less(part) == rest


def test_a_share_is_rounded_up_and_a_constant_has_none() -> None:
    hour, day = timedelta(hours=1), timedelta(days=1)

    assert Estimate(25, COUNT).share(hour, day) == Estimate(2, SHARE)
    assert Estimate(700, CONSTANT).share(hour, day) == Estimate(700, CONSTANT)


@pytest.mark.parametrize(
    ("rate", "said", "budget"), [(100.0, None, 50), (0.5, None, 15), (0.01, None, 5), (100.0, 0, 0), (0.01, 400, 400)]
)
def test_the_budget_is_half_a_minute_of_asking_unless_it_is_said(rate: float, said: int | None, budget: int) -> None:
    spec = crossref_spec(rate={"requests_per_second": rate}, slicing={"probe_budget": said} if said is not None else {})

    assert probe_budget(spec) == budget
