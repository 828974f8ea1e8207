"""`patra deploy`: what a Prefect server needs to run Patra."""

from typing import Annotated

import typer

from flows.cli.screen import AsJson, console, print_json, print_table
from flows.wiring import open_app


def register(app: typer.Typer) -> None:
    """Hang these commands into the tree."""
    example = "Example: PREFECT_API_URL=http://127.0.0.1:4200/api patra deploy --executors 2"
    app.command("deploy", epilog=example)(deploy)


def deploy(
    executors: Annotated[
        int | None,
        typer.Option(
            min=1, max=64, help="How many executors to schedule, one after the other; else as many as there are."
        ),
    ] = None,
    pool: Annotated[str | None, typer.Option(help="Another work pool than patra.")] = None,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change; nothing is written.")] = False,
    as_json: AsJson = False,
) -> None:
    """Bring the Prefect server at PREFECT_API_URL in step: pool, limits, deployments, schedules, automations."""
    from flows.deploying.deploy import DeployOptions  # noqa: PLC0415 - Prefect is slow to load
    from flows.deploying.deploy import deploy as bring_in_step  # noqa: PLC0415
    from flows.prefect_api import server_url  # noqa: PLC0415

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
