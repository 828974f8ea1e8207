"""Columns that many tables share, from the values that many modules share."""

from typing import Any

import sqlalchemy as sa

from ingest_core.model.namespace import Namespace
from ingest_core.model.partition import Partition

PARTITION_COLUMNS = ("provenance_code", "endpoint_name", "operation_code")
"""What names a partition."""


def partition_values(partition: Partition) -> dict[str, Any]:
    """The redundant columns that find a partition without joins."""
    return {
        "provenance_code": partition.provenance_code,
        "endpoint_name": partition.endpoint_name,
        "operation_code": partition.operation_code.value,
    }


def namespace_values(namespace: Namespace) -> dict[str, Any]:
    """The columns of a cursor's identity."""
    return {
        **partition_values(namespace.partition),
        "cursor_key": namespace.cursor_key,
        "namespace_scope_code": namespace.scope.value,
        "namespace_key": namespace.key,
    }


def in_namespace(table: sa.Table, namespace: Namespace) -> sa.ColumnElement[bool]:
    """The rows of one namespace, by its unique key."""
    return sa.and_(
        table.c.provenance_code == namespace.partition.provenance_code,
        table.c.operation_code == namespace.partition.operation_code.value,
        table.c.cursor_key == namespace.cursor_key,
        table.c.namespace_scope_code == namespace.scope.value,
        table.c.namespace_key == namespace.key,
    )


def in_partition(table: sa.Table, partition: Partition) -> sa.ColumnElement[bool]:
    """The rows of one partition."""
    return sa.and_(*(table.c[name] == value for name, value in partition_values(partition).items()))


def inserted_id(result: sa.CursorResult[Any]) -> int:
    """The id an INSERT gave."""
    key = result.inserted_primary_key
    assert key is not None
    return int(key[0])
