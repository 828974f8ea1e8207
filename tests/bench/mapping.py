"""Parsing and mapping a page against a hand-written function that extracts the same fields."""

import gc
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import orjson

from deployments.sandbox.server import running
from deployments.sandbox.settings import Settings
from ingest_core.execution.decode import decode_page
from ingest_core.execution.routing import Router
from ingest_core.model.codes import Operation
from ingest_core.registry.compile import compile_spec
from ingest_core.registry.read import read_source
from ingest_core.registry.rows import rows_of
from ingest_core.shipped import shipped_sources

ROUNDS = 25
WORKS = 1000

Record = dict[str, Any]


def map_by_hand(body: bytes) -> list[Record]:
    """The common records of a Crossref page, as somebody would write it for Crossref alone."""
    return [_map(work) for work in orjson.loads(body)["message"]["items"]]


def _map(work: Record) -> Record:
    record: Record = {}
    title = _first(work.get("title"))
    if title:
        record["title"] = title
    authors = [author for one in work.get("author") or () if (author := _author(one))]
    if authors:
        record["authors"] = authors
    dates = _dates(work)
    if dates:
        record["dates"] = dates
    record["identifiers"] = {"doi": work["DOI"].strip().lower()}
    journal = _journal(work)
    if journal:
        record["journal"] = journal
    record["type"] = work["type"]
    abstract = (work.get("abstract") or "").strip()
    if abstract:
        record["abstract"] = abstract
    return record


def _first(texts: list[str] | None) -> str | None:
    return (texts[0].strip() or None) if texts else None


def _author(one: Record) -> Record | None:
    parts = [part for part in ((one.get("given") or "").strip(), (one.get("family") or "").strip()) if part]
    name = " ".join(parts) or (one.get("name") or "").strip()
    if not name:
        return None
    orcid = one.get("ORCID")
    return {"name": name, "orcid": orcid.rsplit("/", 1)[-1]} if orcid else {"name": name}


def _dates(work: Record) -> Record:
    dates = {}
    parts = work.get("issued", {}).get("date-parts", [[]])[0]
    if parts and parts[0]:
        dates["published"] = "-".join((f"{parts[0]:04d}", *(f"{part:02d}" for part in parts[1:3])))
    created = work.get("created", {}).get("date-time")
    if created:
        dates["created"] = created[:10]
    return dates


def _journal(work: Record) -> Record:
    journal: Record = {}
    title = _first(work.get("container-title"))
    if title:
        journal["title"] = title
    if work.get("ISSN"):
        journal["issn"] = list(dict.fromkeys(work["ISSN"]))
    return journal


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
