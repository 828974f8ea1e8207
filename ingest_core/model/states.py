"""The life of plans, slices, tasks, runs and batches: which state may follow which, and why."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from ingest_core.model.codes import BatchStatus, PlanStatus, RunStatus, SliceStatus, TaskStatus


class IllegalTransition(Exception):
    """A state that may not follow the one there is."""


@dataclass(frozen=True)
class Step:
    """One state after another, and why; `before` is none where the row is new."""

    before: StrEnum | None
    after: StrEnum
    why: str


PLAN = PlanStatus
PLAN_STEPS = (
    Step(None, PLAN.DRAFT, "told by a dry run, never stored"),
    Step(None, PLAN.SLICING, "being stored"),
    Step(PLAN.SLICING, PLAN.READY, "stored with its slices"),
    Step(PLAN.SLICING, PLAN.PARTIAL, "too many tasks wait for all of its slices"),
    Step(PLAN.SLICING, PLAN.SUCCEEDED, "there is nothing to do"),
    Step(PLAN.READY, PLAN.SUCCEEDED, "all tasks succeeded"),
    Step(PLAN.READY, PLAN.PARTIAL, "some tasks did not succeed"),
    Step(PLAN.READY, PLAN.FAILED, "no task succeeded"),
    Step(PLAN.READY, PLAN.CANCELLED, "cancelled"),
    Step(PLAN.PARTIAL, PLAN.READY, "a task was retried or cut smaller"),
    Step(PLAN.PARTIAL, PLAN.FAILED, "no task succeeded"),
    Step(PLAN.PARTIAL, PLAN.CANCELLED, "cancelled"),
    Step(PLAN.FAILED, PLAN.READY, "a task was retried"),
)

SLICE = SliceStatus
SLICE_STEPS = (
    Step(None, SLICE.READY, "stored with its task"),
    Step(SLICE.READY, SLICE.SUCCEEDED, "its task succeeded"),
    Step(SLICE.READY, SLICE.PARTIAL, "its task ended PARTIAL"),
    Step(SLICE.READY, SLICE.FAILED, "its task failed"),
    Step(SLICE.READY, SLICE.CANCELLED, "its task was cancelled"),
    Step(SLICE.PARTIAL, SLICE.READY, "its task was retried"),
    Step(SLICE.FAILED, SLICE.READY, "its task was retried"),
)

TASK = TaskStatus
TASK_STEPS = (
    Step(None, TASK.QUEUED, "derived from its slice"),
    Step(TASK.QUEUED, TASK.DISPATCHED, "claimed"),
    Step(TASK.QUEUED, TASK.CANCELLED, "cancelled"),
    Step(TASK.DISPATCHED, TASK.EXECUTING, "a run begins"),
    Step(TASK.DISPATCHED, TASK.QUEUED, "released, or its lease expired"),
    Step(TASK.DISPATCHED, TASK.FAILED, "its lease expired too often"),
    Step(TASK.DISPATCHED, TASK.CANCELLED, "cancelled"),
    Step(TASK.EXECUTING, TASK.SUCCEEDED, "every page is in"),
    Step(TASK.EXECUTING, TASK.PARTIAL, "a limit was met"),
    Step(TASK.EXECUTING, TASK.FAILED, "an error that does not pass, or its lease expired too often"),
    Step(TASK.EXECUTING, TASK.QUEUED, "an error that passes, a restart, a budget, a stop, or its lease expired"),
    Step(TASK.EXECUTING, TASK.CANCELLED, "cancelled"),
    Step(TASK.FAILED, TASK.QUEUED, "retried"),
    Step(TASK.PARTIAL, TASK.QUEUED, "retried, if nobody cuts it smaller"),
)

RUN = RunStatus
RUN_STEPS = (
    Step(None, RUN.RUNNING, "an attempt begins"),
    Step(RUN.RUNNING, RUN.SUCCEEDED, "its task succeeded"),
    Step(RUN.RUNNING, RUN.PARTIAL, "its task ended PARTIAL"),
    Step(RUN.RUNNING, RUN.FAILED, "its task failed or is queued again, or its lease expired"),
    Step(RUN.RUNNING, RUN.CANCELLED, "its task was cancelled"),
)

BATCH = BatchStatus
BATCH_STEPS = (
    Step(None, BATCH.RUNNING, "the page is about to be asked for"),
    Step(BATCH.RUNNING, BATCH.SUCCEEDED, "the page is committed"),
    Step(BATCH.RUNNING, BATCH.FAILED, "no page came, or its run ended"),
    Step(BATCH.RUNNING, BATCH.SKIPPED, "its task was cancelled"),
)

MACHINES: dict[type[StrEnum], tuple[Step, ...]] = {
    PlanStatus: PLAN_STEPS,
    SliceStatus: SLICE_STEPS,
    TaskStatus: TASK_STEPS,
    RunStatus: RUN_STEPS,
    BatchStatus: BATCH_STEPS,
}


def before(after: StrEnum) -> tuple[str, ...]:
    """The states that may be left for this one."""
    return tuple(step.before.value for step in MACHINES[type(after)] if step.after == after and step.before)


def final(machine: type[StrEnum]) -> frozenset[StrEnum]:
    """The states that nothing follows."""
    steps = MACHINES[machine]
    return frozenset(step.after for step in steps) - {step.before for step in steps if step.before}


def diagram(machine: type[StrEnum]) -> str:
    """The life of one kind, as Mermaid draws it."""
    return "\n".join(("stateDiagram-v2", *_lines(machine)))


def _lines(machine: type[StrEnum]) -> Iterator[str]:
    for step in MACHINES[machine]:
        yield f"    {step.before or '[*]'} --> {step.after}: {step.why}"
    for state in machine:
        if state in final(machine):
            yield f"    {state} --> [*]"
