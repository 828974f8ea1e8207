"""`patra gate`: the rate limiter of each source and credential."""

import getpass
import os
import socket
from typing import Annotated

import typer

from flows.cli.help import CommandTree, Heading
from flows.cli.screen import AsJson, console, on_terminal, print_facts, print_json, print_table, shown_instant
from flows.process.application import open_app
from ingest_core.gate.ports import RateLimiter
from ingest_core.model.instant import format_instant
from ingest_core.model.naming import counted

gate_app = CommandTree(help="Show and clear rate limiters.")

Key = Annotated[str, typer.Argument(help="Key of a rate limiter, as listed by `patra gate list`.", show_default=False)]
Reason = Annotated[str, typer.Option("--reason", help="Reason; stored with the rate limiter.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]


def register(app: CommandTree) -> None:
    """Hang these commands into the tree."""
    add = gate_app.command
    add("list", epilog="Example: patra gate list --json")(gate_list)
    add("show", epilog="Example: patra gate show crossref:-")(gate_show)
    add("clear", epilog="Example: patra gate clear crossref:- --reason 'their outage is over'")(gate_clear)
    app.add_typer(gate_app, name="gate", rich_help_panel=Heading.CONTROL)


def gate_list(*, as_json: AsJson = False) -> None:
    """List rate limiters and when each allows the next request."""
    with open_app() as app:
        entries = app.rates.entries()
    if as_json:
        print_json([one.json() for one in entries])
        return
    columns = ("key", "rate now", "rate configured", "open at", "changes")
    rows = (
        (one.key, _rate(one.rate_now), _rate(one.rate_configured), _opening(one), len(one.last_changes))
        for one in entries
    )
    print_table("rate limiters", columns, rows)


def gate_show(key: Key, *, as_json: AsJson = False) -> None:
    """Show one rate limiter and what operators changed."""
    with open_app() as app:
        entry = app.rates.entry(key)
    if as_json:
        print_json([entry.json()])
    else:
        _show(entry)


def gate_clear(key: Key, reason: Reason, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """End a cool-down now.

    The tasks that wait for the rate limiter become due.
    """
    with open_app() as app:
        entry = app.rates.entry(key)
        if on_terminal() and not (yes or as_json):
            _show(entry)
            if not typer.confirm("Clear it? The provider may have had a reason for the cool-down."):
                raise typer.Abort
        entry = app.rates.clear(key, reason, _operator())
    if as_json:
        print_json([entry.json()])
        return
    due = entry.last_changes[-1]["tasks_due"]
    console.print(f"{key}: cleared; {counted(due, 'task')} made due")


def _operator() -> str:
    """Who runs the command, as this machine knows them."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a container may have no name for its user
        name = f"uid {os.getuid()}"
    return f"{name}@{socket.gethostname()}"


def _show(entry: RateLimiter) -> None:
    facts = {
        "rate now": _rate(entry.rate_now),
        "rate configured": _rate(entry.rate_configured),
        "open at": _opening(entry),
        "daily quota": entry.daily_quota or "none",
    }
    print_facts(f"rate limiter {entry.key}", facts.items())
    columns = ("at", "by", "change", "reason")
    changes = ((shown_instant(one["at"]), *(one[name] for name in columns[1:])) for one in entry.last_changes)
    print_table("changes", columns, changes)


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{value:g}/s"


def _opening(entry: RateLimiter) -> str:
    return shown_instant(format_instant(entry.open_at)) if entry.open_at else "now"
