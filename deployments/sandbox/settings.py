"""What a sandbox is started with, and what may change while it runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import StrEnum

from deployments.sandbox.instant import DAY_MS, days_of, to_ms
from deployments.sandbox.ways import Ways

UNTIL = datetime(2026, 1, 11, tzinfo=UTC)


class ScrollMode(StrEnum):
    """Where a scroll's position lives: on the server, or in the token."""

    SERVER = "server"
    TOKEN = "token"  # noqa: S105 - not a secret


@dataclass(frozen=True, slots=True)
class Settings:
    """A sandbox is a function of these: same values, same corpus; `busy` says how many of the works some days have."""

    seed: int = 1
    works: int = 5000
    until: datetime = UNTIL
    days: float = 10
    busy: Mapping[date, int] = field(default_factory=dict, hash=False)
    scroll: ScrollMode = ScrollMode.SERVER
    scroll_ttl_seconds: float = 300.0
    rate_limit_per_second: int | None = None
    kept_pages: int = 0
    reach: int | None = None
    """The most records of a result that requests reach by position (default: as many as at the real provider)."""
    host: str = "127.0.0.1"
    port: int = 0
    allowed_hosts: tuple[str, ...] = ()
    """Values of Host that are answered beside those of this machine."""

    def __post_init__(self) -> None:
        if self.works < 0 or self.days <= 0:
            raise ValueError(f"sandbox: works={self.works} must not be negative and days={self.days} must be above 0")
        if self.until.tzinfo is None:
            raise ValueError(f"sandbox: until={self.until} needs an offset, such as Z")
        if self.reach is not None and self.reach < 1:
            raise ValueError(f"sandbox: reach={self.reach} must be above 0")
        if self.busy:
            self._check_busy()

    @property
    def span_ms(self) -> tuple[int, int]:
        """The first instant a work may be indexed at, and the first after the last."""
        until_ms = to_ms(self.until)
        return until_ms - int(self.days * DAY_MS), until_ms

    def _check_busy(self) -> None:
        days, taken = days_of(*self.span_ms), sum(self.busy.values())
        outside = [str(day) for day in self.busy if day not in days]
        if outside:
            raise ValueError(f"sandbox: busy={outside[0]} must be one of the days={self.days} before {self.until}")
        if min(self.busy.values()) < 0:
            raise ValueError(f"sandbox: busy={min(self.busy.values())} must not be negative")
        if taken > self.works:
            raise ValueError(f"sandbox: busy={taken} must not be more than works={self.works}")
        if taken < self.works and len(self.busy) == len(days):
            raise ValueError(f"sandbox: busy={taken} leaves no day to the rest of works={self.works}")


@dataclass(slots=True)
class Behaviour:
    """The settings a running sandbox may change, and how many pages Crossref keeps as they were written."""

    scroll: ScrollMode
    scroll_ttl_seconds: float
    rate_limit_per_second: int | None
    kept_pages: int = 0
    reach: int | None = None
    shelf: Ways = field(default_factory=Ways)

    def reachable(self, real: int) -> int:
        """How many records of a result requests reach by position, where the real provider gives `real`."""
        return real if self.reach is None else min(real, self.reach)
