"""When each work may be indexed: at any time, or on a day of its own where some days are busy."""

import random
from collections.abc import Iterable
from itertools import cycle, islice, repeat

from deployments.sandbox.instant import days_of
from deployments.sandbox.settings import Settings

Slot = tuple[int, int]


def slots(settings: Settings) -> Iterable[Slot]:
    """The instants `[from, to)` of each work, by its number."""
    return _drawn_days(settings) if settings.busy else repeat(settings.span_ms, settings.works)


def _drawn_days(settings: Settings) -> list[Slot]:
    """Busy days as often as they are asked for, the others evenly, in an order that is the seed's."""
    days = days_of(*settings.span_ms)
    drawn = [days[day] for day, works in settings.busy.items() for _ in range(works)]
    others = [slot for day, slot in days.items() if day not in settings.busy]
    drawn += islice(cycle(others), settings.works - len(drawn))
    random.Random(f"{settings.seed}:days").shuffle(drawn)
    return drawn
