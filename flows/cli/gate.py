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
Rate = Annotated[
    float, typer.Option("--rate", min=0.000001, max=1_000_000, help="Requests per second.", show_default=False)
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]


def register(app: CommandTree) -> None:
    """Hang these commands into the tree."""
    add = gate_app.command
    add("list", epilog="Example: patra gate list --json")(gate_list)
    add("show", epilog="Example: patra gate show crossref:-")(gate_show)
    add("set", epilog="Example: patra gate set crossref:- --rate 2 --reason 'they asked us to'")(gate_set)
    add("clear", epilog="Example: patra gate clear crossref:- --reason 'their outage is over'")(gate_clear)
    app.add_typer(gate_app, name="gate", rich_help_panel=Heading.CONTROL)


def gate_list(*, as_json: AsJson = False) -> None:
    """List rate limiters and when each allows the next request."""
    with open_app() as app:
        entries = app.rates.entries()
    if as_json:
        print_json([one.json() for one in entries])
        return
    columns = ("key", "rate now", "of", "open at", "closed by", "circuit", "quota")
    rows = ((one.key, *_pace(one), one.closed_reason or "-", one.circuit, _quota(one)) for one in entries)
    print_table("rate limiters", columns, rows)


def gate_show(key: Key, *, as_json: AsJson = False) -> None:
    """Show one rate limiter and what operators changed."""
    with open_app() as app:
        entry = app.rates.entry(key)
    if as_json:
        print_json([entry.json()])
    else:
        _show(entry)


def gate_set(key: Key, rate: Rate, reason: Reason, *, as_json: AsJson = False) -> None:
    """Lower a rate until the limiter is cleared.

    The rate still adapts to the provider below it.
    """
    with open_app() as app:
        entry = app.rates.set_rate(key, rate, reason, _operator())
    if as_json:
        print_json([entry.json()])
        return
    console.print(f"{key}: at most {rate:g} requests per second until `patra gate clear {key}`", markup=False)


def gate_clear(key: Key, reason: Reason, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Open a rate limiter now, at its configured rate.

    The tasks that wait for it become due.
    """
    with open_app() as app:
        entry = app.rates.entry(key)
        if on_terminal() and not (yes or as_json):
            _show(entry)
            if not typer.confirm("Clear it? The provider may have had a reason to close."):
                raise typer.Abort
        entry = app.rates.clear(key, reason, _operator())
    if as_json:
        print_json([entry.json()])
        return
    due = entry.last_changes[-1]["tasks_due"]
    console.print(f"{key}: cleared; {counted(due, 'task')} made due", markup=False)


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
        "closed by": entry.closed_reason or "-",
        "circuit": entry.circuit,
        "failures in a row": entry.failures,
        "rate stated by the provider": _rate(entry.rate_stated),
        "rate set by an operator": _rate(entry.rate_set),
        "quota": _quota(entry),
        "quota resets at": shown_instant(format_instant(entry.quota.resets_at)) if entry.quota.resets_at else "-",
        "partitions": ", ".join(entry.partitions),
    }
    print_facts(f"rate limiter {entry.key}", facts.items())
    columns = ("at", "by", "change", "reason")
    changes = ((shown_instant(one["at"]), *(one[name] for name in columns[1:])) for one in entry.last_changes)
    print_table("changes", columns, changes)


def _pace(entry: RateLimiter) -> tuple[str, str, str]:
    """The rate in force, the configured one, and when the next request may be sent."""
    return _rate(entry.rate_now), _rate(entry.rate_configured), _opening(entry)


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{value:g}/s"


def _opening(entry: RateLimiter) -> str:
    return shown_instant(format_instant(entry.open_at)) if entry.open_at else "now"


def _quota(entry: RateLimiter) -> str:
    """How much of the quota is used, in words."""
    quota = entry.quota
    if quota.limit is None:
        return "none"
    reserved = f", {quota.reserved:,} reserved" if quota.reserved else ""
    return f"{quota.used or 0:,} of {quota.limit:,}{reserved}"
