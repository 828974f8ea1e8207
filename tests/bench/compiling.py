"""Compiling a source from a database: reading its rows, merging, checking."""

import time
from pathlib import Path
from tempfile import TemporaryDirectory

from ingest_core.bootstrap import open_core_app, upgrade_database
from ingest_core.planning.request import PlanRequest
from ingest_core.settings import Settings

ROUNDS = 30


def measure_compiling() -> None:
    """Print how long each shipped source that can be harvested takes on SQLite, the first time and at best."""
    with TemporaryDirectory() as folder:
        settings = Settings(home=Path(folder))
        upgrade_database(settings)
        with open_core_app(settings) as app:
            print("compile on SQLite, ms (first, best):")
            for source in app.registry.sources():
                if any("HARVEST" in endpoint.operations for endpoint in source.endpoints):
                    times = []
                    for _ in range(ROUNDS):
                        started = time.perf_counter()
                        app.planner.compile(PlanRequest(source.code))
                        times.append((time.perf_counter() - started) * 1000)
                    print(f"  {source.code:<16} {times[0]:6.1f} {min(times):6.1f}")
