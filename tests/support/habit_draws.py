"""Providers and source files drawn at random, aimed at where paging decides: page ends, totals, tokens, churn, caps."""

from typing import Any, TypeVar

from hypothesis import strategies as st

from tests.support.habits import (
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
    Order,
    Source,
    Stop,
    Tail,
    Total,
)

A = TypeVar("A")
Drawn = tuple[Habits, Source]

COUNTED = (Kind.OFFSET, Kind.PAGE)
PROFILES = ("anything", "totals", "tokens", "churn", "caps", "faults")
REQUESTS = st.integers(1, 9)
WHICH = st.integers(0, 9)


def rarely(usual: A, other: st.SearchStrategy[A]) -> st.SearchStrategy[A]:
    """Mostly the usual."""
    return st.one_of(st.just(usual), st.just(usual), st.just(usual), other)


def often(usual: A, other: st.SearchStrategy[A]) -> st.SearchStrategy[A]:
    """Mostly not the usual."""
    return st.one_of(st.just(usual), other, other)


def _each(values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(list(values))


def _numbers(records: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.sets(st.integers(0, max(0, records - 1)), max_size=4).map(lambda found: tuple(sorted(found)))


def _result(draw: st.DrawFn) -> dict[str, Any]:
    """The records: counts at and beside whole pages, all in one unit or spread."""
    size = draw(_each((2, 3, 1, 4)))
    pages, off = draw(st.integers(0, 3)), draw(_each((0, 1, -1, 0)))
    records = max(0, size * pages + off)
    units = draw(_each((1, 2, 5, 8)))
    crowded = draw(st.booleans())
    places = st.integers(0, min(1, units - 1) if crowded else units - 1)
    slots = draw(st.lists(places, min_size=records, max_size=records))
    return {"size": size, "slots": tuple(slots), "units": units, "hours": draw(st.booleans())}


def _churn(draw: st.DrawFn, units: int) -> dict[str, Any]:
    where = st.one_of(st.just(0), st.just(units - 1), st.integers(0, units - 1))
    events = st.builds(Event, st.integers(2, 9), _each(Change), WHICH, where)
    churn = tuple(draw(st.lists(events, min_size=1, max_size=4)))
    return {"churn": churn, "churn_always": draw(rarely(None, _each(Change)))}


def _totals(draw: st.DrawFn) -> dict[str, Any]:
    return {"total": draw(_each(Total)), "total_off": draw(_each((0, -1, 1, -2, 3, -4)))}


def _tokens(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "cursor": draw(_each(Cursor)),
        "tail": draw(often(Tail.KNOWN, _each(Tail))),
        "overlap": draw(rarely(0, st.integers(1, 2))),
        "empty_after": draw(_each((None, 0, 1, 2))),
        "empty_run": draw(_each((1, 2, 3, 9, 10, 11, 14))),
        "lost_after": draw(rarely(None, st.integers(1, 3))),
        "dead_after": draw(rarely(None, st.integers(1, 4))),
        "dead_walks": draw(_each((1, 2, 1000))),
        "dead_style": draw(_each(Dead)),
    }


def _lengths(draw: st.DrawFn, size: int) -> dict[str, Any]:
    return {
        "served": draw(rarely(None, st.integers(1, size))),
        "short_every": draw(rarely(0, st.integers(1, 3))),
    }


def _hidden(draw: st.DrawFn, records: int) -> dict[str, Any]:
    return {"hidden": draw(_numbers(records)), "hidden_slots": draw(st.booleans())}


def _cap(draw: st.DrawFn, size: int) -> dict[str, Any]:
    return {
        "cap": draw(st.one_of(st.integers(1, 3).map(lambda pages: pages * size), st.integers(1, 10))),
        "cap_style": draw(_each(Cap)),
        "cap_in_total": draw(st.booleans()),
    }


def _faults(draw: st.DrawFn) -> dict[str, Any]:
    faults = draw(st.lists(st.tuples(REQUESTS, _each(Fault)), min_size=1, max_size=2, unique_by=lambda one: one[0]))
    return {"faults": tuple(sorted(faults)), "stop": draw(rarely(None, st.tuples(REQUESTS, _each(Stop))))}


def _chosen(draw: st.DrawFn, profile: str, aimed: str) -> bool:
    """Whether a group of habits is drawn: always where the profile aims at it, otherwise now and then."""
    return profile == aimed or draw(_each((False, False, True)))


def _source(draw: st.DrawFn, habits: Habits) -> Source:
    linked = habits.kind in LINKED
    honest = habits.order == Order.ASCENDING
    probed = linked and habits.cursor != Cursor.SCROLL
    return Source(
        empty_page=draw(rarely("CONTINUE", st.just("END"))),
        total_kind=draw(rarely("CHECKED", _each(("EXACT", "ESTIMATE")))),
        ascending=draw(st.booleans()) if honest else draw(rarely(False, rarely(False, st.just(True)))),
        says_cap=habits.cap is None or draw(rarely(True, st.just(False))),
        tail_probe=probed and draw(rarely(False, st.just(True))),
        max_shortfall=draw(rarely(None, _each((0, 1, 3)))),
        says_dead=draw(rarely(True, st.just(False))),
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
    if _chosen(draw, profile, "totals"):
        given |= _lengths(draw, size) | _hidden(draw, records)
    if _chosen(draw, profile, "churn"):
        given |= _churn(draw, given["units"])
    if _chosen(draw, profile, "caps"):
        given |= _cap(draw, size)
    if _chosen(draw, profile, "faults"):
        given |= _faults(draw)
    if draw(_each((False, False, False, False))):  # TODO gone
        given["deleted"] = draw(_numbers(records))
    habits = Habits(kind=kind, **given)
    return habits, _source(draw, habits)
