"""Parameters of schedules that a switch in the UI has emptied: when they are kept, restored and forgotten."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from flows.deploying.schedule_parameters import Upkeep, decide_upkeep

HEART = {"parameters": {"query": "heart"}}
LUNG = {"parameters": {"query": "lung"}}
NONE_ON_PURPOSE: dict[str, object] = {"parameters": {}}
ONE, OTHER = UUID(int=1), UUID(int=2)

PARAMETERS = st.sampled_from([{}, HEART, LUNG, NONE_ON_PURPOSE])
SCHEDULES = st.dictionaries(st.integers(1, 5).map(lambda number: UUID(int=number)), PARAMETERS)


def test_parameters_are_kept_once() -> None:
    assert decide_upkeep({ONE: HEART, OTHER: {}}, {}) == Upkeep(keep={ONE: HEART})
    assert decide_upkeep({ONE: HEART}, {ONE: HEART}) == Upkeep()


def test_changed_parameters_replace_those_that_were_kept() -> None:
    assert decide_upkeep({ONE: LUNG}, {ONE: HEART}) == Upkeep(keep={ONE: LUNG})
    assert decide_upkeep({ONE: NONE_ON_PURPOSE}, {ONE: HEART}) == Upkeep(keep={ONE: NONE_ON_PURPOSE})


def test_emptied_parameters_are_restored() -> None:
    assert decide_upkeep({ONE: {}, OTHER: LUNG}, {ONE: HEART, OTHER: LUNG}) == Upkeep(restore={ONE: HEART})


def test_a_schedule_that_is_gone_is_forgotten() -> None:
    assert decide_upkeep({OTHER: HEART}, {ONE: HEART, OTHER: HEART}) == Upkeep(forget=frozenset({ONE}))


@given(before=SCHEDULES, emptied=st.sets(st.integers(1, 5).map(lambda number: UUID(int=number))))
def test_whatever_is_switched_gets_back_what_it_had(before: dict[UUID, dict[str, object]], emptied: set[UUID]) -> None:
    kept = dict(decide_upkeep(before, {}).keep)
    switched = {one: {} if one in emptied else parameters for one, parameters in before.items()}
    upkeep = decide_upkeep(switched, kept)
    assert {one: upkeep.restore.get(one, parameters) for one, parameters in switched.items()} == before
    assert not upkeep.forget
