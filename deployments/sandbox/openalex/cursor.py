"""A cursor is the place of the last work shown: the server keeps nothing, so a page can be asked again."""

import base64
import binascii
import json

from deployments.sandbox.openalex.failure import bad_paging

Place = tuple[int, int]
"""The sort value of a work and the number in its id."""

HOME = "https://openalex.org/W"


def write_cursor(place: Place) -> str:
    """The cursor that goes on after this work."""
    return base64.b64encode(json.dumps(str([place[0], f"{HOME}{place[1]}"])).encode()).decode()


def read_cursor(text: str) -> Place | None:
    """The place to go on after; None is the beginning."""
    if text == "*":
        return None
    if text.lower() in {"null", "none"}:
        raise bad_paging("Cursor is null. Likely reached end of results.")
    try:
        listed = json.loads(base64.b64decode(text, validate=True))
        rank, key = json.loads(listed.replace("'", '"'))
        return int(rank), int(key.removeprefix(HOME))
    except (binascii.Error, ValueError, TypeError, AttributeError):
        raise bad_paging("Invalid cursor value") from None
