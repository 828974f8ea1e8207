"""Namespaces that have begun, and coverage as the end of a task writes it."""

from datetime import datetime
from typing import Any

from ingest_core.cursor.choice import heir_of
from ingest_core.model.codes import EventType
from ingest_core.model.id_range import IdRange
from ingest_core.model.instant import format_instant
from ingest_core.model.namespace import Namespace
from ingest_core.model.window import Window
from ingest_core.store.cursors.events import append_event
from ingest_core.store.cursors.store import open_cursor
from ingest_core.store.schema.tables import ing_cursor, ing_cursor_event
from tests.support.books import NAMESPACE, at
from tests.support.tables import change, column, rows
from tests.support.wiring import Stores

OTHER = heir_of(NAMESPACE, "b" * 64)
LINEAGE = {"schedule_instance_id": 1, "plan_id": 1, "slice_id": 1, "task_id": 1}


def open_at(stores: Stores, hour: float, namespace: Namespace = NAMESPACE, **columns: Any) -> None:
    """Begin a namespace."""
    with stores.database.write() as connection:
        open_cursor(
            connection,
            namespace,
            at(hour),
            now=at(hour),
            lineage=LINEAGE,
            window=Window(at(hour), at(hour + 1)),
            **columns,
        )


def cover(
    stores: Stores,
    start: float,
    end: float,
    *,
    namespace: Namespace = NAMESPACE,
    as_of: float = 90,
    written: float | None = None,
    part: IdRange | None = None,
) -> None:
    """Write a coverage event as the end of a task would, and let the value follow."""
    now = at(as_of if written is None else written)
    with stores.database.write() as connection:
        append_event(
            connection, namespace, EventType.COVERAGE, Window(at(start), at(end)), now=now, as_of=at(as_of),
            lineage=LINEAGE, key_parts=(start, end, as_of, *([part.json()] if part else [])), value=at(end), part=part,
            observed_max=at(end - 0.5),
        )  # fmt: skip
    stores.cursors.advance(namespace)


def value(stores: Stores, namespace: Namespace = NAMESPACE) -> datetime:
    """Where a watermark stands."""
    (cursor,) = rows(stores.database, ing_cursor, ing_cursor.c.namespace_key == namespace.key)
    assert cursor["cursor_value"] == format_instant(cursor["normalized_instant"])
    stands: datetime = cursor["normalized_instant"]
    return stands


def put(stores: Stores, hour: float) -> None:
    """Write a value past the store."""
    change(stores.database, ing_cursor, normalized_instant=at(hour), cursor_value=format_instant(at(hour)))


def kinds(stores: Stores) -> list[str]:
    """What the events are."""
    return column(stores.database, ing_cursor_event, "event_type")
