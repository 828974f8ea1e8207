"""The rate gate: all workers together stay within a provider's rate."""

from datetime import timedelta

import pytest

from ingest_core.gate.feedback import Feedback
from ingest_core.gate.ports import GateDecision
from ingest_core.model.codes import Operation
from ingest_core.model.partition import Partition
from ingest_core.model.spec import RateSpec
from ingest_core.store.schema.tables import ing_rate_gate
from tests.support.books import PARTITION, source_rows
from tests.support.breaking import together, while_uncommitted
from tests.support.tables import rows
from tests.support.wiring import Stores

SLOW = RateSpec(requests_per_second=0.1, burst=1)
INTERVAL = timedelta(seconds=10)
TOLERANCE = timedelta(seconds=4)
"""What a test may take while the turns are handed out."""


def turn(worker: Stores, rate: RateSpec, key: str = "books") -> timedelta:
    """Take a turn, however far off it is; how far that is."""
    return worker.gate.acquire(key, rate, timedelta(days=1)).wait


def spaced(waits: list[timedelta], first: int = 0) -> bool:
    """Whether the turns follow each other at the interval."""
    return all(abs(wait - INTERVAL * (first + number)) < TOLERANCE for number, wait in enumerate(sorted(waits)))


def test_the_first_turn_is_at_once(stores: Stores) -> None:
    assert turn(stores, SLOW, "books") == timedelta(0)


def test_turns_of_two_workers_are_spaced(stores: Stores, others: Stores) -> None:
    waits = [turn(worker, SLOW, "books") for worker in (stores, others, stores, others)]
    assert waits == sorted(waits)
    assert spaced(waits)


def test_turns_taken_at_once_are_spaced(stores: Stores, others: Stores) -> None:
    waits = together(*([lambda: turn(stores, SLOW, "books"), lambda: turn(others, SLOW, "books")] * 3))
    assert spaced(waits)
    assert len(rows(stores.database, ing_rate_gate)) == 1


@pytest.mark.parametrize("known", [False, True], ids=["first turn", "later turn"])
def test_a_turn_being_taken_is_seen_by_the_next(stores: Stores, others: Stores, known: bool) -> None:
    if known:
        turn(stores, SLOW, "books")
    waits = while_uncommitted(stores.database, lambda: turn(stores, SLOW, "books"), lambda: turn(others, SLOW, "books"))
    assert spaced(list(waits), first=1 if known else 0)


def test_a_burst_is_shared(stores: Stores, others: Stores) -> None:
    rate = RateSpec(requests_per_second=0.1, burst=3)
    waits = [turn(worker, rate, "books") for worker in (stores, others, stores, others)]
    assert waits[:3] == [timedelta(0)] * 3
    assert abs(waits[3] - INTERVAL) < TOLERANCE


def test_gates_of_different_keys_do_not_wait_for_each_other(stores: Stores) -> None:
    assert turn(stores, SLOW, "books") == timedelta(0)
    assert turn(stores, SLOW, "Books") == timedelta(0)


def test_a_cool_down_holds_for_everybody(stores: Stores, others: Stores) -> None:
    turn(stores, RateSpec(requests_per_second=1000, burst=1), "books")
    stores.gate.feedback("books", Feedback(429, timedelta(seconds=60)))
    for worker in (stores, others):
        assert timedelta(seconds=50) < turn(worker, RateSpec(requests_per_second=1000, burst=1), "books")


def test_a_cool_down_before_the_first_turn_holds_too(stores: Stores, others: Stores) -> None:
    stores.gate.feedback("books", Feedback(429, timedelta(seconds=60)))
    assert timedelta(seconds=50) < turn(others, SLOW, "books")


def test_a_shorter_cool_down_does_not_end_a_longer_one(stores: Stores, others: Stores) -> None:
    stores.gate.feedback("books", Feedback(429, timedelta(seconds=60)))
    others.gate.feedback("books", Feedback(429, timedelta(seconds=1)))
    assert timedelta(seconds=50) < turn(stores, SLOW, "books")


def test_a_refused_turn_was_not_taken(stores: Stores, others: Stores) -> None:
    turn(stores, SLOW)
    soon = timedelta(seconds=1)
    refusals = [others.gate.acquire("books", SLOW, soon) for _ in range(5)]
    assert {refusal.decision for refusal in refusals} == {GateDecision.REJECT}
    assert timedelta(0) < turn(others, SLOW) <= INTERVAL


def test_a_dear_request_takes_several_turns(stores: Stores, others: Stores) -> None:
    dear = RateSpec(requests_per_second=0.1, burst=3, cost=3)
    assert turn(stores, dear) == timedelta(0)
    assert abs(turn(others, dear) - 3 * INTERVAL) < TOLERANCE


def test_a_page_that_came_is_no_reason_to_wait(stores: Stores) -> None:
    stores.gate.feedback("books", Feedback(200, remaining=5))
    assert turn(stores, SLOW) == timedelta(0)


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


def test_a_corrected_rate_counts_at_once(stores: Stores, others: Stores) -> None:
    crawl, quick = RateSpec(requests_per_second=0.000001, burst=1), RateSpec(requests_per_second=10, burst=1)
    assert turn(stores, crawl) == timedelta(0)
    refused = others.gate.acquire("books", crawl, timedelta(seconds=90))
    assert refused.wait > timedelta(days=11)
    assert turn(others, quick) < timedelta(seconds=1)
    assert turn(stores, quick) < timedelta(seconds=1)


def test_turns_taken_at_a_faster_rate_count_at_the_slower_one(stores: Stores) -> None:
    turn(stores, SLOW)
    assert abs(turn(stores, RateSpec(requests_per_second=0.01, burst=1)) - 10 * INTERVAL) < 10 * TOLERANCE


def test_rates_that_hold_at_the_same_time_are_not_converted(registered: Stores) -> None:
    blocks = [{"requests_per_second": 0.1}, {"requests_per_second": 10, "for": {"operation": "BACKFILL"}}]
    registered.registry.apply([source_rows(rate_limit=blocks)])
    quick, soon = RateSpec(requests_per_second=10, burst=1), timedelta(seconds=1)
    assert turn(registered, SLOW, "books:-") == timedelta(0)
    refused = registered.gate.acquire("books:-", quick, soon)
    assert abs(refused.wait - INTERVAL) < TOLERANCE
    registered.registry.apply([source_rows(rate_limit={"requests_per_second": 10})])
    assert registered.gate.acquire("books:-", quick, soon).decision != GateDecision.REJECT


def test_a_cool_down_outlasts_a_change_of_rate(stores: Stores) -> None:
    turn(stores, SLOW)
    stores.gate.feedback("books", Feedback(429, timedelta(seconds=60)))
    assert timedelta(seconds=50) < turn(stores, RateSpec(requests_per_second=1000, burst=1))
