"""The sandbox's shelf as a source: the same records by every way of paging."""

from pathlib import Path
from typing import Any

from deployments.sandbox.remote import Sandbox
from ingest_core.model.instant import parse_instant
from tests.support.patra import QUICK, Patra, Row
from tests.support.yaml_text import yaml_of

CODE = "shelf"
SIZE = 20
START, END = "2026-01-09", "2026-01-11"
PERIOD = ("--from", START, "--to", END)
MOST_ROUNDS = 12

SIZE_PARAM = {"name": "size", "value": "page_size"}
OFFSET_PARAM = {"name": "offset", "value": "page_offset"}
PAGE_PARAM = {"name": "page", "value": "page_number"}
TOKEN_PARAM = {"name": "token", "value": "page_token"}
BY_QUERY = [{"field": "updated", "op": "RANGE", "params": {"from": "{from}", "to": "{to}"}}]
IN_PATH = [{"name": name, "location": "PATH", "value": "rule"} for name in ("from", "to")]
BODY = {
    "format": "JSON",
    "template": {"from": "{from}", "to": "{to}", "size": "{page_size}", "offset": "{page_offset}"},
}

KINDS: dict[str, Row] = {
    "offset": {"path": "/offset", "pagination": {"type": "OFFSET"}, "params": [SIZE_PARAM, OFFSET_PARAM]},
    "page": {"path": "/page", "pagination": {"type": "PAGE", "page_base": 1}, "params": [SIZE_PARAM, PAGE_PARAM]},
    "page from 0": {
        "path": "/page",
        "pagination": {"type": "PAGE", "page_base": 0},
        "params": [SIZE_PARAM, PAGE_PARAM],
    },
    "token": {
        "path": "/token",
        "pagination": {"type": "TOKEN", "next_token": "$.next"},
        "params": [SIZE_PARAM, TOKEN_PARAM],
    },
    "url": {"path": "/url", "pagination": {"type": "URL", "next_url": "$.next"}, "params": [SIZE_PARAM]},
    "time": {"path": "/time", "pagination": {"type": "TIME"}, "params": [SIZE_PARAM]},
    "body": {"path": "/body", "method": "POST", "body": BODY, "pagination": {"type": "OFFSET"}, "params": []},
    "header": {
        "path": "/header",
        "pagination": {"type": "OFFSET"},
        "params": [
            {"name": "X-Size", "location": "HEADER", "value": "page_size"},
            {"name": "X-Offset", "location": "HEADER", "value": "page_offset"},
        ],
    },
    "path": {
        "path": "/path/{from}/{to}/{offset}",
        "pagination": {"type": "OFFSET"},
        "params": [SIZE_PARAM, *IN_PATH, {"name": "offset", "location": "PATH", "value": "page_offset"}],
    },
}
"""Each way of paging: where it is asked, how its pages follow, and where the place goes in the request."""

RESPONSE = {"items": "$.items", "id": "$.id", "updated_at": "$.updated", "version": "$.version", "total": "$.total"}


def shelf_document(kind: str, *, endpoints: list[Row] | None = None, **blocks: Any) -> Row:
    """The shelf paged that way; a block's keys are changed one by one, a list is replaced."""
    way = KINDS[kind]
    endpoint = {"name": "list", "operations": ["HARVEST", "BACKFILL"], "response": RESPONSE}
    endpoint |= {name: way[name] for name in ("path", "method", "body") if name in way}
    document: Row = {
        "source": {"code": CODE, "name": "Shelf"},
        "endpoints": endpoints or [endpoint],
        "http": {"base_url": "https://shelf.example"},
        "pagination": {"max_page_size": 100, "page_size": SIZE, **way["pagination"]},
        "window": {
            "field": "updated",
            "watermark_key": "updated",
            "step": "P1D",
            "unit": "SECOND",
            "format": "%Y-%m-%dT%H:%M:%S",
            "upper_inclusive": False,
        },
        "slicing": {"probe_budget": 0},
        "params": way["params"],
        "fields": [{"name": "updated", "type": "DATETIME"}],
        "render_rules": BY_QUERY,
        "mapping": {"title": "$.title"},
        **QUICK,
    }
    for name, change in blocks.items():
        merges = isinstance(change, dict) and isinstance(document.get(name), dict)
        document[name] = {**document[name], **change} if merges else change
    return document


def register(patra: Patra, folder: Path, document: Row) -> None:
    """Write the file and apply it."""
    file = folder / "shelf.yaml"
    file.write_text(yaml_of(document), encoding="utf-8")
    patra("registry", "apply", str(file))


def harvest(patra: Patra) -> Row:
    """Plan and read; slices that are too big are cut until none is. What the last round says."""
    patra("plan", CODE, *PERIOD)
    for _ in range(MOST_ROUNDS):
        done: Row = patra("execute", "--until-idle")
        if not patra.rows("ing_reslice_request", where="status_code = 'OPEN'"):
            return done
        patra("plan", CODE, *PERIOD)
    raise AssertionError("the slices are cut for ever")


def assert_exact(patra: Patra, sandbox: Sandbox) -> None:
    """The store holds exactly the truth, and the watermark is at the end."""
    truth = {row["id"]: row for row in sandbox.truth(CODE, from_=START, to=END, record=True) if row["usable"]}
    stored = {row["provider_id"]: row for row in patra.rows("ing_item")}
    assert stored.keys() == truth.keys()
    for name, row in truth.items():
        assert (stored[name]["source_updated_at"], stored[name]["record"]) == (
            parse_instant(row["updated_at"]),
            row["record"],
        )
    assert patra("cursor", "list")[0]["value"] == f"{END}T00:00:00.000000Z"


def shortfalls(patra: Patra) -> int:
    """How often the provider gave less than it said, in the end."""
    return len(patra.rows("ing_quarantine", where="reason_code = 'SHORTFALL'"))
