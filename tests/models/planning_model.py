"""Planning without a database: estimators of every temper, boxes of time and ids, a provider and a harvest of it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import groupby, pairwise
from typing import cast

from ingest_core.cursor.frontier import fold_frontier, whole_coverage
from ingest_core.model.canonical import hash_of
from ingest_core.model.cursor import Coverage, CursorState
from ingest_core.model.id_range import IdRange
from ingest_core.model.namespace import Namespace
from ingest_core.model.record import Arrivals
from ingest_core.model.slice_codes import EstimateMethod
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.window import Window
from ingest_core.planning.estimate import Estimate, Estimator
from ingest_core.planning.needs import Need
from ingest_core.planning.ports import PlanTransaction
from ingest_core.planning.proposal import Proposer
from ingest_core.planning.request import PlanRequest
from ingest_core.planning.strategies.strategy import Piece, SliceContext
from ingest_core.planning.strategies.time_slices import TimeStrategy
from ingest_core.registry.compile import Compiled
from tests.support.frontiers import fold_frontier_down

# --- estimators ---------------------------------------------------------------------------------


@dataclass
class Stubborn:
    """An Estimator that says the same of everything."""

    records: int
    method: EstimateMethod
    calls: int = 0

    def estimate(self, _window: Window, _part: IdRange | None = None) -> Estimate:
        self.calls += 1
        return Estimate(self.records, self.method)


@dataclass
class Moody:
    """An Estimator whose answers fit neither the truth nor each other, but stay the same."""

    seed: int
    methods: tuple[EstimateMethod, ...]
    calls: int = 0

    def estimate(self, window: Window, part: IdRange | None = None) -> Estimate:
        self.calls += 1
        number = int(hash_of(self.seed, window.json(), part.json() if part else None)[:12], 16)
        return Estimate(number % 10 ** (1 + number % 6), self.methods[number % len(self.methods)])


@dataclass(frozen=True)
class Cluster:
    """Records of one instant, whose ids follow each other; without a first id, records that have none."""

    at: datetime
    first_id: int | None
    size: int

    def inside(self, window: Window, part: IdRange | None) -> int:
        """How many of them are in the window and the range."""
        if not window.start <= self.at < window.end:
            return 0
        if self.first_id is None or (part and part.is_unset):
            return self.size if self.first_id is None and (part is None or part.is_unset) else 0
        last = self.first_id + self.size - 1
        low = self.first_id if part is None or part.start is None else max(self.first_id, part.start)
        high = last if part is None or part.end is None else min(last, part.end)
        return max(0, high - low + 1)


@dataclass
class Truthful:
    """An Estimator that counts what is there."""

    clusters: list[Cluster]
    calls: int = 0

    def count(self, window: Window, part: IdRange | None = None) -> int:
        return sum(cluster.inside(window, part) for cluster in self.clusters)

    def estimate(self, window: Window, part: IdRange | None = None) -> Estimate:
        self.calls += 1
        return Estimate(self.count(window, part), EstimateMethod.COUNT)


# --- boxes: a window, and of it all ids or a range ----------------------------------------------

Box = tuple[Window, IdRange | None]
Ids = tuple[tuple[int | None, int | None] | str, ...]
Row = tuple[datetime, datetime, Ids]
UNSET = "without the field"
ALL_IDS: Ids = ((None, None), UNSET)


def boxes_of_needs(needs: Iterable[Need]) -> list[Box]:
    """What needs reading."""
    return [(need.window, part) for need in needs for part in need.ranges or (None,)]


def boxes_of_pieces(pieces: Iterable[Piece]) -> list[Box]:
    """What is going to be read."""
    return [(piece.window, piece.range) for piece in pieces]


def ground_of(boxes: Iterable[Box]) -> list[Row]:
    """The same ground however it was cut; refuses boxes that overlap."""
    rows: list[Row] = []
    in_order = sorted(boxes, key=lambda box: box[0])
    for window, group in groupby(in_order, key=lambda box: box[0]):
        ids = _joined_ids([part for _, part in group])
        assert not rows or rows[-1][1] <= window.start, f"{window} overlaps what ends at {rows[-1][1]}"
        if rows and rows[-1][1] == window.start and rows[-1][2] == ids:
            rows[-1] = (rows[-1][0], window.end, ids)
        else:
            rows.append((window.start, window.end, ids))
    return rows


def _joined_ids(parts: list[IdRange | None]) -> Ids:
    if None in parts:
        assert len(parts) == 1, "all ids, and some of them again"
        return ALL_IDS
    unset = [UNSET for part in parts if part and part.answers_for_unset]
    assert len(unset) <= 1, "records without the field twice"
    numbered = [part for part in parts if part and not part.is_unset]
    return (*_joined_numbers(numbered), *unset) if numbered else tuple(unset)


def _joined_numbers(parts: list[IdRange]) -> list[tuple[int | None, int | None]]:
    ranges = sorted(parts, key=lambda part: (part.start is not None, part.start or 0))
    joined = [(ranges[0].start, ranges[0].end)]
    for below, above in pairwise(ranges):
        assert below.end is not None, "ids twice"
        assert above.start is not None, "ids twice"
        assert below.end < above.start, "ids twice"
        if below.end + 1 == above.start:
            joined[-1] = (joined[-1][0], above.end)
        else:
            joined.append((above.start, above.end))
    return joined


# --- a provider, and a harvest of it ------------------------------------------------------------


@dataclass(frozen=True)
class Published:
    """A record of the provider: its stamp, its id, and from when on it can be seen."""

    stamp: datetime
    record_id: int
    visible_at: datetime

    @property
    def unnumbered(self) -> bool:
        """Whether it lacks the second field, as one record in seven does."""
        return self.record_id % 7 == 0

    def inside(self, window: Window, part: IdRange | None) -> bool:
        """Whether a slice that owns these would be given it."""
        if part and part.is_unset != self.unnumbered:
            return False
        if self.unnumbered:
            return window.start <= self.stamp < window.end
        low = part.start if part and part.start is not None else self.record_id
        high = part.end if part and part.end is not None else self.record_id
        return window.start <= self.stamp < window.end and low <= self.record_id <= high


@dataclass(eq=False)
class Work:
    """A task: queued, then begun, then ended well or not."""

    window: Window
    range: IdRange | None
    queued_at: datetime
    begun_at: datetime | None = None


@dataclass
class Memory:
    """What a PlanTransaction tells a Proposer, from lists."""

    cursor: CursorState | None = None
    events: list[Coverage] = field(default_factory=list)
    work: list[Work] = field(default_factory=list)
    forward: CursorState | None = None

    def lock_cursor(self, _namespace: Namespace) -> CursorState | None:
        return self.cursor

    def other_cursor(self, _namespace: Namespace) -> CursorState | None:
        return self.forward

    def predecessor(self, _namespace: Namespace) -> datetime | None:
        return None

    def arrivals(self, _namespace: Namespace, _since: datetime, _clock_since: datetime) -> Arrivals:
        return Arrivals()

    def coverage(self, _namespace: Namespace, window: Window) -> Iterator[Coverage]:
        touching = (one for one in self.events if one.window.end > window.start and one.window.start < window.end)
        return iter(sorted(touching, key=lambda one: one.window.end))

    def live(self, _namespace: Namespace, window: Window) -> Iterator[Window]:
        windows = (one.window for one in self.work)
        return iter(sorted(one for one in windows if one.end > window.start and one.start < window.end))


@dataclass
class Harvest:
    """A planner, a queue and an executor over one provider; time is the caller's."""

    spec: SpecSnapshot
    estimator: Estimator
    request: PlanRequest = field(default_factory=lambda: PlanRequest("crossref"))
    store: Memory = field(default_factory=Memory)
    queued: list[Work] = field(default_factory=list)
    """All work that was ever queued."""

    def tick(
        self,
        now: datetime,
        user_from: datetime | None = None,
        user_to: datetime | None = None,
        most: int | None = None,
    ) -> list[Work]:
        """What a trigger adds to the queue, as the planner decides it; at most so much, where stock is short."""
        request = replace(self.request, user_from=user_from, user_to=user_to)
        compiled = Compiled(self.spec, [], [], [])
        proposal = Proposer(cast(PlanTransaction, self.store), request, compiled, now).propose()
        if proposal.decision.window is None:
            return []
        context = SliceContext(
            self.spec,
            proposal.config,
            proposal.decision.window,
            proposal.needs,
            self.estimator,
            proposal.newest_first,
        )
        pieces = list(TimeStrategy().pieces(context))[:most]
        added = [Work(piece.window, piece.range, now) for piece in pieces]
        anchor = proposal.anchor(request) if added else None
        if anchor:
            bounds = (anchor.bound_from, anchor.bound_to)
            self.store.cursor = CursorState(anchor.value, anchor.value, None, *bounds)
        elif proposal.settled and self.store.cursor:
            self.store.cursor = replace(self.store.cursor, settled=proposal.settled)
        self.store.work += added
        self.queued += added
        return added

    def waiting(self) -> list[Work]:
        """Tasks nobody has begun, in the order of their queueing."""
        return [one for one in self.store.work if one.begun_at is None]

    def running(self) -> list[Work]:
        """Tasks that were begun and have not ended."""
        return [one for one in self.store.work if one.begun_at is not None]

    def begin(self, work: Work, now: datetime) -> None:
        """Ask for the first page."""
        work.begun_at = now

    def end(self, work: Work, *, well: bool) -> None:
        """End a task; what was read is an event, dated by its first page."""
        assert work.begun_at is not None
        self.store.work.remove(work)
        if well:
            self.store.events.append(Coverage(work.window, work.begun_at, work.range))

    def advance(self) -> None:
        """Move the watermark as far as the events go, in a transaction of its own."""
        cursor = self.store.cursor
        if cursor:
            fold = fold_frontier_down if self.request.newest_first else fold_frontier
            read = [event.window for event in whole_coverage(self.store.events)]
            self.store.cursor = replace(cursor, value=fold(cursor.value, read))

    def was_read(self, record: Published) -> bool:
        """Whether a task that could see the record has read it."""
        return any(
            event.as_of >= record.visible_at and record.inside(event.window, event.range) for event in self.store.events
        )


def length_of(work: Iterable[Work]) -> timedelta:
    """How much time the tasks cover, one after the other."""
    return sum((one.window.length for one in work), timedelta(0))
