"""The executor flow: tasks are worked side by side, one Prefect task each, in slots that all executors share."""

import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from uuid import UUID

from prefect import Flow, State, flow, get_run_logger, runtime, task
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun as PrefectFlowRun
from prefect.context import TaskRunContext
from prefect.futures import PrefectFuture
from prefect.states import Cancelled, Completed, Failed
from prefect.task_runners import ThreadPoolTaskRunner

from flows.execution.page import tags_of
from flows.execution.progress import ExecutionWatch
from flows.execution.urgent_chores import UrgentChores
from flows.parameters import ExecuteParameters
from flows.prefect_api.chosen_names import name_at_start
from flows.prefect_api.run_name import is_scheduled
from flows.process.application import open_app
from flows.process.logs import end_by_state
from flows.process.signals import stopped_by_signals
from flows.slots.slot import Slots
from flows.text.refusals import in_labels, read_form
from ingest_core.bootstrap import App
from ingest_core.execution.conclusion import conclude
from ingest_core.execution.outcomes import RunSummary
from ingest_core.execution.report import ExecuteReport
from ingest_core.execution.shift import Bounds
from ingest_core.model.codes import TaskStatus
from ingest_core.model.errors import PatraError, Refused
from ingest_core.model.naming import slice_name
from ingest_core.model.partition import Due
from ingest_core.model.task import FlowRun, Task


@dataclass
class RunContext:
    """Shared by the tasks of one flow run: the application, and their leased tasks and results."""

    app: App
    tasks: dict[int, Task] = field(default_factory=dict)
    ends: dict[int, RunSummary | BaseException] = field(default_factory=dict)


MOST_TASK_RUNS = 2000

_run_context: ContextVar[RunContext] = ContextVar("run_context")


@task(name="work slice", task_run_name="{name}", retries=0, cache_policy=NO_CACHE, persist_result=False)
def work_slice(task_id: int, name: str) -> State[None]:
    """Work one leased task to its end; only small values cross into Prefect."""
    run, context = _run_context.get(), TaskRunContext.get()
    leased = run.tasks.pop(task_id)
    if context:  # not by Prefect's own way: for each tag it asks the server for a limit before a task may begin
        context.task_run.tags = sorted({*context.task_run.tags, *tags_of(leased)})
    try:
        summary = run.app.executor.runner.run(leased, FlowRun(runtime.flow_run.id, runtime.task_run.id))
    except BaseException as error:
        run.ends[task_id] = error
        raise
    run.ends[task_id] = summary
    return _state_of(summary)


def _state_of(summary: RunSummary) -> State[None]:
    """The task run's state, which Prefect logs; what is neither good nor bad is worth a warning."""
    counts = ", ".join(f"{number} {name}" for name, number in summary.counts.json().items())
    read = f"{summary.batches} pages, {counts}"
    message = f"{summary.error} ({read})" if summary.error else read
    if summary.status == TaskStatus.FAILED:
        return Failed(message=message)
    if summary.status == TaskStatus.SUCCEEDED:
        return Completed(message=message)
    get_run_logger().warning(message)
    names = {TaskStatus.PARTIAL: "Partial", TaskStatus.QUEUED: "Requeued", None: "LeaseLost"}
    return Completed(name=names[summary.status], message=message)


def _submit(run: RunContext, leased: Task) -> "Future[RunSummary]":
    """Have a task worked by Prefect, beside others."""
    task_id, done = leased.lease.task_id, Future[RunSummary]()
    run.tasks[task_id] = leased

    def settle(worked: PrefectFuture[State[None]]) -> None:
        end = run.ends.pop(task_id, None)
        if isinstance(end, RunSummary):
            done.set_result(end)
        else:
            done.set_exception(end or RuntimeError(f"Prefect did not work task {task_id}: {worked.state}"))

    work_slice.submit(task_id, slice_name(leased)).add_done_callback(settle)
    return done


@contextmanager
def _drained_by_sigterm(app: App) -> Iterator[None]:
    """Let SIGTERM end the run in good order, where that can be: signals are the main thread's."""
    can = threading.current_thread() is threading.main_thread()
    with stopped_by_signals(app.executor.stop, (signal.SIGTERM,)) if can else nullcontext():
        yield


def _left_before(app: App, flow_run_id: str) -> list[Due]:
    """What earlier attempts of this run left, if it is being retried."""
    if (runtime.flow_run.run_count or 0) <= 1:
        return []
    left = app.executor.requeue_left_by(flow_run_id)
    get_run_logger().info("%s tasks that this run left are queued again, and come first", len(left))
    return left


def _bounds(app: App, parameters: ExecuteParameters, flow_run_id: str) -> Bounds:
    """What the run may take on: all its attempts together stay below what Prefect can show well."""
    bounds, before = parameters.bounds(scheduled=is_scheduled()), app.readside.attempts_of(flow_run_id)
    left = MOST_TASK_RUNS - before
    if left <= 0:
        raise Refused(
            "TOO_MANY_TASK_RUNS",
            f"it has worked {before} tasks already, and a run shows at most {MOST_TASK_RUNS}",
            where=f"flow run {flow_run_id}",
            remedy="start another run of the executor: what this one left is queued again",
        )
    return replace(bounds, max_tasks=min(bounds.max_tasks or left, left))


def _end_of(report: ExecuteReport, app: App, flow_run_id: str) -> State[dict[str, Any]]:
    """The run's state: what failed is named, and a stop that was a cancel is one."""
    stopped = app.executor.stop.is_set()
    end = conclude(report, stopped=stopped)
    if stopped and _is_cancelling(flow_run_id):
        return Cancelled(message=end.message)
    if end.good:
        return Completed(message=end.message, data=report.json())
    return Failed(message=end.message)


def _is_cancelling(flow_run_id: str) -> bool:
    """Whether the run was cancelled; False where the server does not answer."""
    try:
        with get_client(sync_client=True) as client:
            state = client.read_flow_run(UUID(flow_run_id)).state
    except Exception as error:
        get_run_logger().warning("Prefect does not say whether this run was cancelled: %s", error)
        return False
    return state is not None and state.is_cancelling()


def give_leases_back(flow: Flow[..., Any], flow_run: PrefectFlowRun, state: State[Any]) -> None:
    """A flow run whose process is gone holds nothing any longer: others may work it at once."""
    with open_app() as app:
        app.executor.give_back(str(flow_run.id))


@flow(
    name="executor",
    flow_run_name=name_at_start,
    validate_parameters=False,  # the form is read in the flow, which says what is wrong with the fields' labels
    task_runner=ThreadPoolTaskRunner(),  # type: ignore[arg-type]  # of whatever its tasks give
    on_failure=[give_leases_back],
    on_crashed=[give_leases_back],
    on_cancellation=[give_leases_back],
)
def executor(parameters: ExecuteParameters) -> dict[str, Any]:
    """Work queued tasks, several at once, until the time is over or nothing is left to do.

    Args:
        parameters: What to work on, and how long.
    """
    end_by_state()
    try:
        end = _execute(read_form(ExecuteParameters, parameters), str(runtime.flow_run.id))
    except PatraError as error:
        end = Failed(message=in_labels(error), data=error)
    return end  # type: ignore[return-value]  # Prefect takes the state, and gives its data to whoever called


def _execute(parameters: ExecuteParameters, flow_run_id: str) -> State[Any]:
    with open_app() as app, _drained_by_sigterm(app):
        if parameters.source:
            app.registry.rows(parameters.source)  # an unknown source would never have due tasks
        run = RunContext(app)
        token = _run_context.set(run)
        try:
            with Slots(app) as slots, UrgentChores(), ExecutionWatch(app, parameters) as watch:
                first = _left_before(app, flow_run_id)
                bounds, submit = _bounds(app, parameters, flow_run_id), partial(_submit, run)
                report = ExecuteReport()
                try:
                    app.executor.execute_flow_run(flow_run_id, bounds, submit, slots, first, watch, report)
                except Exception as error:
                    watch.conclude(report, f"it ended before its time: {error}")
                    raise
                end = _end_of(report, app, flow_run_id)
                watch.conclude(report, end.message or "")
        finally:
            _run_context.reset(token)
    return end
