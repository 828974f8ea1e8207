"""How the databases find rows in queues and ledgers that have grown."""

from collections.abc import Callable
from functools import partial

import pytest
import sqlalchemy as sa

from ingest_core.model.partition import Due, Partition, SlotCaps
from ingest_core.model.window import Window
from ingest_core.planning.ports import PlanTransaction
from ingest_core.store.queue.claims import ClaimTurn
from ingest_core.store.queue.task_queue import SqlTaskQueue
from ingest_core.store.schema.tables import (
    ing_cursor,
    ing_cursor_event,
    ing_estimate,
    ing_reslice_request,
    ing_signal,
    ing_task,
)
from tests.support.books import NAMESPACE, PARTITION, SOURCE, SPEC, at
from tests.support.tables import change, explain, rows
from tests.support.wiring import Stores
from tests.support.working import TTL_SECONDS, begin, finish, plan_harvest

TASKS = 2500
ANALYZE = {"sqlite": "ANALYZE", "postgresql": "ANALYZE {}", "mysql": "ANALYZE TABLE {}"}
SORTS = ("Sort", "filesort", "TEMP B-TREE", "temporary")
FULL_SCANS = ("Seq Scan", "SCAN ing_", "| ALL |")
TASK_SCANS = ("Seq Scan on ing_task", "SCAN ing_task", "| ALL |")


def analyze(stores: Stores, table: sa.Table) -> None:
    """Let the server count, as it would by itself in time."""
    with stores.database.engine.connect() as connection:
        autocommit = connection.execution_options(isolation_level="AUTOCOMMIT")
        autocommit.exec_driver_sql(ANALYZE[stores.database.dialect_name].format(table.name)).close()


def fill_queue(stores: Stores) -> None:
    """A queue like one that has run for a while: nine tenths are done, the rest is spread over partitions."""
    plan_harvest(stores, at(0), at(1))
    (pattern,) = rows(stores.database, ing_task)
    values = [
        {
            **{name: value for name, value in pattern.items() if name != "id"},
            "provenance_code": SOURCE if number % 3 else "tapes",
            "idempotent_key": f"task {number}",
            "status_code": "QUEUED" if number % 10 == 0 else "SUCCEEDED",
            "priority": (3, 5, 7)[number % 3],
            "scheduled_at": at(number % 97),
        }
        for number in range(TASKS)
    ]
    with stores.database.write() as connection:
        connection.execute(sa.insert(ing_task), values)
    analyze(stores, ing_task)


def multiply_queue(stores: Stores, times: int) -> None:
    """Every task again, twice as many with each time."""
    columns = [column for column in ing_task.c if column.name not in ("id", "idempotent_key")]
    for number in range(times):
        key = sa.cast(ing_task.c.id + number * 100_000_000, sa.String(64))
        query = sa.select(key, *columns)
        with stores.database.write() as connection:
            connection.execute(sa.insert(ing_task).from_select(["idempotent_key", *columns], query))
    analyze(stores, ing_task)


def check_claims(stores: Stores) -> None:
    """Claims of one and of many, from either end, find their tasks by the index and sort nothing."""
    for queue in (SqlTaskQueue(stores.database, ClaimTurn()), SqlTaskQueue(stores.database, ClaimTurn(7))):
        for most in (1, 30):
            claiming = partial(queue.claim_many, "ann", TTL_SECONDS, most)
            for plan in explain(stores.database, claiming, "ORDER BY ing_task."):
                tasks = "\n".join(line for line in plan.splitlines() if "ing_partition_control |" not in line)
                assert "idx_task_queue" in tasks, plan
                assert not any(word in tasks for word in (*SORTS, *TASK_SCANS)), plan


def test_claiming_reads_its_index_and_sorts_nothing(stores: Stores) -> None:
    fill_queue(stores)
    check_claims(stores)


def test_looking_for_due_partitions_reads_the_queue_by_its_index(stores: Stores) -> None:
    fill_queue(stores)
    for turn in (ClaimTurn(), ClaimTurn(7)):
        for plan in explain(stores.database, SqlTaskQueue(stores.database, turn).due, "ing_task."):
            assert "idx_task_queue" in plan, plan
            assert not any(word in plan for word in TASK_SCANS[:2]), plan


def test_leases_are_counted_by_index(stores: Stores) -> None:
    fill_queue(stores)
    claiming = partial(stores.queue.claim_due, "ann", TTL_SECONDS, Due(PARTITION, 3), SlotCaps(1, 9))
    assert found_by(explain(stores.database, claiming, "GROUP BY ing_task."), "idx_task_")


@pytest.mark.long
@pytest.mark.alone
@pytest.mark.timeout(900)
def test_claiming_is_as_quick_among_a_million_tasks(stores: Stores) -> None:
    fill_queue(stores)
    multiply_queue(stores, 9)
    with stores.database.read() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(ing_task)).scalar_one() > 1_000_000
    check_claims(stores)


def found_by(plans: list[str], index: str) -> bool:
    """Whether each plan reads the index, and no table whole."""
    stored = ["\n".join(line for line in plan.splitlines() if "<derived" not in line) for plan in plans]
    return all(index in plan and not any(word in plan for word in FULL_SCANS) for plan in stored)


def test_planning_finds_live_tasks_by_index(stores: Stores) -> None:
    fill_queue(stores)
    plans = explain(stores.database, lambda: plan_harvest(stores, at(5), at(6)), "SELECT ing_task.window_from")
    assert found_by(plans, "idx_task_"), plans


def test_planning_finds_open_reslice_requests_by_index(stores: Stores) -> None:
    fill_queue(stores)
    tasks = [row["id"] for row in rows(stores.database, ing_task)]
    values = [
        {
            **dict.fromkeys(("plan_id", "slice_id", "run_id"), number),
            "task_id": tasks[number],
            "remaining_from": at(number),
            "remaining_to": at(number + 1),
            "reason_code": "PAGE_CAP",
            "status_code": "OPEN" if number % 100 == 0 else "SERVED",
            "idempotent_key": f"request {number}",
            "created_at": at(0),
        }
        for number in range(TASKS)
    ]
    fill(stores, ing_reslice_request, values)
    plans = explain(stores.database, lambda: plan_harvest(stores, at(5), at(6)), "FROM ing_reslice_request")
    assert found_by(plans, "idx_reslice_"), plans


@pytest.mark.parametrize("partition", [PARTITION, None], ids=["of a partition", "in all"])
def test_stock_is_counted_by_index(stores: Stores, partition: Partition | None) -> None:
    fill_queue(stores)
    plans = looking(stores, lambda seen: seen.queued(partition, 10_000), "FROM ing_task")
    assert found_by(plans, "idx_task_"), plans


def fill(stores: Stores, table: sa.Table, values: list[dict[str, object]]) -> None:
    """Write rows past the stores, and let the server count them."""
    with stores.database.write() as connection:
        connection.execute(sa.insert(table), values)
    analyze(stores, table)


def looking(stores: Stores, work: Callable[[PlanTransaction], object], mentioning: str) -> list[str]:
    """How the rows are found that a look at the plans reads."""

    def look() -> None:
        with stores.plans.look() as transaction:
            work(transaction)

    return explain(stores.database, look, mentioning)


def test_sizes_are_found_by_index(stores: Stores) -> None:
    now = stores.database.now()
    values: list[dict[str, object]] = [
        {
            "provenance_code": SOURCE if number % 2 else "tapes",
            "endpoint_name": "list",
            "expr_hash": SPEC.expr_proto_hash,
            "window_from": at(number),
            "window_to": at(number + 1),
            "record_count": number,
            "method_code": "COUNT" if number % 3 else "OBSERVED",
            "created_at": now,
        }
        for number in range(TASKS)
    ]
    fill(stores, ing_estimate, values)
    for work in (lambda seen: seen.estimates(SPEC, Window(at(5), at(6))), lambda seen: seen.history(SPEC)):
        plans = looking(stores, work, "FROM ing_estimate")
        assert found_by(plans, "idx_estimate_window"), plans


def test_ids_that_wait_are_found_by_index_in_order(stores: Stores) -> None:
    values: list[dict[str, object]] = [
        {
            "campaign": "news",
            "provenance_code": SOURCE if number % 2 else "tapes",
            "endpoint_name": "list",
            "operation_code": "UPDATE",
            "provider_id": f"id {number}",
            "signal_code": "REQUESTED",
            "state_code": "OPEN" if number % 9 == 0 else "PLANNED",
            "created_at": at(0),
            "updated_at": at(0),
        }
        for number in range(TASKS)
    ]
    fill(stores, ing_signal, values)
    plans = looking(stores, lambda seen: list(seen.open_signals(PARTITION)), "ing_signal.provider_id >")
    assert found_by(plans, "idx_signal_open"), plans


def fill_events(stores: Stores) -> None:
    """Many hours before midnight that were read."""
    plan_harvest(stores, at(0), at(1))
    finish(stores, begin(stores))
    pattern = rows(stores.database, ing_cursor_event)[-1]
    values = [
        {
            **{name: value for name, value in pattern.items() if name != "id"},
            "window_from": at(-number - 1),
            "window_to": at(-number),
            "idempotent_key": f"event {number}",
        }
        for number in range(TASKS)
    ]
    fill(stores, ing_cursor_event, values)


ACROSS, BEYOND, BELOW = (
    "ing_cursor_event.window_to >",
    "ing_cursor_event.window_from >=",
    "ing_cursor_event.window_to <=",
)


@pytest.mark.parametrize(
    ("words", "index"),
    [pytest.param(ACROSS, "idx_cur_evt_", id="across"), pytest.param(BEYOND, "idx_cur_evt_from", id="beyond")],
)
def test_advancing_reads_only_the_events_from_the_watermark_on(stores: Stores, words: str, index: str) -> None:
    fill_events(stores)
    plans = explain(stores.database, lambda: stores.cursors.advance(NAMESPACE), words)
    assert found_by(plans, index), plans


@pytest.mark.parametrize(
    ("words", "index"),
    [pytest.param(ACROSS, "idx_cur_evt_", id="across"), pytest.param(BELOW, "idx_cur_evt_reach", id="below")],
)
def test_advancing_down_reads_only_the_events_from_the_watermark_down(stores: Stores, words: str, index: str) -> None:
    fill_events(stores)
    change(stores.database, ing_cursor, is_descending=1, normalized_instant=at(5 - TASKS))
    plans = explain(stores.database, lambda: stores.cursors.advance(NAMESPACE), words)
    assert found_by(plans, index), plans


def test_planning_reads_only_the_events_of_its_window(stores: Stores) -> None:
    fill_events(stores)
    plans = looking(stores, lambda seen: list(seen.coverage(NAMESPACE, Window(at(-3), at(1)))), "FROM ing_cursor_event")
    assert found_by(plans, "idx_cur_evt_"), plans
