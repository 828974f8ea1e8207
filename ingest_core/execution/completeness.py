"""Whether a slice that was read to its end is complete.

The law: a slice succeeds only if the distinct records of a pass reach the last stated total, or if two passes miss no
more of it than is accepted; and, where pages were found by position, if two passes in a row brought the same records
(in the same order, if a record came twice and no total is stated: a repeated record hints at a skipped one).
"""

from dataclasses import dataclass
from enum import Enum, auto

from ingest_core.model.checkpoint import Checkpoint
from ingest_core.model.codes import QuarantineReason
from ingest_core.model.shortfall import shortfall_limit
from ingest_core.model.slice_codes import ResliceReason

MAX_PASSES = 4
"""A result that differs in each of four passes is not stable enough to be read by position."""

MAX_FRUITLESS_PAGES = 50
"""Pages in a row without a new record: the provider repeats itself."""

BUDGETS = 20
TOTALS = 3
"""A pass may take twenty times the slice's budget, or three times its first total, before it counts as endless."""

USUAL_REQUESTS = 100
USUAL_RECORDS = 100_000
"""The budget of a slice that has none."""


class Judgement(Enum):
    """What becomes of a slice whose last page has come."""

    COMPLETE = auto()
    ACCEPTED = auto()  # with records missing, and a note of it
    AGAIN = auto()  # another pass
    CUT = auto()  # PARTIAL: the window is cut smaller
    FAILED = auto()


@dataclass(frozen=True)
class PassVerdict:
    """The judgement, and why; `missing` counts the records that the total states and no page brought."""

    judgement: Judgement
    why: str = ""
    missing: int = 0
    reslice: ResliceReason | None = None

    @property
    def note(self) -> QuarantineReason | None:
        """What an operator finds in quarantine."""
        return QuarantineReason.SHORTFALL if self.judgement == Judgement.ACCEPTED else None


def judge_end(
    checkpoint: Checkpoint, distinct: int, *, agrees: bool, max_shortfall: int | None, can_cut: bool
) -> PassVerdict:
    """What becomes of a pass that came to the provider's end.

    `agrees`: whether the pass before this one brought exactly the same records.
    """
    missing = max(0, checkpoint.total - distinct) if checkpoint.total is not None else 0
    # Records that left before they were read, or that a token skipped: the largest total was never reached.
    left = distinct < (checkpoint.most_total or 0) and not missing
    # Where the pass before missed some, one that repeats it misses the same: the total fell to what both brought.
    unstable = (checkpoint.unsure and not agrees) or (left and not (agrees and checkpoint.shortfall is None))
    why = f"{distinct} of {'an unknown number of' if checkpoint.total is None else checkpoint.total} records came"
    if checkpoint.accepted is not None and (missing or unstable):
        return PassVerdict(Judgement.ACCEPTED, f"{why}, accepted by an operator ({checkpoint.accepted})", missing)
    if unstable:
        return _unstable(checkpoint, missing)
    if not missing:
        return PassVerdict(Judgement.COMPLETE)
    assert checkpoint.total is not None
    if checkpoint.shortfall is None:
        return PassVerdict(Judgement.AGAIN, why, missing)
    limit = shortfall_limit(checkpoint.total, max_shortfall)
    # Where the total fell, records that have left are among those that came: as many more may be missing.
    if max(missing, (checkpoint.most_total or 0) - distinct) <= limit:
        return PassVerdict(Judgement.ACCEPTED, why, missing)
    why = f"{why} in {checkpoint.passes + 1} passes, and at most {limit} may be missing"
    return PassVerdict(Judgement.CUT if can_cut else Judgement.FAILED, why, missing, ResliceReason.SHORTFALL)


def _unstable(checkpoint: Checkpoint, missing: int) -> PassVerdict:
    if checkpoint.passes + 1 < MAX_PASSES:
        why = "pages were found by position or brought nothing new, or the total fell: another pass must bring the same"
        return PassVerdict(Judgement.AGAIN, why, missing)
    why = f"records changed places while they were read: {MAX_PASSES} passes brought different ones"
    return PassVerdict(Judgement.CUT, why, missing, ResliceReason.UNSTABLE)


def endless_reason(checkpoint: Checkpoint, max_requests: int, max_records: int) -> str | None:
    """Why a slice counts as endless, over all attempts of a pass; none while it does not."""
    if checkpoint.fruitless >= MAX_FRUITLESS_PAGES:
        return f"the last {checkpoint.fruitless} pages brought no new record"
    total = TOTALS * (checkpoint.first_total or 0)
    pages, records = max(BUDGETS * max_requests, total), max(BUDGETS * max_records, total)
    if checkpoint.page_no < pages and checkpoint.received < records:
        return None
    return f"{checkpoint.page_no} pages with {checkpoint.received} records came, and there is no end"
