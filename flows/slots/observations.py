"""When a slot counts as orphaned: the arithmetic of looks, without Prefect."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from flows.slots.caps import TOTAL
from ingest_core.model.errors import BadInput
from ingest_core.model.instant import format_instant, parse_instant

SlotCounts = Mapping[str, int]
"""A number for each limit, by its name."""


@dataclass(frozen=True)
class Suspicion:
    """A limit with more slots taken than leases behind them at every look since; `least` is the smallest surplus."""

    since: datetime
    least: int

    def json(self) -> list[str | int]:
        """As it is kept."""
        return [format_instant(self.since), self.least]


@dataclass(frozen=True)
class SlotFindings:
    """What to do after a look: slots to be freed, and what to look at again."""

    free: dict[str, int] = field(default_factory=dict)
    watch: dict[str, Suspicion] = field(default_factory=dict)


def read_looks(kept: Any) -> dict[str, Suspicion]:
    """The stored looks; none where they cannot be read, so that looking starts again."""
    try:
        return {name: Suspicion(parse_instant(since), int(least)) for name, (since, least) in kept.items()}
    except (AttributeError, TypeError, ValueError, BadInput):
        return {}


def surplus_of(taken: SlotCounts, leases: SlotCounts) -> dict[str, int]:
    """How many slots of each limit have no live lease behind them, where there are any; the total has all leases."""
    behind = {**leases, TOTAL: sum(leases.values())}
    return {name: more for name, count in taken.items() if (more := count - behind.get(name, 0)) > 0}


def least_of(glances: Iterable[SlotCounts]) -> dict[str, int]:
    """The counts present at every glance: a slot whose claim is under way is seen by one glance, not by all."""
    first, *others = glances
    names = [name for name in first if all(name in other for other in others)]
    return {name: min(first[name], *(other[name] for other in others)) if others else first[name] for name in names}


def decide_frees(known: Mapping[str, Suspicion], surplus: SlotCounts, now: datetime, apart: timedelta) -> SlotFindings:
    """Free what was surplus at every look, once the first and the last are far enough apart."""
    verdict = SlotFindings()
    for name, count in surplus.items():
        before = known.get(name, Suspicion(now, count))
        since = min(before.since, now)  # a look by a clock that was ahead must not keep a slot for years
        suspicion = Suspicion(since, min(before.least, count))
        if now - suspicion.since >= apart:
            verdict.free[name] = suspicion.least
        else:
            verdict.watch[name] = suspicion
    return verdict
