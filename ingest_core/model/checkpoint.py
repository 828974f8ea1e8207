"""Checkpoints: how far a slice has been read."""

from dataclasses import dataclass, replace
from datetime import datetime

from ingest_core.model.codes import EndSignal
from ingest_core.model.slice_codes import ResliceReason


@dataclass(frozen=True)
class AcceptedPage:
    """A page whose unusable records an operator accepts, however many they are."""

    page_no: int
    """Its number in a pass over the slice."""
    reason: str
    """Why they are acceptable."""


@dataclass(frozen=True)
class Checkpoint:
    """How far a slice has been read, so that any later attempt continues from there.

    A pass reads the slice once from its start to its end. A second pass follows where the first one cannot be trusted.
    """

    page_no: int = 0
    """Pages of this pass that are committed, over all attempts."""
    token: str | None = None
    """The place of the next page."""
    token_at: datetime | None = None
    """When the page that named `token` was asked for."""
    as_of: datetime | None = None
    """When the first page of this pass was asked for."""
    ended: bool = False
    """Whether the last page of the last pass is committed."""
    restarts: int = 0
    """How often the slice was started again because a place in it was lost."""
    shortfall: int | None = None
    """Records that an earlier pass missed of the stated total."""
    total: int | None = None
    """The last total that was stated in this pass, unless it is an estimate."""
    first_total: int | None = None
    """The first total of the first pass: what a result that grows without end is measured by."""
    most_total: int | None = None
    """The largest total of this pass: where records leave, a later and smaller one may be reached without others."""
    rewinds: int = 0
    """How often this pass went back because records had left the result."""
    limit: str | None = None
    """Why the pass stopped before the provider's end, in words; kept in case the task did not end with it."""
    reslice: ResliceReason | None = None
    """The same reason as a code, where the rest of the window is to be cut smaller."""
    since_attempt: int = 0
    """Attempts up to this one no longer count: an operator retried the task, or they made progress."""
    passes: int = 0
    """Passes that were read to their end."""
    last_pass_from: datetime | None = None
    """`as_of` of the last complete pass: its pages are what this pass is compared with."""
    counting: bool = False
    """Whether `token` is a position, which records that leave or arrive meanwhile shift."""
    unsure: bool = False
    """Whether a shift may have hidden records from this pass, or from the one before: two passes must agree."""
    empties: int = 0
    """Empty pages in a row up to here."""
    fruitless: int = 0
    """Pages in a row up to here that brought no new record."""
    received: int = 0
    """Records received in this pass, over all attempts."""
    accepted: str | None = None
    """Why an operator accepts what the provider gives, although records are missing."""
    accepted_page: AcceptedPage | None = None
    """The page that failed as schema drift and is accepted; None once it is committed."""
    end_signal: EndSignal | None = None
    """By what the end was recognised."""
    weak_end: bool = False
    """Whether no total confirms the end."""
    failed_at: datetime | None = None
    """When the last attempt that did not bring a page ended: the next such one counts if others succeeded since."""

    @property
    def started(self) -> bool:
        """Whether a page has been committed since the pass started."""
        return self.page_no > 0

    @property
    def read_from(self) -> datetime | None:
        """When the reading that counts began: a pass and the one that confirms it are one reading.

        A record that arrived between the two may be hidden from the later one by a record that left, and both agree.
        """
        return self.last_pass_from or self.as_of

    def anew(self) -> "Checkpoint":
        """The checkpoint of the same pass from its start."""
        return Checkpoint(
            restarts=self.restarts,
            shortfall=self.shortfall,
            since_attempt=self.since_attempt,
            passes=self.passes,
            last_pass_from=self.last_pass_from,
            unsure=self.unsure and self.passes > 0,
            accepted=self.accepted,
            accepted_page=self.accepted_page,
        )

    def next_pass(self, shortfall: int | None) -> "Checkpoint":
        """The checkpoint of the pass after this one, which missed that many records."""
        again = replace(self.anew(), passes=self.passes + 1, last_pass_from=self.as_of)
        # A pass that ends early by mistake must not pass for certain only because it never came to a second page.
        doubted = replace(again, shortfall=shortfall or self.shortfall, unsure=self.unsure)
        # A result that grows faster than it is read must not raise its own bound with every pass.
        return replace(doubted, first_total=self.first_total)

    def retried(self, attempts: int, accepted: str | None = None) -> "Checkpoint":
        """The checkpoint of the same slice after an operator's retry, with a clean record."""
        nowhere = self.limit is not None and not self.token  # the provider named no place to continue at
        kept = replace(self.anew() if nowhere else self, restarts=0, limit=None, reslice=None, since_attempt=attempts)
        fresh = replace(kept, passes=0, shortfall=None, last_pass_from=None, empties=0, fruitless=0)
        return replace(fresh, unsure=kept.unsure and kept.started, accepted=accepted or self.accepted)

    def accepting_next(self, reason: str) -> "Checkpoint":
        """The same, with the next page accepted whatever share of its records is unusable."""
        return replace(self, accepted_page=AcceptedPage(self.page_no + 1, reason))

    def drift_accepted(self, page_no: int) -> str | None:
        """Why an operator accepts the unusable records of that page; None if no one has."""
        page = self.accepted_page
        return page.reason if page and page.page_no == page_no else None

    def forgiven(self, attempts: int) -> "Checkpoint":
        """The same after attempts that were not in vain."""
        return replace(self, since_attempt=attempts)
