"""Progress on a terminal: sizes asked for by a plan, records read by an execution."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from flows.cli.screen import errors, on_terminal
from ingest_core.bootstrap import App
from ingest_core.execution.outcomes import RunSummary
from ingest_core.execution.shift import Bounds, NoWatch
from ingest_core.model.id_range import IdRange
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.task import Task
from ingest_core.model.window import Window
from ingest_core.planning.estimate import Estimate, Probe, probe_budget

LOOK_SECONDS = 0.5
PACE_SECONDS = 600.0
"""The time to go is computed from the pace of the last minutes: a slice may take one."""

ALMOST = 0.99
"""The share of a slice that is read at most before it has ended: its size is an estimate."""


@contextmanager
def sizes_shown(app: App, *, show: bool) -> Iterator[App]:
    """The application, whose planner shows each size that it asks a provider for, if wanted and on a terminal."""
    if not (show and on_terminal()):
        yield app
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=errors, transient=True) as progress:
        yield replace(app, planner=app.planner.asking_through(lambda probe: _ShownProbe(probe, progress)))


class _ShownProbe:
    """A Probe that shows how many sizes it was asked for, of the most a plan asks for."""

    def __init__(self, probe: Probe, progress: Progress) -> None:
        self._probe = probe
        self._progress = progress
        self._bar = progress.add_task("", visible=False)

    def ask(self, spec: SpecSnapshot, window: Window, part: IdRange | None = None) -> Estimate | None:
        """What the provider says."""
        text = f"asking {spec.provenance_code} for sizes of slices"
        self._progress.update(self._bar, description=text, total=probe_budget(spec), visible=True)
        answer = self._probe.ask(spec, window, part)
        self._progress.advance(self._bar)
        return answer


@contextmanager
def execution_shown(app: App, bounds: Bounds, *, show: bool) -> Iterator[NoWatch]:
    """A watch for an execution; on a terminal, if wanted, it shows tasks, records and the time to go."""
    if not (show and on_terminal()):
        yield NoWatch()
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[tasks]}, {task.fields[records]:,} records"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=errors, speed_estimate_period=PACE_SECONDS) as progress:
        watch = _ExecutionWatch(app, progress, bounds)
        done = threading.Event()
        follower = threading.Thread(target=watch.follow, args=(done,), name="progress", daemon=True)
        follower.start()
        try:
            yield watch
        finally:
            done.set()
            follower.join()
            watch.look()


class _ExecutionWatch(NoWatch):
    """Follows the task that is executed in the database, page by page."""

    def __init__(self, app: App, progress: Progress, bounds: Bounds) -> None:
        self._readside = app.readside
        self._progress = progress
        queued = self._readside.queued(bounds.source)
        self._total = queued if bounds.max_tasks is None else min(queued, bounds.max_tasks)
        self._ended = 0
        self._records = 0
        self._task: Task | None = None
        self._before = 0
        self._bar = progress.add_task("waiting", total=self._total, tasks="", records=0)

    def began(self, task: Task) -> None:
        """A task was claimed and is executed; what earlier attempts read does not count."""
        self._before = self._readside.task_progress(task.lineage.task_id).records
        self._task = task

    def ended(self, task: Task, summary: RunSummary) -> None:
        """An attempt has ended."""
        self._task = None
        self._ended += 1
        self._records += summary.counts.received

    def follow(self, done: threading.Event) -> None:
        """Look until it is done."""
        while not done.wait(LOOK_SECONDS):
            self.look()

    def look(self) -> None:
        """Show the progress as it is now."""
        task, share, records = self._task, 0.0, self._records
        if task is not None:
            state = self._readside.task_progress(task.lineage.task_id)
            records += state.records - self._before
            share = min(state.records / state.expected, ALMOST) if state.expected else 0.0
        self._total = max(self._total, self._ended + (task is not None))
        name = f"{task.partition.provenance_code} slice {task.slice_no}" if task else "waiting"
        self._progress.update(
            self._bar,
            description=name,
            total=self._total,
            completed=self._ended + share,
            tasks=f"{self._ended}/{self._total} tasks",
            records=records,
        )
