"""How many records a window holds: counted, remembered, sampled or supposed, in this order."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol

from ingest_core.model.id_range import IdRange
from ingest_core.model.instant import MICROSECOND
from ingest_core.model.slice_codes import EstimateMethod
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.window import Window

GUESSES = (EstimateMethod.CONSTANT, EstimateMethod.HISTORY)
"""How a size is known that no provider gave: nothing is known, or similar windows are."""

MAX_PROBES = 50
PROBING_SECONDS = 30
"""Maximum number of size requests of a plan, and their time at the configured rate."""


def _share(records: int, part: timedelta, whole: timedelta) -> int:
    """What falls on a part, rounded up; in whole numbers, since a span times many records is too long for a span."""
    return -(-records * (part // MICROSECOND) // (whole // MICROSECOND))


@dataclass(frozen=True)
class Estimate:
    """A number of records, and how it is known."""

    records: int
    method: EstimateMethod

    @property
    def known(self) -> bool:
        """Whether it says something about this window."""
        return self.method != EstimateMethod.CONSTANT

    @property
    def counted(self) -> bool:
        """Whether the provider said so."""
        return self.method == EstimateMethod.COUNT

    @property
    def asked(self) -> bool:
        """Whether the provider was asked for this window."""
        return self.method in (EstimateMethod.COUNT, EstimateMethod.FIRST_PAGE)

    @property
    def asked_of(self) -> bool:
        """Whether the provider was asked for this window, or for a larger one."""
        return self.asked or self.method == EstimateMethod.SHARE

    def share(self, part: timedelta, whole: timedelta) -> "Estimate":
        """What falls on a part if records are spread evenly; a share of a guess is a guess."""
        method = self.method if self.method in GUESSES else EstimateMethod.SHARE
        return Estimate(_share(self.records, part, whole), method) if self.known else self

    def less(self, part: "Estimate") -> "Estimate | None":
        """The rest without a part; None unless both were counted."""
        if not (self.counted and part.counted):
            return None
        return Estimate(max(0, self.records - part.records), EstimateMethod.COUNT)

    def rest(self, part: "Estimate") -> "Estimate":
        """What the whole leaves for the other parts: a size to cut by, and no count of theirs."""
        return Estimate(max(0, self.records - part.records), EstimateMethod.SHARE)


WindowPart = tuple[Window, IdRange | None]


class Estimator(Protocol):
    """Says how much a window holds; what it says never changes what is read, only how it is cut."""

    def estimate(self, window: Window, part: IdRange | None = None) -> Estimate:
        """The records of the window, or of a range of it."""


class SizeUnknown(Exception):
    """The provider was not reached, or its answer says no size; the message says why."""

    def __init__(self, why: str, *, reached: bool = True) -> None:
        super().__init__(why)
        self.reached = reached


@dataclass(frozen=True)
class SizesAsked:
    """How many sizes the provider gave, and why it gave no more."""

    given: int = 0
    failure: str | None = None
    reached: bool = True
    """Whether the failure was an answer of the provider, or that there was none."""

    @property
    def warnings(self) -> list[str]:
        """The failure, as a warning of the plan."""
        if self.failure is None:
            return []
        what = "the provider gave no size" if self.reached else "the provider was not reached"
        return [f"{what}: sizes it did not give are guesses, from history or one page for each slice: {self.failure}"]

    def json(self) -> dict[str, Any] | None:
        """The failure as the plan keeps it; none where there was none."""
        return None if self.failure is None else {"reached": self.reached, "message": self.failure}


NOTHING_ASKED = SizesAsked()


class Probe(Protocol):
    """Asks the provider, through the gate."""

    def ask(self, spec: SpecSnapshot, window: Window, part: IdRange | None = None) -> Estimate | None:
        """COUNT where a total is stated, else FIRST_PAGE; none when a page tells nothing, SizeUnknown on a failure."""


@dataclass(frozen=True)
class History:
    """What similar windows held: records per span of time."""

    records: int
    span: timedelta

    def of(self, window: Window) -> Estimate:
        """What a window of this length would hold."""
        return Estimate(_share(self.records, window.length, self.span), EstimateMethod.HISTORY)


@dataclass(frozen=True)
class StoredEstimates:
    """The stored estimate; nothing is requested."""

    constant: int
    known: Mapping[WindowPart, Estimate] = field(default_factory=dict)
    history: History | None = None

    def estimate(self, window: Window, part: IdRange | None = None) -> Estimate:
        """A stored answer of the provider, else history, else a constant."""
        stored = self.known.get((window, part))
        if stored:
            return stored
        if self.history and part is None:
            return self.history.of(window)
        return Estimate(self.constant, EstimateMethod.CONSTANT)


@dataclass
class ProbingEstimator:
    """Asks the provider within the budget, and keeps the stated sizes."""

    spec: SpecSnapshot
    stored: Estimator
    probe: Probe
    budget: int
    found: dict[WindowPart, Estimate] = field(default_factory=dict)
    failed: bool = False
    failure: SizeUnknown | None = None
    """Why the provider is not asked any more."""

    def estimate(self, window: Window, part: IdRange | None = None) -> Estimate:
        """Counted before remembered, remembered before sampled, sampled before supposed."""
        known = self.found.get((window, part)) or self.stored.estimate(window, part)
        counts = self.spec.response.total_path is not None
        if known.counted or known.method == EstimateMethod.FIRST_PAGE or (known.known and not counts):
            return known
        return self._ask(window, part) or known

    @property
    def exhausted(self) -> bool:
        """Whether there is no use in asking on."""
        return self.failed or len(self.found) >= self.budget

    @property
    def asked(self) -> SizesAsked:
        """What came of asking."""
        if self.failure is None:
            return SizesAsked(len(self.found))
        return SizesAsked(len(self.found), str(self.failure), self.failure.reached)

    def _ask(self, window: Window, part: IdRange | None) -> Estimate | None:
        if self.exhausted:
            return None
        try:
            answer = self.probe.ask(self.spec, window, part)
        except SizeUnknown as error:
            answer, self.failure = None, error
        if answer is None:
            self.failed = True
            return None
        self.found[window, part] = answer
        return answer


def probe_budget(spec: SpecSnapshot) -> int:
    """How often the provider may be asked for sizes."""
    if spec.slicing.probe_budget is not None:
        return spec.slicing.probe_budget
    return min(MAX_PROBES, max(5, int(PROBING_SECONDS * spec.rate.requests_per_second)))
