"""Reports the progress of an executor run to Prefect."""

import contextvars
from collections.abc import Callable
from functools import partial
from threading import Event, Thread
from types import TracebackType
from typing import Self, TypeVar
from uuid import UUID

from prefect import get_run_logger, runtime
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.client.orchestration import get_client

from flows.execution.page import Worked, render_page, tags_of
from flows.parameters import ExecuteParameters
from flows.planning.page import with_weak_ends
from flows.prefect_api.history import IDLE_MESSAGES
from flows.prefect_api.run_name import change_page, show_page
from ingest_core.bootstrap import App
from ingest_core.execution.outcomes import RunSummary
from ingest_core.execution.report import ExecuteReport
from ingest_core.model.task import Task

TELL_SECONDS = 15.0
"""Seconds between two progress reports: each is a write to Prefect's database."""

MOST_TAGS = 50
"""No run is found by more tags than these: it may have worked many plans."""

_LAST_WORD_SECONDS = 10.0
_DONE = 100.0
T = TypeVar("T")


class ExecutionWatch:
    """A Watch; a failed report does not delay the work."""

    def __init__(self, app: App, parameters: ExecuteParameters) -> None:
        self._app = app
        self._parameters = parameters
        self._logger = get_run_logger()
        self._worked: list[Worked] = []
        self._in_hand = 0
        self._tags = set(runtime.flow_run.tags or [])
        self._told_tags = set(self._tags)
        self._artifact: UUID | None = None
        self._told = 0.0
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
        """Note what the run is found by."""
        new = set(tags_of(task)) - self._tags
        if new and len(self._tags) + len(new) <= MOST_TAGS:
            self._tags = self._tags | new

    def ended(self, task: Task, summary: RunSummary) -> None:
        """Note what became of a slice."""
        self._worked.append(Worked.of(task, summary))

    def looked(self, in_hand: int) -> None:
        """Note how many are being worked."""
        self._in_hand = in_hand

    def conclude(self, report: ExecuteReport, message: str) -> None:
        """Show the page, and that it is over."""
        self._end()
        if not self._worked and message in IDLE_MESSAGES:
            return  # a run that did nothing is soon deleted, and its artifacts would stay
        page = render_page(self._parameters.subject, message, report, self._worked)
        show_page(page, message)
        self._tell_plans()
        self._tell(_DONE)

    def _tell_plans(self) -> None:
        """Count unconfirmed ends on the pages of the plans whose slices ended so in this run."""
        weak = {one.plan_id for one in self._worked if one.summary.weak_end}
        for plan in (self._try(lambda: self._app.readside.weak_ends(weak)) or []) if weak else []:
            change_page(plan.flow_run_id, partial(with_weak_ends, weak_ends=plan.weak_ends))

    def _end(self) -> None:
        self._over.set()
        self._teller.join(_LAST_WORD_SECONDS)

    def _keep_telling(self) -> None:
        while not self._over.wait(TELL_SECONDS):
            done = len(self._worked)
            if not done and not self._in_hand:
                continue
            left = self._try(lambda: self._app.readside.queued(self._parameters.source)) or 0
            total = min(done + self._in_hand + left, self._parameters.max_tasks)
            self._tell(_DONE * done / max(total, 1))

    def _tell(self, progress: float) -> None:
        if self._artifact is None:
            text = f"How far: {self._parameters.subject}"
            self._artifact = self._try(lambda: _begin_progress(text))
        artifact = self._artifact
        if artifact is not None and progress != self._told:
            self._try(lambda: update_progress_artifact(artifact, progress))
            self._told = progress
        tags = self._tags
        if tags != self._told_tags and self._try(lambda: _tag_run(tags)):
            self._told_tags = tags

    def _try(self, tell: Callable[[], T]) -> T | None:
        try:
            return tell()
        except Exception as error:
            self._logger.warning("Prefect could not be told how far this run is: %s", error)
            return None


def _begin_progress(description: str) -> UUID:
    artifact = create_progress_artifact(0.0, description=description)
    assert isinstance(artifact, UUID)  # it is a promise only to callers that are asynchronous
    return artifact


def _tag_run(tags: set[str]) -> bool:
    with get_client(sync_client=True) as client:
        client.update_flow_run(UUID(runtime.flow_run.id), tags=sorted(tags))
    return True
