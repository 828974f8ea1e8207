"""What a deployment changed."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class ChangeKind(StrEnum):
    """What may be deployed."""

    POOL = "pool"
    LIMIT = "limit"
    DEPLOYMENT = "deployment"
    SCHEDULE = "schedule"
    AUTOMATION = "automation"


class Did(StrEnum):
    """What became of it."""

    CREATED = "created"
    UPDATED = "updated"
    REMOVED = "removed"


@dataclass(frozen=True)
class DeployChange:
    """One thing that is not as it was."""

    kind: ChangeKind
    name: str
    did: Did
    what: str = ""

    def json(self) -> dict[str, str]:
        """The change, for scripts."""
        return {"name": self.name, "change": self.did.value, "what": self.what}


@dataclass
class Changes:
    """Makes changes and writes them down; on a dry run only the latter."""

    dry_run: bool = False
    made: list[DeployChange] = field(default_factory=list)

    def make(self, act: Callable[[], object], *changes: DeployChange) -> None:
        """Make changes that are one act, and write them down; without changes there is no act."""
        if changes and not self.dry_run:
            act()
        self.made += changes


@dataclass(frozen=True)
class DeployReport:
    """Every change to a server; none when it already was as declared."""

    server: str
    pool: str
    changes: list[DeployChange]
    dry_run: bool = False

    def json(self) -> dict[str, Any]:
        """The report, for scripts."""
        pool = [change.did.value for change in self.changes if change.kind == ChangeKind.POOL]
        return {
            "server": self.server,
            "dry_run": self.dry_run,
            "pool": {"name": self.pool, "change": pool[0] if pool else None},
            "limits": self._of(ChangeKind.LIMIT),
            "deployments": self._of(ChangeKind.DEPLOYMENT),
            "schedules": self._of(ChangeKind.SCHEDULE),
            "automations": self._of(ChangeKind.AUTOMATION),
        }

    def _of(self, kind: ChangeKind) -> list[dict[str, str]]:
        return [change.json() for change in self.changes if change.kind == kind]
