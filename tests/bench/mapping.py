"""Parsing and mapping a page against a hand-written function that extracts the same fields."""

import gc
import time
from collections.abc import Callable
from datetime import UTC, datetime

import httpx

from deployments.sandbox.server import running
from deployments.sandbox.settings import Settings
from ingest_core.execution.decode import decode_page
from ingest_core.execution.routing import Router
from ingest_core.model.codes import Operation
from ingest_core.registry.read import read_source
from ingest_core.registry.rows import rows_of
from ingest_core.shipped import shipped_sources
from tests.bench.by_hand import Record, map_by_hand
from tests.support.compiling import compile_spec

ROUNDS = 25
WORKS = 1000


def compare_mapping() -> None:
    """Print how long a page of 1,000 works takes each way; the two take turns, garbage collection on for both."""
    now = datetime.now(UTC)
    rows = rows_of(read_source(shipped_sources()["crossref.yaml"], "crossref.yaml"))
    spec = compile_spec(rows, "crossref", "works", Operation.HARVEST, now)
    router = Router(spec)
    with running(Settings(works=WORKS)) as sandbox:
        url = f"{sandbox.url()}/works"
        body = httpx.get(url, params={"rows": WORKS, "cursor": "*"}, timeout=60, trust_env=False).content

    def configured(page: bytes) -> list[Record]:
        return [router.common_record(item) for item in decode_page(page, spec).items]

    def routed(page: bytes) -> object:
        return router.route(decode_page(page, spec), now)

    assert configured(body) == map_by_hand(body)
    times = _best_of([map_by_hand, configured, routed], body)
    floor, ours, all_of_it = times
    print(f"parse and map {WORKS} Crossref works ({len(body) / 1e6:.1f} MB), ms, best of {ROUNDS}:")
    print(f"  by hand {floor:.1f}   configured {ours:.1f}   ratio {ours / floor:.2f}")
    print(f"  configured, with ids, times, hashes and payloads: {all_of_it:.1f}   ratio {all_of_it / floor:.2f}")


def _best_of(functions: list[Callable[[bytes], object]], body: bytes) -> list[float]:
    best = [float("inf")] * len(functions)
    for _ in range(ROUNDS):
        for at, function in enumerate(functions):
            gc.collect()
            started = time.perf_counter()
            function(body)
            best[at] = min(best[at], (time.perf_counter() - started) * 1000)
    return best
