"""What watermarks promise."""

from typing import Any, Protocol

from ingest_core.model.work import CursorValue, Namespace


class CursorStore(Protocol):
    """Watermarks: only ever forward, always what the events say."""

    def advance(self, namespace: Namespace) -> CursorValue | None:
        """Move the value to the end of contiguous coverage; the value afterwards."""

    def repair(self) -> int:
        """Advance every cursor that a crash left behind its events; how many those were."""

    def restore(self, namespace: Namespace) -> None:
        """Make a row that was lost again, at the value it began with."""

    def cursors(self) -> list[dict[str, Any]]:
        """Every cursor as reports show it."""
