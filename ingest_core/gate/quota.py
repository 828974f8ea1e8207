"""The arithmetic of quotas: what a provider allows in a day or an hour, and who may still use how much of it."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from ingest_core.model.spec import RateSpec

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
URGENT = 3
"""The priority of HARVEST: it may use the margin, as any more urgent priority may."""


@dataclass(frozen=True)
class QuotaWindow:
    """A span of time in which the provider allows a number of units."""

    start: datetime
    end: datetime
    limit: int


@dataclass(frozen=True)
class QuotaUse:
    """What was used of a window, and what more urgent plans have reserved of it and not used yet."""

    window: QuotaWindow
    used: int = 0
    reserved_above: int = 0

    @property
    def spent(self) -> bool:
        """Whether nothing is left for anybody."""
        return self.used >= self.window.limit

    def left(self, rate: RateSpec, priority: int) -> int:
        """Units that a request of this priority may still use."""
        margin = 0 if priority <= URGENT else int(self.window.limit * rate.quota_margin)
        return max(self.window.limit - self.used - self.reserved_above - margin, 0)


def windows_at(rate: RateSpec, now: datetime) -> list[QuotaWindow]:
    """The provider's windows that contain a moment: its day, from its reset hour on, and its hour."""
    found = []
    if rate.daily_quota is not None:
        start = now.replace(hour=rate.quota_reset_hour, minute=0, second=0, microsecond=0)
        start = start if start <= now else start - DAY
        found.append(QuotaWindow(start, start + DAY, rate.daily_quota))
    if rate.hourly_quota is not None:
        start = now.replace(minute=0, second=0, microsecond=0)
        found.append(QuotaWindow(start, start + HOUR, rate.hourly_quota))
    return found
