"""ID_RANGE: ids to refresh, in ranges as they come, or in buckets of their hashes."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from ingest_core.model.canonical import hash_text
from ingest_core.model.codes import SliceStrategy
from ingest_core.model.slice_codes import EstimateMethod
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.task import ID_FIELD
from ingest_core.planning.estimate import Estimate
from ingest_core.planning.sizing import ID_BATCHES
from ingest_core.planning.strategies.strategy import Piece, SliceContext


class IdStrategy:
    """A Strategy."""

    code = SliceStrategy.ID_RANGE.value

    def refusal(self, spec: SpecSnapshot) -> str | None:
        """Why a source cannot be cut by id, if it cannot."""
        return None if spec.window is None else "it cuts refreshes by id; this plan follows a time filter"

    def pieces(self, context: SliceContext) -> Iterator[Piece]:
        """Every id in one slice, each of a fixed number of detail requests."""
        size = ID_BATCHES * (context.spec.detail.id_batch_size if context.spec.detail else 1)
        buckets = context.spec.slicing.id_buckets
        grouped = _ranges(context.ids, size) if buckets is None else _buckets(context.ids, size, buckets)
        for ids, bounds in grouped:
            estimate = Estimate(len(ids), EstimateMethod.COUNT)
            yield Piece(context.window, estimate, ids=ids, bounds={"range": bounds})


Group = tuple[tuple[str, ...], Mapping[str, Any]]


def _ranges(ids: Iterator[str], size: int) -> Iterator[Group]:
    """Neighbours together, in the order in which they come."""
    while group := tuple(islice(ids, size)):
        yield group, {"key": ID_FIELD, "from": min(group), "to": max(group)}


def _buckets(ids: Iterator[str], size: int, buckets: int) -> Iterator[Group]:
    """Ids of one hash bucket together; a full group goes at once, so that no list grows with the ids."""
    groups: dict[int, list[str]] = {}
    for one in ids:
        bucket = bucket_of(one, buckets)
        group = groups.setdefault(bucket, [])
        group.append(one)
        if len(group) == size:
            yield _bucket(groups.pop(bucket), bucket, buckets)
    for bucket in sorted(groups):
        yield _bucket(groups[bucket], bucket, buckets)


def _bucket(group: list[str], bucket: int, buckets: int) -> Group:
    bounds = {"key": ID_FIELD, "from": min(group), "to": max(group), "bucket": bucket, "buckets": buckets}
    return tuple(group), bounds


def bucket_of(one: str, buckets: int) -> int:
    """The bucket of an id: the same whenever and wherever it is asked."""
    return int(hash_text(one)[:16], 16) % buckets
