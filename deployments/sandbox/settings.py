"""What a sandbox is started with, and what may change while it runs."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

UNTIL = datetime(2026, 1, 11, tzinfo=UTC)


class ScrollMode(StrEnum):
    """Where a scroll's position lives: on the server, or in the token."""

    SERVER = "server"
    TOKEN = "token"  # noqa: S105 - not a secret


@dataclass(frozen=True, slots=True)
class Settings:
    """A sandbox is a function of these: same values, same corpus."""

    seed: int = 1
    works: int = 5000
    until: datetime = UNTIL
    days: float = 10
    scroll: ScrollMode = ScrollMode.SERVER
    scroll_ttl_seconds: float = 300.0
    rate_limit_per_second: int | None = None
    host: str = "127.0.0.1"
    port: int = 0

    def __post_init__(self) -> None:
        if self.works < 0 or self.days <= 0:
            raise ValueError(f"sandbox: works={self.works} must not be negative and days={self.days} must be above 0")
        if self.until.tzinfo is None:
            raise ValueError(f"sandbox: until={self.until} needs an offset, such as Z")


@dataclass(slots=True)
class Behaviour:
    """The settings a running sandbox may change."""

    scroll: ScrollMode
    scroll_ttl_seconds: float
    rate_limit_per_second: int | None
