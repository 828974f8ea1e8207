"""An upstream with the habits of a `Habits`: it pages, changes and lies as they say, and remembers what was there."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ingest_core.execution.ports import AnswerLost, NotSent, Request, Response
from ingest_core.model.instant import format_instant
from ingest_core.model.spec import AuthSpec
from tests.models.habit_pages import (
    BEGIN,
    Asked,
    Book,
    Bounds,
    Endless,
    Killed,
    LinkedWalk,
    Page,
    Place,
    said_by,
    spoilt,
)
from tests.models.habits import (
    DETAIL_PATH,
    LINKED,
    PLACE,
    RANGE,
    ROWS,
    Beyond,
    Cap,
    Change,
    Cursor,
    Dead,
    Event,
    Fault,
    Habits,
    Kind,
    More,
    Moved,
    Order,
    Stop,
    Tail,
    Total,
    unit_seconds,
)

MOST_REQUESTS = 10_000
"""More than this is endless."""

MOST_CHANGES = 1_000
"""Requests with a change each: many times what a slice may take, and too few to grow with every slice for ever."""

URL = "https://books.example/list"
REFUSALS = {Dead.GONE: 410, Dead.UNPROCESSABLE: 422, Dead.BAD_REQUEST: 400}


class HabitProvider:
    """An Upstream; `at_request` is called with each request's number before it is answered."""

    def __init__(self, habits: Habits, at_request: Callable[[int], None] = lambda _number: None) -> None:
        self.habits = habits
        self.at_request = at_request
        self.books = {number: self._book(number, slot) for number, slot in enumerate(habits.slots)}
        self.requests = 0
        self._moments: dict[str, list[tuple[int, datetime | None]]] = {}
        """For each record: from which request on it had which time, or none because it had left."""
        for one in self.books.values():
            self._note(one, gone=False)
        self.log: list[Asked] = []
        self.shown: set[str] = set()
        self._last: list[Book] = []
        self._arrived = len(habits.slots)
        self._walks: list[LinkedWalk] = []
        self._tokens: dict[str, tuple[LinkedWalk, Place]] = {}
        self._frozen: dict[Bounds, int] = {}

    def knows(self, auth: AuthSpec) -> bool:
        """There is no credential."""
        return False

    def send(self, request: Request) -> Response:
        """Change, then answer, as the habits say."""
        if request.path == DETAIL_PATH:
            return self._whole(request)
        self.requests = number = self.requests + 1
        if number > MOST_REQUESTS:
            raise Endless(f"{number} requests")
        self._change(number)
        place, bounds, rows = self._read(request)
        fault = dict(self.habits.faults).get(number)
        before = self._last if self.log and self.log[-1].bounds == bounds else []
        answer = spoilt(self._answer(place, bounds, rows, number), fault, before)
        said = said_by(answer) + (f", fault {fault}" if fault else "")
        correlation = request.headers["X-Ingest-Correlation-Id"]
        self.log.append(Asked(number, correlation, bounds, place, said, answer))
        self.at_request(number)
        return self._sent(answer, fault)

    def time_of(self, book: Book) -> datetime:
        """When it was updated."""
        unit = unit_seconds(self.habits)
        return BEGIN + timedelta(seconds=book.slot * unit + (book.fine % 60 if unit > 60 else 0))

    def present(self, bounds: Bounds, first: int, last: int) -> set[str]:
        """The ids that could be shown in these bounds at each request from the first to the last."""
        return {name for name, moments in self._moments.items() if _held(bounds, moments, first, last)}

    def _book(self, number: int, slot: int) -> Book:
        return Book(number, slot % self.habits.units, number * 7, (number * 7919 + 31) % 1009)

    def _note(self, book: Book, *, gone: bool) -> None:
        if book.number not in self.habits.hidden:
            moment = None if gone else self.time_of(book)
            self._moments.setdefault(book.id, []).append((self.requests, moment))

    def _change(self, number: int) -> None:
        events = [one for one in self.habits.churn if one.request == number]
        if self.habits.churn_always and 1 < number <= MOST_CHANGES:
            events.append(Event(number, self.habits.churn_always, number * 5, number * 3))
        for event in events:
            self._happen(event)

    def _happen(self, event: Event) -> None:
        live = sorted(self.books.values(), key=self._key)
        chosen = live[event.which % len(live)] if live else None
        if event.change in (Change.LEAVE, Change.SWAP) and chosen:
            del self.books[chosen.number]
            self._note(chosen, gone=True)
        if event.change in (Change.ARRIVE, Change.SWAP):
            self.books[self._arrived] = self._book(self._arrived, event.where)
            self._note(self.books[self._arrived], gone=False)
            self._arrived += 1
        if event.change == Change.MOVE and chosen:
            rank = (event.where * 131 + event.request * 17) % 1009
            slot = event.where % self.habits.units
            self.books[chosen.number] = replace(chosen, slot=slot, fine=event.request, rank=rank)
            self._note(self.books[chosen.number], gone=False)

    def _key(self, book: Book) -> tuple[int, ...]:
        moment = int((self.time_of(book) - BEGIN).total_seconds())
        if self.habits.order == Order.UNSORTED:
            return (book.rank, book.number)
        return (moment if self.habits.order == Order.ASCENDING else -moment, book.number)

    def _result(self, bounds: Bounds) -> list[Book]:
        mine = [one for one in self.books.values() if bounds.hold(self.time_of(one))]
        if not self.habits.hidden_slots:
            mine = [one for one in mine if one.number not in self.habits.hidden]
        return sorted(mine, key=self._key)

    def _count(self, bounds: Bounds) -> int:
        return sum(bounds.hold(self.time_of(one)) for one in self.books.values())

    def _read(self, request: Request) -> tuple[str, Bounds, int]:
        if request.next_url is not None:
            token = parse_qs(urlsplit(request.next_url).query)["t"][0]
            return token, self._tokens[token][0].bounds, self.habits.size
        query = dict(request.query)
        start, _, end = query[RANGE].partition("..")
        bounds = Bounds(*(datetime.fromisoformat(one).replace(tzinfo=UTC) for one in (start, end)))
        return query.get(PLACE, "*"), bounds, int(query[ROWS])

    def _answer(self, place: str, bounds: Bounds, rows: int, number: int) -> Page:
        if self.habits.kind in LINKED:
            return self._linked(place, bounds, number)
        skip = 0
        if self.habits.kind == Kind.OFFSET:
            skip = int(place)
        elif self.habits.kind == Kind.PAGE:
            rows = min(rows, self.habits.served or rows)
            skip = (int(place) - 1) * rows
        return self._counted(bounds, skip, rows, number)

    def _counted(self, bounds: Bounds, skip: int, rows: int, number: int) -> Page:
        habits, result = self.habits, self._result(bounds)
        total = self._total(bounds, number, first=skip == 0)
        if habits.cap is not None:
            if habits.cap_style == Cap.REFUSED and skip + rows > habits.cap:
                return Page(status=400, error=f"skip + rows must not exceed {habits.cap}")
            result = result[: habits.cap]
        if skip and skip >= len(result):
            if habits.beyond in (Beyond.NOT_FOUND, Beyond.REFUSED):
                return Page(status=404 if habits.beyond == Beyond.NOT_FOUND else 400, error="there is no such page")
            again = habits.beyond == Beyond.LAST_AGAIN or (habits.cap and habits.cap_style == Cap.LAST_AGAIN)
            skip = max(0, (len(result) - 1) // rows * rows) if again else skip
        page = skip // rows
        shortened = rows if habits.kind == Kind.PAGE else self._length(page, rows)
        slots = result[skip : skip + shortened]
        left = skip + len(slots) < len(result)
        moved = {Moved.UNSAID: None, Moved.RIGHT: len(slots), Moved.ASKED: rows}[habits.moved]
        return Page(self._visible(slots), total, None, self._more(left, page), moved)

    def _length(self, page: int, rows: int) -> int:
        habits = self.habits
        length = min(rows, habits.served or rows)
        short = habits.short_every and page % habits.short_every == habits.short_every - 1
        return max(1, length - 1) if short else length

    def _linked(self, token: str, bounds: Bounds, number: int) -> Page:
        first = token not in self._tokens
        walk, place = (self._open(bounds), Place()) if first else self._tokens[token]
        walk.requests += 1
        if not first and self._is_dead(walk):
            return self._refusal()
        if self.habits.cursor == Cursor.SCROLL:
            place = walk.scrolled or place
        return self._page_at(walk, place, token, number)

    def _page_at(self, walk: LinkedWalk, place: Place, token: str, number: int) -> Page:
        habits = self.habits
        total = self._total(walk.bounds, number, first=place == Place(), frozen=walk.total)
        if place.page == habits.empty_after and place.pause < habits.empty_run:
            onward = self._token(walk, replace(place, pause=place.pause + 1))
            return Page([], total, onward, self._more(left=True, page=place.page))
        live = habits.cursor in (Cursor.KEYSET, Cursor.OFFSET)
        result = (self._result(walk.bounds) if live else walk.snapshot)[: habits.cap]
        start = place.at
        if habits.cursor == Cursor.KEYSET and place.key is not None:
            start = sum(self._key(one) <= place.key for one in result)
        if start >= len(result) and place.page and self._starts_again():
            at = 0 if habits.tail == Tail.CYCLE else max(0, len(result) - habits.size)
            start, place = at, replace(place, at=at, lap=place.lap + 1)
        slots = result[start : start + self._length(place.page, habits.size)]
        left = start + len(slots) < len(result)
        if not slots and habits.cap and start >= habits.cap and habits.cap_style == Cap.REFUSED:
            return Page(status=400, error=f"only the first {habits.cap} records can be had")
        beyond = self._next(walk, place, token, start, slots, left=left)
        return Page(self._visible(slots), total, beyond, self._more(left, place.page))

    def _starts_again(self) -> bool:
        at_cap = self.habits.cap is not None and self.habits.cap_style == Cap.LAST_AGAIN
        return self.habits.tail in (Tail.LAST_AGAIN, Tail.CYCLE) or at_cap

    def _next(
        self, walk: LinkedWalk, place: Place, token: str, start: int, slots: list[Book], *, left: bool
    ) -> str | None:
        habits = self.habits
        if habits.lost_after == place.page + 1:
            return None
        if not slots:
            if habits.tail == Tail.EMPTY_SAME:
                return token
            return self._token(walk, replace(place, pause=place.pause + 1)) if habits.tail == Tail.EMPTY_NEW else None
        at_cap = habits.cap is not None and start + len(slots) >= habits.cap and habits.cap_style != Cap.EMPTY
        known = habits.tail == Tail.KNOWN and not at_cap
        if not left and (known or (habits.tail == Tail.SHORT_TELLS and len(slots) < habits.size)):
            return None
        back = min(habits.overlap, len(slots) - 1)
        last = slots[len(slots) - 1 - back]
        onward = Place(start + len(slots) - back, self._key(last), place.page + 1, 0, place.lap)
        return self._token(walk, onward)

    def _open(self, bounds: Bounds) -> LinkedWalk:
        walk = LinkedWalk(len(self._walks) + 1, bounds, self._result(bounds), self._count(bounds))
        self._walks.append(walk)
        return walk

    def _token(self, walk: LinkedWalk, place: Place) -> str:
        if self.habits.cursor == Cursor.SCROLL:
            walk.scrolled = place
            self._tokens[f"scroll{walk.number}"] = walk, place
            return f"scroll{walk.number}"
        text = f"w{walk.number}.{place.page}.{place.at}.{place.pause}.{place.lap}"
        self._tokens[text] = walk, place
        return text

    def _is_dead(self, walk: LinkedWalk) -> bool:
        habits = self.habits
        return habits.dead_after is not None and walk.requests > habits.dead_after and walk.number <= habits.dead_walks

    def _refusal(self) -> Page:
        status = REFUSALS.get(self.habits.dead_style, 200)
        return Page(status=status, error="the token has expired")

    def _visible(self, slots: list[Book]) -> list[Book]:
        return [one for one in slots if one.number not in self.habits.hidden]

    def _total(self, bounds: Bounds, number: int, *, first: bool, frozen: int | None = None) -> int | None:
        habits, count = self.habits, self._count(bounds)
        match habits.total:
            case Total.NONE:
                return None
            case Total.FIRST_PAGE if not first:
                return None
            case Total.FROZEN:
                count = self._frozen.setdefault(bounds, count) if frozen is None else frozen
            case Total.WOBBLING:
                count += number % 2
            case Total.OFF:
                count = max(0, count + habits.total_off)
        return min(count, habits.cap) if habits.cap is not None and habits.cap_in_total else count

    def _more(self, left: bool, page: int) -> bool | None:
        match self.habits.more:
            case More.UNSAID:
                return None
            case More.TRUE:
                return True
            case More.FALSE:
                return False
            case More.FALSE_EARLY if page:
                return False
        return left

    def _sent(self, page: Page, fault: Fault | None) -> Response:
        if fault == Fault.NOT_SENT:
            raise NotSent("no route")
        if fault == Fault.ANSWER_LOST:
            raise AnswerLost("reset")
        if page.error is None:
            self._last = page.books
            self.shown |= {one.id for one in page.books}
        body = json.dumps(self._content(page)).encode()
        return Response(URL, page.status, {}, body[: len(body) // 2] if fault == Fault.CUT else body, 0.0)

    def _content(self, page: Page) -> dict[str, Any]:
        if page.error is not None:
            return {"error": page.error}
        content: dict[str, Any] = {"items": [self._item(one) for one in page.books]}
        onward = f"{URL}?t={page.next}" if page.next and self.habits.kind == Kind.URL else page.next
        given = {"total": page.total, "next": onward, "more": page.more, "moved": page.moved}
        return content | {name: value for name, value in given.items() if value is not None}

    def _whole(self, request: Request) -> Response:
        """The records of a list of ids, as far as they are there; no page, so that nothing goes wrong."""
        wanted = set((request.body or {})["ids"])
        found = [one for one in self.books.values() if one.id in wanted]
        self.shown |= {one.id for one in found}
        return Response(URL, 200, {}, json.dumps({"items": [self._item(one) for one in found]}).encode(), 0.0)

    def _item(self, book: Book) -> dict[str, Any]:
        number = book.number
        item: dict[str, Any] = {"id": book.id, "at": format_instant(self.time_of(book)), "title": f"Book {number}"}
        item |= {"at": "one day"} if number in self.habits.undated else {}
        item |= {"stamp": self.requests} if self.habits.stamped else {}
        item |= {"deleted": True} if number in self.habits.deleted else {}
        return {name: value for name, value in item.items() if name != "id" or number not in self.habits.nameless}


def stops(stop: tuple[int, Stop] | None, ask: Callable[[], None]) -> Callable[[int], None]:
    """What happens to the worker at a request: it is asked to end, or dies."""

    def at_request(number: int) -> None:
        if stop is None or number != stop[0]:
            return
        if stop[1] == Stop.ASKED:
            ask()
        elif stop[1] == Stop.KILLED:
            raise Killed

    return at_request


def _held(bounds: Bounds, moments: list[tuple[int, datetime | None]], first: int, last: int) -> bool:
    """Whether a record was in these bounds at each request from the first to the last."""
    at = {max(number, first): moment for number, moment in moments if number <= last}  # a later change replaces
    return first in at and all(moment is not None and bounds.hold(moment) for moment in at.values())
