"""Records on their way in: usable or not, and what became of them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from dataclasses import fields as dataclass_fields
from datetime import datetime
from typing import Any

from ingest_core.model.codes import GoneReason, IdNormalizer, QuarantineReason, QuarantineState


@dataclass(frozen=True, slots=True)
class Record:
    """A usable record, ready for the store."""

    provider_id: str
    """The record's id, normalised."""
    updated_at: datetime
    """Update time as the provider states it, or the time of asking where that lies too far in the future."""
    payload: str
    """The provider's own text."""
    payload_hash: str
    """Hash of the payload: whether a record of the same time has changed."""
    fields: dict[str, Any]
    """The common fields, and flags."""
    version: str | None = None
    """Version as the provider states it; decides between records of the same time."""


@dataclass(frozen=True, slots=True)
class Gone:
    """A record that the provider no longer has."""

    provider_id: str
    at: datetime | None
    """When the provider deleted it; None where it does not say, and the time of asking stands for it."""
    reason: GoneReason
    merged_into: str | None = None
    """The id of the record it was merged into; only with MERGED."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A record that cannot be used, and why; the fragment is redacted and short."""

    reason: QuarantineReason
    """Code of the reason."""
    json_path: str
    """Path of the value at fault."""
    fragment: str
    """The record or a part of it, redacted and short."""
    fragment_hash: str
    """Hash of the fragment: the same fragment is one row."""
    provider_id: str | None = None
    """Id of the record, if it was readable."""


MAX_DETAIL_FAILURES = 3
"""Failed attempts after which an id's details are not requested again until an operator retries or releases it."""


@dataclass(frozen=True, slots=True)
class BadId:
    """An id whose details failed before: how often, and what became of it."""

    times: int
    """Failed attempts."""
    state: QuarantineState
    """State of the id's row in quarantine."""

    @property
    def hopeless(self) -> bool:
        """Whether a search that lists it again does not ask for it."""
        tired = self.state == QuarantineState.OPEN and self.times >= MAX_DETAIL_FAILURES
        return tired or self.state == QuarantineState.DISCARDED

    @property
    def why(self) -> str:
        """Why it was not asked for."""
        return f"not asked for: it is {self.state} in quarantine, seen {self.times} times"


@dataclass(frozen=True, slots=True)
class Witnesses:
    """What the store knows of ids that were not found."""

    at_stake: int = 0
    """How many of them have a stored record that is not GONE."""
    others: tuple[str, ...] = ()
    """Some other records that are not GONE, updated last: the provider should find them."""


@dataclass(frozen=True)
class Counts:
    """Each record received is counted once."""

    received: int = 0
    """Records on pages, repeated ones included."""
    inserted: int = 0
    """New records."""
    updated: int = 0
    """Records that replaced an older version."""
    skipped: int = 0
    """Records that changed nothing."""
    quarantined: int = 0
    """Rejected records."""
    late: int = 0
    """Of those inserted or updated: how many an earlier reading of their time had missed."""
    older: int = 0
    """Of those skipped: older than the stored record."""
    equal: int = 0
    """Of those skipped: no newer than the stored record."""
    gone: int = 0
    """Deletions and merges the provider reported, new or repeated; a report older than the stored record is skipped."""

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(a + b for a, b in zip(self.values(), other.values(), strict=True)))

    @property
    def stored(self) -> int:
        """How many changed what is stored; those that a second pass reads again did not."""
        return self.inserted + self.updated + self.gone

    def values(self) -> tuple[int, ...]:
        """The numbers in order."""
        return tuple(getattr(self, one.name) for one in dataclass_fields(self))

    def json(self) -> dict[str, int]:
        """As reports show them."""
        return {
            "received": self.received,
            "inserted": self.inserted,
            "updated": self.updated,
            "skipped": self.skipped,
            "gone": self.gone,
            "quarantined": self.quarantined,
        }


@dataclass(frozen=True)
class PageOutcome:
    """A page, decoded and routed, ready to be committed; notes go to quarantine but are no records.

    `outside` counts records of another time than the slice's, which a source that cannot filter sends along, and those
    whose details the pass before has brought. `gone` are records that the provider no longer has.
    """

    records: list[Record] = field(default_factory=list)
    """Usable records."""
    rejected: list[Rejected] = field(default_factory=list)
    """Records that go to quarantine."""
    notes: list[Rejected] = field(default_factory=list)
    """Quarantine rows about the slice, not about a record."""
    id_hashes: bytes = b""
    """Short hashes of all ids on the page, one after the other."""
    request_digest: dict[str, Any] = field(default_factory=dict)
    """The request as the ledger keeps it, without secrets."""
    response_digest: dict[str, Any] = field(default_factory=dict)
    """The answer as the ledger keeps it."""
    http_stats: dict[str, Any] = field(default_factory=dict)
    """Timing and retries of the request."""
    after_token: str | None = None
    """The place of the next page."""
    has_next: bool = False
    """Whether another page follows."""
    outside: int = 0
    """Records of another time, or with details from the pass before."""
    gone: list[Gone] = field(default_factory=list)
    """Records that the provider no longer has."""


@dataclass(frozen=True)
class Arrivals:
    """How many records came, how many of them late, and by how much the provider's clock was behind ours."""

    received: int = 0
    """Records received."""
    late: int = 0
    """Records that an earlier reading of their window had missed."""
    provider_late_seconds: int = 0
    """How far the provider's clock was behind the database's."""

    @property
    def late_share(self) -> float:
        """The share of records that only a later reading of their window found."""
        return self.late / self.received if self.received else 0.0


NORMALIZE_ID: dict[IdNormalizer, Callable[[str], str]] = {
    IdNormalizer.NONE: str.strip,
    IdNormalizer.DOI: lambda text: text.strip().lower(),
}
"""How a provider's id becomes its normal form."""
