"""Caps where nobody said any, and which limits are ours."""

import pytest

from flows.slots.caps import TOTAL, default_cap, is_partition_limit, limit_name
from ingest_core.model.codes import Operation
from ingest_core.model.partition import Partition


@pytest.mark.parametrize(
    ("total", "sources", "cap"), [(4, 0, 4), (4, 1, 4), (16, 1, 4), (16, 5, 3), (4, 3, 1), (4, 14, 1), (1, 1, 1)]
)
def test_a_cap_is_a_fair_share_of_the_total_between_one_and_four(total: int, sources: int, cap: int) -> None:
    assert default_cap(total, sources) == cap


def test_the_limits_of_partitions_are_known_by_their_names() -> None:
    assert limit_name(Partition("crossref", "works", Operation.HARVEST)) == "ingest.crossref.works.harvest"
    assert all(is_partition_limit(limit_name(Partition("a", "b", operation))) for operation in Operation)
    others = [TOTAL, "ingest.mine", "ingest.a.b.other", "other.a.b.harvest", "ingest.a.b.c.harvest", "crossref"]
    assert not any(map(is_partition_limit, others))
