"""The specification and the keys of a slice, and of the task that reads it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from ingest_core.model.canonical import hash_of
from ingest_core.model.expression import In, Node, both, from_json, part_node, window_range
from ingest_core.model.namespace import Namespace
from ingest_core.model.slice_codes import PRECISION
from ingest_core.model.slice_spec import HintsPayload, SliceSpec, check_slice
from ingest_core.model.spec import SpecSnapshot, WindowSpec
from ingest_core.model.task import ID_FIELD
from ingest_core.model.window import Window
from ingest_core.planning.sizing import budget_of, expected_requests
from ingest_core.planning.strategies.strategy import Piece
from ingest_core.planning.window import PATROL

ASCENDING = "asc"


@dataclass(frozen=True)
class SliceDraft:
    """A slice that is not stored yet, with the task that reads it."""

    window: Window
    """The time that the slice owns."""
    spec: dict[str, Any]
    """Its specification, as stored."""
    signature_hash: str
    """Hash of its meaning: two slices with one signature read the same."""
    expression: dict[str, Any]
    """Query and window as one expression."""
    expr_hash: str
    """Hash of that expression."""
    params: dict[str, Any]
    """The task's parameters, as stored."""
    idempotent_key: str
    """Unique key of the task: planning again makes no second one."""
    priority: int
    """Priority of the task; a lower number is more urgent."""
    records: int
    """Expected number of records."""
    method: str
    """How that number was found."""
    requests: int
    """Expected number of requests."""
    ids: tuple[str, ...] = ()
    """The records to refresh, for an UPDATE by id."""
    due_in: timedelta = timedelta(0)
    """Delay before the task may be claimed."""


@dataclass(frozen=True)
class Drafter:
    """Writes the slices of one plan."""

    spec: SpecSnapshot
    namespace: Namespace
    trigger: str
    strategy: str
    lag_seconds: int
    priority: int

    def draft(self, piece: Piece) -> SliceDraft:
        """The slice and task of a piece; the keys cover what it means, not hints or budgets."""
        expression = _localized(self.spec, piece)
        expr_hash = hash_of(expression)
        beside = {"range": piece.range.json()} if piece.range else dict(piece.bounds)
        bounds: dict[str, Any] = beside if piece.ids else {**piece.window.json(), **beside}
        params = {"window": piece.window.json(), **beside}
        partition = self.namespace.partition
        signature = hash_of(
            partition.provenance_code, partition.endpoint_name, partition.operation_code.value, expr_hash, bounds
        )
        task_key = hash_of(self.namespace.scope.value, self.namespace.key, signature, self.trigger, params)
        return SliceDraft(
            window=piece.window,
            spec=self._slice_spec(piece).json_value(),
            signature_hash=signature,
            expression=expression,
            expr_hash=expr_hash,
            params=params,
            idempotent_key=task_key,
            priority=self.priority,
            records=piece.estimate.records,
            method=piece.estimate.method.value,
            requests=expected_requests(self.spec, piece.estimate.records),
            ids=piece.ids,
        )

    def _slice_spec(self, piece: Piece) -> SliceSpec:
        config, records = self.spec.window or PATROL, piece.estimate.records
        beside = {"range": piece.range.json()} if piece.range else piece.bounds
        window = {"from": piece.window.start, "to": piece.window.end, "precision": PRECISION[config.unit]}
        budget, hints = budget_of(self.spec, records), self._hints(piece, config)
        return check_slice({"strategy": self.strategy, "window": window, **beside, "budget": budget, "hints": hints})

    def _hints(self, piece: Piece, config: WindowSpec) -> HintsPayload:
        paging, records = self.spec.pagination, piece.estimate.records
        return HintsPayload(
            expected_page_size=paging.page_size if paging else None,
            order=f"{config.field}:{ASCENDING}" if paging and paging.ascending else None,
            safety_lag_sec=self.lag_seconds,
            overlap_sec=config.overlap_seconds,
            estimated_records=records,
            estimate_method=piece.estimate.method,
            expected_requests=expected_requests(self.spec, records),
        )


def _localized(spec: SpecSnapshot, piece: Piece) -> dict[str, Any]:
    """The plan's query narrowed to what the slice owns."""
    prototype = from_json(spec.expression)
    if piece.ids:
        return both(prototype, In(ID_FIELD, piece.ids)).json()
    narrowed: list[Node] = [prototype, window_range(spec.time.field, piece.window)]
    if piece.range:
        narrowed.append(part_node(piece.range))
    return both(*narrowed).json()


def spread(drafts: Iterable[SliceDraft], daily_quota: int | None) -> Iterator[SliceDraft]:
    """The drafts, each due on the day on which the provider's quota reaches it."""
    used = 0
    for draft in drafts:
        days = used // daily_quota if daily_quota else 0
        used += draft.requests
        yield replace(draft, due_in=timedelta(days=days)) if days else draft
