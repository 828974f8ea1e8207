"""Tables like those of a system that has run for years, made by the server itself."""

from typing import Any

import sqlalchemy as sa

from ingest_core.model.codes import BatchStatus, TaskStatus
from ingest_core.store.engine.database import Database
from ingest_core.store.schema.tables import ing_task, ing_task_run_batch

PER_RUN = 5
FAR = 10_000_000
ANALYZE = {"sqlite": "ANALYZE", "postgresql": "VACUUM ANALYZE {}", "mysql": "ANALYZE TABLE {}"}


def crowd_queue(database: Database, tasks: int) -> None:
    """So many tasks like those that wait: nine of ten are finished."""
    with database.read() as connection:
        patterns = connection.execute(sa.select(sa.func.count()).select_from(ing_task)).scalar_one()
    number = _numbers(database, tasks // patterns)
    changes = {
        "idempotent_key": _text(database, ing_task.c.id, number),
        "status_code": sa.case((number % 10 == 0, TaskStatus.QUEUED.value), else_=TaskStatus.SUCCEEDED.value),
        "priority": 3 + number % 3,
    }
    _copy(database, ing_task, number, changes)


def crowd_ledger(database: Database, batches: int) -> None:
    """So many pages like the one that was committed, five a run; what was asked and came is left out."""
    number = _numbers(database, batches)
    changes = {
        "task_id": FAR + number / PER_RUN,
        "run_id": FAR + number / PER_RUN,
        "batch_no": number % PER_RUN,
        "before_hash": _text(database, ing_task_run_batch.c.id, number),
        "idempotent_key": _text(database, ing_task_run_batch.c.id, number),
        "status_code": BatchStatus.SUCCEEDED.value,
        "id_hashes": None,
        "request_digest": None,
        "response_digest": None,
    }
    _copy(database, ing_task_run_batch, number, changes)


def _numbers(database: Database, count: int) -> sa.ColumnElement[int]:
    """1 to `count`, as a column."""
    first = sa.select(sa.literal(1, sa.Integer).label("number")).cte("numbers", recursive=True)
    numbers = first.union_all(sa.select(first.c.number + 1).where(first.c.number < count))
    return numbers.c.number


def _text(database: Database, pattern: sa.ColumnElement[int], number: sa.ColumnElement[int]) -> sa.ColumnElement[str]:
    kind = sa.CHAR(20) if database.dialect_name == "mysql" else sa.String(20)
    return sa.cast(pattern, kind) + sa.literal(":") + sa.cast(number, kind)


def _copy(database: Database, table: sa.Table, number: sa.ColumnElement[int], changes: dict[str, Any]) -> None:
    columns = [column for column in table.columns if column.name != "id"]
    values = [_value(column, changes) for column in columns]
    with database.write() as connection:
        if database.dialect_name == "mysql":
            connection.exec_driver_sql(f"SET SESSION {_depth_setting(connection)} = {FAR}")
        query = sa.select(*values).select_from(table.join(number.table, sa.true()))
        connection.execute(sa.insert(table).from_select([column.name for column in columns], query))
    with database.engine.connect() as connection:
        autocommit = connection.execution_options(isolation_level="AUTOCOMMIT")
        autocommit.exec_driver_sql(ANALYZE[database.dialect_name].format(table.name)).close()


def _depth_setting(connection: sa.Connection) -> str:
    mariadb = getattr(connection.dialect, "is_mariadb", False)
    return "max_recursive_iterations" if mariadb else "cte_max_recursion_depth"


def _value(column: sa.Column[Any], changes: dict[str, Any]) -> sa.ColumnElement[Any]:
    if column.name not in changes:
        return column
    changed = changes[column.name]
    if isinstance(changed, sa.ColumnElement):
        return changed.label(column.name)
    return (sa.null() if changed is None else sa.literal(changed, column.type)).label(column.name)
