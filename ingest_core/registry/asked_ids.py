"""The ids a refresh is asked for: each is one that the provider could have given."""

from collections.abc import Sequence
from itertools import islice

from ingest_core.model.errors import BadInput
from ingest_core.model.record import NORMALIZE_ID
from ingest_core.registry.bounds import BoundExceeded
from ingest_core.registry.patterns import Pattern, compile_pattern
from ingest_core.registry.rows import Row

SHOWN_IDS = 3
SHOWN_CHARS = 60


def check_asked_ids(provenance: Row, ids: Sequence[str]) -> None:
    """BadInput where ids, in their normal form, do not match the source's `id_pattern`."""
    text = provenance.get("id_pattern")
    if text is None or not ids:
        return
    pattern, normalize = compile_pattern(text), NORMALIZE_ID[provenance["id_normalizer_code"]]
    wrong = list(islice((one for one in ids if not _fits(pattern, normalize(one))), SHOWN_IDS + 1))
    if wrong:
        shown = ", ".join(repr(one[:SHOWN_CHARS]) for one in wrong[:SHOWN_IDS])
        more = ", ..." if len(wrong) > SHOWN_IDS else ""
        raise BadInput(
            "ID_INVALID",
            f"ids that its id_pattern {text} does not match: {shown}{more}",
            where=f"source {provenance['provenance_code']!r}",
            remedy="correct the list of ids; no request was sent",
        )


def _fits(pattern: Pattern, one: str) -> bool:
    try:
        return pattern.fullmatch(one) is not None
    except BoundExceeded:  # too long, or too slow to match: no id of a provider's
        return False
