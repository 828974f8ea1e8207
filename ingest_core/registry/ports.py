"""What the Registry promises."""

from typing import Any, Protocol

from ingest_core.registry.rows import Rows


class RegistryStore(Protocol):
    """The sources as configured: an applied file is all there or not at all."""

    def rows(self, source: str) -> Rows:
        """The rows in force; BadInput when there is no such source."""

    def changes(self, sources: list[Rows]) -> list[dict[str, Any]]:
        """What applying these would change; nothing is written."""

    def apply(self, sources: list[Rows]) -> list[dict[str, Any]]:
        """Make these the rows in force, all or none; what changed, nothing when nothing did."""

    def history(self, source: str) -> list[dict[str, Any]]:
        """Every row the source ever had, when it was opened and when it was closed, oldest first."""

    def sources(self) -> list[dict[str, Any]]:
        """Every source in short."""
