"""One executor over a source for each hostile answer, and over honest ones beside them."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.hostile_answers import GOOD, End, Hostile, answer
from tests.support.hostile_provider import hostile_provider
from tests.support.patra import Patra, Row
from tests.support.yaml_text import yaml_of

HONEST = ("honest_a", "honest_b", "honest_c")
DEADLINE_SECONDS = 2
PERIOD = ("--from", "2026-01-01", "--to", "2026-01-02")
ENDED = ("FAILED", "QUEUED")
"""A task that was given back waits for its next attempt, with the reason."""

WORKER = """
import resource, sys
from flows.cli.main import run
run(["execute", "--source", "honest_a", "--json"])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, file=sys.stderr)
code = run(["execute", "--json"])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, file=sys.stderr)
sys.exit(code)
"""
"""Prints the memory it needed for an honest source, and then for all."""


@dataclass(frozen=True)
class Harvested:
    """How an executor over hostile sources ended."""

    grown_mb: int
    """The memory it took beyond what an honest source needs."""
    output: str
    ends: Mapping[str, str | None]
    """What is wrong with the way a task ended, by the name of its answer; none if nothing is."""


def hostile_document(code: str, form: str) -> Row:
    """A source that is read by token, in JSON or XML, with short deadlines."""
    xml = form == "XML"
    response = {"items": "$.feed.entry" if xml else "$.items", "id": "$.id", "updated_at": "$.updated"}
    paging: Row = {"type": "OFFSET"} if xml else {"type": "TOKEN", "next_token": "$.next"}
    place = {"name": "at", "value": "page_offset" if xml else "page_token"}
    return {
        "source": {"code": code, "name": code},
        "endpoints": [
            {
                "name": "list",
                "path": f"/{code}",
                "operations": ["HARVEST"],
                "response": {**response, **({"format": "XML"} if xml else {"total": "$.total"})},
            }
        ],
        "http": {
            "base_url": "https://provider.example",
            "read_timeout": "PT1S",
            "deadline": f"PT{DEADLINE_SECONDS}S",
            "max_redirects": 2,
        },
        "pagination": {"max_page_size": 100, **paging},
        "window": {
            "field": "updated",
            "watermark_key": "updated",
            "step": "P1D",
            "unit": "DAY",
            "format": "%Y-%m-%d",
            "upper_inclusive": False,
        },
        "slicing": {"probe_budget": 0},
        "retry": {"max_attempts": 2, "initial": "PT0.05S", "max": "PT0.1S"},
        "rate_limit": {"requests_per_second": 2000, "burst": 100},
        "params": [place],
        "fields": [{"name": "updated", "type": "DATETIME"}],
        "render_rules": [{"field": "updated", "op": "RANGE", "params": {"from": "{from}", "to": "{to}"}}],
        "mapping": {"title": "$.title"},
    }


def register(patra: Patra, folder: Path, documents: list[Row]) -> None:
    """Write the sources' files and apply them."""
    files = [folder / f"{document['source']['code']}.yaml" for document in documents]
    for file, document in zip(files, documents, strict=True):
        file.write_text(yaml_of(document), encoding="utf-8")
    patra("registry", "apply", *map(str, files))


def harvest_hostile(
    patra: Patra, folder: Path, cases: Mapping[str, Hostile], patched: pytest.MonkeyPatch, seconds: float
) -> Harvested:
    """Plan and execute a source for each case, in one process; `seconds` bounds all of it."""
    codes = {name: f"h{number:03}" for number, name in enumerate(cases)}
    forms = {codes[name]: one.format for name, one in cases.items()} | dict.fromkeys(HONEST, "JSON")
    sends = {codes[name]: one.send for name, one in cases.items()} | dict.fromkeys(HONEST, answer(GOOD))
    register(patra, folder, [hostile_document(code, form) for code, form in forms.items()])
    with hostile_provider(sends) as server:
        for code in forms:
            patra.environment[f"PATRA_UPSTREAM_{code.upper()}"] = server.url
            patched.setenv(f"PATRA_UPSTREAM_{code.upper()}", server.url)
        for code in forms:
            patra("plan", code, *PERIOD)
        done = subprocess.run(
            [sys.executable, "-c", WORKER],
            env={**os.environ, **patra.environment},
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    rest, peak = (int(line) for line in done.stderr.splitlines() if line.isdecimal())
    tasks = {row["provenance_code"]: row for row in patra.rows("ing_task")}
    stored = _by_source(patra.rows("ing_item", "id", "provenance_code", "provider_id"))
    aside = _by_source(patra.rows("ing_quarantine", "id", "provenance_code", "provider_id"))
    ends: dict[str, str | None] = {
        name: _wrong(one, tasks[codes[name]], stored.get(codes[name], []), aside.get(codes[name], []))
        for name, one in cases.items()
    }
    for code in HONEST:
        complete = tasks[code]["status_code"] == "SUCCEEDED" and sorted(stored.get(code, [])) == ["a", "b"]
        ends[code] = None if complete else f"an honest source ended {tasks[code]['status_code']}"
    return Harvested(peak - rest, f"{done.stdout}\n{done.stderr}", ends)


def _by_source(rows: list[Row]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for row in rows:
        found.setdefault(row["provenance_code"], []).append(row["provider_id"])
    return found


def _wrong(case: Hostile, task: Row, stored: list[Any], aside: list[Any]) -> str | None:
    """What is wrong with the way a task ended, if anything is."""
    status = task["status_code"]
    if status in ENDED:
        return _wrong_reason(case, status, task["last_error"])
    if status != "SUCCEEDED":
        return f"it is {status}"
    if case.end == End.REFUSED:
        return f"it succeeded with {len(stored)} records"
    lost = set(case.records) - set(stored) - set(aside)
    unnamed = aside.count(None)  # an id that cannot be read is not known
    return f"it succeeded without {sorted(lost)}" if len(lost) > unnamed else None


def _wrong_reason(case: Hostile, status: str, reason: Any) -> str | None:
    """What is wrong with the reason of a task that did not succeed."""
    said = reason if isinstance(reason, str) else json.dumps(reason, ensure_ascii=False)
    if case.end == End.NEIGHBOURS:
        return f"{status} although its neighbours can be stored: {said[:300]}"
    if not reason or "Traceback" in said:
        return f"{status} without a reason: {said[:300]}"
    if not said.replace("\n", "").isprintable():
        return f"its reason holds control characters: {said[:300]!r}"
    return None
