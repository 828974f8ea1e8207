"""Providers and source files drawn at random, aimed at where paging decides: page ends, totals, tokens, churn, caps."""

from functools import cache
from typing import Any, TypeVar

from hypothesis import strategies as st

from tests.models.habits import (
    LINKED,
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
    Source,
    Stop,
    Tail,
    Total,
)

A = TypeVar("A")
Drawn = tuple[Habits, Source]

COUNTED = (Kind.OFFSET, Kind.PAGE)
PROFILES = ("anything", "totals", "tokens", "churn", "caps", "faults", "records")


@cache  # making a strategy takes as long as drawing from it
def rarely(usual: A, other: st.SearchStrategy[A]) -> st.SearchStrategy[A]:
    """Mostly the usual."""
    return st.one_of(st.just(usual), st.just(usual), st.just(usual), other)


@cache
def often(usual: A, other: st.SearchStrategy[A]) -> st.SearchStrategy[A]:
    """Mostly not the usual."""
    return st.one_of(st.just(usual), other, other)


@cache
def _each(values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(list(values))


@cache
def _whole(least: int, most: int) -> st.SearchStrategy[int]:
    return st.integers(least, most)


_PLACES = st.tuples(_whole(1, 9), st.sampled_from(list(Stop)))
_FAULTS = st.lists(
    st.tuples(_whole(1, 9), st.sampled_from(list(Fault))), min_size=1, max_size=2, unique_by=lambda one: one[0]
)


@cache
def _events(units: int) -> st.SearchStrategy[list[Event]]:
    where = st.one_of(st.just(0), st.just(units - 1), st.integers(0, units - 1))
    return st.lists(
        st.builds(Event, st.integers(2, 9), _each(Change), st.integers(0, 9), where), min_size=1, max_size=4
    )


@cache
def _units(most: int, records: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, most), min_size=records, max_size=records)


@cache
def _cap_of(size: int) -> st.SearchStrategy[int]:
    return st.one_of(st.integers(1, 3).map(lambda pages: pages * size), st.integers(1, 10))


@cache
def _numbers(records: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.sets(st.integers(0, max(0, records - 1)), max_size=4).map(lambda found: tuple(sorted(found)))


def _result(draw: st.DrawFn) -> dict[str, Any]:
    """The records: counts at and beside whole pages, all in one unit or spread."""
    size = draw(_each((2, 3, 1, 4)))
    pages, off = draw(_each((3, 2, 4, 1, 5, 0))), draw(_each((0, 1, -1, 0)))
    records = max(0, size * pages + off)
    units = draw(_each((1, 2, 5, 8)))
    crowded = draw(_each((False, True)))
    slots = draw(_units(min(1, units - 1) if crowded else units - 1, records))
    return {"size": size, "slots": tuple(slots), "units": units, "hours": draw(_each((False, True)))}


def _churn(draw: st.DrawFn, units: int) -> dict[str, Any]:
    return {"churn": tuple(draw(_events(units))), "churn_always": draw(rarely(None, _each(Change)))}


def _totals(draw: st.DrawFn) -> dict[str, Any]:
    return {"total": draw(_each(Total)), "total_off": draw(_each((0, -1, 1, -2, 3, -4)))}


def _tokens(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "cursor": draw(_each(Cursor)),
        "tail": draw(often(Tail.KNOWN, _each(Tail))),
        "overlap": draw(rarely(0, _whole(1, 2))),
        "empty_after": draw(_each((None, 0, 1, 2))),
        "empty_run": draw(_each((1, 2, 3, 9, 10, 11, 14))),
        "lost_after": draw(rarely(None, _whole(1, 3))),
        "dead_after": draw(rarely(None, _whole(1, 4))),
        "dead_walks": draw(_each((1, 2, 1000))),
        "dead_style": draw(_each(Dead)),
    }


def _lengths(draw: st.DrawFn, size: int) -> dict[str, Any]:
    return {
        "served": draw(rarely(None, _whole(1, size))),
        "short_every": draw(rarely(0, _whole(1, 3))),
    }


def _hidden(draw: st.DrawFn, records: int) -> dict[str, Any]:
    return {"hidden": draw(_numbers(records)), "hidden_slots": draw(_each((False, True)))}


def _cap(draw: st.DrawFn, size: int, *, whole_pages: bool) -> dict[str, Any]:
    """A cap; numbered pages must divide it, or the source does not compile."""
    return {
        "cap": size * draw(st.integers(1, 3)) if whole_pages else draw(_cap_of(size)),
        "cap_style": draw(_each(Cap)),
        "cap_in_total": draw(_each((False, True))),
    }


def _records(draw: st.DrawFn, records: int) -> dict[str, Any]:
    """Records that cannot be used, and those that are asked for by id."""
    return {
        "undated": draw(_numbers(records)),
        "nameless": draw(rarely((), _numbers(records))),
        "stamped": draw(_each((False, True))),
        "two_phase": draw(_each((False, True))),
    }


def _faults(draw: st.DrawFn) -> dict[str, Any]:
    return {"faults": tuple(sorted(draw(_FAULTS))), "stop": draw(rarely(None, _PLACES))}


def _chosen(draw: st.DrawFn, profile: str, aimed: str) -> bool:
    """Whether a group of habits is drawn: always where the profile aims at it, otherwise now and then."""
    return profile == aimed or draw(_each((False, False, True)))


def _source(draw: st.DrawFn, habits: Habits) -> Source:
    linked = habits.kind in LINKED
    honest = habits.order == Order.ASCENDING
    probed = linked and habits.cursor != Cursor.SCROLL
    return Source(
        empty_page=draw(rarely("CONTINUE", _each(("END",)))),
        total_kind=draw(rarely("CHECKED", _each(("EXACT", "ESTIMATE")))),
        ascending=draw(_each((False, True))) if honest else draw(rarely(False, rarely(False, _each((True,))))),
        says_cap=habits.cap is None or draw(rarely(True, _each((False,)))),
        tail_probe=probed and draw(rarely(False, _each((True,)))),
        max_shortfall=draw(rarely(None, _each((0, 1, 3)))),
        says_dead=draw(rarely(True, _each((False,)))),
        hurried=draw(rarely(False, _each((True,)))),
    )


@st.composite
def cases(draw: st.DrawFn, profile: str = "anything") -> Drawn:
    """A provider and its source file; a profile always has the habits it is named after."""
    kinds = LINKED if profile == "tokens" else (*COUNTED, *COUNTED, *LINKED, Kind.TIME)
    kind = draw(_each(kinds))
    given = _result(draw)
    size, records = given["size"], len(given["slots"])
    given |= {"order": draw(_each(Order)), "more": draw(rarely(More.UNSAID, _each(More)))}
    given |= _totals(draw) if _chosen(draw, profile, "totals") else {"total": draw(_each((Total.LIVE, Total.NONE)))}
    if kind in LINKED and _chosen(draw, profile, "tokens"):
        given |= _tokens(draw)
    if kind in COUNTED:
        given["beyond"] = draw(_each(Beyond))
    if kind == Kind.OFFSET:
        given["moved"] = draw(rarely(Moved.UNSAID, _each(Moved)))
    if _chosen(draw, profile, "totals"):
        given |= _lengths(draw, size) | _hidden(draw, records)
    if _chosen(draw, profile, "churn"):
        given |= _churn(draw, given["units"])
    if _chosen(draw, profile, "caps"):
        given |= _cap(draw, size, whole_pages=kind == Kind.PAGE)
    if _chosen(draw, profile, "faults"):
        given |= _faults(draw)
    if draw(_each((False, False, False, False, False, True))):
        given["deleted"] = draw(_numbers(records))
    if _chosen(draw, profile, "records"):
        given |= _records(draw, records)
    habits = Habits(kind=kind, **given)
    return habits, _source(draw, habits)
