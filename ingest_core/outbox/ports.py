"""What the relay needs from the outbox and from whom it sends to, and what they promise."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from ingest_core.model.codes import OutboxStatus
from ingest_core.model.message import Message, MessageEntry


class MessageRefused(Exception):
    """Whoever is sent to will not take these messages: one of them is at fault."""


class PublisherUnavailable(Exception):
    """Nothing can be sent now, whatever it is; `retry_after` says for how long, if that is known."""

    def __init__(self, message: str, retry_after: timedelta | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Publisher(Protocol):
    """Whom messages are sent to."""

    def publish(self, messages: Sequence[Message]) -> None:
        """Send all, and return once they are safe; MessageRefused or PublisherUnavailable otherwise."""


@dataclass(frozen=True)
class Failure:
    """An attempt that failed: when the next one is, or that there is none."""

    message: Message
    wait: timedelta
    dead: bool
    error: str


class Outbox(Protocol):
    """Messages on their way out: at most one unexpired lease each, and one of each ordering key at a time."""

    def claim(self, owner: str, ttl_seconds: int, limit: int) -> list[Message]:
        """Messages that are due, the first of their ordering key, leased to `owner`."""

    def renew(self, owner: str, ttl_seconds: int, messages: Sequence[Message]) -> list[Message]:
        """Keep the leases; the messages that are still the owner's."""

    def mark_sent(self, owner: str, messages: Sequence[Message]) -> int:
        """They have arrived; how many were still the owner's."""

    def mark_failed(self, owner: str, failures: Sequence[Failure]) -> None:
        """Count an attempt, and let each wait or be dead; what is no longer the owner's is left alone."""

    def release(self, owner: str, messages: Sequence[Message]) -> None:
        """Give back what was not tried."""

    def pending(self) -> int:
        """How many wait to be sent."""

    def waiting(self) -> timedelta | None:
        """How long until a message may come free; none when none is pending."""


class OutboxControl(Protocol):
    """The outbox as operators see and change it."""

    def pending(self) -> int:
        """How many messages wait to be sent."""

    def tally(self, status: OutboxStatus | None = None) -> dict[str, int]:
        """Number of messages by status."""

    def messages(self, status: OutboxStatus | None = None, limit: int = ...) -> list[MessageEntry]:
        """Messages without their payload, newest first."""

    def retry(self, ids: Sequence[int]) -> int:
        """Make these due at once, with all their attempts; how many. BadInput for one that was sent or is unknown."""

    def retry_dead(self) -> int:
        """Make every DEAD message due at once; how many."""

    def prune(self, older_than: timedelta) -> int:
        """Delete messages sent longer ago than this; how many."""
