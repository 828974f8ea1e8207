"""Taking over: a namespace goes on where another stands. Forward only, and by an event that says who and why."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from ingest_core.cursor.adoption import Adoption
from ingest_core.model.codes import CursorType, EventType
from ingest_core.model.errors import BadInput
from ingest_core.model.instant import format_instant
from ingest_core.model.namespace import Namespace
from ingest_core.store.cursors.events import (
    COVERS,
    LINEAGE,
    anchor_event,
    append_event,
    begun_at,
    stretch,
    value_text,
)
from ingest_core.store.cursors.future import stands_ahead
from ingest_core.store.cursors.rows import cursor_row, row_value
from ingest_core.store.cursors.store import SqlCursorStore, insert_cursor
from ingest_core.store.engine.database import Database
from ingest_core.store.schema.columns import in_namespace
from ingest_core.store.schema.tables import ing_cursor, ing_cursor_event

_SAME = {
    "provenance_code": "source",
    "endpoint_name": "endpoint",
    "operation_code": "operation",
    "cursor_key": "cursor key",
    "cursor_type_code": "kind",
    "direction_code": "direction",
    "is_descending": "direction (newest first)",
}
"""What two cursors must share, and how people call it."""


class SqlCursorAdoption:
    """Seeds a namespace from another."""

    def __init__(self, database: Database, cursors: SqlCursorStore) -> None:
        self._database = database
        self._cursors = cursors

    def propose(self, source: Namespace, target: Namespace) -> Adoption:
        """What `adopt` would do; BadInput where it would not be right."""
        with self._database.read() as connection:
            found = cursor_row(connection, source), cursor_row(connection, target)
            return _decide(connection, source, target, *found, self._database.now(connection))

    def adopt(self, source: Namespace, target: Namespace, *, reason: str | None, by: str) -> Adoption:
        """Let the target go on where the source stands; again, it has no further effect."""
        adoption = self._database.transact(
            lambda connection: self._adopt(connection, source, target, {"reason": reason, "by": by})
        )
        self._cursors.advance(target)
        return adoption

    def _adopt(
        self, connection: sa.Connection, source: Namespace, target: Namespace, audit: dict[str, Any]
    ) -> Adoption:
        mine = cursor_row(connection, target, lock=True)
        theirs = cursor_row(connection, source)
        now = self._database.now(connection)
        adoption = _decide(connection, source, target, theirs, mine, now)
        if adoption.done:
            return adoption
        assert theirs is not None
        value = row_value(theirs)
        lineage = {name: getattr(mine or theirs, name) for name in LINEAGE}
        down = bool(theirs.is_descending)
        remarks = {"from": source.key, **audit, "at": format_instant(now)}
        append_event(
            connection,
            target,
            EventType.ADOPT,
            stretch(source.cursor_type, row_value(mine), value, descending=down) if mine else None,
            now=now,
            as_of=_read_since(connection, source, theirs) or now,
            lineage=lineage,
            key_parts=(source.key, theirs.cursor_value),
            value=value,
            remarks={**remarks, "descending": True} if down else remarks,
        )
        if mine is None:
            insert_cursor(connection, target, value, now=now, lineage={}, is_descending=int(down))
        else:
            _take_settled(connection, theirs, mine)
        return adoption


def _decide(
    connection: sa.Connection,
    source: Namespace,
    target: Namespace,
    theirs: sa.Row[Any] | None,
    mine: sa.Row[Any] | None,
    now: datetime,
) -> Adoption:
    if theirs is None:
        raise _cannot(f"namespace {source.key} of {source.partition} has no cursor", "see: patra cursor list")
    if source == target:
        raise _cannot("both namespaces are the same", "name two of them, see: patra cursor list")
    if source.cursor_type == CursorType.TOKEN:
        raise _cannot("TOKEN values cannot be compared, so their order is unknown", "begin a namespace of its own")
    there = str(theirs.cursor_value)
    if stands_ahead(theirs, now):
        raise _cannot(
            f"namespace {source.key} stands at {there}, which is in the future",
            f"put it right first: patra cursor rebuild {source.partition.provenance_code} --set-back --reason TEXT",
        )
    if mine is None:
        return Adoption(source, target, None, there)
    _refuse_strangers(theirs, mine)
    here = str(mine.cursor_value)
    if _adopted_before(connection, source, target, there) or _stands_there(connection, source, theirs, mine):
        return Adoption(source, target, here, here, done=True)
    return Adoption(source, target, here, there)


def _adopted_before(connection: sa.Connection, source: Namespace, target: Namespace, value: str) -> bool:
    """Whether the target took this very value over before."""
    event = ing_cursor_event
    query = sa.select(event.c.record_remarks).where(
        in_namespace(event, target), event.c.event_type == EventType.ADOPT.value, event.c.new_value == value
    )
    return any((remarks or {}).get("from") == source.key for remarks in connection.execute(query).scalars())


def _stands_there(connection: sa.Connection, source: Namespace, theirs: sa.Row[Any], mine: sa.Row[Any]) -> bool:
    """Whether there is nothing to take over; BadInput where it would go back, or past time that was not read."""
    there, here, down = row_value(theirs), row_value(mine), bool(theirs.is_descending)
    if there == here:
        return True
    if (there > here) == down:
        raise _cannot(
            f"the target stands at {mine.cursor_value} and would go back to {theirs.cursor_value}",
            "a cursor only moves forward; adopt the other way round",
        )
    begun = anchor_event(connection, source)
    anchor = begun_at(begun) if begun else there
    if (anchor < here) if down else (anchor > here):
        raise _cannot(
            f"the target stands at {mine.cursor_value}, the other began at {value_text(anchor)}: unread time between",
            "first plan the missing time for the target",
        )
    return False


def _read_since(connection: sa.Connection, namespace: Namespace, row: sa.Row[Any]) -> datetime | None:
    """The oldest reading of what is not settled yet: what is taken over counts as read then, not later."""
    event, since = ing_cursor_event, row.settled_instant or row.anchor_instant
    if since is None:
        return None
    query = sa.select(sa.func.min(event.c.as_of)).where(
        in_namespace(event, namespace), COVERS, event.c.window_to > since
    )
    oldest: datetime | None = connection.execute(query).scalar()
    return oldest


def _take_settled(connection: sa.Connection, theirs: sa.Row[Any], mine: sa.Row[Any]) -> None:
    """Take over the settled time where it joins the target's own."""
    settled, unsettled_from = theirs.settled_instant, mine.settled_instant or mine.anchor_instant
    if settled and theirs.anchor_instant <= unsettled_from < settled:
        connection.execute(sa.update(ing_cursor).where(ing_cursor.c.id == mine.id).values(settled_instant=settled))


def _refuse_strangers(theirs: sa.Row[Any], mine: sa.Row[Any]) -> None:
    for column, name in _SAME.items():
        there, here = getattr(theirs, column), getattr(mine, column)
        if there != here:
            raise _cannot(
                f"the {name} differs: {there!r} there, {here!r} here", "adopt between cursors of one endpoint"
            )


def _cannot(why: str, remedy: str) -> BadInput:
    return BadInput("CANNOT_ADOPT", why, where="cursor adopt", remedy=remedy)
