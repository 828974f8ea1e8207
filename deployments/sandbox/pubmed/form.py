"""The parameters of a request: in its URL, or in a form it posts."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from deployments.sandbox.provider import Request

LONGEST_URL = 8190
MOST_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Form:
    """What a request asks, wherever it says so."""

    values: Mapping[str, str]
    url_too_long: bool

    def text(self, name: str, default: str = "") -> str:
        """The parameter, trimmed."""
        return self.values.get(name, default).strip()

    def number(self, name: str, default: int) -> int:
        """The parameter as a number not below 0; what is none counts as not given."""
        number = read_number(self.text(name))
        return default if number is None else number

    def ids(self) -> list[str]:
        """The ids asked for, as given and once each."""
        parts = (part.strip() for part in self.text("id").split(","))
        return list(dict.fromkeys(part for part in parts if part))


def read_number(text: str) -> int | None:
    """The number the text is; None when it is none, or longer than any here."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS else None


def read_form(request: Request) -> Form:
    """The request's parameters; those of a posted form win."""
    length = len(request.path) + len(urlencode(request.query))
    return Form(request.asked, url_too_long=length > LONGEST_URL)
