"""What an error means: one place says how bad it is."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from ingest_core.model.codes import ErrorLevel
from ingest_core.model.redaction import excerpt

TOO_MANY_REQUESTS = 429
MAX_RETRY_AFTER = timedelta(days=7)
EXCERPT_CHARS = 200
_FATAL = {401, 403}
_OK = range(200, 300)


@dataclass
class UpstreamError(Exception):
    """A request that did not bring a page; `moved` when the provider may have gone on without us."""

    level: ErrorLevel
    code: str
    message: str
    moved: bool
    status: int | None = None
    retry_after: timedelta | None = None
    unreachable: bool = False
    in_detail: bool = False

    def __str__(self) -> str:
        return self.message

    def json(self) -> dict[str, object]:
        """As the ledger keeps it."""
        return {"level": self.level.value, "code": self.code, "message": self.message, "status": self.status}


def error_of_status(
    status: int, headers: dict[str, str], body: bytes, retry_statuses: list[int], now: datetime
) -> UpstreamError | None:
    """The error a status stands for; none for success."""
    if status in _OK:
        return None
    code = f"HTTP_{status}"
    message = f"the provider answered {status}: {excerpt(_words(body), EXCERPT_CHARS)}"
    retry_after = parse_retry_after(headers.get("retry-after"), now)
    if status in _FATAL:
        return UpstreamError(ErrorLevel.L4, code, message, moved=False, status=status)
    if status in retry_statuses:
        # A refusal for haste is not an answer; any other failure may hide one.
        moved = status != TOO_MANY_REQUESTS
        return UpstreamError(ErrorLevel.L1, code, message, moved=moved, status=status, retry_after=retry_after)
    return UpstreamError(ErrorLevel.L2, code, message, moved=False, status=status)


def parse_retry_after(value: str | None, now: datetime) -> timedelta | None:
    """Seconds or a date, bounded; nothing for what is neither."""
    if not value:
        return None
    try:
        span = timedelta(seconds=float(value))
    except (ValueError, OverflowError):
        try:
            moment = parsedate_to_datetime(value)
        except (ValueError, OverflowError):
            return None
        span = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now
    return min(max(span, timedelta(0)), MAX_RETRY_AFTER)


def _words(body: bytes) -> str:
    return " ".join(body[: EXCERPT_CHARS * 8].decode("utf-8", "replace").split())
