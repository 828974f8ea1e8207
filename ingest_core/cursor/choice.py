"""Finds the one cursor that an operator names."""

from ingest_core.model.errors import BadInput
from ingest_core.model.namespace import Namespace

_SHOWN = 10


def one_of(found: list[Namespace], asked: str) -> Namespace:
    """The only one; BadInput with the choice where there are others, or none."""
    if len(found) == 1:
        return found[0]
    if not found:
        raise BadInput("CURSOR_UNKNOWN", f"no cursor fits {asked}", where="cursor", remedy="see: patra cursor list")
    choice = ", ".join(f"{one.partition} {one.key[:12]}" for one in found[:_SHOWN])
    remedy = "say which: --endpoint, --operation, or the first characters of its namespace"
    raise BadInput("CURSOR_AMBIGUOUS", f"{len(found)} cursors fit {asked}: {choice}", where="cursor", remedy=remedy)


def heir_of(source: Namespace, key: str) -> Namespace:
    """A namespace that has not begun: the same partition, another key."""
    return Namespace(source.partition, source.cursor_key, source.scope, key, source.direction, source.cursor_type)
