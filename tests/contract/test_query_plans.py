"""How the databases find rows in queues and ledgers that have grown."""

import sqlalchemy as sa

from ingest_core.store.tables import ing_cursor_event, ing_task
from tests.support.stores import NAMESPACE, SOURCE, TTL_SECONDS, Stores, at, begin, explain, finish, plan_harvest, rows

TASKS = 2500
ANALYZE = {"sqlite": "ANALYZE", "postgresql": "ANALYZE {}", "mysql": "ANALYZE TABLE {}"}
SORTS = ("Sort", "filesort", "TEMP B-TREE", "temporary")
FULL_SCANS = ("Seq Scan", "SCAN ing_", "| ALL |")


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


def test_claiming_reads_its_index_and_sorts_nothing(stores: Stores) -> None:
    fill_queue(stores)
    plans = explain(stores.database, lambda: stores.queue.claim("ann", TTL_SECONDS), "ORDER BY ing_task.priority")
    for plan in plans:
        assert "idx_task_queue" in plan
        assert not any(word in plan for word in (*SORTS, *FULL_SCANS)), plan


def test_planning_finds_live_tasks_by_index(stores: Stores) -> None:
    fill_queue(stores)
    plans = explain(stores.database, lambda: plan_harvest(stores, at(5), at(6)), "ing_task.namespace_key")
    for plan in plans:
        assert "idx_task_" in plan
        assert not any(word in plan for word in FULL_SCANS), plan


def test_advancing_reads_only_the_events_above_the_watermark(stores: Stores) -> None:
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
    with stores.database.write() as connection:
        connection.execute(sa.insert(ing_cursor_event), values)
    analyze(stores, ing_cursor_event)
    plans = explain(stores.database, lambda: stores.cursors.advance(NAMESPACE), "ing_cursor_event.window_to >")
    for plan in plans:
        assert "idx_cur_evt_window" in plan
        assert not any(word in plan for word in FULL_SCANS), plan
