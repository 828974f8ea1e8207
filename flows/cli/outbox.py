"""`patra outbox`: messages to other systems."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Annotated, Any

import typer
from pydantic import TypeAdapter, ValidationError
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from flows.cli.help import CommandTree, Heading
from flows.cli.screen import SHOWN_ROWS, AsJson, console, errors, on_terminal, print_facts, print_json, print_table
from flows.process.application import open_app
from flows.process.signals import stopped_by_signals
from ingest_core.bootstrap import App
from ingest_core.model.codes import OutboxStatus
from ingest_core.model.errors import BadInput, ExitCode, PatraError
from ingest_core.model.naming import counted
from ingest_core.model.whole_number import LARGEST_COUNT, LARGEST_ID
from ingest_core.outbox.relay import RelayReport

MOST_LISTED = 1000
"""Rows of the JSON list where no --limit says otherwise."""

outbox_app = CommandTree(help="Manage messages to other systems.")


def register(app: CommandTree) -> None:
    """Hang these commands into the tree."""
    outbox_app.command("relay", epilog="Example: patra outbox relay --until-empty --json")(relay)
    outbox_app.command("list", epilog="Example: patra outbox list --status DEAD")(list_messages)
    outbox_app.command("retry", epilog="Example: patra outbox retry --dead")(retry)
    outbox_app.command("prune", epilog="Example: patra outbox prune --older-than P30D")(prune)
    app.add_typer(outbox_app, name="outbox", rich_help_panel=Heading.RECORDS)


def relay(
    max_messages: Annotated[
        int | None, typer.Option("--max", min=1, max=LARGEST_COUNT, help="Maximum number of messages to send.")
    ] = None,
    *,
    until_empty: Annotated[
        bool, typer.Option("--until-empty", help="Also wait for messages that are due soon and for a busy publisher.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Send due messages to the publisher (PATRA_PUBLISHER)."""
    with open_app() as app:
        with stopped_by_signals(app.relay.stop):
            report = _relay(app, max_messages, until_empty=until_empty, show=not as_json and on_terminal())
        if app.relay.stop.is_set():
            raise PatraError(
                "INTERRUPTED", "interrupted; unsent messages are released", where="relay", remedy="relay again"
            )
    if as_json:
        print_json(report.json())
    else:
        _show_relay(report)
    if report.dead:
        raise typer.Exit(ExitCode.FAILED)
    if report.unavailable:
        raise typer.Exit(ExitCode.UNREACHABLE)


def _relay(app: App, max_messages: int | None, *, until_empty: bool, show: bool) -> RelayReport:
    if not show:
        return app.relay.relay(max_messages, until_empty=until_empty)
    pending = app.outbox.pending()
    total = pending if max_messages is None else min(pending, max_messages)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=errors) as progress:
        bar = progress.add_task("messages", total=total)
        return app.relay.relay(
            max_messages,
            until_empty=until_empty,
            progress=lambda report: progress.update(bar, completed=report.sent + report.dead),
        )


def _show_relay(report: RelayReport) -> None:
    shown = ("sent", "failed", "dead", "lost", "pending")
    print_facts("relay", [(name, getattr(report, name)) for name in shown])
    for error in report.errors:
        errors.print(error, style="red", markup=False)


def list_messages(
    status: Annotated[OutboxStatus | None, typer.Option(help="Only messages in this status.")] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, max=LARGEST_COUNT, help="Maximum number of rows, newest first (default: 20; 1000 in JSON)."
        ),
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """List messages: the number by status, then the newest."""
    with open_app() as app:
        if as_json:
            print_json([entry.json() for entry in app.outbox.messages(status, limit or MOST_LISTED)])
            return
        tally = app.outbox.tally(status)
        entries = app.outbox.messages(status, limit or SHOWN_ROWS)
    rows: Iterable[tuple[Any, ...]] = ((name, f"{number:,}") for name, number in tally.items())
    print_table("messages by status", ("status", "messages"), rows)
    if not entries:
        return
    console.print()
    names = ("id", "topic", "provider_id", "event_type", "status", "attempts", "last_error")
    heads = ("id", "topic", "record", "event", "status", "attempts", "last error")
    print_table("newest", heads, ([entry.json()[name] for name in names] for entry in entries))
    if len(entries) < sum(tally.values()):
        console.print(f"{len(entries):,} of {sum(tally.values()):,} shown; more with --limit")


def retry(
    ids: Annotated[
        list[int] | None, typer.Argument(max=LARGEST_ID, metavar="ID...", help="Messages to retry.", show_default=False)
    ] = None,
    *,
    dead: Annotated[bool, typer.Option("--dead", help="Retry all DEAD messages.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make DEAD and waiting messages due now, with all attempts available."""
    if bool(ids) == dead:
        raise BadInput(
            "USAGE", "give ids, or --dead", where="patra outbox retry", remedy="see: patra outbox retry --help"
        )
    with open_app() as app:
        number = app.outbox.retry_dead() if dead else app.outbox.retry(sorted(set(ids or [])))
    _print_number("retried", number, as_json=as_json)


def prune(
    older_than: Annotated[
        str, typer.Option(metavar="DURATION", help="Only messages sent longer ago than this, such as P30D.")
    ],
    *,
    as_json: AsJson = False,
) -> None:
    """Delete old SENT messages."""
    span = _span(older_than)
    with open_app() as app:
        number = app.outbox.prune(span)
    _print_number("deleted", number, as_json=as_json)


def _span(text: str) -> timedelta:
    try:
        span = TypeAdapter(timedelta).validate_python(text)
    except ValidationError:
        span = timedelta(-1)
    if span < timedelta(0):
        raise BadInput(
            "DURATION_INVALID", f"{text!r} is not a duration", where="--older-than", remedy="write it as P30D or PT12H"
        )
    return span


def _print_number(name: str, number: int, *, as_json: bool) -> None:
    if as_json:
        print_json({name: number})
    else:
        console.print(f"{counted(number, 'message')} {name}")
