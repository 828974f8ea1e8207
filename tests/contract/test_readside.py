"""What is under way, as caps are compared with it."""

from datetime import timedelta

from ingest_core.execution.ports import RunOutcome
from ingest_core.model.codes import Operation, PlanStatus, TaskStatus
from ingest_core.model.partition import Partition
from ingest_core.model.progress import PlanOutcome
from ingest_core.model.record import Counts
from ingest_core.model.task import FlowRun
from ingest_core.store.schema.tables import ing_plan, ing_schedule_instance
from tests.support.books import PARTITION, at, compiled
from tests.support.tables import change, column
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


def test_a_plans_outcome_counts_its_tasks_by_status_and_what_became_of_the_records(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(3))
    change(stores.database, ing_schedule_instance, scheduler_code="PREFECT", scheduler_log_id="run-1")
    (plan_id,) = column(stores.database, ing_plan, "id")
    before = PlanOutcome(plan_id, "run-1", PlanStatus.READY, {TaskStatus.QUEUED: 3}, Counts())
    assert stores.readside.plan_outcomes([plan_id]) == [before]
    assert (before.ended, stores.readside.settled_plans([plan_id])) == (0, set())

    stats = {"retCount": 10, "inserted": 6, "updated": 1, "skipped": 1, "gone": 1, "failed": 1}
    stores.ledger.finish(begin(stores), RunOutcome(TaskStatus.SUCCEEDED, stats, as_of=stores.database.now()))
    error = {"level": "L3", "code": "HTTP_404", "message": "no"}
    stores.ledger.finish(begin(stores), RunOutcome(TaskStatus.FAILED, {"retCount": 2, "skipped": 2}, error=error))
    (outcome,) = stores.readside.plan_outcomes([plan_id])
    assert outcome.tasks == {TaskStatus.QUEUED: 1, TaskStatus.SUCCEEDED: 1, TaskStatus.FAILED: 1}
    assert (outcome.ended, outcome.status) == (2, PlanStatus.READY)
    assert outcome.counts == Counts(received=12, inserted=6, updated=1, skipped=3, gone=1, quarantined=1)

    finish(stores, begin(stores))
    (outcome,) = stores.readside.plan_outcomes([plan_id])
    assert (outcome.ended, outcome.status) == (3, PlanStatus.PARTIAL)
    assert stores.readside.settled_plans([plan_id]) == {plan_id}
