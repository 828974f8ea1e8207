"""A token: a place in a result and the moment it was given, in letters nobody should read."""

import base64
from dataclasses import dataclass

from deployments.sandbox.provider import Refused


@dataclass(frozen=True, slots=True)
class Token:
    """Where a page begins, when and by which answer this was said, and whether it has been said before."""

    place: int
    given_ms: int
    again: bool = False
    answer: int = 0

    def write(self) -> str:
        """As a client is told."""
        text = f"{self.place}:{self.given_ms}:{int(self.again)}:{self.answer}"
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_token(text: str) -> Token:
    """The token of these letters; Refused where they are none."""
    try:
        place, given_ms, again, answer = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode().split(":")
        return Token(int(place), int(given_ms), again == "1", int(answer))
    except ValueError as error:
        raise Refused(f"no such token: {text}") from error
