"""What it comes to when a namespace takes over from another."""

from dataclasses import dataclass
from typing import Any

from ingest_core.model.namespace import Namespace


@dataclass(frozen=True)
class Adoption:
    """What taking over comes to: from where to where the target goes; with `done`, it stays."""

    source: Namespace
    target: Namespace
    before: str | None
    after: str
    done: bool = False

    def json(self) -> dict[str, Any]:
        """As reports show it."""
        return {
            "partition": str(self.target.partition),
            "from": self.source.key,
            "to": self.target.key,
            "before": self.before,
            "after": self.after,
            "adopted": not self.done,
        }
