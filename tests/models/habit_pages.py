"""What a provider with habits is made of: its records, its pages, their faults, and the places that tokens lead to."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from tests.models.habits import Fault

BEGIN = datetime(2020, 1, 1, tzinfo=UTC)


class Endless(BaseException):
    """The product asks and asks."""


class Killed(BaseException):
    """The worker's process died."""


@dataclass(frozen=True)
class Book:
    """A record of the provider's."""

    number: int
    slot: int
    fine: int
    rank: int

    @property
    def id(self) -> str:
        """Its id."""
        return f"b{self.number:03}"


@dataclass(frozen=True)
class Bounds:
    """What was asked for: `[start, end)`."""

    start: datetime
    end: datetime

    def hold(self, moment: datetime) -> bool:
        """Whether that moment is asked for."""
        return self.start <= moment < self.end


@dataclass
class LinkedWalk:
    """A linked walk that a client has opened."""

    number: int
    bounds: Bounds
    snapshot: list[Book]
    total: int
    requests: int = 0
    scrolled: "Place | None" = None


@dataclass(frozen=True)
class Place:
    """Where in a linked walk a token leads."""

    at: int = 0
    key: tuple[int, ...] | None = None
    page: int = 0
    pause: int = 0
    lap: int = 0


@dataclass
class Page:
    """An answer before it is written."""

    books: list[Book] = field(default_factory=list)
    total: int | None = None
    next: str | None = None
    more: bool | None = None
    moved: int | None = None
    status: int = 200
    error: str | None = None


@dataclass(frozen=True)
class Asked:
    """A request and its answer, as the log keeps them."""

    number: int
    correlation: str
    bounds: Bounds
    place: str
    said: str
    page: Page


SPOILT: dict[Fault | None, Callable[[Page, list[Book]], Page]] = {
    Fault.BUSY: lambda _page, _before: Page(status=503, error="busy"),
    Fault.EMPTY: lambda page, _before: replace(page, books=[]),
    Fault.EMPTY_END: lambda page, _before: replace(page, books=[], next=None),
    Fault.SHORT: lambda page, _before: replace(page, books=page.books[:-1]),
    Fault.STUTTER: lambda page, before: replace(page, books=before or page.books),
    Fault.NO_TOKEN: lambda page, _before: replace(page, next=None),
}
"""The answer that a fault makes of the right one and the one before; other faults are of the line."""


def spoilt(page: Page, fault: Fault | None, before: list[Book]) -> Page:
    """The answer with its fault; an answer that is an error has none."""
    return SPOILT[fault](page, before) if fault in SPOILT and page.error is None else page


def said_by(page: Page) -> str:
    """An answer in a line of the log."""
    if page.error is not None:
        return f"{page.status} {page.error}"
    parts = [f"{' '.join(one.id for one in page.books) or 'no records'}"]
    parts += [f"total {page.total}"] if page.total is not None else []
    parts += [f"next {page.next}"] if page.next is not None else []
    parts += [f"more {page.more}"] if page.more is not None else []
    return ", ".join(parts)
