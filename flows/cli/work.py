"""`patra execute` and the commands that show what is going on."""

from collections import Counter
from collections.abc import Mapping
from typing import Annotated

import typer

from flows.cli.help import CommandTree, Heading
from flows.cli.progress import execution_shown
from flows.cli.screen import AsJson, console, errors, print_facts, print_json, print_table
from flows.process.application import open_app
from flows.process.signals import stopped_by_signals
from ingest_core.execution.report import ExecuteReport
from ingest_core.execution.shift import Bounds
from ingest_core.model.errors import ExitCode, PatraError
from ingest_core.model.naming import counted
from ingest_core.model.progress import PartitionStatus
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
            with execution_shown(app, bounds, show=not as_json) as watch:
                report = app.executor.execute(bounds, watch)
        if app.executor.stop.is_set():
            raise _interrupted(report)
        report.raise_unreachable()
    if as_json:
        print_json(report.json())
    else:
        _show_execution(report)
    if report.failed:
        raise typer.Exit(ExitCode.FAILED)


def _interrupted(report: ExecuteReport) -> PatraError:
    """What an execution that was interrupted has stored, and what becomes of the rest."""
    stored = ", ".join(f"{number:,} {name}" for name, number in report.counts.json().items() if number)
    pages = f"{counted(report.batches, 'page')} stored ({stored or 'no records'})"
    tasks = f"{counted(report.succeeded, 'task')} succeeded, {report.requeued:,} queued again"
    return PatraError(
        "INTERRUPTED", f"interrupted: {pages}; {tasks}", where="execute", remedy="run `patra execute` to go on"
    )


def _show_execution(report: ExecuteReport) -> None:
    rows = [
        ("tasks", f"{report.succeeded} succeeded, {report.partial} partial, {report.failed} failed"),
        ("queued again", report.requeued),
        ("pages", f"{report.batches:,}"),
        ("requests", f"{report.requests:,}"),
        *((f"records {name}", f"{number:,}") for name, number in report.counts.json().items()),
        ("unconfirmed ends", report.weak_ends),
    ]
    print_facts("execution", rows)
    if report.counts.quarantined:
        console.print("rejected records: patra quarantine list")
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
    if not entries:
        console.print("no tasks yet; plan some, for example: patra plan crossref")
        return
    _show_total(entries)
    columns = ("source", "endpoint", "operation", "control", "tasks")
    rows = (
        (
            entry.source,
            entry.endpoint,
            entry.operation,
            entry.control,
            _states(entry.counts),
        )
        for entry in entries
    )
    print_table("partitions", columns, rows)


def _show_total(entries: list[PartitionStatus]) -> None:
    """The tasks of all partitions, where there are several."""
    if len(entries) > 1:
        total: Counter[str] = Counter()
        for entry in entries:
            total.update(entry.counts)
        console.print(f"{counted(total.total(), 'task')} in {counted(len(entries), 'partition')}: {_states(total)}")


def _states(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {state}" for state, number in counts.items() if number) or "none"
