"""The rate gate: all workers together stay within a provider's rate."""

from datetime import timedelta

import pytest

from ingest_core.model.codes import Operation
from ingest_core.model.spec import RateSpec
from ingest_core.model.work import Partition
from ingest_core.store.tables import ing_rate_gate
from tests.support.stores import PARTITION, Stores, rows, source_rows, together, while_uncommitted

SLOW = RateSpec(requests_per_second=0.1, burst=1)
INTERVAL = timedelta(seconds=10)
TOLERANCE = timedelta(seconds=4)
"""What a test may take while the turns are handed out."""


def spaced(waits: list[timedelta], first: int = 0) -> bool:
    """Whether the turns follow each other at the interval."""
    return all(abs(wait - INTERVAL * (first + number)) < TOLERANCE for number, wait in enumerate(sorted(waits)))


def test_the_first_turn_is_at_once(stores: Stores) -> None:
    assert stores.gate.acquire("books", SLOW) == timedelta(0)


def test_turns_of_two_workers_are_spaced(stores: Stores, others: Stores) -> None:
    waits = [worker.gate.acquire("books", SLOW) for worker in (stores, others, stores, others)]
    assert waits == sorted(waits)
    assert spaced(waits)


def test_turns_taken_at_once_are_spaced(stores: Stores, others: Stores) -> None:
    waits = together(*([lambda: stores.gate.acquire("books", SLOW), lambda: others.gate.acquire("books", SLOW)] * 3))
    assert spaced(waits)
    assert len(rows(stores.database, ing_rate_gate)) == 1


@pytest.mark.parametrize("known", [False, True], ids=["first turn", "later turn"])
def test_a_turn_being_taken_is_seen_by_the_next(stores: Stores, others: Stores, known: bool) -> None:
    if known:
        stores.gate.acquire("books", SLOW)
    waits = while_uncommitted(
        stores.database, lambda: stores.gate.acquire("books", SLOW), lambda: others.gate.acquire("books", SLOW)
    )
    assert spaced(list(waits), first=1 if known else 0)


def test_a_burst_is_shared(stores: Stores, others: Stores) -> None:
    rate = RateSpec(requests_per_second=0.1, burst=3)
    waits = [worker.gate.acquire("books", rate) for worker in (stores, others, stores, others)]
    assert waits[:3] == [timedelta(0)] * 3
    assert abs(waits[3] - INTERVAL) < TOLERANCE


def test_gates_of_different_keys_do_not_wait_for_each_other(stores: Stores) -> None:
    assert stores.gate.acquire("books", SLOW) == timedelta(0)
    assert stores.gate.acquire("Books", SLOW) == timedelta(0)


def test_a_cool_down_holds_for_everybody(stores: Stores, others: Stores) -> None:
    stores.gate.acquire("books", RateSpec(requests_per_second=1000, burst=1))
    stores.gate.cool_down("books", timedelta(seconds=60))
    for worker in (stores, others):
        assert timedelta(seconds=50) < worker.gate.acquire("books", RateSpec(requests_per_second=1000, burst=1))


def test_a_cool_down_before_the_first_turn_holds_too(stores: Stores, others: Stores) -> None:
    stores.gate.cool_down("books", timedelta(seconds=60))
    assert timedelta(seconds=50) < others.gate.acquire("books", SLOW)


def test_a_shorter_cool_down_does_not_end_a_longer_one(stores: Stores, others: Stores) -> None:
    stores.gate.cool_down("books", timedelta(seconds=60))
    others.gate.cool_down("books", timedelta(seconds=1))
    assert timedelta(seconds=50) < stores.gate.acquire("books", SLOW)


def test_todays_rate_holds_whatever_was_planned(registered: Stores, others: Stores) -> None:
    planned = RateSpec(requests_per_second=99, burst=9)
    assert registered.gate.live_rate(PARTITION, planned) == RateSpec(requests_per_second=5, burst=1)
    others.registry.apply([source_rows(rate_limit={"requests_per_second": 0.25, "burst": 2})])
    assert registered.gate.live_rate(PARTITION, planned) == RateSpec(requests_per_second=0.25, burst=2)


def test_the_rate_closest_to_the_partition_and_in_force_is_read(registered: Stores) -> None:
    blocks = [
        {"requests_per_second": 1},
        {"requests_per_second": 2, "for": {"endpoint": "list"}},
        {"requests_per_second": 3, "for": {"endpoint": "list"}, "effective_from": "2999-01-01"},
    ]
    registered.registry.apply([source_rows(rate_limit=blocks)])
    planned = RateSpec(requests_per_second=99, burst=9)
    elsewhere = Partition("books", "details", Operation.HARVEST)
    assert registered.gate.live_rate(PARTITION, planned).requests_per_second == 2
    assert registered.gate.live_rate(elsewhere, planned).requests_per_second == 1


def test_a_source_without_a_rate_today_is_asked_as_the_platform_does(registered: Stores) -> None:
    planned = RateSpec(requests_per_second=7, burst=3)
    registered.registry.apply([source_rows(rate_limit=[])])
    assert registered.gate.live_rate(PARTITION, planned) == RateSpec(requests_per_second=1, burst=1)


def test_a_source_that_is_gone_is_asked_as_planned(stores: Stores) -> None:
    planned = RateSpec(requests_per_second=7, burst=3)
    assert stores.gate.live_rate(PARTITION, planned) == planned
