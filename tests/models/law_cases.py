"""Providers by name that lost records before the law was held to; and a way to run one case by hand.

python -m tests.models.law_cases "Habits(kind=Kind.TOKEN, slots=(0, 0, 0, 0), lost_after=1)" "Source()"
"""

import logging
import sys

from tests.models import habits as words
from tests.models.habit_draws import Drawn
from tests.models.habits import (
    Beyond,
    Cap,
    Change,
    Cursor,
    Event,
    Fault,
    Habits,
    Kind,
    More,
    Order,
    Source,
    Tail,
    Total,
)
from tests.models.law_memory_bench import MemoryBench
from tests.models.paging_law import Broken, check, describe, harvest

SIX, SEVEN = (0,) * 6, (0,) * 7
LEAVES, SWAPS = (Event(2, Change.LEAVE),), (Event(2, Change.SWAP, where=7),)

ARRIVES_AND_HIDES = (Event(request=3, change=Change.ARRIVE), Event(request=4, change=Change.LEAVE))

CASES: dict[str, Drawn] = {
    "an empty page with a token, with a total": (
        Habits(kind=Kind.TOKEN, slots=SIX, units=1, empty_after=1, empty_run=1),
        Source(),
    ),
    "has_more is false too early, twice, and the total falls to what both passes brought": (
        Habits(
            kind=Kind.TOKEN,
            size=2,
            slots=(0, 0, 2, 2, 2, 2, 2),
            units=5,
            hours=False,
            order=Order.DESCENDING,
            more=More.FALSE_EARLY,
            cap=6,
            cap_style=Cap.REFUSED,
            faults=((1, Fault.EMPTY),),
            churn=(Event(request=7, change=Change.LEAVE),),
        ),
        Source(),
    ),
    "an empty page with a token, without a total": (
        Habits(kind=Kind.TOKEN, slots=SIX, units=1, total=Total.NONE, empty_after=1, empty_run=2),
        Source(),
    ),
    "the last page without end, one page an attempt": (
        Habits(kind=Kind.TOKEN, slots=SIX, units=1, total=Total.NONE, tail=Tail.LAST_AGAIN),
        Source(hurried=True),
    ),
    "the last page again and again, one page an attempt": (
        Habits(size=1, slots=(0, 0, 0), units=1, hours=False, beyond=Beyond.LAST_AGAIN),
        Source(hurried=True),
    ),
    "the only pages of two attempts, found by position": (
        Habits(size=2, slots=(0, 0, 0, 0), units=1, hours=False, total=Total.NONE, faults=((2, Fault.EMPTY),)),
        Source(hurried=True),
    ),
    "records without a time whose text changes come twice, and then the token is lost": (
        Habits(kind=Kind.TOKEN, slots=(0,) * 5, units=1, undated=(1, 2), stamped=True, overlap=2, lost_after=2),
        Source(),
    ),
    "a page is empty by mistake, and the file says that this is the end": (
        Habits(kind=Kind.TOKEN, size=1, slots=(0, 0, 0), units=1, total=Total.NONE, faults=((2, Fault.EMPTY),)),
        Source(empty_page="END"),
    ),
    "the last page is answered without its records": (
        Habits(kind=Kind.TOKEN, size=2, slots=SIX, units=1, total=Total.NONE, faults=((3, Fault.EMPTY),)),
        Source(),
    ),
    "has_more is false too early, and the total is the one of before records arrived": (
        Habits(
            size=1,
            slots=(0, 0),
            units=1,
            hours=False,
            total=Total.FROZEN,
            more=More.FALSE_EARLY,
            churn=(Event(2, Change.LEAVE), Event(2, Change.ARRIVE), Event(2, Change.ARRIVE)),
        ),
        Source(),
    ),
    "an empty page with a link, at the start": (
        Habits(kind=Kind.URL, slots=SIX, units=1, empty_after=0, empty_run=9),
        Source(),
    ),
    "a page of hidden records with a link": (
        Habits(kind=Kind.URL, slots=(0, 1, 1, 1, 1, 0), units=5, hidden=(0, 1, 5), hidden_slots=True),
        Source(),
    ),
    "a total that is too small, by token": (
        Habits(kind=Kind.TOKEN, slots=SEVEN, units=1, total=Total.OFF, total_off=-2, short_every=1),
        Source(),
    ),
    "a total that is too small, by offset": (
        Habits(slots=SEVEN, units=1, total=Total.OFF, total_off=-4),
        Source(),
    ),
    "a shortfall beyond the limit: the token is lost": (
        Habits(kind=Kind.TOKEN, slots=SIX, units=1, lost_after=1),
        Source(),
    ),
    "a shortfall beyond the limit: a cap that the file does not name": (
        Habits(kind=Kind.URL, slots=SIX, units=1, cap=3),
        Source(says_cap=False),
    ),
    "a shortfall beyond the limit: has_more is false": (Habits(slots=SIX, units=1, more=More.FALSE), Source()),
    "a shortfall beyond the limit: a TIME page with hidden records": (
        Habits(kind=Kind.TIME, slots=(0, 0, 1, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0), units=2, hidden=(12,), hidden_slots=True),
        Source(),
    ),
    "a full page without a token, without a total": (
        Habits(kind=Kind.TOKEN, slots=SIX, units=1, total=Total.NONE, lost_after=1),
        Source(),
    ),
    "churn by offset, without a total: one leaves": (
        Habits(slots=(0, 1, 2, 3, 4, 5), total=Total.NONE, churn=LEAVES),
        Source(),
    ),
    "churn by page, without a total: one leaves, ascending": (
        Habits(kind=Kind.PAGE, slots=(0, 1, 2, 3, 4, 5), total=Total.NONE, churn=LEAVES),
        Source(ascending=True),
    ),
    "churn by offset, with a total: one leaves, one arrives": (
        Habits(slots=(0, 1, 2, 3, 4, 5), churn=SWAPS),
        Source(),
    ),
    "churn by page, with a total: one leaves, one arrives": (
        Habits(kind=Kind.PAGE, slots=(0, 1, 2, 3, 4, 5), churn=SWAPS),
        Source(),
    ),
    "churn by offset, without a total: one moves": (
        Habits(slots=SEVEN, units=5, order=Order.DESCENDING, total=Total.NONE, churn=(Event(3, Change.MOVE, 6, 4),)),
        Source(),
    ),
    "a link that stands for an offset, with a total: one leaves": (
        Habits(kind=Kind.URL, slots=(0, 1, 2, 3, 4, 5), cursor=Cursor.OFFSET, churn=LEAVES),
        Source(),
    ),
    "churn by offset, without a total: one leaves before each answer": (
        Habits(slots=(0,) * 12, units=1, total=Total.NONE, churn_always=Change.LEAVE),
        Source(),
    ),
    "an empty page by mistake, by offset, without a total": (
        Habits(slots=SEVEN, units=1, total=Total.NONE, faults=((2, Fault.EMPTY),)),
        Source(),
    ),
    "a page left out by mistake, by page, without a total": (
        Habits(kind=Kind.PAGE, slots=SEVEN, units=1, total=Total.NONE, faults=((2, Fault.STUTTER),)),
        Source(),
    ),
    "the last page is refused because it would reach beyond the cap": (
        Habits(slots=SEVEN, units=1, cap=7, cap_style=Cap.REFUSED),
        Source(),
    ),
    "endless: the first page again with new tokens": (
        Habits(kind=Kind.TOKEN, slots=SEVEN, total=Total.NONE, tail=Tail.CYCLE),
        Source(),
    ),
    "endless: the last page again with new tokens": (
        Habits(kind=Kind.TOKEN, slots=SEVEN, total=Total.NONE, tail=Tail.LAST_AGAIN),
        Source(),
    ),
    "endless: a record arrives before each answer, and one is counted and never shown": (
        Habits(slots=(0, 0), units=1, hours=False, hidden=(1,), churn_always=Change.ARRIVE),
        Source(),
    ),
    "a second pass that ends at once": (
        Habits(size=1, slots=(0,) * 3, units=1, total=Total.NONE, faults=((2, Fault.EMPTY), (3, Fault.EMPTY))),
        Source(),
    ),
    "a shortfall that a falling total makes look smaller": (
        Habits(
            kind=Kind.TOKEN,
            size=2,
            slots=(0, 0, 0, 0, 0, 0, 0, 0, 2, 2),
            units=5,
            more=More.FALSE_EARLY,
            cursor=Cursor.SCROLL,
            churn=(Event(2, Change.LEAVE), Event(8, Change.LEAVE)),
        ),
        Source(),
    ),
    "a cap that is reached behind a total that is too small": (
        Habits(
            kind=Kind.PAGE,
            size=1,
            slots=(0, 0, 0),
            units=1,
            total=Total.OFF,
            total_off=-4,
            more=More.RIGHT,
            cap=1,
            cap_style=Cap.REFUSED,
        ),
        Source(),
    ),
    "endless: each pass finds a result that has grown": (
        Habits(
            size=1,
            slots=(1, 0, 0),
            units=2,
            hours=False,
            order=Order.UNSORTED,
            total=Total.FIRST_PAGE,
            beyond=Beyond.REFUSED,
            churn=(Event(2, Change.LEAVE, which=9),),
            churn_always=Change.ARRIVE,
        ),
        Source(empty_page="END"),
    ),
    "a record that arrives between two passes that agree": (
        Habits(size=1, slots=(0,), units=1, hours=False, total=Total.NONE, churn=ARRIVES_AND_HIDES),
        Source(),
    ),
    "churn by offset, without a total: one moves before each answer, and two passes agree by accident": (
        Habits(
            size=1,
            slots=(0, 0),
            units=5,
            order=Order.DESCENDING,
            total=Total.NONE,
            churn=(Event(2, Change.ARRIVE, where=4), Event(4, Change.ARRIVE), Event(2, Change.ARRIVE)),
            churn_always=Change.MOVE,
        ),
        Source(),
    ),
    "an empty page in the scroll of an unfinished day, without a total": (
        Habits(
            kind=Kind.TOKEN,
            size=2,
            slots=(0, 0, 0, 0, 0, 0, 0, 0, 0, 1),
            units=2,
            hours=False,
            total=Total.NONE,
            cursor=Cursor.SCROLL,
            empty_run=1,
            faults=((1, Fault.EMPTY),),
        ),
        Source(ascending=True),
    ),
    "an empty page by mistake in a part that is covered by its order of time, with a total": (
        Habits(
            kind=Kind.TOKEN,
            size=2,
            slots=(0, 0, 1, 1, 2, 2, 3, 3),
            units=4,
            cap=6,
            faults=((2, Fault.EMPTY),),
        ),
        Source(ascending=True),
    ),
    "a record left out by mistake in a part that is covered by its order of time, with a total": (
        Habits(
            kind=Kind.TOKEN,
            size=2,
            slots=(0, 0, 1, 1, 2, 2, 3, 3),
            units=4,
            cap=5,
            faults=((2, Fault.SHORT),),
        ),
        Source(ascending=True),
    ),
    "an empty page by mistake, by token, without a total": (
        Habits(kind=Kind.TOKEN, slots=SEVEN, units=1, total=Total.NONE, faults=((2, Fault.EMPTY),)),
        Source(),
    ),
    "a page by mistake twice, by token, without a total": (
        Habits(kind=Kind.TOKEN, slots=SEVEN, units=1, total=Total.NONE, faults=((2, Fault.STUTTER),)),
        Source(),
    ),
    "the last page is the one before by mistake, by link, without a total": (
        Habits(kind=Kind.URL, slots=SEVEN, units=1, total=Total.NONE, served=2, faults=((4, Fault.STUTTER),)),
        Source(),
    ),
    "deleted records": (Habits(slots=SEVEN, deleted=(1, 4)), Source()),
}
"""One case for each cause that the search found."""


def main(arguments: list[str]) -> int:
    """Run one case in memory and show what happened."""
    logging.disable(logging.CRITICAL)
    names = vars(words)
    habits = eval(arguments[0], dict(names))
    source = eval(arguments[1], dict(names)) if len(arguments) > 1 else Source()
    ended = harvest(MemoryBench(), habits, source)
    try:
        verdict, broken = check(habits, source, ended), False
    except Broken as found:
        verdict, broken = f"BROKEN: {found}", True
    sys.stdout.write(f"{describe(habits, source, ended)}\n{verdict}\n")
    return int(broken)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
