"""`make bench`: mapping and harvesting against hand-written floors, compiling, and planning."""

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from ingest_core.bootstrap import check_source, open_app, upgrade_database
from ingest_core.model.codes import SchedulerCode
from ingest_core.planning.request import PlanRequest, Trigger
from ingest_core.settings import Settings
from ingest_core.shipped import shipped_sources
from ingest_core.store.database import Database
from tests.bench.compiling import measure_compiling
from tests.bench.floor import harvest_floor
from tests.bench.mapping import compare_mapping
from tests.bench.planning import compare_planning
from tests.support.servers import Missing, find_server, stop_server, temporary_database

UNTIL = datetime(2026, 1, 11, tzinfo=UTC)
DAYS = 10
PAGE = 1000


@contextmanager
def sandbox(works: int) -> Iterator[str]:
    """A sandbox in a process of its own, so that it does not share our interpreter."""
    command = [sys.executable, "-m", "deployments.sandbox", "--works", str(works), "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip() + "/crossref"
    finally:
        process.terminate()
        process.wait()


def quick_crossref() -> str:
    """Crossref in slices of five days, at full speed."""
    document = yaml.safe_load(shipped_sources()["crossref.yaml"])
    document["rate_limit"] = {"requests_per_second": 100_000, "burst": 1000}
    document["pagination"]["page_size"] = PAGE
    document["window"]["step"] = "P5D"
    return yaml.safe_dump(document)


def harvest(database_url: str, upstream: str) -> tuple[int, float]:
    """Plan and execute by the use cases; records received and seconds of executing."""
    settings = Settings(database_url=database_url, upstreams={"crossref": upstream})
    upgrade_database(settings)
    with open_app(settings) as app:
        app.registry.apply([check_source(quick_crossref(), "bench", app.database)])
        request = PlanRequest("crossref", user_from=UNTIL - timedelta(days=DAYS), user_to=UNTIL)
        app.planner.plan(request, Trigger(SchedulerCode.CLI, "bench"))
        started = time.perf_counter()
        report = app.executor.execute()
        assert report.failed == 0, report.errors
        return report.counts.received, time.perf_counter() - started


def floor(database_url: str, upstream: str) -> tuple[int, float]:
    """The same works by hand."""
    database = Database(database_url)
    started = time.perf_counter()
    count = harvest_floor(database, upstream, UNTIL - timedelta(days=DAYS), UNTIL, PAGE)
    seconds = time.perf_counter() - started
    database.close()
    return count, seconds


@contextmanager
def databases(folder: Path) -> Iterator[dict[str, str]]:
    """A new database of each kind that is here."""
    with ExitStack() as stack:
        urls = {"sqlite": f"sqlite:///{folder}/bench.db"}
        for dialect in ("postgresql", "mysql"):
            server = find_server(dialect)
            if isinstance(server, Missing):
                print(f"{dialect}: left out, {server.reason}")
            else:
                stack.callback(stop_server, server)
                urls[dialect] = stack.enter_context(temporary_database(server))
        yield urls


def main() -> None:
    """Measure and print ratios; only those carry over to another machine."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("--works", type=int, default=20_000)
    works = parser.parse_args().works
    compare_mapping()
    measure_compiling()
    with TemporaryDirectory() as folder, databases(Path(folder)) as urls:
        compare_planning(urls)
    print(f"{works} works, {PAGE} a page, {os.cpu_count()} cores")
    print(f"{'database':<12}{'floor rec/s':>12}{'patra rec/s':>12}{'patra/floor':>12}")
    with TemporaryDirectory() as folder, sandbox(works) as upstream, databases(Path(folder)) as urls:
        for dialect, url in urls.items():
            floor_count, floor_seconds = floor(url, upstream)
            count, seconds = harvest(url, upstream)
            slow, quick = floor_count / floor_seconds, count / seconds
            print(f"{dialect:<12}{slow:>12.0f}{quick:>12.0f}{quick / slow:>12.2f}")
    print(f"peak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")


if __name__ == "__main__":
    main()
