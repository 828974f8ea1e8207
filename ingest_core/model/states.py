"""The life of plans, slices, tasks, runs and batches: which state may follow which, and why."""

from dataclasses import dataclass
from enum import StrEnum

from ingest_core.model.codes import BatchStatus, PlanStatus, RunStatus, SliceStatus, TaskStatus


class IllegalTransition(Exception):
    """A state that may not follow the one there is."""


@dataclass(frozen=True)
class Transition:
    """One state after another, and why; `before` is none where the row is new."""

    before: StrEnum | None
    after: StrEnum
    why: str


PLAN = PlanStatus
PLAN_STEPS = (
    Transition(None, PLAN.DRAFT, "told by a dry run, never stored"),
    Transition(None, PLAN.SLICING, "being stored"),
    Transition(PLAN.SLICING, PLAN.READY, "stored with its slices"),
    Transition(PLAN.SLICING, PLAN.PARTIAL, "too many tasks wait for all of its slices"),
    Transition(PLAN.SLICING, PLAN.SUCCEEDED, "there is nothing to do"),
    Transition(PLAN.READY, PLAN.SUCCEEDED, "all tasks succeeded"),
    Transition(PLAN.READY, PLAN.PARTIAL, "some tasks did not succeed"),
    Transition(PLAN.READY, PLAN.FAILED, "no task succeeded"),
    Transition(PLAN.READY, PLAN.CANCELLED, "cancelled"),
    Transition(PLAN.PARTIAL, PLAN.READY, "a task was retried or cut smaller"),
    Transition(PLAN.PARTIAL, PLAN.FAILED, "no task succeeded"),
    Transition(PLAN.PARTIAL, PLAN.CANCELLED, "cancelled"),
    Transition(PLAN.FAILED, PLAN.READY, "a task was retried"),
)

SLICE = SliceStatus
SLICE_STEPS = (
    Transition(None, SLICE.READY, "stored with its task"),
    Transition(SLICE.READY, SLICE.SUCCEEDED, "its task succeeded"),
    Transition(SLICE.READY, SLICE.PARTIAL, "its task ended PARTIAL"),
    Transition(SLICE.READY, SLICE.FAILED, "its task failed"),
    Transition(SLICE.READY, SLICE.CANCELLED, "its task was cancelled"),
    Transition(SLICE.PARTIAL, SLICE.READY, "its task was retried"),
    Transition(SLICE.FAILED, SLICE.READY, "its task was retried"),
)

TASK = TaskStatus
TASK_STEPS = (
    Transition(None, TASK.QUEUED, "derived from its slice"),
    Transition(TASK.QUEUED, TASK.DISPATCHED, "claimed"),
    Transition(TASK.QUEUED, TASK.CANCELLED, "cancelled"),
    Transition(TASK.DISPATCHED, TASK.EXECUTING, "a run begins"),
    Transition(TASK.DISPATCHED, TASK.QUEUED, "released, or its lease expired"),
    Transition(TASK.DISPATCHED, TASK.FAILED, "its lease expired too often"),
    Transition(TASK.DISPATCHED, TASK.CANCELLED, "cancelled"),
    Transition(TASK.EXECUTING, TASK.SUCCEEDED, "every page is in"),
    Transition(TASK.EXECUTING, TASK.PARTIAL, "a limit was met"),
    Transition(TASK.EXECUTING, TASK.FAILED, "an error that does not pass, or its lease expired too often"),
    Transition(TASK.EXECUTING, TASK.QUEUED, "an error that passes, a restart, a budget, a stop, or its lease expired"),
    Transition(TASK.EXECUTING, TASK.CANCELLED, "cancelled"),
    Transition(TASK.FAILED, TASK.QUEUED, "retried"),
    Transition(TASK.PARTIAL, TASK.QUEUED, "retried, without a pending re-slice request"),
)

RUN = RunStatus
RUN_STEPS = (
    Transition(None, RUN.RUNNING, "an attempt begins"),
    Transition(RUN.RUNNING, RUN.SUCCEEDED, "its task succeeded"),
    Transition(RUN.RUNNING, RUN.PARTIAL, "its task ended PARTIAL"),
    Transition(RUN.RUNNING, RUN.FAILED, "its task failed or is queued again, or its lease expired"),
    Transition(RUN.RUNNING, RUN.CANCELLED, "its task was cancelled"),
)

BATCH = BatchStatus
BATCH_STEPS = (
    Transition(None, BATCH.RUNNING, "the page is about to be asked for"),
    Transition(BATCH.RUNNING, BATCH.SUCCEEDED, "the page is committed"),
    Transition(BATCH.RUNNING, BATCH.FAILED, "no page came, or its run ended"),
    Transition(BATCH.RUNNING, BATCH.SKIPPED, "its task was cancelled"),
)

MACHINES: dict[type[StrEnum], tuple[Transition, ...]] = {
    PlanStatus: PLAN_STEPS,
    SliceStatus: SLICE_STEPS,
    TaskStatus: TASK_STEPS,
    RunStatus: RUN_STEPS,
    BatchStatus: BATCH_STEPS,
}


def before(after: StrEnum) -> tuple[str, ...]:
    """The states that may be left for this one."""
    return tuple(step.before.value for step in MACHINES[type(after)] if step.after == after and step.before)
