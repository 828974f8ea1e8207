"""What a trigger asks for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ingest_core.model.canonical import hash_of
from ingest_core.model.codes import PRIORITY, Operation, SchedulerCode, TriggerType
from ingest_core.model.errors import BadInput
from ingest_core.model.instant import format_instant

MAX_TRIGGER_KEY_CHARS = 200
MAX_CAMPAIGN_CHARS = 128
MAX_ID_CHARS = 512
MOST_URGENT, LEAST_URGENT = 1, 9


@dataclass(frozen=True)
class Trigger:
    """Who fired, and the identity that makes firing again harmless."""

    scheduler: SchedulerCode
    key: str
    job_id: str | None = None
    type: TriggerType = TriggerType.MANUAL

    def __post_init__(self) -> None:
        if not 0 < len(self.key) <= MAX_TRIGGER_KEY_CHARS:
            raise BadInput(
                "TRIGGER_KEY_INVALID",
                f"a trigger key has 1 to {MAX_TRIGGER_KEY_CHARS} characters, this one has {len(self.key)}",
                where="trigger",
                remedy="give a shorter --trigger-key",
            )

    @property
    def identity(self) -> str:
        """What tells it from every other trigger."""
        return f"{self.scheduler}:{self.key}"


@dataclass(frozen=True)
class PlanRequest:
    """One planning request, checked for what can be checked without a database."""

    source: str
    operation: Operation = Operation.HARVEST
    endpoint: str | None = None
    user_from: datetime | None = None
    user_to: datetime | None = None
    query: str | None = None
    overrides: Mapping[str, str] = field(default_factory=dict)
    campaign: str | None = None
    newest_first: bool = False
    ids: tuple[str, ...] = ()
    priority: int | None = None
    window_words: str | None = None
    """How the bounds were asked for, where that was in words."""

    @property
    def urgency(self) -> int:
        """The priority of its tasks: what was asked for, else the operation's."""
        return PRIORITY[self.operation] if self.priority is None else self.priority

    def __post_init__(self) -> None:
        if self.user_from and self.user_to and self.user_from >= self.user_to:
            raise BadInput(
                "WINDOW_INVALID",
                f"from {format_instant(self.user_from)} is not before to {format_instant(self.user_to)}",
                where="window",
                remedy="let from be earlier than to",
            )
        self._refuse_unless(
            not self.newest_first or self.operation == Operation.BACKFILL,
            "newest_first", "true", "only a BACKFILL runs from the newest down", "leave it out, or plan a BACKFILL",
        )  # fmt: skip
        self._refuse_unless(
            self.campaign is None or self.operation != Operation.HARVEST,
            "campaign", self.campaign, "a HARVEST has no campaigns", "leave it out, or plan a BACKFILL or an UPDATE",
        )  # fmt: skip
        self._refuse_unless(
            self.campaign is None or 0 < len(self.campaign) <= MAX_CAMPAIGN_CHARS,
            "campaign", self.campaign, f"its name has 1 to {MAX_CAMPAIGN_CHARS} characters", "give a shorter name",
        )  # fmt: skip
        self._refuse_unless(
            not self.ids or self.operation == Operation.UPDATE,
            "ids", len(self.ids), "only an UPDATE is asked for ids", "leave them out, or plan an UPDATE",
        )  # fmt: skip
        unusable = next((one for one in self.ids if not 0 < len(one) <= MAX_ID_CHARS), None)
        self._refuse_unless(
            unusable is None, "ids", unusable, f"an id has 1 to {MAX_ID_CHARS} characters", "correct the list"
        )
        self._refuse_unless(
            MOST_URGENT <= self.urgency <= LEAST_URGENT,
            "priority", self.priority, "1 is the most urgent, 9 the least", "give one of these",
        )  # fmt: skip

    def _refuse_unless(self, holds: bool, name: str, value: Any, why: str, remedy: str) -> None:  # noqa: FBT001 - reads so
        if not holds:
            where = f"source {self.source!r}, {self.operation}"
            raise BadInput("REQUEST_INVALID", f"{name} {value!r}: {why}", where=where, remedy=remedy)

    def json(self) -> dict[str, Any]:
        """The request as the trigger's record keeps it; of ids their number and hash, of words not what they mean."""
        bounds = (None, None) if self.window_words else (self.user_from, self.user_to)
        start, end = (format_instant(bound) if bound else None for bound in bounds)
        said = {
            "query": self.query,
            "overrides": dict(self.overrides),
            "campaign": self.campaign,
            "newest_first": self.newest_first,
            "priority": self.priority,
            "window": self.window_words,
            "ids": {"count": len(self.ids), "hash": hash_of(self.ids)} if self.ids else None,
        }
        return {
            "source": self.source,
            "operation": self.operation.value,
            "endpoint": self.endpoint,
            "from": start,
            "to": end,
            **{name: value for name, value in said.items() if value},
        }
