"""Which tasks a claim takes: the most urgent, partition after partition, and now and then the least urgent."""

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

import sqlalchemy as sa

from ingest_core.model.codes import LEASED_TASKS, ControlState, Operation, TaskStatus
from ingest_core.model.partition import Due, Partition, SlotCaps
from ingest_core.store.engine.dialect import locked
from ingest_core.store.schema.columns import PARTITION_COLUMNS, in_partition, partition_values
from ingest_core.store.schema.tables import ing_partition_control, ing_task

LEAST_URGENT_EVERY = 8
"""Every eighth claim begins at the least urgent end, so that nothing starves."""

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass
class ClaimTurn:
    """Counts a worker's claims."""

    claims: int = 0

    @classmethod
    def anywhere(cls) -> "ClaimTurn":
        """A count that begins anywhere: workers that live for one claim have their eighth ones too."""
        return cls(random.randrange(LEAST_URGENT_EVERY))  # noqa: S311 - no secret

    def comes_now(self) -> bool:
        """Whether this claim is an eighth one."""
        self.claims += 1
        return self.claims % LEAST_URGENT_EVERY == 0


@dataclass(frozen=True)
class Head:
    """Where a partition's queue begins, at one priority."""

    control_id: int
    partition: Partition
    claimed_at: datetime | None
    priority: int

    @property
    def turn(self) -> tuple[datetime, int]:
        """Who has waited longest since its last claim comes first."""
        return self.claimed_at or _LONG_AGO, self.control_id


def _urgency(head: Head) -> tuple[int, datetime, int]:
    """The most urgent first; of equals, who has waited longest."""
    return (head.priority, *head.turn)


ExcludedSources = Collection[str]
"""Sources that are left alone."""

NONE_EXCLUDED: ExcludedSources = ()
Caps = Callable[[Partition], int | None]


def no_caps(_partition: Partition) -> None:
    """Any number of tasks at a time."""


def take_tasks(
    connection: sa.Connection,
    now: datetime,
    most: int,
    source: str | None,
    caps: Caps,
    excluding: ExcludedSources = NONE_EXCLUDED,
    *,
    least_urgent: bool,
) -> list[int]:
    """The ids of up to `most` due tasks, locked; in the order of their urgency."""
    heads = _heads(connection, now, source, excluding, least_urgent=least_urgent)
    taken: list[int] = []
    served: set[int] = set()
    while heads and len(taken) < most:
        best = max if least_urgent else min
        level = best(head.priority for head in heads)
        equals = sorted((head for head in heads if head.priority == level), key=_urgency)
        heads = [head for head in heads if head.priority != level]
        for head, ids in _deal(connection, now, equals, most - len(taken), taken, caps):
            taken += ids
            served |= {head.control_id} if len(equals) > 1 else set()  # a partition alone delays no other
        if least_urgent:
            least_urgent = False  # the rest of a larger claim is the most urgent again
            heads = _heads(connection, now, source, excluding, least_urgent=False) if len(taken) < most else []
        elif len(taken) < most:
            heads += _after(connection, now, equals)
    _note_turns(connection, served, now)
    return taken


def due_work(
    connection: sa.Connection, now: datetime, source: str | None, excluding: ExcludedSources, *, least_urgent: bool
) -> list[Due]:
    """Which partitions have due tasks, in the order in which to serve them; each with its first priority."""
    heads = sorted(_heads(connection, now, source, excluding, least_urgent=False), key=_urgency)
    if least_urgent and heads:
        last = _heads(connection, now, source, excluding, least_urgent=True)
        level = max(head.priority for head in last)
        chosen = sorted((head for head in last if head.priority == level), key=_urgency)
        heads = chosen + [head for head in heads if head not in chosen]
    levels = Counter(head.priority for head in heads)
    return [Due(head.partition, head.priority, shared=levels[head.priority] > 1) for head in heads]


def take_due(connection: sa.Connection, now: datetime, due: Due, caps: Caps, slot: SlotCaps | None = None) -> list[int]:
    """The id of one of these tasks, locked, unless its partition is paused or its cap is reached."""
    control = connection.execute(_control_query(), {"now": now, **partition_values(due.partition)}).first()
    if control is None:
        return []
    if slot is not None and not _has_room(connection, due.partition, slot):
        return []
    if _within_cap(connection, control.id, due.partition, caps, 1, []) < 1:
        return []
    asked = {"now": now, "share": 1, **partition_values(due.partition)}
    asked |= {"priority": due.priority} if due.task_id is None else {"task_id": due.task_id}
    ids = list(connection.execute(_due_query(excluding=False, named=due.task_id is not None), asked).scalars())
    if ids and due.shared:
        _note_turns(connection, {control.id}, now)
    return ids


def _deal(
    connection: sa.Connection, now: datetime, heads: list[Head], most: int, taken: list[int], caps: Caps
) -> Iterable[tuple[Head, list[int]]]:
    """Tasks of one priority, dealt out evenly; what a partition does not have goes to the others."""
    for waiting in range(len(heads), 0, -1):
        if most <= 0:
            return
        head = heads[len(heads) - waiting]
        share = _within_cap(connection, head.control_id, head.partition, caps, -(-most // waiting), taken)
        asked = {"priority": head.priority, "now": now, "share": share, **partition_values(head.partition)}
        asked |= {"taken": taken} if taken else {}
        query = _due_query(excluding=bool(taken), named=False)
        ids = list(connection.execute(query, asked).scalars()) if share > 0 else []
        if ids:
            most -= len(ids)
            yield head, ids


def _within_cap(
    connection: sa.Connection, control_id: int, partition: Partition, caps: Caps, wanted: int, taken: list[int]
) -> int:
    """How many of these the partition's cap allows; none while another claim or a plan of it is under way."""
    cap = caps(partition)
    if cap is None:
        return wanted
    mine = sa.select(ing_partition_control.c.id).where(ing_partition_control.c.id == control_id)
    if connection.execute(locked(mine, skip_locked=True)).first() is None:
        return 0
    its = in_partition(ing_task, partition)
    leased = sa.and_(its, ing_task.c.status_code.in_([status.value for status in LEASED_TASKS]))
    begun = sa.and_(its, ing_task.c.id.in_(taken))
    live = connection.execute(sa.select(sa.func.count()).where(sa.or_(leased, begun))).scalar_one()
    return min(wanted, cap - live)


def _has_room(connection: sa.Connection, partition: Partition, slot: SlotCaps) -> bool:
    """Whether the leases allow one more: a slot may have been given away while its task is still worked.

    Nothing is locked: slots come one at a time, and two claims at once are too many only if both had such a slot.
    """
    leased: dict[Partition, int] = {_partition(row): row.number for row in connection.execute(_leased_query())}
    return leased.get(partition, 0) < slot.partition and sum(leased.values()) < slot.total


@cache
def _leased_query() -> sa.Select[Any]:
    """How many tasks of each partition are leased; built once."""
    key = _named(ing_task)
    leased = ing_task.c.status_code.in_([status.value for status in LEASED_TASKS])
    return sa.select(*key, sa.func.count().label("number")).where(leased).group_by(*key)


@cache
def _due_query(*, excluding: bool, named: bool) -> sa.Select[Any]:
    """Due tasks of a partition and a priority, or one of its tasks by its id, locked; built once."""
    table = ing_task
    query = sa.select(table.c.id).where(
        table.c.status_code == TaskStatus.QUEUED.value,
        *(table.c[name] == sa.bindparam(name) for name in PARTITION_COLUMNS),
        table.c.scheduled_at <= sa.bindparam("now"),
        table.c.id == sa.bindparam("task_id") if named else table.c.priority == sa.bindparam("priority"),
    )
    if excluding:
        query = query.where(table.c.id.not_in(sa.bindparam("taken", expanding=True)))
    ordered = query.order_by(table.c.priority, table.c.scheduled_at, table.c.id)
    return locked(ordered.limit(sa.bindparam("share", type_=sa.Integer)), skip_locked=True)


def _heads(
    connection: sa.Connection, now: datetime, source: str | None, excluding: ExcludedSources, *, least_urgent: bool
) -> list[Head]:
    """Every active partition's first due priority, by one probe of the index each."""
    heads = []
    query = _heads_query(sourced=source is not None, least_urgent=least_urgent)
    for row in connection.execute(query, {"now": now, **({"source": source} if source else {})}).all():
        if row.priority is not None and row.provenance_code not in excluding:
            served = (
                row.claimed_at if row.claimed_at and row.claimed_at <= now else None
            )  # or it would come last for long
            head: Head | None = Head(row.id, _partition(row), served, row.priority)
            if head and (least_urgent or row.due > now):
                head = _first_due(connection, now, head, down=least_urgent)
            heads += [head] if head else []
    return heads


@cache
def _heads_query(*, sourced: bool, least_urgent: bool) -> sa.Select[Any]:
    """Built once: building it takes as long as running it."""
    control = ing_partition_control
    mine = sa.and_(*(ing_task.c[name] == control.c[name] for name in PARTITION_COLUMNS))
    first = _end(mine, ing_task.c.priority, down=least_urgent).correlate(control).scalar_subquery()
    due_at = _first(mine, ing_task.c.scheduled_at).correlate(control).scalar_subquery()
    known = (*_named(control), control.c.id, control.c.claimed_at)
    query = sa.select(*known, first.label("priority"), due_at.label("due"))
    query = query.where(control.c.control_code == ControlState.ACTIVE.value, _open())
    return query.where(control.c.provenance_code == sa.bindparam("source")) if sourced else query


def _after(connection: sa.Connection, now: datetime, heads: list[Head]) -> list[Head]:
    """Where the partitions' queues go on, beyond these priorities."""
    nexts = (_next_priority(connection, head, down=False) for head in heads)
    return [due for head in nexts if head and (due := _first_due(connection, now, head, down=False))]


def _first_due(connection: sa.Connection, now: datetime, head: Head, *, down: bool) -> Head | None:
    """The head, or where the queue goes on if all of its priority are for later."""
    at: Head | None = head
    while at is not None:
        mine = sa.and_(in_partition(ing_task, at.partition), ing_task.c.priority == at.priority)
        moment = connection.execute(_end(mine, ing_task.c.scheduled_at, down=False)).scalar()
        if moment is not None and moment <= now:
            return at
        at = _next_priority(connection, at, down=down)
    return None


def _next_priority(connection: sa.Connection, head: Head, *, down: bool) -> Head | None:
    column = ing_task.c.priority
    beyond = column < head.priority if down else column > head.priority
    mine = sa.and_(in_partition(ing_task, head.partition), beyond)
    priority = connection.execute(_end(mine, column, down=down)).scalar()
    return None if priority is None else Head(head.control_id, head.partition, head.claimed_at, priority)


def _end(mine: sa.ColumnElement[bool], column: sa.Column[Any], *, down: bool) -> sa.Select[Any]:
    """The lowest or highest value among queued tasks: one step along the index, where MIN would read them all."""
    queued = ing_task.c.status_code == TaskStatus.QUEUED.value
    return sa.select(column).where(queued, mine).order_by(column.desc() if down else column).limit(1)


def _first(mine: sa.ColumnElement[bool], column: sa.Column[Any]) -> sa.Select[Any]:
    """A column of the task that heads a queue."""
    queued = ing_task.c.status_code == TaskStatus.QUEUED.value
    order = (ing_task.c.priority, ing_task.c.scheduled_at, ing_task.c.id)
    return sa.select(column).where(queued, mine).order_by(*order).limit(1)


def _note_turns(connection: sa.Connection, served: set[int], now: datetime) -> None:
    """Whoever was served waits for the others; a row another claim or a planner holds is noted by them, or later."""
    table = ing_partition_control
    free = sa.select(table.c.id).where(table.c.id.in_(sorted(served))).order_by(table.c.id)
    ids = list(connection.execute(locked(free, skip_locked=True)).scalars()) if served else []
    if ids:
        connection.execute(sa.update(table).where(table.c.id.in_(ids)).values(claimed_at=now))


@cache
def _control_query() -> sa.Select[Any]:
    """The control of a partition that may work; built once."""
    control = ing_partition_control
    mine = (control.c[name] == sa.bindparam(name) for name in PARTITION_COLUMNS)
    return sa.select(control.c.id).where(*mine, control.c.control_code == ControlState.ACTIVE.value, _open())


def _open() -> sa.ColumnElement[bool]:
    """Whether no rate limiter of the partition is closed."""
    closed_until = ing_partition_control.c.closed_until
    return sa.or_(closed_until.is_(None), closed_until <= sa.bindparam("now"))


def active_partitions(connection: sa.Connection, source: str | None) -> list[tuple[Partition, datetime | None]]:
    """The partitions that may work, and until when a rate limiter of theirs is closed."""
    control = ing_partition_control
    query = _active(sa.select(*_named(control), control.c.closed_until), source)
    return [(_partition(row), row.closed_until) for row in connection.execute(query)]


def _named(table: sa.Table) -> list[sa.Column[Any]]:
    return [table.c[name] for name in PARTITION_COLUMNS]


def _active(query: sa.Select[Any], source: str | None) -> sa.Select[Any]:
    query = query.where(ing_partition_control.c.control_code == ControlState.ACTIVE.value)
    return query.where(ing_partition_control.c.provenance_code == source) if source else query


def _partition(row: sa.Row[Any]) -> Partition:
    return Partition(row.provenance_code, row.endpoint_name, Operation(row.operation_code))
