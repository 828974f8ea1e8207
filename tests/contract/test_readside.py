"""What is under way, as caps are compared with it."""

from datetime import timedelta

from ingest_core.model.codes import Operation
from ingest_core.model.partition import Partition
from ingest_core.model.task import FlowRun
from tests.support.books import PARTITION, at, compiled
from tests.support.wiring import Stores
from tests.support.working import TTL_SECONDS, begin, claim, finish, plan_harvest

TAPES = Partition("tapes", "list", Operation.HARVEST)


def test_a_lease_is_live_from_its_claim_until_its_task_ends_or_it_runs_out(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(3))
    assert stores.readside.live_leases() == {}
    first = begin(stores)
    claim(stores)
    plan_harvest(stores, at(0), at(1), spec=compiled("tapes"))
    stores.ledger.begin_run(claim(stores, source="tapes"), FlowRun())
    assert stores.readside.live_leases() == {PARTITION: 2, TAPES: 1}

    finish(stores, first)
    assert stores.readside.live_leases() == {PARTITION: 1, TAPES: 1}
    stores.database.clock_shift = timedelta(seconds=TTL_SECONDS + 1)
    assert stores.readside.live_leases() == {}


def test_a_partition_has_work_while_a_task_is_queued_or_leased(stores: Stores) -> None:
    assert stores.readside.partitions_with_work() == set()
    plan_harvest(stores, at(0), at(1))
    assert stores.readside.partitions_with_work() == {PARTITION}
    run = begin(stores)
    assert stores.readside.partitions_with_work() == {PARTITION}
    finish(stores, run)
    assert stores.readside.partitions_with_work() == set()
