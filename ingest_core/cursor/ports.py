"""What watermarks promise."""

from typing import Any, Protocol

from ingest_core.model.cursor import CursorValue
from ingest_core.model.namespace import Namespace


class CursorStore(Protocol):
    """Watermarks: what the events say, and only ever forward; set back only when an operator asks for it."""

    def advance(self, namespace: Namespace) -> CursorValue | None:
        """Move the value to the end of contiguous coverage; the value afterwards."""

    def repair(self) -> int:
        """Advance every cursor that a crash left behind its events; how many those were."""

    def set_back(self, namespace: Namespace, stored: str, *, reason: str, by: str) -> bool:
        """Put a value that is ahead of its events, and still is the one that was seen, back; whether it was."""

    def restore(self, namespace: Namespace) -> None:
        """Make a row that was lost again, at the value it began with."""

    def cursors(self) -> list[dict[str, Any]]:
        """Every cursor as reports show it."""
