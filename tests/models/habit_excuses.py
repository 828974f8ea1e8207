"""The habits by which a provider can lose records and nothing in its answers tells: as few as can be."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.models.habit_pages import Asked
from tests.models.habits import LINKED, Change, Cursor, Fault, Habits, Kind, More, Moved, Order, Source, Total

COUNTED = (Kind.OFFSET, Kind.PAGE)
LEAVES_OUT = {Fault.EMPTY, Fault.EMPTY_END, Fault.SHORT, Fault.STUTTER}
SHOWN = {Fault.EMPTY, Fault.STUTTER}
"""Linked pages that bring nothing new and name a next one: without a total, another pass follows."""


def changes_of(habits: Habits) -> set[Change]:
    """What happens to the records while they are read."""
    always = {habits.churn_always} if habits.churn_always else set()
    return {one.change for one in habits.churn} | always


def replaced(habits: Habits) -> bool:
    """Whether records leave while others arrive, so that a total does not show it."""
    changes = changes_of(habits)
    return Change.SWAP in changes or changes >= {Change.LEAVE, Change.ARRIVE}


@dataclass(frozen=True)
class Case:
    """A provider, its source file, and what was asked and answered for a task."""

    habits: Habits
    source: Source
    asked: list[Asked]
    limit: int = 0
    """How many missing records the source accepts."""
    part: bool = False
    """Whether only a part of the task's window counts as covered: a total is of the whole window."""
    truth: int = 0
    """How many records were there from the first page to the last."""

    @property
    def linked(self) -> bool:
        """Whether the provider says where the next page is."""
        return self.habits.kind in LINKED

    @property
    def counted(self) -> bool:
        """Whether the client counts."""
        return self.habits.kind in COUNTED

    @property
    def too_small(self) -> bool:
        """Whether the stated total is smaller than the result, and what came reaches it."""
        habits = self.habits
        capped = habits.cap is not None and habits.cap_in_total and not self.source.says_cap
        came = {book.id for one in self.asked for book in one.page.books}
        stated = [one.page.total for one in self.asked if one.page.total is not None]
        stale = habits.total == Total.FROZEN and bool(stated) and stated[-1] < self.truth  # others have arrived
        small = (habits.total == Total.OFF and habits.total_off < 0) or capped or stale
        return small and len(came) + self.limit >= (stated[-1] if stated else 0)

    @property
    def blind(self) -> bool:
        """Whether no total says that records are missing."""
        return self.part or self.habits.total == Total.NONE or self.source.total_kind == "ESTIMATE" or self.too_small

    @property
    def says_more(self) -> bool:
        """Whether a page says rightly that more follows."""
        return self.habits.more in (More.RIGHT, More.TRUE)

    @property
    def changes(self) -> set[Change]:
        """What happens to the records meanwhile."""
        return changes_of(self.habits)

    @property
    def faults(self) -> set[Fault]:
        """What goes wrong."""
        return {fault for _, fault in self.habits.faults}

    @property
    def last_is_short(self) -> bool:
        """Whether the last page had fewer records than were asked for."""
        return bool(self.asked) and len(self.asked[-1].page.books) < self.habits.size


@dataclass(frozen=True)
class Excuse:
    """A habit that cannot be told from an honest one.

    `weak` if the end must be marked so: not where the file promises otherwise, or a total that is wrong agrees.
    """

    name: str
    reason: str
    holds: Callable[[Case], bool]
    weak: bool = True


def _token_lost(case: Case) -> bool:
    wrong = dict(case.habits.faults)
    last_empty = any(wrong.get(one.number) == Fault.EMPTY and one.page.next is None for one in case.asked)
    lost = case.habits.lost_after is not None or last_empty or case.faults & {Fault.NO_TOKEN, Fault.EMPTY_END}
    unseen = case.last_is_short or case.source.tail_probe or case.too_small
    return bool(case.linked and case.blind and lost and not case.says_more and unseen)


def _leaves_out(case: Case) -> bool:
    """Of counted pages only the first: positions behind it are read in two passes."""
    single = len({one.place for one in case.asked}) == 1
    unseen = LEAVES_OUT if single or case.too_small else LEAVES_OUT - SHOWN
    return (case.linked or single) and case.blind and bool(case.faults & unseen)


def _left_out_twice(case: Case) -> bool:
    """The same place was answered wrongly in more than one pass."""
    wrong = {number for number, fault in case.habits.faults if fault in LEAVES_OUT}
    places = [(one.bounds, "linked" if case.linked else one.place) for one in case.asked if one.number in wrong]
    return case.blind and len(set(places)) < len(places)


def _more_denied(case: Case) -> bool:
    return case.blind and case.habits.more in (More.FALSE, More.FALSE_EARLY)


def _hole(case: Case) -> bool:
    """An empty page before more covers what was asked for, unless pages are shorter than that."""
    habits = case.habits
    covers_less = habits.kind == Kind.OFFSET and bool(habits.served or habits.short_every)
    return case.counted and case.blind and habits.hidden_slots and (not case.says_more or covers_less)


def _cap_unsaid(case: Case) -> bool:
    return case.habits.cap is not None and not case.source.says_cap and case.blind and not _total_capped(case)


def _total_capped(case: Case) -> bool:
    habits = case.habits
    stated = habits.total != Total.NONE and case.source.total_kind != "ESTIMATE"
    return habits.cap is not None and not case.source.says_cap and habits.cap_in_total and stated


def _cap_of_hidden(case: Case) -> bool:
    """At its cap a provider says that nothing follows; a counted page is short there if it has a hidden record."""
    habits, short = case.habits, case.linked or case.habits.hidden_slots
    return habits.cap is not None and case.blind and bool(habits.hidden) and short and habits.more != More.TRUE


def _small_total_and_churn(case: Case) -> bool:
    return case.counted and case.too_small and bool(case.changes)


def _scroll_pauses(case: Case) -> bool:
    empties = case.habits.empty_run or case.habits.hidden_slots or Fault.EMPTY in case.faults
    return case.linked and case.habits.cursor == Cursor.SCROLL and case.blind and bool(empties)


def _exact_lie(case: Case) -> bool:
    return case.source.total_kind == "EXACT" and case.too_small


def _ascending_lie(case: Case) -> bool:
    return case.source.ascending and case.habits.order != Order.ASCENDING


def _end_lie(case: Case) -> bool:
    empties = case.habits.empty_run or case.habits.hidden_slots or Fault.EMPTY in case.faults
    unseen = case.blind or replaced(case.habits)
    return case.source.empty_page == "END" and unseen and bool(empties)


def _short_time_page(case: Case) -> bool:
    habits = case.habits
    short = habits.served or habits.short_every or habits.hidden_slots or case.faults & LEAVES_OUT or habits.cap
    return habits.kind == Kind.TIME and case.blind and bool(short) and not case.says_more


def _offset_token(case: Case) -> bool:
    hidden = case.linked and case.habits.cursor == Cursor.OFFSET and bool(case.changes)
    return hidden and (case.blind or replaced(case.habits))


def _moved(case: Case) -> bool:
    live = case.linked and case.habits.cursor == Cursor.KEYSET and Change.MOVE in case.changes
    return live and (case.blind or replaced(case.habits))


def _step_lie(case: Case) -> bool:
    habits = case.habits
    return habits.moved == Moved.ASKED and case.blind and bool(habits.served or habits.short_every)


def _nameless_twice(case: Case) -> bool:
    """Two passes that must agree would show it."""
    shown = Counter(book.number for one in case.asked for book in one.page.books)
    twice = any(shown[number] > 1 for number in case.habits.nameless)
    return case.linked and twice and case.habits.stamped


UNDETECTABLE = (
    Excuse("lost token", "a page without a next place, short or empty, is how every result ends", _token_lost),
    Excuse(
        "page left out",
        "a linked page that lacks some of its records, or the only page, looks like any other",
        _leaves_out,
    ),
    Excuse("page left out twice", "two passes agree where the same mistake happens in both", _left_out_twice),
    Excuse("has_more false too early", "an explicit end is believed where no total says otherwise", _more_denied),
    Excuse("hole of a page", "a counted page that is empty for good is how every result ends", _hole),
    Excuse("undeclared cap", "a result cut off at a cap that the file does not name ends like any other", _cap_unsaid),
    Excuse("undeclared cap and total", "a total that is cut off at the same cap agrees", _total_capped, weak=False),
    Excuse(
        "cap of hidden records", "a cap counts records that are never shown, so it is not recognised", _cap_of_hidden
    ),
    Excuse(
        "small total and churn", "a total that is too small by just what shifted", _small_total_and_churn, weak=False
    ),
    Excuse("empty page of a scroll", "a scroll that repeats its token ends with an empty page too", _scroll_pauses),
    Excuse("EXACT too small", "the file asks that a total be believed which is too small", _exact_lie, weak=False),
    Excuse(
        "ascending is not", "the file promises an order that the provider does not keep", _ascending_lie, weak=False
    ),
    Excuse("END is not", "the file says that an empty page is the end, and it is not", _end_lie, weak=False),
    Excuse("short TIME page", "the only page is short, and nothing says that there is more", _short_time_page),
    Excuse(
        "token of an offset",
        "a token that stands for an offset skips a record when one leaves and another arrives, and the total agrees",
        _offset_token,
        weak=False,
    ),
    Excuse(
        "moved past the token",
        "a record moves from what is to be read to what was read, and no total shows it",
        _moved,
        weak=False,
    ),
    Excuse("step too large", "the file names a step that passes over records, and no total shows it", _step_lie),
    Excuse(
        "record without an id",
        "it comes twice with different texts and counts as two, so that the total is reached without another",
        _nameless_twice,
        weak=False,
    ),
)
"""Mirrored in docs/explanation/life-cycle.md."""


def excuse_of(case: Case) -> Excuse | None:
    """Why a difference cannot be detected, if so; a total that is too small by just that confirms the end."""
    held = sorted((one for one in UNDETECTABLE if one.holds(case)), key=lambda one: one.weak)
    found = held[0] if held else None
    return replace(found, weak=found.weak and not case.too_small) if found else None
