"""Where a page was, and what comes after it."""

from dataclasses import dataclass, field
from datetime import datetime

from ingest_core.model.codes import EndSignal
from ingest_core.model.slice_codes import ResliceReason


@dataclass(frozen=True)
class Step:
    """What comes after a page: another one at `token`, or the end; `limit` when we stop before the provider does."""

    token: str | None
    limit: str | None = None
    rewound: bool = False
    reslice: ResliceReason | None = None
    requeues: bool = False
    """Whether a later attempt continues at `token`."""
    signal: EndSignal | None = field(default=None, compare=False)
    """By what the end was recognised."""
    beyond: bool = field(default=False, compare=False)
    """Whether the next place is behind all records that the total states: a refusal there is an empty page."""
    counts: bool = field(default=False, compare=False)
    """Whether the next place is a position, which records that leave or arrive meanwhile shift."""

    @property
    def ends(self) -> bool:
        """Whether no page is asked for after this one."""
        return self.token is None or self.limit is not None

    @property
    def completes(self) -> bool:
        """Whether the provider has no more."""
        return self.token is None


END = Step(None)


@dataclass(frozen=True)
class Edge:
    """The unit of time in which a page ends, where its records are in ascending order of time."""

    since: datetime
    """The unit's beginning."""
    records: int
    """How many of the page's records are of this unit: they come again when paging continues at `since`."""


@dataclass(frozen=True)
class Place:
    """Where a page was, and what was known when it came."""

    token: str | None
    page_no: int
    distinct: int
    """Distinct records of this pass, those of the page included."""
    total_before: int | None = None
    """The last total stated before this page."""
    rewinds: int = 0
    repeats: int = 0
    """How many pages directly before this one held the same records."""
    empties: int = 0
    """How many pages directly before this one were empty."""
    edge: Edge | None = None
    """Where paging may continue by time instead of by position."""


@dataclass(frozen=True)
class Repetition:
    """How often in a row the same records came, going back not counted."""

    page: bytes = b""
    rewinds: int = 0
    times: int = 0

    def after(self, page: bytes, rewinds: int) -> "Repetition":
        """The same with one more page."""
        same = bool(page) and page == self.page and rewinds == self.rewinds
        return Repetition(page, rewinds, self.times + 1 if same else 0)
