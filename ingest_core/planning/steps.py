"""The steps of planning, with a hook around each: what wraps them decides nothing and leaves the rows as they are."""

from collections.abc import Callable

from ingest_core.planning.estimate import SizesAsked
from ingest_core.planning.proposal import Proposal
from ingest_core.planning.report import PlanReport
from ingest_core.planning.reslice import ResliceReport
from ingest_core.registry.compile import Compiled


class PlanSteps:
    """Runs each step of planning as it is. A subclass may show, log or refuse; it calls `work` once, and returns its
    result."""

    def record(self, work: Callable[[], int]) -> int:
        """Write the trigger down; the id of its row."""
        return work()

    def compile(self, work: Callable[[], Compiled]) -> Compiled:
        """Freeze what the Registry means now."""
        return work()

    def resolve(self, work: Callable[[], Proposal]) -> Proposal:
        """Compute the window."""
        return work()

    def reslice(self, work: Callable[[], ResliceReport]) -> ResliceReport:
        """Cut again what turned out too big since the last plan."""
        return work()

    def estimate(self, work: Callable[[], SizesAsked]) -> SizesAsked:
        """Ask the provider for sizes, and keep the answers."""
        return work()

    def derive(self, work: Callable[[], PlanReport]) -> PlanReport:
        """Store plan, slices and tasks; of a dry run, count what they would be."""
        return work()


AS_THEY_ARE = PlanSteps()
