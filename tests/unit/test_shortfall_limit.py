"""shortfall_limit: the same arithmetic for a slice's total and for the parts of a split window."""

import pytest

from ingest_core.model.shortfall import shortfall_limit


@pytest.mark.parametrize(
    ("total", "limit"), [(0, 2), (199, 2), (299, 2), (300, 3), (420, 4), (1999, 19), (2000, 20), (10**9, 20)]
)
def test_unset_it_is_one_percent_within_2_and_20(total: int, limit: int) -> None:
    assert shortfall_limit(total) == limit


@pytest.mark.parametrize("configured", [0, 1, 500])
def test_what_the_source_states_holds_for_every_total(configured: int) -> None:
    assert shortfall_limit(10, configured) == shortfall_limit(10**6, configured) == configured
