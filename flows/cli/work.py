"""`patra execute` and the commands that show what is going on."""

from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from flows.cli.help import CommandTree, Heading
from flows.cli.screen import AsJson, errors, on_terminal, print_facts, print_json, print_table
from flows.process.application import open_app
from flows.process.signals import stopped_by_signals
from ingest_core.bootstrap import App
from ingest_core.execution.outcomes import RunSummary
from ingest_core.execution.report import ExecuteReport
from ingest_core.execution.shift import Bounds, NoWatch
from ingest_core.model.errors import ExitCode, PatraError
from ingest_core.model.task import Task
from ingest_core.model.whole_number import LARGEST_COUNT

OptionalSource = Annotated[str | None, typer.Argument(help="Show only this source.", show_default=False)]


def register(app: CommandTree) -> None:
    """Hang these commands into the tree."""
    app.command("execute", rich_help_panel=Heading.HARVEST, epilog="Example: patra execute --until-idle --json")(
        execute
    )
    app.command("status", rich_help_panel=Heading.HARVEST, epilog="Example: patra status crossref")(status)


def execute(
    source: Annotated[str | None, typer.Option(metavar="SOURCE", help="Execute only tasks of this source.")] = None,
    max_tasks: Annotated[int | None, typer.Option(min=1, max=LARGEST_COUNT, help="Maximum number of tasks.")] = None,
    *,
    until_idle: Annotated[
        bool, typer.Option("--until-idle", help="Also wait for tasks that are due soon and leases that expire soon.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Execute queued tasks until none can be claimed."""
    with open_app() as app:
        if source is not None:
            app.registry.rows(source)
        with stopped_by_signals(app.executor.stop):
            bounds = Bounds(source, max_tasks, until_idle=until_idle)
            report = _execute(app, bounds, show=not as_json and on_terminal())
        if app.executor.stop.is_set():
            raise PatraError(
                "INTERRUPTED", "interrupted; the task in work is queued again", where="execute", remedy="execute again"
            )
        report.raise_unreachable()
    if as_json:
        print_json(report.json())
    else:
        _show_execution(report)
    if report.failed:
        raise typer.Exit(ExitCode.FAILED)


def _execute(app: App, bounds: Bounds, *, show: bool) -> ExecuteReport:
    if not show:
        return app.executor.execute(bounds)
    queued = sum(entry.counts["QUEUED"] for entry in app.readside.status(bounds.source))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=errors) as progress:
        return app.executor.execute(bounds, _Bar(progress, queued))


class _Bar(NoWatch):
    """Shows how far it is."""

    def __init__(self, progress: Progress, queued: int) -> None:
        self._progress = progress
        self._bar = progress.add_task("tasks", total=queued)

    def began(self, task: Task) -> None:
        """Say what is worked."""
        self._progress.update(self._bar, description=f"{task.partition} slice {task.slice_no}")

    def ended(self, task: Task, summary: RunSummary) -> None:
        """One more is done."""
        self._progress.advance(self._bar)


def _show_execution(report: ExecuteReport) -> None:
    rows = [
        ("tasks", f"{report.succeeded} succeeded, {report.partial} partial, {report.failed} failed"),
        ("queued again", report.requeued),
        ("pages", report.batches),
        ("requests", report.requests),
        *report.counts.json().items(),
        ("unconfirmed ends", report.weak_ends),
    ]
    print_facts("execution", rows)
    for error in report.errors:
        errors.print(error, style="red", markup=False)


def status(source: OptionalSource = None, *, as_json: AsJson = False) -> None:
    """Show the number of tasks by state, for each partition."""
    with open_app() as app:
        if source is not None:
            app.registry.rows(source)
        entries = app.readside.status(source)
    if as_json:
        print_json([entry.json() for entry in entries])
        return
    columns = ("source", "endpoint", "operation", "control", "tasks")
    rows = (
        (
            entry.source,
            entry.endpoint,
            entry.operation,
            entry.control,
            ", ".join(f"{number} {state}" for state, number in entry.counts.items() if number) or "none",
        )
        for entry in entries
    )
    print_table("partitions", columns, rows)
