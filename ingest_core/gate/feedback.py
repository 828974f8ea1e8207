"""What an answer says about the rate: its status, Retry-After, limits and what is left of a quota."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from ingest_core.gate.adaptation import decreased, with_stated
from ingest_core.gate.circuit import alive, failed, succeeded
from ingest_core.gate.state import CloseReason, GateState
from ingest_core.gate.taxonomy import TOO_MANY_REQUESTS, parse_retry_after
from ingest_core.model.codes import ResetKind
from ingest_core.model.instant import format_instant, parse_instant
from ingest_core.model.spec import RateSpec

UNTOLD_COOL_DOWN = timedelta(seconds=1)
"""How long the limiter is closed after a refusal that names no time."""

LONGEST_CLOSING = timedelta(days=7)
"""No answer closes a limiter for longer."""

_FIRST_ERROR = 400
_FIRST_SERVER_ERROR = 500
_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,9})?\Z", re.ASCII)
_INTERVAL = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*(ms|s|m|h|d)?\Z", re.ASCII)
_UNITS = {"ms": 0.001, "s": 1.0, None: 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True)
class Feedback:
    """One answer, or its absence, as the rate limiter reads it."""

    status: int | None
    """None when no answer came."""
    retry_after: timedelta | None = None
    limit: float | None = None
    interval_seconds: float | None = None
    remaining: float | None = None
    resets_at: datetime | None = None
    concurrency: int | None = None
    refused: bool = False
    """Whether the provider refused our rate, by a 429 or in the words of its source file."""
    task: str = ""
    """Whose request it was."""
    decreases: int = 0
    """How often the rate had been decreased when the request was sent."""

    @property
    def failed(self) -> bool:
        """Whether the provider did not do its work; flow control with Retry-After is no failure."""
        if self.status is None:
            return True
        return self.status >= _FIRST_SERVER_ERROR and self.retry_after is None

    @property
    def closes(self) -> CloseReason | None:
        """Why the limiter is closed after this answer, if it is."""
        if self.retry_after is not None:
            return CloseReason.RETRY_AFTER
        if self.remaining is not None and self.remaining <= 0 and self.resets_at is not None:
            return CloseReason.REMAINING_ZERO
        return CloseReason.TOO_MANY_REQUESTS if self.refused else None

    def closing(self, now: datetime) -> datetime | None:
        """Until when it is."""
        until = self.resets_at if self.closes == CloseReason.REMAINING_ZERO else None
        span = (until - now) if until else self.retry_after or timedelta(0)
        span = max(span, UNTOLD_COOL_DOWN) if self.refused else span
        return now + min(max(span, timedelta(0)), LONGEST_CLOSING) if self.closes else None

    @property
    def stated_rate(self) -> float | None:
        """Requests a second that the headers allow; a limit without an interval is a quota, not a rate."""
        if not self.limit or not self.interval_seconds:
            return None
        return self.limit / self.interval_seconds

    @property
    def matters(self) -> bool:
        """Whether it says more than that all is well."""
        return self.failed or self.refused or self.closes is not None

    @property
    def words(self) -> str:
        """What the provider answered, for the list of changes."""
        answer = "no answer came" if self.status is None else f"the provider answered {self.status}"
        if self.retry_after is not None:
            return f"{answer}, Retry-After {self.retry_after.total_seconds():g} s"
        left = f", {_whole(self.remaining)} requests remaining" if self.remaining is not None else ""
        return f"{answer}{left}"

    def quota_json(self) -> dict[str, Any]:
        """What is left, as the ledger keeps it; nothing where the provider said nothing."""
        said = {"limit": self.limit, "remaining": self.remaining, "concurrency": self.concurrency}
        told: dict[str, Any] = {name: _whole(value) for name, value in said.items() if value is not None}
        return told | ({"windowReset": format_instant(self.resets_at)} if self.resets_at else {})


def after_answer(state: GateState, rate: RateSpec, said: Feedback, now: datetime, chance: float) -> GateState:
    """The limiter after an answer; `chance`, from 0 to 1, sets how long a circuit opens within its bounds."""
    state = with_stated(state, said.stated_rate, now)
    if said.concurrency is not None:
        state = replace(state, stated_concurrency=said.concurrency)
    if said.refused or (said.failed and said.status is not None):
        state = decreased(state, rate, now, said.decreases)
    if said.failed:
        state = failed(state, said.task, now, rate.open_seconds * (1 + chance))
    else:
        state = alive(state, now) if said.matters else succeeded(state, now)
    until = said.closing(now)
    if until is not None and said.closes is not None and until > now:
        state = state.closed(until, said.closes)
    return state


def read_feedback(status: int, headers: Mapping[str, str], rate: RateSpec, now: datetime) -> Feedback:
    """What the headers say, by the names the Registry knows and the IETF's; what is no number says nothing."""
    refused = status >= _FIRST_ERROR  # a page that came has nothing to wait for
    drafted = _drafted(headers)
    remaining = _number(headers, rate.remaining_header)
    resets_at = _reset(headers, rate, now)
    limit, interval = _number(headers, rate.limit_header), _interval(headers, rate.interval_header)
    if "r" in drafted and remaining is None:
        remaining, resets_at = drafted["r"], now + timedelta(seconds=min(drafted.get("t", 0), 10**9))
        resets_at = resets_at if "t" in drafted else None
    if "q" in drafted and limit is None:
        limit, interval = drafted["q"], drafted.get("w")
    concurrency = _number(headers, rate.concurrency_header)
    return Feedback(
        status,
        parse_retry_after(headers.get("retry-after"), now) if refused else None,
        limit,
        interval,
        remaining,
        resets_at,
        int(concurrency) if concurrency else None,
        refused=status == TOO_MANY_REQUESTS,
    )


def says_refused(said: Feedback, rate: RateSpec) -> bool:
    """Whether a status that the source names beside 429 refuses our rate, by the answer's headers."""
    if said.status not in rate.refusal_statuses:
        return False
    return said.retry_after is not None or (said.remaining is not None and said.remaining <= 0)


def _number(headers: Mapping[str, str], name: str | None) -> float | None:
    text = headers.get(name.lower(), "").strip() if name else ""
    return float(text) if _NUMBER.match(text) else None


def _interval(headers: Mapping[str, str], name: str | None) -> float | None:
    found = _INTERVAL.match(headers.get(name.lower(), "").strip().lower()) if name else None
    seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
    return seconds or None


def _reset(headers: Mapping[str, str], rate: RateSpec, now: datetime) -> datetime | None:
    if rate.reset_kind == ResetKind.ISO_TIME:
        return _iso(headers.get((rate.reset_header or "").lower(), ""))
    seconds = _number(headers, rate.reset_header)
    if seconds is None:
        return None
    try:
        if rate.reset_kind == ResetKind.EPOCH_SECONDS:
            return datetime.fromtimestamp(seconds, tz=now.tzinfo)
        if rate.reset_kind == ResetKind.EPOCH_MILLIS:
            return datetime.fromtimestamp(seconds / 1000, tz=now.tzinfo)
        return now + timedelta(seconds=seconds)
    except (OverflowError, ValueError, OSError):
        return None


def _iso(text: str) -> datetime | None:
    try:
        return parse_instant(text.strip()) if text.strip() else None
    except Exception:
        return None


def _drafted(headers: Mapping[str, str]) -> dict[str, float]:
    """The parameters of the IETF draft's headers, of the first policy where there are several.

    `RateLimit: "default";r=5;t=30` and `RateLimit-Policy: "default";q=10;w=60`.
    """
    found: dict[str, float] = {}
    for name, wanted in (("ratelimit", "rt"), ("ratelimit-policy", "qw")):
        first = headers.get(name, "").split(",")[0]
        for part in first.split(";")[1:]:
            key, _, value = part.strip().partition("=")
            if key in wanted and _NUMBER.match(value.strip()):
                found[key] = float(value)
    return found


def _whole(value: float) -> float:
    return int(value) if float(value).is_integer() else value
