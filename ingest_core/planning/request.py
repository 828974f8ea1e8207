"""What a trigger asks for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ingest_core.model.codes import Operation, SchedulerCode, TriggerType
from ingest_core.model.errors import BadInput
from ingest_core.model.instant import format_instant

MAX_TRIGGER_KEY_CHARS = 200


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

    def __post_init__(self) -> None:
        if self.operation != Operation.HARVEST:
            raise BadInput(
                "OPERATION_UNAVAILABLE",
                f"operation {self.operation} cannot be planned yet",
                where=f"source {self.source!r}",
                remedy="this version plans HARVEST only",
            )
        if self.user_from and self.user_to and self.user_from >= self.user_to:
            raise BadInput(
                "WINDOW_INVALID",
                f"from {format_instant(self.user_from)} is not before to {format_instant(self.user_to)}",
                where="window",
                remedy="give a --from that is earlier than --to",
            )

    def json(self) -> dict[str, Any]:
        """The request as the trigger's record keeps it."""
        said = {"query": self.query, "overrides": dict(self.overrides)}
        return {
            "source": self.source,
            "operation": self.operation.value,
            "endpoint": self.endpoint,
            "from": format_instant(self.user_from) if self.user_from else None,
            "to": format_instant(self.user_to) if self.user_to else None,
            **{name: value for name, value in said.items() if value},
        }
