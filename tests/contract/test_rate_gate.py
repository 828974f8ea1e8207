"""Rate limiters in the database: all workers together stay within a provider's rate and quota."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from ingest_core.gate.chain import Gate, chain_of
from ingest_core.gate.feedback import Feedback
from ingest_core.gate.ports import Asker, GateDecision, Permit
from ingest_core.gate.state import CloseReason
from ingest_core.model.codes import Operation
from ingest_core.model.partition import Partition
from ingest_core.model.spec import RateSpec
from ingest_core.store.gate.rate_gate import SqlRateGate
from ingest_core.store.schema.tables import ing_partition_control, ing_quota_ledger, ing_rate_gate
from tests.support.books import PARTITION, SOURCE, at, source_rows
from tests.support.breaking import together, while_uncommitted
from tests.support.tables import rows
from tests.support.wiring import Stores
from tests.support.working import TTL_SECONDS, plan_harvest

SLOW = Gate("books:-", RateSpec(requests_per_second=0.1, burst=1))
QUICK = Gate("books:-", RateSpec(requests_per_second=1000, burst=1))
LONG = timedelta(days=1)
ASKER = Asker("1", None, PARTITION)
MINUTE = timedelta(seconds=60)
REFUSED = Feedback(429, MINUTE, refused=True)


def asked(worker: Stores, gate: Gate = SLOW, asker: Asker = ASKER) -> Permit:
    """Ask for a permit, however far off it is."""
    return worker.gate.acquire(gate, asker, LONG)


def warm(stores: Stores, gate: Gate = QUICK) -> None:
    """Use the limiter and let its warm-up pass."""
    asked(stores, gate)
    stores.database.clock_shift += timedelta(seconds=5)


def only(stores: Stores) -> dict[str, Any]:
    """The one limiter there is."""
    (row,) = rows(stores.database, ing_rate_gate)
    return row


def test_the_first_permit_is_given_at_once(stores: Stores) -> None:
    assert asked(stores).decision == GateDecision.ALLOW


def test_permits_of_two_workers_come_at_the_rate(stores: Stores, others: Stores) -> None:
    asked(stores)
    for _ in range(3):
        refused = asked(others)
        assert refused.decision == GateDecision.LATER
        assert timedelta(seconds=5) < refused.wait < timedelta(seconds=15)
    stores.database.clock_shift = others.database.clock_shift = timedelta(seconds=15)
    assert [asked(one).decision.granted for one in (stores, others)] == [True, False]


def test_workers_at_once_get_one_permit(stores: Stores, others: Stores) -> None:
    permits = together(*([lambda: asked(stores), lambda: asked(others)] * 3))

    assert Counter(permit.decision for permit in permits) == {GateDecision.ALLOW: 1, GateDecision.LATER: 5}
    assert len(rows(stores.database, ing_rate_gate)) == 1


@pytest.mark.parametrize("known", [False, True], ids=["first permit", "later permit"])
def test_a_permit_being_taken_is_seen_by_the_next(stores: Stores, others: Stores, known: bool) -> None:
    gate = Gate("books:-", RateSpec(requests_per_second=0.1, burst=2 if known else 1))
    if known:
        asked(stores, gate)
    permits = while_uncommitted(stores.database, lambda: asked(stores, gate), lambda: asked(others, gate))

    assert sorted(permit.decision for permit in permits) == [GateDecision.ALLOW, GateDecision.LATER]


def test_a_burst_is_shared(stores: Stores, others: Stores) -> None:
    gate = Gate("books:-", RateSpec(requests_per_second=0.1, burst=3))
    permits = [asked(worker, gate) for worker in (stores, others, stores, others)]

    assert [permit.decision.granted for permit in permits] == [True, True, True, False]


def test_limiters_of_different_keys_do_not_wait_for_each_other(stores: Stores) -> None:
    assert asked(stores, SLOW).decision.granted
    assert asked(stores, Gate("Books:-", SLOW.rate)).decision.granted


def test_a_wait_beyond_the_deadline_is_refused(stores: Stores) -> None:
    asked(stores)
    refused = stores.gate.acquire(SLOW, ASKER, timedelta(seconds=1))

    assert (refused.decision, refused.closed) == (GateDecision.REJECT, None)


def test_a_dear_request_takes_several_permits(stores: Stores, others: Stores) -> None:
    dear = Gate("books:-", RateSpec(requests_per_second=0.1, burst=3, cost=3))
    assert asked(stores, dear).decision.granted
    assert timedelta(seconds=25) < asked(others, dear).wait < timedelta(seconds=40)


class TestWhatTheProviderSays:
    """All workers hear what one was told."""

    def test_a_closing_holds_for_all_workers(self, stores: Stores, others: Stores) -> None:
        stores.gate.feedback(QUICK, ASKER, REFUSED)
        for worker in (stores, others):
            refused = asked(worker, QUICK)
            assert (refused.decision, refused.closed) == (GateDecision.REJECT, CloseReason.RETRY_AFTER)
            assert timedelta(seconds=50) < refused.wait <= MINUTE
            assert timedelta(seconds=50) < worker.gate.closed(QUICK) <= MINUTE

    def test_a_shorter_closing_does_not_end_a_longer_one(self, stores: Stores, others: Stores) -> None:
        stores.gate.feedback(QUICK, ASKER, REFUSED)
        others.gate.feedback(QUICK, ASKER, Feedback(429, timedelta(seconds=1), refused=True))
        assert timedelta(seconds=50) < asked(stores, QUICK).wait

    def test_a_closing_outlasts_a_change_of_rate(self, stores: Stores) -> None:
        asked(stores, SLOW)
        stores.gate.feedback(SLOW, ASKER, REFUSED)
        assert timedelta(seconds=50) < asked(stores, QUICK).wait

    def test_a_short_closing_is_waited_for(self, stores: Stores) -> None:
        stores.gate.feedback(QUICK, ASKER, Feedback(429, timedelta(seconds=2), refused=True))
        assert asked(stores, QUICK).decision == GateDecision.LATER

    def test_a_refusal_decreases_the_rate_once_for_each_congestion(self, stores: Stores, others: Stores) -> None:
        gate = Gate("books:-", RateSpec(requests_per_second=8, burst=1))
        permit = asked(stores, gate)
        told = Feedback(503, decreases=permit.decreases)
        for worker in (stores, others, stores):
            worker.gate.feedback(gate, ASKER, told)
        assert (only(stores)["rate_now"], only(stores)["decreases"]) == (4, 1)
        (change,) = only(stores)["last_changes"]
        assert (change["change"], change["from"], change["to"]) == ("decrease", 8, 4)
        assert "answered 503" in change["reason"]

    def test_the_rate_comes_back_step_by_step(self, stores: Stores) -> None:
        gate = Gate("books:-", RateSpec(requests_per_second=8, burst=1))
        stores.gate.feedback(gate, ASKER, Feedback(503))
        found = []
        for _ in range(4):
            worker = SqlRateGate(stores.database)
            worker.feedback(gate, ASKER, Feedback(200))
            stores.database.clock_shift += timedelta(seconds=11)
            worker.acquire(gate, ASKER, LONG)
            found.append(only(stores)["rate_now"])
        assert found == [6, 8, 8, 8]

    def test_a_stated_limit_caps_the_rate(self, stores: Stores, others: Stores) -> None:
        asked(stores, QUICK)
        stores.gate.feedback(QUICK, ASKER, Feedback(200, limit=50, interval_seconds=10, concurrency=3))
        asked(others, QUICK)
        assert (only(stores)["rate_now"], only(stores)["stated_concurrency"]) == (5, 3)

    def test_nothing_left_closes_it_until_the_reset(self, stores: Stores) -> None:
        until = stores.database.now() + MINUTE
        stores.gate.feedback(QUICK, ASKER, Feedback(200, remaining=0, resets_at=until))
        assert asked(stores, QUICK).closed == CloseReason.REMAINING_ZERO


class TestAnOutage:
    """Failures in a row open the circuit; one request tries, for all."""

    def fail(self, stores: Stores) -> None:
        asked(stores, QUICK)
        for task in ("1", "2", "3"):
            stores.gate.feedback(QUICK, ASKER, Feedback(None, task=task))

    def test_all_workers_wait_and_one_tries(self, stores: Stores, others: Stores) -> None:
        self.fail(stores)
        for worker in (stores, others):
            assert asked(worker, QUICK).closed == CloseReason.CIRCUIT
        stores.database.clock_shift = others.database.clock_shift = timedelta(seconds=121)
        probe, other = asked(others, QUICK), asked(stores, QUICK)
        assert (probe.decision, probe.probes) == (GateDecision.ALLOW, True)
        assert (other.decision, other.closed) == (GateDecision.LATER, CloseReason.CIRCUIT)

        others.gate.feedback(QUICK, ASKER, Feedback(200))
        assert asked(stores, QUICK).decision.granted
        assert only(stores)["circuit_code"] == "CLOSED"
        changes = [one["change"] for one in only(stores)["last_changes"]]
        assert changes == ["circuit OPEN", "circuit HALF_OPEN", "circuit CLOSED"]

    def test_whether_others_were_answered_is_known(self, stores: Stores, others: Stores) -> None:
        begun = stores.database.now()
        self.fail(stores)
        assert not others.gate.succeeded_since(QUICK, begun)
        stores.gate.feedback(QUICK, ASKER, Feedback(200))
        assert others.gate.succeeded_since(QUICK, begun)
        assert not others.gate.succeeded_since(QUICK, stores.database.now() + MINUTE)


class TestClaims:
    """Tasks of a partition whose limiter is closed stay where they are."""

    def test_they_pass_by_and_come_back_by_themselves(self, registered: Stores) -> None:
        plan_harvest(registered, at(0), at(2))
        asked(registered, QUICK)
        registered.gate.feedback(QUICK, ASKER, REFUSED)
        assert registered.queue.claim("ann", TTL_SECONDS, SOURCE) is None
        assert registered.queue.due(SOURCE) == []
        waits = registered.queue.waiting(SOURCE)
        assert waits is not None
        assert timedelta(seconds=50) < waits <= MINUTE
        registered.database.clock_shift = MINUTE
        assert registered.queue.due(SOURCE) != []
        assert registered.queue.claim("ann", TTL_SECONDS, SOURCE) is not None

    def test_they_come_back_when_the_circuit_closes(self, registered: Stores) -> None:
        plan_harvest(registered, at(0), at(2))
        TestAnOutage().fail(registered)
        assert registered.queue.claim("ann", TTL_SECONDS, SOURCE) is None
        registered.database.clock_shift = timedelta(seconds=121)
        assert asked(registered, QUICK).probes
        assert registered.queue.claim("ann", TTL_SECONDS, SOURCE) is None
        registered.gate.feedback(QUICK, ASKER, Feedback(200))
        assert registered.queue.claim("ann", TTL_SECONDS, SOURCE) is not None

    def test_partitions_under_another_limiter_are_served(self, registered: Stores) -> None:
        plan_harvest(registered, at(0), at(2))
        other = Gate("films:-", QUICK.rate)
        registered.gate.acquire(other, Asker("9", None, Partition("films", "list", Operation.HARVEST)), LONG)
        registered.gate.feedback(other, ASKER, REFUSED)
        assert registered.queue.claim("ann", TTL_SECONDS, SOURCE) is not None


class TestQuotas:
    """What a provider allows in a day is counted when it is sent, and kept for the more urgent."""

    DAY = Gate("books:-", RateSpec(requests_per_second=1000, burst=50, daily_quota=10))

    def used(self, stores: Stores) -> list[int]:
        return [row["used_count"] for row in rows(stores.database, ing_quota_ledger)]

    def send(self, stores: Stores, priority: int, gate: Gate | None = None) -> Permit:
        return stores.gate.acquire(gate or self.DAY, Asker("1", None, PARTITION, priority), LONG)

    def test_each_request_counts_for_all_workers(self, stores: Stores, others: Stores) -> None:
        for worker in (stores, others, stores):
            assert self.send(worker, 3).decision.granted
        assert self.used(stores) == [3]

    def test_a_spent_quota_closes_the_limiter_until_it_resets(self, registered: Stores, others: Stores) -> None:
        plan_harvest(registered, at(0), at(2))
        for _ in range(10):
            assert self.send(registered, 3).decision.granted
        for worker in (registered, others):
            refused = self.send(worker, 3)
            assert (refused.decision, refused.closed) == (GateDecision.REJECT, CloseReason.QUOTA)
            assert timedelta(0) < refused.wait <= timedelta(days=1)
        assert self.used(registered) == [10]
        assert registered.queue.claim("ann", TTL_SECONDS, SOURCE) is None
        registered.database.clock_shift = others.database.clock_shift = timedelta(days=1)
        assert self.send(others, 3).decision.granted
        assert sorted(self.used(registered)) == [1, 10]

    def test_the_margin_stays_for_the_urgent(self, stores: Stores) -> None:
        for _ in range(9):
            assert self.send(stores, 7).decision.granted
        assert self.send(stores, 7).closed == CloseReason.QUOTA
        assert self.send(stores, 3).decision.granted

    def test_a_refused_partition_alone_is_passed_by(self, registered: Stores) -> None:
        plan_harvest(registered, at(0), at(2))
        backfill = Partition(SOURCE, PARTITION.endpoint_name, Operation.BACKFILL)
        for _ in range(9):
            registered.gate.acquire(self.DAY, Asker("1", None, backfill, 7), LONG)
        assert registered.gate.acquire(self.DAY, Asker("1", None, backfill, 7), LONG).closed == CloseReason.QUOTA
        closed = {
            row["operation_code"] for row in rows(registered.database, ing_partition_control) if row["closed_until"]
        }
        assert closed <= {"BACKFILL"}
        assert registered.queue.claim("ann", TTL_SECONDS, SOURCE) is not None

    def test_a_request_may_cost_more_or_nothing(self, stores: Stores) -> None:
        dear = Gate("books:-", self.DAY.rate.model_copy(update={"quota_cost": 6}))
        free = Gate("books:-", self.DAY.rate.model_copy(update={"quota_cost": 0}))
        assert self.send(stores, 3, dear).decision.granted
        assert self.send(stores, 3, free).decision.granted
        assert self.used(stores) == [6]
        assert self.send(stores, 3, dear).closed == CloseReason.QUOTA

    def test_an_hour_is_counted_beside_the_day(self, stores: Stores) -> None:
        both = Gate("books:-", RateSpec(requests_per_second=1000, burst=9, daily_quota=10, hourly_quota=2))
        assert [self.send(stores, 3, both).decision.granted for _ in range(3)] == [True, True, False]
        assert self.used(stores) == [2, 2]
        assert self.send(stores, 3, both).wait <= timedelta(hours=1)


class TestLimits:
    """What the Registry allows today."""

    PLANNED = RateSpec(requests_per_second=99, burst=9)

    def own(self, stores: Stores, partition: Partition = PARTITION) -> RateSpec:
        return SqlRateGate(stores.database).limits(partition, self.PLANNED).own

    def test_todays_rate_holds_whatever_was_planned(self, registered: Stores, others: Stores) -> None:
        assert self.own(registered) == RateSpec(requests_per_second=5, burst=1)
        others.registry.apply([source_rows(rate_limit={"requests_per_second": 0.25, "burst": 2})])
        assert self.own(registered) == RateSpec(requests_per_second=0.25, burst=2)

    def test_the_rate_closest_to_the_partition_and_in_force_is_read(self, registered: Stores) -> None:
        blocks = [
            {"requests_per_second": 1},
            {"requests_per_second": 2, "for": {"endpoint": "list"}},
            {"requests_per_second": 3, "for": {"endpoint": "list"}, "effective_from": "2999-01-01"},
        ]
        registered.registry.apply([source_rows(rate_limit=blocks)])
        assert self.own(registered).requests_per_second == 2
        assert self.own(registered, Partition("books", "details", Operation.HARVEST)).requests_per_second == 1

    def test_a_source_without_a_rate_today_is_asked_as_the_platform_does(self, registered: Stores) -> None:
        registered.registry.apply([source_rows(rate_limit=[])])
        assert self.own(registered) == RateSpec(requests_per_second=1, burst=1)

    def test_a_source_that_is_gone_is_asked_as_planned(self, stores: Stores) -> None:
        assert self.own(stores) == self.PLANNED

    def test_a_slower_operation_has_a_limiter_of_its_own_beside_the_providers(self, registered: Stores) -> None:
        blocks = [{"requests_per_second": 10}, {"requests_per_second": 0.1, "for": {"operation": "BACKFILL"}}]
        registered.registry.apply([source_rows(rate_limit=blocks)])
        backfill = Partition(SOURCE, PARTITION.endpoint_name, Operation.BACKFILL)
        chains = {
            one: chain_of(SqlRateGate(registered.database).limits(one, self.PLANNED), one, None, known=False)
            for one in (PARTITION, backfill)
        }
        (provider,) = chains[PARTITION]
        own, same = chains[backfill]
        assert (provider.key, provider.rate.requests_per_second) == ("books:-", 10)
        assert same == provider
        assert (own.key, own.rate.requests_per_second) == ("books:-/list/BACKFILL", 0.1)

    def test_sources_that_share_a_limiter_keep_to_the_slowest(self, registered: Stores) -> None:
        shared = {"requests_per_second": 8, "share": "account"}
        slower = {"requests_per_second": 2, "share": "account"}
        registered.registry.apply([source_rows(rate_limit=shared), source_rows("films", rate_limit=slower)])
        limits = SqlRateGate(registered.database).limits(PARTITION, self.PLANNED)
        (gate,) = chain_of(limits, PARTITION, "env:KEY", known=False)
        assert (gate.key, gate.rate.requests_per_second) == ("share:account", 2)

    def test_a_changed_rate_counts_at_once(self, stores: Stores, others: Stores) -> None:
        crawl = Gate("books:-", RateSpec(requests_per_second=0.000001, burst=1))
        assert asked(stores, crawl).decision.granted
        assert asked(others, crawl).wait > timedelta(days=11)
        quick = Gate("books:-", RateSpec(requests_per_second=10, burst=1))
        assert asked(others, quick).wait < timedelta(seconds=2)


def test_what_can_be_expected_is_told_to_planners(stores: Stores) -> None:
    warm(stores, Gate("books:-", RateSpec(requests_per_second=10, burst=1)))
    expected = stores.gate.estimate(Gate("books:-", RateSpec(requests_per_second=10, burst=1)), MINUTE)

    assert 550 <= expected.permits <= 601
    assert (expected.rate_now, expected.opens_in, expected.holds_planning) == (10, timedelta(0), False)


def test_at_a_high_rate_one_transaction_serves_several_requests(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    warm(stores)
    transactions, transact = Counter[str](), stores.database.transact

    def counted(work: Callable[[Any], Any]) -> Any:
        transactions["number"] += 1
        return transact(work)

    monkeypatch.setattr(stores.database, "transact", counted)
    granted = sum(asked(stores, QUICK).decision.granted for _ in range(60))

    assert granted >= 20
    assert transactions["number"] < 50
