"""Cutting what needs reading into slices, and the specification each one carries."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from ingest_core.model.canonical import hash_of
from ingest_core.model.codes import PRIORITY, SliceStrategy
from ingest_core.model.expression import localize, window_range
from ingest_core.model.instant import ceil_to
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.window import Window
from ingest_core.model.work import Namespace


@dataclass(frozen=True)
class SliceDraft:
    """A slice that is not stored yet, with the task that reads it."""

    window: Window
    spec: dict[str, Any]
    signature_hash: str
    expression: dict[str, Any]
    expr_hash: str
    params: dict[str, Any]
    idempotent_key: str
    priority: int


def slice_time(needs: Iterable[Window], step: timedelta) -> Iterator[Window]:
    """The needs cut at multiples of `step`: the same cuts whenever they are made."""
    for need in needs:
        start = need.start
        while start < need.end:
            end = min(need.end, ceil_to(start + timedelta(microseconds=1), step))
            yield Window(start, end)
            start = end


def draft_slice(window: Window, spec: SpecSnapshot, namespace: Namespace, trigger_key: str) -> SliceDraft:
    """The slice and task for a window; the keys cover what it means, not hints or budgets."""
    expression = localize(spec.expression, window_range(spec.time.field, window))
    expr_hash = hash_of(expression)
    params = {"window": window.json()}
    partition = namespace.partition
    signature = hash_of(
        partition.provenance_code, partition.endpoint_name, partition.operation_code.value, expr_hash, window.json()
    )
    return SliceDraft(
        window=window,
        spec=_slice_spec(window, spec),
        signature_hash=signature,
        expression=expression,
        expr_hash=expr_hash,
        params=params,
        idempotent_key=hash_of(namespace.scope.value, namespace.key, signature, trigger_key, params),
        priority=PRIORITY[spec.operation_code],
    )


def _slice_spec(window: Window, spec: SpecSnapshot) -> dict[str, Any]:
    return {
        "strategy": SliceStrategy.TIME.value,
        "window": {
            **window.json(),
            "boundary": {"from": "CLOSED", "to": "OPEN"},
            "timezone": "UTC",
            "precision": spec.time.unit.value,
        },
        "hints": {
            "expectedPageSize": spec.paging.page_size,
            "safetyLagSec": spec.time.lag_seconds,
            "overlapSec": spec.time.overlap_seconds,
        },
    }
