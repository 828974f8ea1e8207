"""Laws of splitting a day by a second field: every record is stored, or the day is not covered with an error."""

from functools import cache

import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st

from ingest_core.model.shortfall import shortfall_limit
from ingest_core.model.spec import SpecSnapshot
from tests.models.split_model import CAP, HIGHEST, RULES, Harvest, OneDay, day_of, source

NUMBERS = st.one_of(st.none(), st.integers(0, HIGHEST + 5))
ANY_NUMBERS = st.lists(NUMBERS, max_size=60)
source_of = cache(source)
LACKING = [*range(30), *(None for _ in range(5))]
"""Records of a day that must be split, five of them without the field."""


def check(harvest: Harvest, truth: list[int | None]) -> None:
    """Complete and all stored; or complete with a noted difference within the limit; or not covered, with a reason."""
    missing = len(set(range(len(truth))) - harvest.stored)
    if harvest.complete:
        assert missing <= (shortfall_limit(len(truth)) if harvest.notes else 0)
    else:
        assert harvest.said


@given(ANY_NUMBERS, st.sampled_from(sorted(RULES)), st.sampled_from(["exact", "none", "noisy", "capped"]),
       st.integers(0, 12), st.sampled_from([None, 5]), st.booleans())  # fmt: skip
@example(LACKING, "no NOT", "exact", 50, None, False)
@example(LACKING, "no NOT", "capped", 50, None, False)
@example(LACKING, "no NOT", "none", 50, None, False)
@example(LACKING, "no NOT", "noisy", 0, None, False)
@example(LACKING, "no NOT", "noisy", 1, None, False)
@example(LACKING, "no NOT", "noisy", 2, None, False)
@example(LACKING, "NOT RANGE", "exact", 0, None, True)
@example([None] * CAP, "NOT RANGE", "exact", 1, 5, True)
@example([None, None, *([0] * 6)], "NOT RANGE", "exact", 1, 5, True)
@example([*range(CAP - 1), *([None] * 20)], "no NOT", "capped", 0, None, False)
def test_a_day_is_covered_only_if_every_record_is_stored(
    numbers: list[int | None], rules: str, total: str, budget: int, target: int | None, null_logic: bool
) -> None:
    null_logic = null_logic and total == "exact"  # without a total nothing shows that a provider's NOT is wrong
    provider = OneDay(day_of(numbers), total, null_logic)
    harvest = Harvest(source_of(rules, budget, total, target), provider).run()
    check(harvest, numbers)
    event(f"complete {harvest.complete}, lacking {None in numbers}, {rules}, {total}")


@given(ANY_NUMBERS, st.lists(NUMBERS, max_size=30), st.sampled_from(sorted(RULES)), st.integers(0, 12))
def test_records_that_arrive_meanwhile_hide_no_missing_ones(
    numbers: list[int | None], arriving: list[int | None], rules: str, budget: int
) -> None:
    later = [(1000 + number, one) for number, one in enumerate(arriving)]
    harvest = Harvest(source_of(rules, budget), OneDay(day_of(numbers), arriving=later)).run()
    if harvest.complete:
        missing = len(set(range(len(numbers))) - harvest.stored)
        assert missing <= shortfall_limit(len(numbers) + len(arriving))
        assert missing == 0 or harvest.notes or arriving


@given(st.sets(st.integers(0, HIGHEST), max_size=40), st.sampled_from(sorted(RULES)), st.integers(0, 12))
def test_a_field_that_every_record_has_once_never_keeps_a_day_from_being_covered(
    numbers: set[int], rules: str, budget: int
) -> None:
    harvest = Harvest(source_of(rules, budget), OneDay(day_of(sorted(numbers)))).run()
    at_the_cap = rules == "no NOT" and len(numbers) == CAP  # this total could have been cut off there

    assert (harvest.complete and not harvest.said and not harvest.notes) or at_the_cap
    assert harvest.stored == set(range(len(numbers)))


@pytest.mark.parametrize(("rules", "said"), [("no NOT", "SPLIT_FIELD_MISSING"), ("NOT RANGE", None)])
def test_by_example(rules: str, said: str | None) -> None:
    harvest = Harvest(source_of(rules, 50), OneDay(day_of(LACKING))).run()

    assert harvest.complete is (said is None)
    assert [one.partition(":")[0] for one in harvest.said] == ([said] if said else [])


def test_the_error_names_the_field_the_number_of_records_and_the_remedy() -> None:
    (said,) = Harvest(source_of("no NOT", 50), OneDay(day_of(LACKING))).run().said

    assert "5 of 35 records are in no range of 'n'" in said
    assert "add render rules that write NOT EXISTS or NOT RANGE of 'n'" in said


def test_a_difference_within_the_limit_is_noted() -> None:
    harvest = Harvest(source_of("no NOT", 50), OneDay(day_of([*range(30), None, None]))).run()

    assert (harvest.complete, harvest.notes, len(harvest.stored)) == (True, 1, 30)


def spec_with(limit: int) -> SpecSnapshot:
    spec = source_of("no NOT", 50)
    return spec.model_copy(update={"pagination": spec.paging.model_copy(update={"max_shortfall": limit})})


@pytest.mark.parametrize(("limit", "complete"), [(0, False), (5, True), (4, False)])
def test_the_limit_is_the_sources_own_if_it_states_one(limit: int, complete: bool) -> None:
    harvest = Harvest(spec_with(limit), OneDay(day_of(LACKING))).run()

    assert (harvest.complete, harvest.notes) == (complete, int(complete))
