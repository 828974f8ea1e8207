"""Which tasks an operator cancels or retries."""

from dataclasses import dataclass
from enum import StrEnum


class ScopeKind(StrEnum):
    """What an id in such a wish names."""

    PLAN = "plan"
    SLICE = "slice"
    TASK = "task"
    FLOW_RUN = "flow-run"


@dataclass(frozen=True)
class WorkScope:
    """All tasks of one plan, slice or flow run, or one task."""

    kind: ScopeKind
    id: str

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"
