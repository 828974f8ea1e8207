"""From one state to another: what the state machine does not allow hits no row."""

from enum import StrEnum
from typing import Any

import sqlalchemy as sa

from ingest_core.model.states import IllegalTransition, before


def move(connection: sa.Connection, table: sa.Table, after: StrEnum, *where: Any, **values: Any) -> int:
    """Give rows another state, where it may follow theirs; how many it was."""
    mine = table.c.status_code.in_(before(after))
    statement = sa.update(table).where(*where, mine).values(status_code=after.value, **values)
    return connection.execute(statement).rowcount


def move_one(connection: sa.Connection, table: sa.Table, row_id: int, after: StrEnum, **values: Any) -> None:
    """Give one row another state; IllegalTransition when that may not follow its own."""
    if move(connection, table, after, table.c.id == row_id, **values) != 1:
        found = connection.execute(sa.select(table.c.status_code).where(table.c.id == row_id)).scalar()
        raise IllegalTransition(f"{table.name} {row_id}: {after} may not follow {found}")
