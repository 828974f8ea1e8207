"""Why a record cannot be used, and what its quarantine row says.

Expressions, predicates and patterns are a source file's, values are the provider's, and both may exceed a bound: such a
record goes to quarantine under the source file's key, and its page goes on.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any

from ingest_core.execution.fetch import Abandoned
from ingest_core.execution.predicate import holds
from ingest_core.gate.taxonomy import UpstreamError
from ingest_core.model.codes import QuarantineReason
from ingest_core.model.record import Rejected
from ingest_core.model.redaction import excerpt
from ingest_core.model.spec import Expression, PredicateSpec
from ingest_core.registry.bounds import BoundExceeded
from ingest_core.registry.paths import Getter
from ingest_core.registry.patterns import MatchTime, PageAbandoned, PageTimeout, PatternTimeout, page_match_time

FRAGMENT_BYTES = 1024
_PATH_CHARS = 400


class Unusable(Exception):
    """A record that goes to quarantine."""

    def __init__(self, reason: QuarantineReason, path: str, provider_id: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path
        self.provider_id = provider_id


def compiled(place: str, compile_expression: Callable[[Any], Getter], expression: Expression | None) -> Getter:
    """The expression's function; a BoundExceeded it raises names the place. Without an expression it finds nothing.

    An expression that a stored snapshot holds from before it was refused fails on each record, not on the whole run.
    """
    if not expression:
        return lambda _record: None
    try:
        get = compile_expression(expression)
    except BoundExceeded as error:
        refused = error

        def get(_record: Any) -> Any:
            raise BoundExceeded(str(refused), refused.subject)

    def get_here(record: Any) -> Any:
        try:
            return get(record)
        except BoundExceeded as error:
            error.place = place
            raise

    return get_here


def decided(place: str, predicate: PredicateSpec | None, record: Any) -> bool:
    """Whether the record fulfils the predicate; a BoundExceeded it raises names the place."""
    try:
        return predicate is not None and holds(predicate, record)
    except BoundExceeded as error:
        error.place = place
        raise


def found_or_none(get: Getter, item: Any) -> Any:
    """What the expression finds; an expression that fails on a deleted record finds nothing."""
    try:
        return get(item)
    except PageTimeout:
        raise
    except Exception:
        return None


@contextmanager
def page_time(abandoned: Event | None = None) -> Iterator[MatchTime]:
    """Give the patterns of a page's records their time; UpstreamError where they take longer.

    Once `abandoned` is set, no further record is begun: a worker that is to end waits for one record at most.
    """
    try:
        with page_match_time(abandoned) as remaining:
            yield remaining
    except PageAbandoned as error:
        raise Abandoned from error
    except PageTimeout as error:
        raise UpstreamError(error.code, str(error), moved=True) from error


def reject(unusable: Unusable | BoundExceeded, raw: str) -> Rejected:
    """The quarantine row of an unusable record."""
    if isinstance(unusable, BoundExceeded):
        unusable = _beyond_bounds(unusable)
    return Rejected(
        reason=unusable.reason,
        json_path=unusable.path[:_PATH_CHARS],
        fragment=excerpt(raw, FRAGMENT_BYTES).encode()[:FRAGMENT_BYTES].decode(errors="ignore"),
        fragment_hash=hashlib.sha256(raw.encode("utf-8", "surrogatepass")).hexdigest(),
        provider_id=unusable.provider_id,
    )


def _beyond_bounds(error: BoundExceeded) -> Unusable:
    """The record that exceeds a bound; its path is the source file's key and the pattern or path in question."""
    slow = isinstance(error, PatternTimeout)
    reason = QuarantineReason.PATTERN_TIMEOUT if slow else QuarantineReason.TOO_LARGE
    return Unusable(reason, f"{error.place} {error.subject}".strip(), error.provider_id)
