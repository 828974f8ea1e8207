"""What people ask about cursors: where one stands and why, how it came there, and whether its events agree."""

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Any

import sqlalchemy as sa

from ingest_core.cursor.rebuild import Ahead, CursorVerdict, Rebuilt, compare_with_events
from ingest_core.cursor.timeline import find_holes, replay
from ingest_core.model.codes import CursorType, EventType, Operation, TaskStatus
from ingest_core.model.cursor import Coverage
from ingest_core.model.cursor_report import BlockingTask, CursorReport, CursorStep, Span
from ingest_core.model.errors import BadInput
from ingest_core.model.instant import format_instant
from ingest_core.model.namespace import Namespace
from ingest_core.store.cursors.events import (
    AXES,
    COVERS,
    LINEAGE,
    anchor_event,
    began_at_its_end,
    begun_at,
    genuine,
    stretch_of,
    value_text,
    whole_beyond,
)
from ingest_core.store.cursors.future import stands_ahead, value_of_events
from ingest_core.store.cursors.rows import cursor_entry, cursor_row, cursors_with_query, namespace_from, row_value
from ingest_core.store.engine.database import Database
from ingest_core.store.schema.columns import in_namespace
from ingest_core.store.schema.tables import ing_cursor, ing_cursor_event, ing_plan_slice, ing_task

MOST_HOLES = 20
_PAGE = 1000


class SqlCursorReports:
    """Reads cursors and their events; changes nothing."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(
        self,
        source: str | None = None,
        endpoint: str | None = None,
        operation: Operation | None = None,
        namespace: str | None = None,
    ) -> list[Namespace]:
        """The namespaces that have begun and fit; their keys may be given by their first characters."""
        query = cursors_with_query().where(*_fits(ing_cursor, source, endpoint, operation, namespace))
        with self._database.read() as connection:
            return [namespace_from(row) for row in connection.execute(query)]

    def lost(
        self,
        source: str | None = None,
        endpoint: str | None = None,
        operation: Operation | None = None,
        namespace: str | None = None,
    ) -> list[Namespace]:
        """The namespaces that fit and have begun, but have no cursor any more."""
        event = ing_cursor_event
        begun = event.c.event_type.in_([EventType.ANCHOR.value, EventType.ADOPT.value])
        fits = _fits(event, source, endpoint, operation, namespace)
        query = sa.select(event).where(begun, ~_has_cursor(), *fits).order_by(event.c.id)
        with self._database.read() as connection:
            return list(dict.fromkeys(namespace_from(row) for row in connection.execute(query)))

    def show(self, namespace: Namespace) -> CursorReport:
        """Where a cursor stands, what moved it there, and what it waits for."""
        with self._database.read(snapshot=True) as connection:
            row = connection.execute(cursors_with_query().where(in_namespace(ing_cursor, namespace))).one()
            begun = anchor_event(connection, namespace)
            now = self._database.now(connection)
            holes, furthest = self._holes_beyond(connection, namespace, row, now)
            return CursorReport(
                entry=cursor_entry(row),
                newest_first=bool(row.is_descending),
                anchor=value_text(begun_at(begun)) if begun else None,
                settled=row.settled_instant,
                bound_from=row.bound_from,
                bound_to=row.bound_to,
                learned_lag_seconds=row.lag_seconds,
                behind_seconds=_behind(row, now),
                moved_at=row.updated_at,
                moves=row.version,
                moved_by={name: getattr(row, name) for name in LINEAGE},
                events=self._count(connection, namespace),
                furthest=furthest,
                holes=[_span(namespace, *hole) for hole in holes[:MOST_HOLES]],
                blocked_by=self._blocker(connection, namespace, row, holes),
            )

    def _count(self, connection: sa.Connection, namespace: Namespace) -> dict[str, int]:
        event = ing_cursor_event
        query = sa.select(event.c.event_type, sa.func.count()).where(in_namespace(event, namespace))
        found = dict(connection.execute(query.group_by(event.c.event_type)).tuples().all())
        return {kind.value: int(found.get(kind.value, 0)) for kind in EventType}

    def _holes_beyond(
        self, connection: sa.Connection, namespace: Namespace, row: sa.Row[Any], now: datetime
    ) -> tuple[list[tuple[Any, Any]], str | None]:
        """The first holes between the value and the furthest event, and where that reaches."""
        if namespace.cursor_type == CursorType.TOKEN:
            return [], None
        down = bool(row.is_descending)
        furthest = self._furthest(connection, namespace, now, descending=down)
        if furthest is None:
            return [], None
        value = row_value(row)
        covered: Iterator[Any] = whole_beyond(connection, namespace, value, now=now, descending=down)
        holes = islice(find_holes(value, furthest, covered, descending=down), MOST_HOLES)
        return list(holes), value_text(furthest)

    def _furthest(self, connection: sa.Connection, namespace: Namespace, now: datetime, *, descending: bool) -> Any:
        """Where the furthest event reaches; one that ends in the future no further than when it was made."""
        event, edge = ing_cursor_event, AXES[namespace.cursor_type].reached(descending=descending)
        mine = sa.and_(in_namespace(event, namespace), COVERS)
        most = sa.func.min(edge) if descending else sa.func.max(edge)
        furthest = connection.execute(sa.select(most).where(mine)).scalar()
        if not isinstance(furthest, datetime) or furthest <= now:
            return furthest
        made = sa.select(sa.func.max(event.c.as_of)).where(mine, edge > now, genuine(now))
        ended = sa.select(most).where(mine, edge <= now)
        found = [connection.execute(query).scalar() for query in (made, ended)]
        return max((one for one in found if one is not None), default=None)

    def _blocker(
        self, connection: sa.Connection, namespace: Namespace, row: sa.Row[Any], holes: list[tuple[Any, Any]]
    ) -> BlockingTask | None:
        """The first task beyond the value, within its first hole if there is one, that did not succeed."""
        if namespace.cursor_type != CursorType.TIME:
            return None
        task, part, down = ing_task, ing_plan_slice, bool(row.is_descending)
        value = row.normalized_instant
        low, high = holes[0] if holes else (None, value) if down else (value, None)
        unread = task.c.status_code != TaskStatus.SUCCEEDED.value
        within = [task.c.window_to > low] if low else []
        within += [task.c.window_from < high] if high else []
        order = (task.c.window_to.desc() if down else task.c.window_from, task.c.id.desc())
        found = connection.execute(
            sa.select(task, part.c.slice_no)
            .join(part, part.c.id == task.c.slice_id)
            .where(*_tasks_of(namespace), unread, *within)
            .order_by(*order)
            .limit(1)
        ).first()
        if found is None:
            return None
        return BlockingTask(
            task_id=found.id,
            plan_id=found.plan_id,
            slice_id=found.slice_id,
            slice_no=found.slice_no,
            start=found.window_from,
            end=found.window_to,
            status=found.status_code,
            attempts=found.attempt_count,
            last_error=found.last_error,
        )

    def timeline(self, namespace: Namespace, since: datetime | None, limit: int) -> list[CursorStep]:
        """The newest events in order, each with the value before and after it."""
        with self._database.read(snapshot=True) as connection:
            row, begun = cursor_row(connection, namespace), anchor_event(connection, namespace)
            now = self._database.now(connection)
            from_events = self._values(connection, namespace, row, begun, now)
            newer = ((event, *values) for event, *values in from_events if since is None or event.created_at >= since)
            return [_step(namespace, now, *step) for step in deque(newer, maxlen=limit)]

    def _values(
        self,
        connection: sa.Connection,
        namespace: Namespace,
        row: sa.Row[Any] | None,
        begun: sa.Row[Any] | None,
        now: datetime,
    ) -> Iterator[tuple[sa.Row[Any], Any, Any]]:
        event = ing_cursor_event
        query = sa.select(event).where(in_namespace(event, namespace)).order_by(event.c.created_at, event.c.id)
        events = connection.execute(query.execution_options(yield_per=_PAGE))
        if namespace.cursor_type == CursorType.TOKEN:
            before = None
            for one in events:
                yield one, before, one.new_value
                before = one.new_value
            return
        start: Any = begun_at(begun) if begun else _stored_anchor(row)
        down = _is_falling(row, begun)
        yield from replay(start, ((one, stretch_of(one, now)) for one in events), descending=down)

    def rebuild(self, namespace: Namespace) -> Rebuilt:
        """What the events say, beside what is stored."""
        with self._database.read(snapshot=True) as connection:
            row, begun = cursor_row(connection, namespace), anchor_event(connection, namespace)
            if namespace.cursor_type == CursorType.TOKEN:
                return self._last_token(connection, namespace, row)
            if row is None and begun is None:
                raise BadInput("CURSOR_UNKNOWN", "it has neither a cursor nor an anchor", where="cursor rebuild")
            now = self._database.now(connection)
            from_events = value_of_events(connection, namespace, row, begun, now)
            if row is None:
                return Rebuilt(namespace, CursorVerdict.LOST, None, value_text(from_events))
            missing = [] if begun else [{"event": EventType.ANCHOR.value}]
            verdict = compare_with_events(row_value(row), from_events, descending=bool(row.is_descending))
            found = Rebuilt(namespace, verdict, value_text(row_value(row)), value_text(from_events), missing=missing)
            return self._ahead(connection, found, row, from_events, now) if verdict == CursorVerdict.AHEAD else found

    def _ahead(
        self, connection: sa.Connection, found: Rebuilt, row: sa.Row[Any], from_events: Any, now: datetime
    ) -> Rebuilt:
        """Why a value is ahead of its events, where the holes are, and which events are missing."""
        namespace, down, stored = found.namespace, bool(row.is_descending), row_value(row)
        covered: Iterator[Any] = whole_beyond(connection, namespace, from_events, now=now, descending=down)
        holes = list(islice(find_holes(from_events, stored, covered, descending=down), MOST_HOLES))
        why = self._why_ahead(connection, namespace, row, from_events, now)
        missing = [one for hole in holes for one in self._missing(connection, namespace, hole)]
        if why != Ahead.MISSING:  # a hole that is explained lacks no event
            missing = [one for one in missing if one["event"] is not None]
        shown = [_span(namespace, *hole).json() for hole in holes]
        return replace(found, holes=shown, missing=[*found.missing, *missing], why=why.value)

    def _why_ahead(
        self, connection: sa.Connection, namespace: Namespace, row: sa.Row[Any], from_events: Any, now: datetime
    ) -> Ahead:
        event = ing_cursor_event
        if namespace.cursor_type != CursorType.TIME:
            return Ahead.MISSING
        if stands_ahead(row, now):
            return Ahead.FUTURE
        beyond = sa.select(event.c.id).where(in_namespace(event, namespace), event.c.window_to > from_events).limit(1)
        cut = beyond.where(event.c.event_type == EventType.COVERAGE.value, event.c.window_to > event.c.as_of)
        if connection.execute(cut).first():
            return Ahead.CUT_SHORT
        void = beyond.where(sa.or_(event.c.event_type == EventType.VOID.value, ~genuine(now)))
        return Ahead.VOIDED if connection.execute(void).first() else Ahead.MISSING

    def _last_token(self, connection: sa.Connection, namespace: Namespace, row: sa.Row[Any] | None) -> Rebuilt:
        event = ing_cursor_event
        query = sa.select(event.c.new_value).where(in_namespace(event, namespace)).order_by(event.c.id.desc()).limit(1)
        from_events = connection.execute(query).scalar()
        if row is None:
            return Rebuilt(namespace, CursorVerdict.LOST, None, from_events)
        verdict = CursorVerdict.EQUAL if from_events == row.cursor_value else CursorVerdict.BEHIND
        missing = [] if from_events is not None else [{"event": EventType.ANCHOR.value}]
        return Rebuilt(namespace, verdict, row.cursor_value, from_events, missing=missing)

    def _missing(self, connection: sa.Connection, namespace: Namespace, hole: tuple[Any, Any]) -> list[dict[str, Any]]:
        """The tasks that succeeded in a hole and have no event; without any, the hole itself."""
        if namespace.cursor_type != CursorType.TIME:
            return [{"event": EventType.COVERAGE.value, **_span(namespace, *hole).json()}]
        task, event = ing_task, ing_cursor_event
        same = (event.c[name] == task.c[name] for name in ("schedule_instance_id", "plan_id", "slice_id"))
        from_events = sa.select(event.c.id).where(*same, event.c.task_id == task.c.id, COVERS).exists()
        query = (
            sa.select(task)
            .where(
                *_tasks_of(namespace),
                task.c.status_code == TaskStatus.SUCCEEDED.value,
                task.c.window_to > hole[0],
                task.c.window_from < hole[1],
                ~from_events,
            )
            .order_by(task.c.window_from, task.c.id)
            .limit(MOST_HOLES)
        )
        found = [
            {
                "event": EventType.COVERAGE.value,
                "from": format_instant(row.window_from),
                "to": format_instant(row.window_to),
                "task_id": row.id,
                "plan_id": row.plan_id,
                "slice_id": row.slice_id,
            }
            for row in connection.execute(query)
        ]
        return found or [{"event": None, **_span(namespace, *hole).json()}]


def _fits(
    table: sa.Table, source: str | None, endpoint: str | None, operation: Operation | None, namespace: str | None
) -> list[sa.ColumnElement[bool]]:
    wanted = {"provenance_code": source, "endpoint_name": endpoint, "operation_code": operation}
    fits = [table.c[name] == value for name, value in wanted.items() if value]
    return [*fits, table.c.namespace_key.startswith(namespace, autoescape=True)] if namespace else fits


def _has_cursor() -> sa.ColumnElement[bool]:
    names = ("provenance_code", "operation_code", "cursor_key", "namespace_scope_code", "namespace_key")
    same = (ing_cursor.c[name] == ing_cursor_event.c[name] for name in names)
    return sa.select(ing_cursor.c.id).where(*same).correlate(ing_cursor_event).exists()


def _tasks_of(namespace: Namespace) -> tuple[sa.ColumnElement[bool], ...]:
    task, partition = ing_task, namespace.partition
    return (
        task.c.namespace_key == namespace.key,
        task.c.provenance_code == partition.provenance_code,
        task.c.operation_code == partition.operation_code.value,
    )


def _is_falling(row: sa.Row[Any] | None, begun: sa.Row[Any] | None) -> bool:
    """Which way a cursor runs, from its row, or from the event that began it."""
    if row is not None:
        return bool(row.is_descending)
    return begun is not None and began_at_its_end(begun)


def _stored_anchor(row: sa.Row[Any] | None) -> Any:
    if row is None:
        raise BadInput("CURSOR_UNKNOWN", "it has neither a cursor nor an anchor", where="cursor rebuild")
    return row.anchor_instant or row_value(row)


def _behind(row: sa.Row[Any], now: datetime) -> int | None:
    if row.normalized_instant is None or row.is_descending:
        return None
    return int((now - row.normalized_instant).total_seconds())


def _span(namespace: Namespace, start: Any, end: Any) -> Span:
    first = start + 1 if namespace.cursor_type == CursorType.ID else start
    return Span(value_text(first), value_text(end))


def _step(namespace: Namespace, now: datetime, event: sa.Row[Any], before: Any, after: Any) -> CursorStep:
    covered = stretch_of(event, now)
    span = covered.counted if isinstance(covered, Coverage) else covered
    if event.event_type == EventType.SET_BACK.value:
        before, after = (event.record_remarks or {}).get("from"), event.new_value
    began = event.event_type == EventType.ANCHOR.value or (span is None and event.event_type == EventType.ADOPT.value)
    return CursorStep(
        event_id=event.id,
        at=event.created_at,
        event_type=event.event_type,
        covered=_span(namespace, span.start, span.end) if span else None,
        range=event.range,
        as_of=event.as_of,
        before=None if began or before is None else value_text(before),
        after=value_text(after),
        no_forward=not began and before == after,
        observed_max=event.observed_max_value,
        lineage={name: getattr(event, name) for name in LINEAGE},
        remarks=event.record_remarks,
    )
