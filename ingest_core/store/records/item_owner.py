"""Under which endpoint records are stored, as the Registry says now."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from ingest_core.model.codes import Operation
from ingest_core.model.task import Task
from ingest_core.registry.ownership import owners
from ingest_core.store.engine.dialect import shared
from ingest_core.store.schema.tables import SOURCE_TABLES, ing_schema_info

Endpoints = Sequence[dict[str, Any]]


def under_owner(connection: sa.Connection, task: Task, *, lock: bool = False) -> Task:
    """The task with the owner of its records; one whose snapshot names none asks the Registry.

    A plan's meaning comes from its snapshot, but a snapshot from before `refreshes` was applied would store its records
    a second time, behind the merge that `registry apply` has made.
    """
    spec, partition = task.spec, task.partition
    by_id = partition.operation_code == Operation.UPDATE and spec.window is None
    if spec.item_endpoint is not None or not by_id:
        return task
    if lock:
        hold_registry(connection)
    owner = owners(live_endpoints(connection, partition.provenance_code)).get(partition.endpoint_name)
    return replace(task, spec=spec.model_copy(update={"item_endpoint": owner})) if owner else task


def hold_registry(connection: sa.Connection) -> None:
    """Let no other transaction apply a source until this one has ended.

    `registry apply` locks this row for itself: it waits for pages that are being written, and pages wait for it. So no
    page writes under an endpoint whose records are being merged into another's.
    """
    connection.execute(shared(sa.select(ing_schema_info.c.id)))


def live_endpoints(connection: sa.Connection, source: str | None = None) -> Endpoints:
    """The endpoints in force, of one source or of all, as far as ownership needs them."""
    table = SOURCE_TABLES["reg_prov_endpoint_def"]
    names = (
        "provenance_code",
        "endpoint_name",
        "endpoint_role_code",
        "detail_endpoint_name",
        "refreshes_endpoint_name",
    )
    query = sa.select(*(table.c[name] for name in names)).where(table.c.closed_at.is_(None)).order_by(table.c.id)
    if source is not None:
        query = query.where(table.c.provenance_code == source)
    return [dict(row) for row in connection.execute(query).mappings()]
