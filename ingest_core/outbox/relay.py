"""The relay's use case: send what waits, in order of each key, until there is nothing more to send."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Event
from typing import Any

from ingest_core.model.message import Message
from ingest_core.model.redaction import excerpt
from ingest_core.model.visible import visible
from ingest_core.outbox.ports import Failure, MessageRefused, Outbox, Publisher, PublisherUnavailable
from ingest_core.outbox.retry import is_last, wait_after

CLAIM_LIMIT = 100
"""Messages leased at once; the new ones among them are sent together."""

FAULTS_IN_A_ROW = 3
"""Failures after which the publisher is not tried for a while."""

NEAR = timedelta(minutes=5)
"""A wait that is worth staying for."""

ERROR_CHARS = 500
MOST_ERRORS = 10
_SHORTEST_NAP = timedelta(milliseconds=50)
_LONGEST_NAP = timedelta(seconds=2)


@dataclass
class RelayReport:
    """What a relay did; `lost` were sent, but another relay had taken them over meanwhile."""

    sent: int = 0
    failed: int = 0
    dead: int = 0
    lost: int = 0
    pending: int = 0
    unavailable: bool = False
    errors: list[str] = field(default_factory=list)

    @property
    def handled(self) -> int:
        """Attempts at single messages."""
        return self.sent + self.failed + self.lost

    def note(self, error: str) -> None:
        """Keep an error to be shown, a few of them."""
        if error not in self.errors and len(self.errors) < MOST_ERRORS:
            self.errors.append(error)

    def json(self) -> dict[str, Any]:
        """The report under its interface's names."""
        names = ("sent", "failed", "dead", "lost", "pending", "unavailable", "errors")
        return {name: getattr(self, name) for name in names}


@dataclass
class _Round:
    """Sending until the publisher will not, or nothing is left."""

    report: RelayReport
    faults: int = 0
    retry_after: timedelta | None = None

    @property
    def over(self) -> bool:
        """Whether the publisher is to be left alone."""
        return self.faults >= FAULTS_IN_A_ROW or self.retry_after is not None


class Relay:
    """Leases messages, sends them and says so; what it cannot send waits longer each time."""

    def __init__(
        self,
        outbox: Outbox,
        open_publisher: Callable[[], AbstractContextManager[Publisher]],
        owner: str,
        lease_ttl_seconds: int,
        stop: Event,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._outbox = outbox
        self._open_publisher = open_publisher
        self._owner = owner
        self._ttl_seconds = lease_ttl_seconds
        self.stop = stop
        self._clock = clock

    def relay(
        self,
        max_messages: int | None = None,
        *,
        until_empty: bool = False,
        progress: Callable[[RelayReport], None] = lambda _report: None,
    ) -> RelayReport:
        """Send what is due; `until_empty` also waits for what is due soon, and for a publisher that is away."""
        report = RelayReport()
        away = 0
        with self._open_publisher() as publisher:
            while not self.stop.is_set():
                ended = self._round(publisher, report, max_messages, progress)
                report.unavailable = ended.over
                away = away + 1 if ended.over else 0
                if not until_empty or _enough(report, max_messages) or not self._nap(away, ended.retry_after):
                    break
        report.pending = self._outbox.pending()
        return report

    def _round(
        self,
        publisher: Publisher,
        report: RelayReport,
        max_messages: int | None,
        progress: Callable[[RelayReport], None],
    ) -> _Round:
        """Claim and send, batch after batch."""
        current = _Round(report)
        while not (self.stop.is_set() or current.over or _enough(report, max_messages)):
            limit = CLAIM_LIMIT if max_messages is None else min(CLAIM_LIMIT, max_messages - report.handled)
            messages = self._outbox.claim(self._owner, self._ttl_seconds, limit)
            if not messages:
                break
            self._send_all(publisher, messages, current)
            progress(report)
        return current

    def _send_all(self, publisher: Publisher, messages: list[Message], current: _Round) -> None:
        """Send a claim part by part; what is left when the publisher will not is given back."""
        parts = deque(parts_of(messages))
        renewed_at = self._clock()
        while parts and not (current.over or self.stop.is_set()):
            if self._clock() - renewed_at > self._ttl_seconds / 3:
                parts = self._renewed(parts)
                renewed_at = self._clock()
                continue
            part = parts.popleft()
            parts.extendleft(reversed(self._send(publisher, part, current)))
        left = [message for part in parts for message in part]
        if left:
            self._outbox.release(self._owner, left)

    def _renewed(self, parts: deque[list[Message]]) -> deque[list[Message]]:
        """The parts that are still ours: sending another's would break the order."""
        held = self._outbox.renew(self._owner, self._ttl_seconds, [message for part in parts for message in part])
        ours = {message.sequence for message in held}
        kept = ([message for message in part if message.sequence in ours] for part in parts)
        return deque(part for part in kept if part)

    def _send(self, publisher: Publisher, part: list[Message], current: _Round) -> list[list[Message]]:
        """Send a part; the halves to try instead where one of several is at fault."""
        try:
            publisher.publish(part)
        except MessageRefused as error:
            if len(part) > 1:
                return [part[: len(part) // 2], part[len(part) // 2 :]]
            current.faults = 0  # it was there to refuse
            self._fail(part, str(error), current, refused=True)
        except PublisherUnavailable as error:
            current.faults += 1
            current.retry_after = error.retry_after
            self._fail(part, str(error), current, refused=False)
        except Exception as error:
            # Others' code: its words may hold a secret, so only the kind is shown.
            current.faults += 1
            self._fail(part, f"the publisher failed: {type(error).__name__}", current, refused=False)
        else:
            current.faults = 0
            sent = self._outbox.mark_sent(self._owner, part)
            current.report.sent += sent
            current.report.lost += len(part) - sent
        return []

    def _fail(self, part: Sequence[Message], error: str, current: _Round, *, refused: bool) -> None:
        words = visible(excerpt(error, ERROR_CHARS))
        failures = [
            Failure(
                message,
                wait_after(message.attempts + 1, current.retry_after),
                is_last(message.attempts + 1, refused=refused),
                words,
            )
            for message in part
        ]
        self._outbox.mark_failed(self._owner, failures)
        current.report.failed += len(part)
        current.report.dead += sum(failure.dead for failure in failures)
        current.report.note(words)

    def _nap(self, away: int, retry_after: timedelta | None) -> bool:
        """Sleep until a message may come free, or the publisher may be back; False when that is not soon."""
        wait = self._outbox.waiting()
        if wait is None:
            return False
        if away:
            wait = max(wait, wait_after(away, retry_after))
        if wait > NEAR:
            return False
        self.stop.wait(max(wait if away else min(wait, _LONGEST_NAP), _SHORTEST_NAP).total_seconds())
        return True


def parts_of(messages: Sequence[Message]) -> list[list[Message]]:
    """Groups to send together: all new messages, and each that failed before alone, so that one cannot spoil others."""
    new = [message for message in messages if not message.attempts]
    return [*([new] if new else []), *([message] for message in messages if message.attempts)]


def _enough(report: RelayReport, max_messages: int | None) -> bool:
    return max_messages is not None and report.handled >= max_messages
