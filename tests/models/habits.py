"""How a provider pages, and what a source file says of it: the space that the paging law is searched over."""

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any


class Word(StrEnum):
    """A choice that is written as code writes it, so that a failure can be pasted into a test."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"


class Kind(Word):
    """How the next page is asked for."""

    OFFSET = "OFFSET"
    PAGE = "PAGE"
    TOKEN = "TOKEN"
    URL = "URL"
    TIME = "TIME"


LINKED = (Kind.TOKEN, Kind.URL)


class Moved(Word):
    """What a page of an OFFSET walk says of how far it moved."""

    UNSAID = "UNSAID"
    RIGHT = "RIGHT"
    ASKED = "ASKED"  # as many as were asked for, however many were given


class Order(Word):
    """The order of a result."""

    ASCENDING = "ASCENDING"
    DESCENDING = "DESCENDING"
    UNSORTED = "UNSORTED"


class Total(Word):
    """What a page says of the size of its result."""

    NONE = "NONE"
    LIVE = "LIVE"  # the size as it is when the page is answered
    FROZEN = "FROZEN"  # the size as it was when the walk began
    FIRST_PAGE = "FIRST_PAGE"  # LIVE, but only on the first page
    WOBBLING = "WOBBLING"  # one more on every other answer
    OFF = "OFF"  # LIVE plus `total_off`, which may be negative


class More(Word):
    """What a page says of further pages."""

    UNSAID = "UNSAID"
    RIGHT = "RIGHT"
    TRUE = "TRUE"
    FALSE = "FALSE"
    FALSE_EARLY = "FALSE_EARLY"  # RIGHT, but false from the second page on


class Cursor(Word):
    """What a token stands for."""

    SNAPSHOT = "SNAPSHOT"  # the result as it was when the walk began
    KEYSET = "KEYSET"  # what comes behind the last record shown
    OFFSET = "OFFSET"  # a number of records to skip
    SCROLL = "SCROLL"  # a snapshot whose position the provider keeps: the same token each time


class Tail(Word):
    """How the pages of a linked walk end."""

    KNOWN = "KNOWN"  # the last page has no token
    SHORT_TELLS = "SHORT_TELLS"  # a short page has no token; after a full one comes an empty page
    EMPTY = "EMPTY"  # every page with records has a token, the empty page has none
    EMPTY_SAME = "EMPTY_SAME"  # the empty page repeats the token that it was asked for by
    EMPTY_NEW = "EMPTY_NEW"  # empty pages with new tokens, without end
    LAST_AGAIN = "LAST_AGAIN"  # the last page again with new tokens, without end
    CYCLE = "CYCLE"  # the first page again with new tokens, without end


class Beyond(Word):
    """What is behind the last page of a counted walk."""

    EMPTY = "EMPTY"
    NOT_FOUND = "NOT_FOUND"  # 404
    REFUSED = "REFUSED"  # 400
    LAST_AGAIN = "LAST_AGAIN"


class Cap(Word):
    """What happens at the most records a query gives."""

    REFUSED = "REFUSED"  # 400 for a page that would reach beyond it
    EMPTY = "EMPTY"  # nothing behind it
    LAST_AGAIN = "LAST_AGAIN"  # the last page before it


class Fault(Word):
    """What goes wrong once, at one request."""

    BUSY = "BUSY"  # 503
    CUT = "CUT"  # half a body
    ANSWER_LOST = "ANSWER_LOST"
    NOT_SENT = "NOT_SENT"
    EMPTY = "EMPTY"  # no records, all else as it should be
    EMPTY_END = "EMPTY_END"  # no records and no next place
    SHORT = "SHORT"  # the page's last record is left out
    STUTTER = "STUTTER"  # the records of the answer before
    NO_TOKEN = "NO_TOKEN"  # the next place is left out


class Dead(Word):
    """How an expired token is refused."""

    GONE = "GONE"  # 410
    UNPROCESSABLE = "UNPROCESSABLE"  # 422
    IN_BODY = "IN_BODY"  # 200 with an error
    BAD_REQUEST = "BAD_REQUEST"  # 400


class Change(Word):
    """What happens to the provider's records."""

    LEAVE = "LEAVE"
    ARRIVE = "ARRIVE"
    SWAP = "SWAP"  # one leaves, another arrives
    MOVE = "MOVE"  # a record gets another time within the whole window


class Stop(Word):
    """How a worker ends before its task does."""

    ASKED = "ASKED"  # it is asked to end, and takes the page in that it waits for
    KILLED = "KILLED"  # it dies while it waits for a page
    KILLED_AT_END = "KILLED_AT_END"  # it dies between the last page and the end of the task


class Readable:
    """Shows only what differs from the defaults."""

    def __repr__(self) -> str:
        shown = [
            f"{one.name}={getattr(self, one.name)!r}"
            for one in fields(self)  # type: ignore[arg-type]
            if getattr(self, one.name) != one.default
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


@dataclass(frozen=True, repr=False)
class Event(Readable):
    """Something that happens just before a request is answered; requests are counted from 1."""

    request: int
    change: Change
    which: int = 0
    """Which record, in the order of the result."""
    where: int = 0
    """The unit of the window that it goes to."""


@dataclass(frozen=True, repr=False)
class Habits(Readable):
    """A provider; the defaults page as one would wish."""

    kind: Kind = Kind.OFFSET
    size: int = 3
    """Records a page is asked for."""
    slots: tuple[int, ...] = ()
    """For each record the unit of the window that its time is in."""
    units: int = 8
    hours: bool = True
    """Whether the time filter knows hours, or seconds."""
    order: Order = Order.ASCENDING
    total: Total = Total.LIVE
    total_off: int = 0
    more: More = More.UNSAID
    cursor: Cursor = Cursor.SNAPSHOT
    tail: Tail = Tail.KNOWN
    overlap: int = 0
    """Records of the last page that a linked page repeats."""
    served: int | None = None
    """Most records of a page, whatever is asked for."""
    moved: Moved = Moved.UNSAID
    short_every: int = 0
    """Every n-th page of an offset or linked walk has a record less; 1 is every page."""
    empty_after: int | None = None
    """After this many pages of a linked walk come `empty_run` empty ones with new tokens."""
    empty_run: int = 0
    hidden: tuple[int, ...] = ()
    """Records that are counted and never shown."""
    hidden_slots: bool = False
    """Whether hidden records take up room on their pages."""
    cap: int | None = None
    """Most records that a query gives."""
    cap_style: Cap = Cap.EMPTY
    cap_in_total: bool = False
    beyond: Beyond = Beyond.EMPTY
    lost_after: int | None = None
    """After this many pages of a linked walk the token is missing, each time."""
    dead_after: int | None = None
    """Requests of a linked walk after which its tokens are dead."""
    dead_walks: int = 1
    """Walks whose tokens die; those that are opened later live."""
    dead_style: Dead = Dead.GONE
    deleted: tuple[int, ...] = ()
    """Records that are shown as deleted."""
    undated: tuple[int, ...] = ()
    """Records that are shown with a time that cannot be read."""
    nameless: tuple[int, ...] = ()
    """Records that are shown without an id."""
    stamped: bool = False
    """Whether each record shown carries the number of its request, so that no two texts of it are the same."""
    two_phase: bool = False
    """Whether a walk gives ids alone, and the records are asked for by id."""
    faults: tuple[tuple[int, Fault], ...] = ()
    churn: tuple[Event, ...] = ()
    churn_always: Change | None = None
    """Happens before each answer."""
    stop: tuple[int, Stop] | None = None


@dataclass(frozen=True, repr=False)
class Source(Readable):
    """What the source file says, where that is a choice."""

    empty_page: str = "CONTINUE"
    total_kind: str = "CHECKED"
    ascending: bool = False
    says_cap: bool = True
    tail_probe: bool = False
    max_shortfall: int | None = None
    says_dead: bool = True
    """Whether it names the answers that mean a dead token."""
    hurried: bool = False
    """Whether each attempt has time for one page only: the others are left to later attempts."""


RANGE, ROWS, PLACE = "range", "rows", "place"
DETAIL_PATH = "/whole"
_PLACES = {Kind.OFFSET: "page_offset", Kind.PAGE: "page_number", Kind.TOKEN: "page_token"}


def unit_seconds(habits: Habits) -> int:
    """The length of a unit of the window."""
    return 3600 if habits.hours else 1


def blocks_of(habits: Habits, source: Source) -> dict[str, Any]:
    """The source file's blocks."""
    linked = habits.kind in LINKED
    scroll = habits.cursor == Cursor.SCROLL
    paging: dict[str, Any] = {
        "type": habits.kind.value,
        "max_page_size": habits.size,
        "page_size": habits.size,
        "step": None if habits.moved == Moved.UNSAID else "$.moved",
        "has_more": None if habits.more == More.UNSAID else "$.more",
        "empty_page": source.empty_page,
        "total_kind": source.total_kind,
        "ascending": source.ascending,
        "max_records": habits.cap if source.says_cap else None,
        "max_shortfall": source.max_shortfall,
        "tail_probe": source.tail_probe or None,
        "restart_statuses": [422] if source.says_dead and linked else None,
        "page_base": 1 if habits.kind == Kind.PAGE else None,
        "initial_token": "*" if habits.kind == Kind.TOKEN else None,
        "next_token": "$.next" if habits.kind == Kind.TOKEN else None,
        "next_url": "$.next" if habits.kind == Kind.URL else None,
        "position": "SERVER" if linked and scroll else None,
    }
    stated: dict[str, Any] = {"path": "$.error"} | ({"effect": "RESTART"} if source.says_dead and linked else {})
    answer: dict[str, Any] = {
        "items": "$.items",
        "id": "$.id",
        "updated_at": "$.at",
        "total": "$.total",
        "errors": [stated],
    }
    if habits.deleted:
        answer["deleted"] = {"path": "$.deleted", "equals": True}
    endpoints: list[dict[str, Any]] = [{"name": "list", "path": "/list", "operations": ["HARVEST"], "response": answer}]
    length = f"PT{habits.units}{'H' if habits.hours else 'S'}"
    place = [{"name": PLACE, "value": _PLACES[habits.kind]}] if habits.kind in _PLACES else []
    return {
        "endpoints": _in_two_phases(endpoints) if habits.two_phase else endpoints,
        "pagination": {name: value for name, value in paging.items() if value is not None},
        "params": [one | {"for": {"endpoint": "list"}} for one in ({"name": ROWS, "value": "page_size"}, *place)],
        "rate_limit": {"requests_per_second": 100_000, "burst": 1000},
        "retry": {"initial": "PT0S", "max": "PT0S", "max_attempts": 3},
        "window": {
            "field": "changed_at",
            "watermark_key": "changed_at",
            "step": length,
            "unit": "HOUR" if habits.hours else "SECOND",
            "format": "%Y-%m-%dT%H:%M:%S",
            "upper_inclusive": False,
        },
    }


def _in_two_phases(endpoints: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The list gives ids, and a second endpoint their records."""
    (found,) = endpoints
    answer = found["response"]
    whole = {name: path for name, path in answer.items() if name != "total"}
    listed = {name: path for name, path in answer.items() if name != "updated_at"}
    detail = {"name": "whole", "role": "DETAIL", "path": DETAIL_PATH, "method": "POST", "response": whole}
    body = {"body": {"format": "JSON", "template": {"ids": "{ids}"}}}
    return [found | {"detail": "whole", "response": listed}, detail | body]
