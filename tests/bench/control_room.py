"""Executors that a Prefect worker started: what Prefect costs, and what a second one brings."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from deployments.sandbox.remote import Sandbox
from ingest_core.bootstrap import check_source, open_core_app, upgrade_database
from ingest_core.model.codes import SchedulerCode
from ingest_core.planning.request import PlanRequest, Trigger
from ingest_core.settings import Settings
from ingest_core.shipped import shipped_sources
from tests.bench.databases import Servers
from tests.support.patra import StoredRows
from tests.support.prefect import ControlRoom, until

DATABASE = "postgresql"
PER_PAGE = 20
LATENCY_SECONDS = 0.05
DAYS = 10
UNTIL = datetime(2026, 1, 12, tzinfo=UTC)
LONGEST_SECONDS = 3600
MOST_COST = 1.10
LEAST_GAIN = 1.8


@contextmanager
def slow_provider(pages: int) -> Iterator[Sandbox]:
    """Crossref's sandbox in a process of its own, with so many pages that each take their time."""
    command = [sys.executable, "-m", "deployments.sandbox", "--quiet", "--works", str(pages * PER_PAGE)]
    command += ["--until", f"{UNTIL:%Y-%m-%d}", "--days", str(DAYS)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        with Sandbox(process.stdout.readline().strip()) as sandbox:
            sandbox.configure(scroll="token")
            sandbox.script({"kind": "latency", "seconds": LATENCY_SECONDS, "times": None})
            yield sandbox
    finally:
        process.terminate()
        process.wait()


def small_pages() -> str:
    """Crossref in small pages and slices of an hour, as fast as it answers."""
    document = yaml.safe_load(shipped_sources()["crossref.yaml"])
    document["rate_limit"] = {"requests_per_second": 100_000, "burst": 1000}
    document["pagination"] |= {"page_size": PER_PAGE, "position": "CLIENT"}
    document["window"] |= {"step": "PT1H", "max_window": "PT1H"}
    return yaml.safe_dump(document)


def register(settings: Settings) -> None:
    """A schema with the source."""
    upgrade_database(settings)
    with open_core_app(settings) as app:
        app.registry.apply([check_source(small_pages(), "bench", app.database)])


def plan(settings: Settings) -> None:
    """Tasks for all there is, each an hour, without asking the provider how much that is."""
    with open_core_app(settings) as app:
        start, untold = UNTIL - timedelta(days=DAYS), {"slicing.probe_budget": "0"}
        request = PlanRequest("crossref", user_from=start, user_to=UNTIL, overrides=untold)
        app.planner.plan(request, Trigger(SchedulerCode.CLI, "bench"))


@contextmanager
def settled(servers: Servers, sandbox: Sandbox) -> Iterator[tuple[Settings, dict[str, str]]]:
    """A new database with the source, and the environment that leads to it."""
    with servers.new_database(DATABASE) as url, TemporaryDirectory(prefix="patra-bench-") as home:
        settings = Settings(database_url=url, upstreams={"crossref": sandbox.url()}, home=Path(home))
        register(settings)
        sandbox.clear_requests()
        names = {"PATRA_DATABASE_URL": url, "PATRA_UPSTREAM_CROSSREF": sandbox.url(), "PATRA_HOME": home}
        yield settings, names


@contextmanager
def staffed(environment: dict[str, str]) -> Iterator[ControlRoom]:
    """A server and a worker with the deployments."""
    with TemporaryDirectory(prefix="patra-bench-room-") as folder, ControlRoom(Path(folder), environment) as room:
        room.deploy()
        room.worker()
        yield room


def seconds_of_work(sandbox: Sandbox) -> float:
    """From the first request to the last: what an executor needs to start is not its work."""
    log = sandbox.requests("crossref")
    return float(log[-1]["monotonic_seconds"] - log[0]["monotonic_seconds"])


def by_command(servers: Servers, sandbox: Sandbox) -> tuple[float, float]:
    """`patra execute`: how long its process took, and how long it asked for pages."""
    with settled(servers, sandbox) as (settings, environment), TemporaryDirectory() as folder:
        plan(settings)
        room = ControlRoom(Path(folder), environment)  # for its environment alone
        started = time.perf_counter()
        command = [sys.executable, "-m", "flows.cli", "execute", "--json"]
        subprocess.run(command, env=room.environment, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - started, seconds_of_work(sandbox)


def by_flow(servers: Servers, sandbox: Sandbox) -> tuple[float, float, int]:
    """The executor flow, one task at a time: how long it ran, how long it asked for pages, and its task runs."""
    with settled(servers, sandbox) as (settings, environment), staffed(environment) as room:
        plan(settings)
        wish = {"at_once": 1, "minutes": 60, "max_tasks": 1500}
        run = room.run("executor/executor", wish, seconds=LONGEST_SECONDS)
        assert run["state_type"] == "COMPLETED", run["state"]["message"]
        count = room.ask("POST", "/task_runs/count", {"flow_runs": {"id": {"any_": [run["id"]]}}})
        return float(run["total_run_time"]), seconds_of_work(sandbox), int(count)


def compare_cost(servers: Servers, pages: int) -> None:
    """Print how much longer the same harvest takes as a flow run."""
    if DATABASE not in servers.dialects:
        return
    print(f"Prefect's cost: {pages} pages of {PER_PAGE}, {DAYS * 24} tasks one after the other, {DATABASE}")
    with slow_provider(pages) as sandbox:
        whole, asking = by_command(servers, sandbox)
        flow_whole, flow_asking, task_runs = by_flow(servers, sandbox)
    print(f"{'':<16}{'run s':>8}{'asking s':>10}{'task runs':>11}")
    print(f"{'patra execute':<16}{whole:>8.1f}{asking:>10.1f}")
    print(f"{'executor flow':<16}{flow_whole:>8.1f}{flow_asking:>10.1f}{task_runs:>11}")
    print(f"flow/execute: {flow_whole / whole:.3f} (at most {MOST_COST})", flush=True)


def pages_a_second(servers: Servers, sandbox: Sandbox, executors: int) -> float:
    """The throughput of so many executor runs, all of which wait before there is work."""
    with settled(servers, sandbox) as (settings, environment), staffed(environment) as room:
        wish = {"at_once": 1, "minutes": 60, "max_tasks": 1500, "wait_for_work": True}
        runs = [room.begin("executor/executor", wish) for _ in range(executors)]
        until(lambda: all(room.state(run) == "RUNNING" for run in runs), LONGEST_SECONDS, "the executors' start")
        plan(settings)
        stored = StoredRows(settings.effective_database_url)
        open_tasks = "status_code NOT IN ('SUCCEEDED', 'FAILED')"
        until(lambda: not stored.rows("ing_task", "id", where=open_tasks), LONGEST_SECONDS, "the harvest", every=2)
        assert not stored.rows("ing_task", "id", where="status_code = 'FAILED'")
        return len(sandbox.requests("crossref")) / seconds_of_work(sandbox)


def compare_executors(servers: Servers, pages: int) -> None:
    """Print the throughput of two executors over that of one, each with one task at a time."""
    if DATABASE not in servers.dialects:
        return
    print(f"executors: {pages} pages of {PER_PAGE} at {LATENCY_SECONDS * 1000:.0f} ms, one task at a time, {DATABASE}")
    with slow_provider(pages) as sandbox:
        one, two = (pages_a_second(servers, sandbox, executors) for executors in (1, 2))
    print(f"1: {one:.1f} pages/s, 2: {two:.1f} pages/s, 2/1: {two / one:.2f} (at least {LEAST_GAIN})", flush=True)
