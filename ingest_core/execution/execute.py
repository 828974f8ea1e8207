"""The executor's use case: claim and run tasks until there is nothing more to do."""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Event

from ingest_core.cursor.ports import CursorStore
from ingest_core.execution.outcomes import RunSummary
from ingest_core.execution.ports import PartitionSlots, TaskQueue, WorkControl
from ingest_core.execution.report import ExecuteReport
from ingest_core.execution.run_task import TaskRunner
from ingest_core.execution.shift import Bounds, Shift, Submit, Watch
from ingest_core.model.lease import flow_owner
from ingest_core.model.partition import Due
from ingest_core.model.scope import ScopeKind, WorkScope
from ingest_core.model.task import Task


class Executor:
    """Leases tasks and runs them, one after the other unless the caller's `submit` runs several at once."""

    def __init__(
        self,
        queue: TaskQueue,
        cursors: CursorStore,
        control: WorkControl,
        runner: TaskRunner,
        owner: str,
        lease_ttl_seconds: int,
        stop: Event,
    ) -> None:
        self._queue = queue
        self._cursors = cursors
        self._control = control
        self.runner = runner
        self._owner = owner
        self._lease_ttl_seconds = lease_ttl_seconds
        self.stop = stop

    def execute(self, bounds: Bounds | None = None, watch: Watch | None = None) -> ExecuteReport:
        """Run tasks one after the other until none is claimable, or the bounds are met."""
        self._cursors.repair()
        self._queue.repair_clock()
        claimant = (self._owner, self._lease_ttl_seconds)
        return Shift(self._queue, claimant, bounds or Bounds(), _here(self.runner.run), self.stop, watch=watch).work()

    def execute_flow_run(
        self,
        flow_run_id: str,
        bounds: Bounds,
        submit: Submit,
        slots: PartitionSlots,
        first: list[Due],
        watch: Watch,
        report: ExecuteReport,
    ) -> None:
        """The same in slots, several at once, under leases that can be found by the flow run's id.

        What was done is in the report whatever happens.
        """
        self._cursors.repair()
        self._queue.repair_clock()
        claimant = (flow_owner(flow_run_id, self._owner), self._lease_ttl_seconds)
        Shift(self._queue, claimant, bounds, submit, self.stop, slots, first, watch, report).work()
        report.resting = self._queue.resting(bounds.source)
        report.held_up = bool({due.partition for due in first} & {one.partition for one in report.resting})

    def give_back(self, flow_run_id: str) -> int:
        """Queue again what a flow run holds whose process is gone; how many tasks."""
        return len(self._queue.give_back_held(flow_run_id))

    def requeue_left_by(self, flow_run_id: str) -> list[Due]:
        """Queue again what earlier processes of this flow run left, be it failed or held; all of it, to be worked."""
        held = self._queue.give_back_held(flow_run_id)
        scope = WorkScope(ScopeKind.FLOW_RUN, flow_run_id)
        if self._control.tasks_of(scope):
            self._control.retry(scope)
        left = self._queue.left_by(flow_run_id)
        begun = {due.task_id for due in left}
        return left + [due for due in held if due.task_id not in begun]


def _here(run: Callable[[Task], RunSummary]) -> Submit:
    """Has a task worked here and now."""

    def submit(task: Task) -> "Future[RunSummary]":
        done: Future[RunSummary] = Future()
        done.set_result(run(task))
        return done

    return submit
