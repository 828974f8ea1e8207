"""`patra worker`: executes flow runs on this machine."""

import asyncio
from contextlib import suppress
from typing import Annotated

import typer

from flows.cli.help import CommandTree, Heading
from flows.cli.screen import AsJson, console, print_json
from ingest_core.model.errors import Unreachable
from ingest_core.model.whole_number import LARGEST_COUNT

POOL = "patra"


def register(app: CommandTree) -> None:
    """Hang this command into the tree."""
    app.command("worker", rich_help_panel=Heading.INSTALL, epilog="Example: patra worker --limit 4")(worker)


def worker(
    pool: Annotated[str, typer.Option(metavar="NAME", help="Work pool, of type process.")] = POOL,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the worker in the UI (default: host and process).")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, max=LARGEST_COUNT, help="Maximum concurrent flow runs (default: unlimited).")
    ] = None,
    *,
    with_healthcheck: Annotated[
        bool,
        typer.Option("--with-healthcheck", help="Answer GET /health on PREFECT_WORKER_WEBSERVER_PORT (default: 8080)."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Execute flow runs of a work pool until Ctrl-C or SIGTERM.

    Then it takes no new flow run, and ends when the running ones have ended.
    """
    from flows.prefect_api.client import open_prefect, server_url  # noqa: PLC0415 - Prefect is slow to load
    from flows.prefect_api.worker import DrainingWorker, work  # noqa: PLC0415 - the same

    server_url()
    with suppress(Unreachable), open_prefect() as client:  # the worker asks again; a wrong password it would repeat
        client.read_work_pools(limit=1)
    draining = DrainingWorker(pool, name, limit)
    if not as_json:
        console.print(
            f"worker {draining.name} executes flow runs of pool {pool}; Ctrl-C stops it after the running ones",
            markup=False,
        )
    asyncio.run(work(draining, with_healthcheck=with_healthcheck))
    if as_json:
        print_json({"worker": draining.name, "flow_runs": draining.flow_runs})
    else:
        console.print(f"worker {draining.name} ended after {draining.flow_runs} flow runs", markup=False)
