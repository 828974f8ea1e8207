"""Namespaces: which watermark a plan moves."""

from dataclasses import dataclass

from ingest_core.model.canonical import hash_of
from ingest_core.model.codes import CursorType, Direction, NamespaceScope, Operation
from ingest_core.model.partition import Partition, partition_of
from ingest_core.model.spec import SpecSnapshot

REFRESH_KEY = "refresh_checked_at"
"""The cursor key of UPDATE, which reads by the time of the last check, not by the provider's update time."""


@dataclass(frozen=True)
class Namespace:
    """The identity of one cursor."""

    partition: Partition
    cursor_key: str
    """The field of the provider that the cursor measures, for instance `indexed`; the Registry's watermark key."""
    scope: NamespaceScope
    """EXPR: one cursor per query. CUSTOM: one per campaign. GLOBAL: one for the endpoint."""
    key: str
    """Hash of endpoint and query; for a campaign also of its name and direction."""
    direction: Direction = Direction.FORWARD
    """FORWARD for HARVEST and UPDATE; BACKFILL for campaigns, whose watermark may run down."""
    cursor_type: CursorType = CursorType.TIME
    """The type of the cursor's value: an instant, an id or a token."""


def harvest_namespace(spec: SpecSnapshot) -> Namespace:
    """The namespace of a harvest: one watermark per endpoint and query."""
    return namespace_of(spec, hash_of(spec.endpoint_name, spec.expr_proto_hash))


def campaign_namespace(spec: SpecSnapshot, campaign: str | None, *, newest_first: bool = False) -> Namespace:
    """The namespace of a BACKFILL campaign in one direction, or of an UPDATE."""
    if spec.operation_code == Operation.BACKFILL:
        direction = "newest_first" if newest_first else "oldest_first"
        return namespace_of(spec, hash_of(campaign, spec.endpoint_name, spec.expr_proto_hash, direction))
    by_id = ["ids"] if spec.window is None else []
    return namespace_of(spec, hash_of(campaign, spec.endpoint_name, spec.expr_proto_hash, *by_id))


def namespace_of(spec: SpecSnapshot, key: str) -> Namespace:
    """The namespace with this key, for the snapshot's operation."""
    partition = partition_of(spec)
    if spec.operation_code == Operation.HARVEST:
        return Namespace(partition, spec.time.watermark_key, NamespaceScope.EXPR, key)
    if spec.operation_code == Operation.BACKFILL:
        return Namespace(partition, spec.time.watermark_key, NamespaceScope.CUSTOM, key, Direction.BACKFILL)
    return Namespace(partition, REFRESH_KEY, NamespaceScope.CUSTOM, key)
