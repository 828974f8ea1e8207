"""What Prefect shows of an executor run while it works: its name, its progress, and the pages of the plans it works."""

import contextvars
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from threading import Event, Thread
from types import TracebackType
from typing import Self, TypeVar
from uuid import UUID

from prefect import get_run_logger, runtime
from prefect.artifacts import create_progress_artifact, update_progress_artifact

from flows.execution.page import Worked, render_page, tags_of
from flows.execution.run_name import ENDED_TASKS, name_at_end, name_at_work, name_so_far
from flows.parameters import ExecuteParameters
from flows.planning.outcome import card_with_outcome, outcome_part, with_outcome
from flows.prefect_api.history import IDLE_MESSAGES
from flows.prefect_api.run_name import change_page, show_page, update_run
from ingest_core.bootstrap import App
from ingest_core.execution.outcomes import RunSummary
from ingest_core.execution.report import ExecuteReport
from ingest_core.model.codes import TaskStatus
from ingest_core.model.task import Task

TELL_SECONDS = 15.0
"""Seconds between two progress reports: each is a write to Prefect's database."""

MOST_TAGS = 50
"""Maximum number of tags of a run: it may have worked many plans."""

MOST_PLANS = 100
"""Maximum number of plans whose pages one run keeps up to date."""

_LAST_WORD_SECONDS = 10.0
T = TypeVar("T")


class ExecutionWatch:
    """A Watch; a failed report does not delay the work."""

    def __init__(self, app: App, parameters: ExecuteParameters) -> None:
        self._app = app
        self._parameters = parameters
        self._logger = get_run_logger()
        self._worked: list[Worked] = []
        self._at_work: dict[int, str] = {}
        self._told_plans: Counter[int] = Counter()
        self._tags = set(runtime.flow_run.tags or [])
        self._told = ("", frozenset(self._tags))
        self._progress = _Progress(parameters.subject)
        self._over = Event()
        context = contextvars.copy_context()
        self._teller = Thread(target=context.run, args=(self._keep_telling,), name="progress", daemon=True)

    def __enter__(self) -> Self:
        self._teller.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def began(self, task: Task) -> None:
        """Note what the run is at, and what it is found by."""
        self._at_work = {**self._at_work, task.lease.task_id: task.partition.provenance_code}
        new = set(tags_of(task)) - self._tags
        if new and len(self._tags) + len(new) <= MOST_TAGS:
            self._tags = self._tags | new

    def ended(self, task: Task, summary: RunSummary) -> None:
        """Note what became of a slice."""
        self._at_work = {one: source for one, source in self._at_work.items() if one != task.lease.task_id}
        self._worked.append(Worked.of(task, summary))

    def looked(self, in_hand: int) -> None:
        """Nothing: what is being worked is known by its beginning and its end."""

    def conclude(self, report: ExecuteReport, message: str) -> None:
        """Show the page, and that it is over."""
        self._end()
        if not self._worked and message in IDLE_MESSAGES:
            return  # a run that did nothing is soon deleted, and its artifacts would stay
        page = render_page(self._parameters.subject, message, report, self._worked)
        show_page(page, message)
        self._tell_plans(lambda plan_ids: plan_ids)
        self._tell(name_at_end(self._parameters.subject, self._worked), None)

    def _tell_plans(self, choose: Callable[[set[int]], set[int]]) -> None:
        """Show on the pages of these plans what became of them, where this run has worked them since it told so."""
        worked = Counter(one.plan_id for one in list(self._worked))
        changed = {plan_id for plan_id, times in worked.items() if times != self._told_plans[plan_id]}
        if changed:
            self._try(lambda: self._show_outcomes(choose(changed), worked))

    def _show_outcomes(self, plan_ids: set[int], worked: Counter[int]) -> None:
        room = MOST_PLANS - len(self._told_plans)
        known = [one for one in sorted(plan_ids) if one in self._told_plans]
        chosen = known + [one for one in sorted(plan_ids) if one not in self._told_plans][: max(room, 0)]
        if not chosen:
            return
        outcomes, now = self._app.readside.plan_outcomes(chosen), self._app.database.now()
        self._told_plans.update({one: worked[one] - self._told_plans[one] for one in chosen})
        for outcome in outcomes:
            change = partial(with_outcome, part=outcome_part(outcome, now))
            change_page(outcome.flow_run_id, change, partial(card_with_outcome, outcome=outcome))

    def _end(self) -> None:
        self._over.set()
        self._teller.join(_LAST_WORD_SECONDS)

    def _keep_telling(self) -> None:
        while not self._over.wait(TELL_SECONDS):
            if not self._worked and not self._at_work:
                continue
            sources = set(self._at_work.values())
            subject, worked = self._parameters.subject, list(self._worked)
            name = name_at_work(sources) if sources else name_so_far(subject, worked)
            queued = self._try(lambda: self._app.readside.queued(self._parameters.source)) or 0
            self._tell(name, len(self._at_work) + queued)
            self._tell_plans(self._app.readside.settled_plans)

    def _tell(self, name: str, left: int | None) -> None:
        """Bring name, tags and progress up to date where they have changed."""
        told = (name, frozenset(self._tags))
        if told != self._told and self._try(lambda: _label(*told)):
            self._told = told
        if self._worked or self._at_work:
            last = {one.summary.task_id: one.summary.status for one in list(self._worked)}
            percent = percent_succeeded(last, left, self._parameters.max_tasks)
            self._try(lambda: self._progress.tell(percent))

    def _try(self, tell: Callable[[], T]) -> T | None:
        try:
            return tell()
        except Exception as error:
            self._logger.warning("Prefect could not be told how far this run is: %s", error)
            return None


def percent_succeeded(last: Mapping[int, TaskStatus | None], left: int | None, most: int) -> int:
    """How much of its work a run has done well, in whole per cent: tasks that failed are work not done.

    `last` is how each task ended last, `left` how many tasks are being worked or wait; None when the run is over.
    """
    ended = sum(status in ENDED_TASKS for status in last.values())
    total = len(last) if left is None else max(ended, min(ended + left, most))
    return 100 * sum(status == TaskStatus.SUCCEEDED for status in last.values()) // max(total, 1)


class _Progress:
    """The progress artifact, from the first task on: a run without work has none."""

    def __init__(self, subject: str) -> None:
        self._description = f"Tasks that succeeded: {subject}"
        self._artifact: UUID | None = None
        self._told = -1

    def tell(self, percent: int) -> None:
        """Show it, if it has changed."""
        if percent == self._told:
            return
        if self._artifact is None:
            made = create_progress_artifact(float(percent), description=self._description)
            assert isinstance(made, UUID)  # it is a promise only to callers that are asynchronous
            self._artifact = made
        else:
            update_progress_artifact(self._artifact, float(percent))
        self._told = percent


def _label(name: str, tags: frozenset[str]) -> bool:
    update_run(name, tags)
    return True
