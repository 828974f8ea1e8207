"""Cutting again what turned out too big: children of the same plan that tile what is left of their parent."""

from dataclasses import dataclass, field
from typing import Any

from ingest_core.model.codes import ControlState
from ingest_core.model.errors import BadInput
from ingest_core.model.id_range import IdRange
from ingest_core.model.partition import Partition
from ingest_core.model.window import Window
from ingest_core.planning.estimate import Probe, ProbingEstimator, StoredEstimates, probe_budget
from ingest_core.planning.needs import Need
from ingest_core.planning.ports import PlanStore, PlanTransaction, Reslice
from ingest_core.planning.sizing import constant_estimate, sizing_of
from ingest_core.planning.slicing import Drafter
from ingest_core.planning.strategies.strategy import Piece, SliceContext, StrategyRegistry
from ingest_core.planning.strategies.time_slices import TimeCutter

MOST_AT_ONCE = 1000
TRIGGER = "RESLICE"


@dataclass
class ResliceReport:
    """What became of the requests that waited."""

    served: int = 0
    children: int = 0
    refused: list[str] = field(default_factory=list)

    def json(self) -> dict[str, Any]:
        """The report under its interface's names."""
        return {"served": self.served, "children": self.children, "refused": self.refused}


class Reslicer:
    """Serves re-slice requests; serving one again has no further effect."""

    def __init__(self, plans: PlanStore, strategies: StrategyRegistry, probe: Probe | None = None) -> None:
        self._plans = plans
        self._strategies = strategies
        self._probe = probe

    def serve(self, partition: Partition | None = None) -> ResliceReport:
        """Serve what waits, of a partition or in all."""
        report = ResliceReport()
        for request_id in self._plans.open_reslices(partition, MOST_AT_ONCE):
            try:
                self._serve(request_id, report)
            except BadInput as error:  # of this request alone: the others, and the plan to come, go on
                report.refused.append(f"request {request_id} waits: {error}")
        return report

    def _serve(self, request_id: int, report: ResliceReport) -> None:
        with self._plans.look() as looking:
            seen = looking.lock_reslice(request_id)
            if seen is None or looking.control(seen.namespace.partition).state != ControlState.ACTIVE:
                return  # another planner served it, or the provider is to be left alone
        pieces = self._pieces(seen)  # may ask the provider: nothing is locked meanwhile

        def work(transaction: PlanTransaction) -> int | None:
            transaction.lock_control(seen.namespace.partition)  # no plan looks while a request becomes children
            reslice = transaction.lock_reslice(request_id)
            if reslice is None:
                return None  # another planner served it
            if not pieces:
                transaction.refuse_reslice(reslice, _refusal(reslice))
                return 0
            drafter = Drafter(
                reslice.spec,
                reslice.namespace,
                f"{TRIGGER}:{reslice.key}",
                reslice.strategy,
                reslice.lag_seconds,
                reslice.priority,
            )
            return transaction.insert_children(reslice, map(drafter.draft, pieces))

        children = self._plans.transact(work)
        if children:
            report.served += 1
            report.children += children
        elif children == 0:
            report.refused.append(_refusal(seen))

    def _pieces(self, reslice: Reslice) -> list[Piece]:
        """The remaining window cut to size; never the parent itself, whatever its stated size."""
        spec = reslice.spec
        nothing = StoredEstimates(constant_estimate(spec))
        estimator = ProbingEstimator(spec, nothing, self._probe, probe_budget(spec)) if self._probe else nothing
        need = Need(reslice.window, (reslice.range,) if reslice.range else ())
        context = SliceContext(spec, spec.time, reslice.window, [need], estimator)
        pieces = list(self._strategies.choose(reslice.strategy, spec).pieces(context))
        if any(_is_parent(piece, reslice) for piece in pieces):
            pieces = _forced(reslice, TimeCutter(spec.time, sizing_of(spec), estimator))
        if isinstance(estimator, ProbingEstimator):
            self._plans.save_estimates(spec, estimator.found)
        return pieces


def _is_parent(piece: Piece, reslice: Reslice) -> bool:
    """Whether a piece would ask for just what its parent did: the same window, all of it or the same part."""
    asked = [part.asked if part else None for part in (piece.range, reslice.parent_range)]
    return piece.window == reslice.parent and asked[0] == asked[1]


def _forced(reslice: Reslice, cutter: TimeCutter) -> list[Piece]:
    """The window in two, else a range of it; nothing where neither can be."""
    window, spec = reslice.window, reslice.spec
    if not spec.time.supports_updated_since:
        return []
    if reslice.range is None:
        halves = cutter.halves(window)
        if len(halves) > 1:
            return [Piece(half, cutter.estimator.estimate(half)) for half in halves]
    field_name = spec.slicing.split_field
    part = reslice.range or (IdRange(field_name) if field_name else None)
    middle = _middle(part, spec.slicing.split_max) if part else None
    return list(cutter.split(window, part, middle)) if part and middle is not None else []


def _middle(part: IdRange, most: int) -> int | None:
    if part.is_unset:
        return None
    low, high = part.start or 0, most if part.end is None else part.end
    return (low + high) // 2 if low < high else None


def _refusal(reslice: Reslice) -> str:
    where = _place(reslice.window, reslice.range)
    return f"plan {reslice.plan_id}: {where} cannot be cut any smaller (slicing.split_field can split a unit of time)"


def _place(window: Window, part: IdRange | None) -> str:
    return str(window) if part is None else f"{window}, {part}"
