"""What an answer says about the request rate: its status, Retry-After, and the remaining quota."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from ingest_core.gate.taxonomy import TOO_MANY_REQUESTS, parse_retry_after
from ingest_core.model.codes import ResetKind
from ingest_core.model.instant import format_instant
from ingest_core.model.spec import RateSpec

MOST_DIGITS = 18

UNTOLD_COOL_DOWN = timedelta(seconds=1)
"""Pause after a 429 without Retry-After."""


@dataclass(frozen=True)
class Feedback:
    """An answer as the gate hears it."""

    status: int
    retry_after: timedelta | None = None
    limit: int | None = None
    remaining: int | None = None
    resets_at: datetime | None = None

    @property
    def cool_down(self) -> timedelta | None:
        """The pause that the provider asks for, if any."""
        if self.status == TOO_MANY_REQUESTS:
            return self.retry_after or UNTOLD_COOL_DOWN
        return self.retry_after

    def quota_json(self) -> dict[str, Any]:
        """The remaining quota, as the ledger keeps it; empty where the provider states none."""
        said = {"limit": self.limit, "remaining": self.remaining}
        known = {name: value for name, value in said.items() if value is not None}
        return known | ({"windowReset": format_instant(self.resets_at)} if self.resets_at else {})


def read_feedback(status: int, headers: Mapping[str, str], rate: RateSpec, now: datetime) -> Feedback:
    """What the headers say, by the names the Registry knows; what is no number says nothing."""
    refused = status >= 400  # noqa: PLR2004 - an answer that is a page has no wait to tell of
    return Feedback(
        status,
        parse_retry_after(headers.get("retry-after"), now) if refused else None,
        _number(headers, rate.limit_header),
        _number(headers, rate.remaining_header),
        _reset(headers, rate, now),
    )


def _number(headers: Mapping[str, str], name: str | None) -> int | None:
    text = headers.get(name.lower(), "").strip() if name else ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS else None


def _reset(headers: Mapping[str, str], rate: RateSpec, now: datetime) -> datetime | None:
    seconds = _number(headers, rate.reset_header)
    if seconds is None:
        return None
    try:
        if rate.reset_kind == ResetKind.EPOCH_SECONDS:
            return datetime.fromtimestamp(seconds, tz=now.tzinfo)
        return now + timedelta(seconds=seconds)
    except (OverflowError, ValueError, OSError):
        return None
