"""What the Registry promises."""

from collections.abc import Iterable
from typing import Protocol

from ingest_core.model.record_merge import PendingMerge, RecordMerge
from ingest_core.model.source_change import RowChange, RowVersion
from ingest_core.model.source_summary import SourceSummary
from ingest_core.registry.rows import Rows


class RegistryStore(Protocol):
    """The sources as configured: an applied file is all there or not at all."""

    def rows(self, source: str) -> Rows:
        """The rows in force; BadInput when there is no such source."""

    def changes(self, sources: list[Rows]) -> list[RowChange]:
        """What applying these would change; nothing is written."""

    def apply(self, sources: list[Rows]) -> list[RowChange]:
        """Make these the rows in force, all or none; what changed, nothing when nothing did."""

    def remove(self, source: str) -> list[RowChange]:
        """Close all rows of a source; what changed. Refused while it has live work, BadInput if it is unknown.

        Records, plans, cursors and the rows' history stay. A plan that was compiled before still runs on its snapshot.
        """

    def removed(self) -> set[str]:
        """The codes of sources that were registered once and are no more."""

    def history(self, source: str) -> list[RowVersion]:
        """Every row the source ever had, when it was opened and when it was closed, oldest first."""

    def sources(self) -> list[SourceSummary]:
        """Every source in short."""


class RecordMerger(Protocol):
    """Rows stored under a DETAIL endpoint, merged into those of the SEARCH endpoint that owns the records."""

    def pending(self, sources: Iterable[Rows]) -> list[PendingMerge]:
        """How many rows `merge` would merge or move if these sources were in force; nothing is written."""

    def merge(self, sources: Iterable[str] | None = None, most_chunks: int | None = None) -> list[RecordMerge]:
        """Merge the rows whose endpoint has an owner, of these sources or of all; `most_chunks` of each table."""
