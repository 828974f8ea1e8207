"""What watermarks promise."""

from datetime import datetime, timedelta
from typing import Protocol

from ingest_core.cursor.adoption import Adoption
from ingest_core.cursor.rebuild import Rebuilt
from ingest_core.model.codes import Operation
from ingest_core.model.cursor import CursorValue
from ingest_core.model.cursor_report import CursorEntry, CursorReport, CursorStep
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

    def cursors(self) -> list[CursorEntry]:
        """Every cursor as reports show it."""


class CursorReports(Protocol):
    """Cursors and their events as people read them; nothing is changed."""

    def find(
        self,
        source: str | None = None,
        endpoint: str | None = None,
        operation: Operation | None = None,
        namespace: str | None = None,
    ) -> list[Namespace]:
        """The namespaces that have a cursor and fit; their keys may be given by their first characters."""

    def lost(
        self,
        source: str | None = None,
        endpoint: str | None = None,
        operation: Operation | None = None,
        namespace: str | None = None,
    ) -> list[Namespace]:
        """The namespaces that fit and have events, but no cursor any more."""

    def show(self, namespace: Namespace) -> CursorReport:
        """A cursor's value, what moved it there, and what it waits for."""

    def timeline(self, namespace: Namespace, since: datetime | None, limit: int) -> list[CursorStep]:
        """The newest events in order, each with the value before and after it."""

    def rebuild(self, namespace: Namespace) -> Rebuilt:
        """The value that the events give, beside the stored one."""


class CursorAdoption(Protocol):
    """Starts a namespace at another one's value."""

    def propose(self, source: Namespace, target: Namespace) -> Adoption:
        """What `adopt` would do; BadInput where it must not."""

    def adopt(self, source: Namespace, target: Namespace, *, reason: str | None, by: str) -> Adoption:
        """Move the target to the source's value; a repetition has no further effect."""


class CursorCompaction(Protocol):
    """Replaces old events by one that says the same."""

    def count(self, namespace: Namespace, older_than: timedelta) -> int:
        """How many events `compact` would replace."""

    def compact(self, namespace: Namespace, older_than: timedelta) -> int:
        """Replace events older than this; how many."""
