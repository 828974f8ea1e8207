"""What an error means: one place says how bad it is."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from ingest_core.gate.state import CloseReason
from ingest_core.model.codes import ErrorLevel
from ingest_core.model.redaction import excerpt, storable
from ingest_core.model.visible import visible

TOO_MANY_REQUESTS = 429
MAX_RETRY_AFTER = timedelta(days=7)
EXCERPT_CHARS = 200
_FATAL = {401, 403}
_OK = range(200, 300)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_WEB_PAGE = re.compile(r"(?:\s|\ufeff|<\?[^<>]*>)*+<(!doctype\s+html|html|head|body|title|center|h1)\b", re.IGNORECASE)
_WEB_PAGE_CHARS = 4000
_HEAD = re.compile(r"<head\b.*?(</head\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<(script|style)\b.*?(</\1\s*>|\Z)|<[^<>]*>", re.IGNORECASE | re.DOTALL)

LEVELS = {
    "UNREACHABLE": ErrorLevel.L1,
    "ANSWER_LOST": ErrorLevel.L1,
    "RATE_WAIT": ErrorLevel.L1,
    "NOT_JSON": ErrorLevel.L1,
    "NOT_XML": ErrorLevel.L1,
    "EMPTY_BEFORE_TOTAL": ErrorLevel.L1,
    "EMPTY_TAIL": ErrorLevel.L1,
    "NEXT_PAGE_MISSING": ErrorLevel.L1,
    "ITEMS_MISSING": ErrorLevel.L2,
    "TOO_MANY_VALUES": ErrorLevel.L2,
    "TOO_DEEP": ErrorLevel.L2,
    "TOO_LARGE": ErrorLevel.L2,
    "NEXT_TOKEN_INVALID": ErrorLevel.L2,
    "STATED_ERROR": ErrorLevel.L2,
    "NEXT_PLACE_INVALID": ErrorLevel.L2,
    "HAS_MORE_INVALID": ErrorLevel.L2,
    "TOTAL_INVALID": ErrorLevel.L2,
    "STEP_INVALID": ErrorLevel.L2,
    "NEXT_URL_INVALID": ErrorLevel.L2,
    "REDIRECT_INVALID": ErrorLevel.L2,
    "CODING_UNSUPPORTED": ErrorLevel.L2,
    "ANSWER_TOO_LARGE": ErrorLevel.L2,
    "ANSWER_UNREADABLE": ErrorLevel.L2,
    "PATTERN_TIMEOUT": ErrorLevel.L2,
    "PATTERN_REFUSED": ErrorLevel.L2,
    "PATH_REFUSED": ErrorLevel.L2,
    "BOUND_EXCEEDED": ErrorLevel.L2,
    "PagingLoop": ErrorLevel.L2,
    "EMPTY_PAGES": ErrorLevel.L2,
    "ENDLESS": ErrorLevel.L2,
    "SHORTFALL": ErrorLevel.L2,
    "END_UNCERTAIN": ErrorLevel.L2,
    "SPLIT_FIELD_MISSING": ErrorLevel.L2,
    "SCHEMA_DRIFT": ErrorLevel.L4,
    "ALL_GONE": ErrorLevel.L4,
    "CREDENTIAL_MISSING": ErrorLevel.L4,
    "CREDENTIAL_REFUSED": ErrorLevel.L4,
    "NEXT_URL_ELSEWHERE": ErrorLevel.L4,
    "REDIRECTED_ELSEWHERE": ErrorLevel.L4,
    "PLAIN_HTTP": ErrorLevel.L4,
    "PATH_ELSEWHERE": ErrorLevel.L4,
    "PRIVATE_ADDRESS": ErrorLevel.L4,
}
"""How bad a failure is that no status tells of: L1 passes, L2 is this request's, L4 is the source's.

A record that cannot be used is L3: it goes to quarantine, and its page goes on.
"""


def level_of(code: str) -> ErrorLevel:
    """How bad a failure of that code is; an unforeseen one is its task's own."""
    return LEVELS.get(code, ErrorLevel.L2)


@dataclass
class UpstreamError(Exception):
    """A request that did not bring a page; `moved` when the provider may have gone on without us."""

    code: str
    message: str
    moved: bool
    level: ErrorLevel = None  # type: ignore[assignment]
    status: int | None = None
    retry_after: timedelta | None = None
    unreachable: bool = False
    in_detail: bool = False
    restarts: bool = False
    """Whether the source says that this answer means an expired token."""
    refuses_rate: bool = False
    """Whether the answer says that we ask too fast, whatever its status."""
    closed: CloseReason | None = None
    """Why the rate limiter is closed, where that is why no request was sent."""
    final: bool = False
    """Whether the request is not repeated within this attempt."""

    def __post_init__(self) -> None:
        self.level = self.level or level_of(self.code)
        self.message = visible(self.message)  # it holds the provider's words, and is stored, logged and shown

    def __str__(self) -> str:
        return self.message

    def json(self) -> dict[str, object]:
        """As the ledger keeps it."""
        return {"level": self.level.value, "code": self.code, "message": storable(self.message), "status": self.status}


def error_of_status(
    status: int, headers: dict[str, str], body: bytes, retry_statuses: list[int], now: datetime
) -> UpstreamError | None:
    """The error a status stands for; none for success."""
    if status in _OK:
        return None
    code = f"HTTP_{status}"
    message = f"the provider answered {status}: {excerpt(_words(body), EXCERPT_CHARS)}"
    retry_after = parse_retry_after(headers.get("retry-after"), now)
    if status == TOO_MANY_REQUESTS:  # whatever the source's own list says
        return UpstreamError(
            code, message, moved=False, level=ErrorLevel.L1, status=status, retry_after=retry_after, refuses_rate=True
        )
    if status in _FATAL:
        return UpstreamError(code, message, moved=False, level=ErrorLevel.L4, status=status)
    if status in retry_statuses:  # a failure may hide an answer
        return UpstreamError(code, message, moved=True, level=ErrorLevel.L1, status=status, retry_after=retry_after)
    return UpstreamError(code, message, moved=False, level=ErrorLevel.L2, status=status)


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


def is_web_page(body: bytes) -> bool:
    """Whether the body is a page for people, such as a notice of maintenance, whatever was asked for."""
    return _WEB_PAGE.match(_COMMENT.sub(" ", body[:_WEB_PAGE_CHARS].decode("utf-8", "replace"))) is not None


def _words(body: bytes) -> str:
    """What the body says; of a web page, what a reader would see of it."""
    text = body[: EXCERPT_CHARS * 8].decode("utf-8", "replace")
    page = _COMMENT.sub(" ", text)
    if _WEB_PAGE.match(page):
        text = _TAG.sub(" ", _HEAD.sub(" ", page)).strip() or _TAG.sub(" ", page)
    return " ".join(text.split())
