"""Page tokens: opaque, without a server's memory, they name the last study of a page."""

import base64
import binascii
import struct
from dataclasses import dataclass

from deployments.sandbox.clinicaltrials.failure import BadRequestError

# Every recorded token begins alike.
OPENING = "ZVt07cGHkvI2wRk2CJf6_LLq14bEL8sw"
LAYOUT = struct.Struct(">8sIqII")
Key = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Place:
    """After which study a page begins, and which page it is."""

    page: int
    after: Key


def write_token(digest: bytes, place: Place) -> str:
    """The token of the page that begins after this place."""
    packed = LAYOUT.pack(digest, place.page, *place.after)
    return OPENING + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def read_token(token: str, digest: bytes) -> Place:
    """The place; BadRequestError when the token is none, or is another query's."""
    body = token.removeprefix(OPENING)
    try:
        given, page, *after = LAYOUT.unpack(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    except (binascii.Error, struct.error, ValueError) as error:
        raise BadRequestError(f"`pageToken` has incorrect value: {token}") from error
    if given != digest:
        raise BadRequestError(
            "`pageToken` does not match the other parameters: only pageSize and countTotal may change"
        )
    return Place(page, (after[0], after[1], after[2]))
