"""The schedules a deployment should have, and what that means for those it has."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

_EXECUTOR = "executor-"
_OURS = re.compile(rf"{_EXECUTOR}(\d+)")
_TIMING = ("interval", "anchor_date", "cron", "timezone")

FORMER_INTERVALS = {"housekeeping": timedelta(seconds=60)}
"""Intervals of earlier versions, by the schedule's slug: they are replaced, since no user chose them."""


@dataclass(frozen=True)
class WantedSchedule:
    """A schedule as it is made; once it is there, it is its user's."""

    slug: str
    timing: dict[str, Any]
    parameters: dict[str, Any]
    active: bool = True

    @property
    def state(self) -> str:
        """What there is to say about it beside its name."""
        return "" if self.active else "inactive"


@dataclass(frozen=True)
class PresentSchedule:
    """What matters of a schedule that is there."""

    deployment_id: UUID
    id: UUID
    slug: str | None
    interval: timedelta | None = None
    """None for a schedule by cron or rule."""


def declared_schedules(declared: list[dict[str, Any]], executors: int) -> list[WantedSchedule]:
    """Those of `prefect.yaml`, with as many executors as are wanted, none beginning with another."""
    wanted = []
    for entry in declared:
        first = _wanted(entry)
        wanted.append(first)
        if entry["slug"].startswith(_EXECUTOR):
            wanted += [_later(first, number) for number in range(2, executors + 1)]
    return wanted


def _wanted(entry: dict[str, Any]) -> WantedSchedule:
    timing = {name: entry[name] for name in _TIMING if name in entry}
    return WantedSchedule(entry["slug"], timing, entry.get("parameters", {}), entry.get("active", True))


def _later(first: WantedSchedule, number: int) -> WantedSchedule:
    """The so manyth executor: in the middle of the widest gap those before it leave, however many there will be."""
    anchor = datetime.fromisoformat(first.timing["anchor_date"])
    offset = timedelta(seconds=first.timing["interval"] * _halving(number - 1))
    timing = {**first.timing, "anchor_date": (anchor + offset).isoformat()}
    return WantedSchedule(f"{_EXECUTOR}{number}", timing, first.parameters)


def _halving(number: int) -> float:
    """0, 1/2, 1/4, 3/4, 1/8, ..."""
    value, weight = 0.0, 0.5
    while number:
        value, weight, number = value + weight * (number % 2), weight / 2, number // 2
    return value


def executors_present(present: list[PresentSchedule]) -> int:
    """How many executors are scheduled; one where none is yet."""
    return max([1, *(int(ours[1]) for one in present if (ours := _OURS.fullmatch(one.slug or "")))])


def is_missing(wanted: WantedSchedule, present: list[PresentSchedule]) -> bool:
    """Whether it has to be made; one that is there stays as its user left it."""
    return all(one.slug != wanted.slug for one in present)


def is_outdated(present: PresentSchedule, wanted: WantedSchedule) -> bool:
    """Whether it has the interval of an earlier version."""
    former = FORMER_INTERVALS.get(wanted.slug)
    return present.slug == wanted.slug and former is not None and present.interval == former


def is_obsolete(one: PresentSchedule, wanted: list[WantedSchedule]) -> bool:
    """Whether it was made by us and is wanted no more; a schedule of the user's own is left alone."""
    return bool(_OURS.fullmatch(one.slug or "")) and all(one.slug != other.slug for other in wanted)
