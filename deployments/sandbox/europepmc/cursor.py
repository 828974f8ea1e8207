"""A cursor mark is the place of the last record shown: the server keeps nothing, so a page can be asked again."""

import base64
import binascii

from deployments.sandbox.europepmc.failure import QueryFailureError

Place = tuple[int, int]
"""The rank of a record and its number in the corpus."""

TOTEM = b"\x02\x82\x08"
SPLIT = b"("
RANK_BYTES = 4


def write_cursor(place: Place) -> str:
    """The mark that goes on after this record; it may hold `+`, `/` and `=`."""
    rank, work = place
    return base64.b64encode(TOTEM + rank.to_bytes(RANK_BYTES, "big") + SPLIT + str(work).encode()).decode()


def read_cursor(text: str) -> Place | None:
    """The place to go on after; None is the beginning."""
    if text == "*":
        return None
    try:
        packed = base64.b64decode(text, validate=True)
        start = len(TOTEM) + RANK_BYTES
        if not packed.startswith(TOTEM) or packed[start : start + 1] != SPLIT:
            raise ValueError(text)
        return int.from_bytes(packed[len(TOTEM) : start], "big"), int(packed[start + 1 :])
    except (binascii.Error, ValueError):
        message = "value must either be '*' or the 'nextCursorMark' returned by a previous search"
        raise QueryFailureError(404, f"Unable to parse 'cursorMark': {message}: {text}") from None
