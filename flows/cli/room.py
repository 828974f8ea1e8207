"""`patra deploy` and `patra up`: deploy to a Prefect server, or run a private one."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.cli.help import CommandTree, Heading
from flows.cli.screen import AsJson, console, errors, print_facts, print_json, print_table
from flows.process.application import open_app


def register(app: CommandTree) -> None:
    """Hang these commands into the tree."""
    example = "Example: patra deploy --executors 2"
    app.command("deploy", rich_help_panel=Heading.INSTALL, epilog=example)(deploy)
    app.command("up", rich_help_panel=Heading.TRY, epilog="Example: patra up --port 4300")(up)


def deploy(
    executors: Annotated[
        int | None,
        typer.Option(min=1, max=64, help="Number of scheduled executors (default: keep the current number)."),
    ] = None,
    pool: Annotated[str | None, typer.Option(metavar="NAME", help="Work pool to use instead of patra.")] = None,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the changes without making them.")] = False,
    as_json: AsJson = False,
) -> None:
    """Deploy flows, limits and automations to a Prefect server.

    The server is the one at PREFECT_API_URL. Work pool, limits, deployments, schedules and automations are created or
    updated. Entries that match their declaration stay as they are.
    """
    from flows.deploying.deploy import DeployOptions  # noqa: PLC0415 - Prefect is slow to load
    from flows.deploying.deploy import deploy as bring_in_step  # noqa: PLC0415
    from flows.prefect_api.client import server_url  # noqa: PLC0415

    server_url()
    with open_app() as app:
        report = bring_in_step(app, DeployOptions(executors, pool, dry_run))
    if as_json:
        print_json(report.json())
        return
    if not report.changes:
        console.print(f"nothing changed: {report.server} is as declared")
        return
    title = "what would change" if dry_run else "what changed"
    rows = ((one.kind, one.name, one.did, one.what) for one in report.changes)
    print_table(f"{title} at {report.server}", ("", "name", "", "what"), rows)


def up(
    port: Annotated[
        int, typer.Option(min=1, max=65534, metavar="PORT", help="Port of the UI and the API on this machine.")
    ] = 4200,
    *,
    no_sandbox: Annotated[
        bool, typer.Option("--no-sandbox", help="Harvest the real providers into the configured database.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run Prefect, a worker and simulated providers until Ctrl-C.

    The Prefect server is private to this machine, and everything is deployed to it.
    """
    from flows.up.control_room import UpOptions, run_up  # noqa: PLC0415 - the sandbox takes time to load

    run_up(UpOptions(port, sandbox=not no_sandbox), _say, _print_room if as_json else _show_room)


def _say(text: str) -> None:
    errors.print(text, markup=False)


def _print_room(room: dict[str, Any]) -> None:
    print_json(room)
    sys.stdout.flush()


def _show_room(room: dict[str, Any]) -> None:
    names = ("ui", "sandbox", "database", "logs")
    facts = [(name, room[name]) for name in names if room[name]]
    print_facts("Patra is up", [*facts, *_lacks(room["missing"])])
    console.print(_NEXT.format(**room, patra=own_name()), markup=False, soft_wrap=True)


def _lacks(missing: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """What was said to be missing, a row for each kind."""
    names = {"CONTACT": "no contact", "SOURCE": "not planned", "KEY": "no key", "PROVIDER": "not reached"}
    for kind, name in names.items():
        sources = sorted({source for one in missing if one["kind"] == kind for source in one["sources"]})
        if sources:
            yield name, ", ".join(sources)


def own_name() -> str:
    """How another shell calls this program: by its name if that is found, else by its place."""
    if shutil.which("patra"):
        return "patra"
    place, here = Path(sys.executable).with_name("patra"), Path.cwd()
    return str(place.relative_to(here) if place.is_relative_to(here) else place)


_NEXT = """
Harvest    in the UI: Deployments > harvest-crossref > Run > Quick run; an executor takes up its tasks
each hour  switch on the schedule on that page
backfill   Deployments > backfill > Run > Custom run
by hand    from another shell: . {environment}
           and then: {patra} status

Ctrl-C stops everything; harvested records stay."""
