"""Short ways to say what a test is about: instants, windows, source files and snapshots."""

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any

from ingest_core.execution.page import DecodedPage
from ingest_core.model.codes import Operation
from ingest_core.model.cursor import Coverage, CursorState
from ingest_core.model.instant import parse_instant
from ingest_core.model.namespace import harvest_namespace
from ingest_core.model.numbers import holds_long_number
from ingest_core.model.slice_codes import EstimateMethod
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.window import Window
from ingest_core.planning.estimate import Estimate
from ingest_core.planning.slicing import Drafter, SliceDraft
from ingest_core.planning.strategies.strategy import Piece
from ingest_core.registry.read import read_source
from ingest_core.registry.rows import Rows, rows_of
from ingest_core.shipped import shipped_sources
from tests.support.compiling import compile_spec
from tests.support.yaml_text import read_yaml, yaml_of

CROSSREF_TEXT = shipped_sources()["crossref.yaml"]
NOW = parse_instant("2026-03-10T12:34:56.789012Z")


def at(text: str) -> datetime:
    """The instant; `10:30` is that time on 10 March 2026."""
    return parse_instant(text if "-" in text else f"2026-03-10T{text}Z")


def span(start: str, end: str) -> Window:
    """The window between two instants."""
    return Window(at(start), at(end))


def read_at(start: str, end: str, as_of: str) -> Coverage:
    """A window that was read at a time."""
    return Coverage(span(start, end), at(as_of))


def watermark(value: str, anchor: str) -> CursorState:
    """A watermark and its anchor."""
    return CursorState(at(value), at(anchor))


def crossref_document(**changes: Any) -> dict[str, Any]:
    """The shipped file as a document; a mapping changes keys of its block, anything else replaces it."""
    document: dict[str, Any] = read_yaml(CROSSREF_TEXT)
    for name, change in changes.items():
        merges = isinstance(change, dict) and isinstance(document.get(name), dict)
        document[name] = {**document[name], **change} if merges else change
    return document


def rows_of_document(document: dict[str, Any]) -> Rows:
    """The Registry's rows of a document."""
    return rows_of(read_source(yaml_of(document), "source.yaml"))


def compile_document(document: dict[str, Any], now: datetime = NOW) -> SpecSnapshot:
    """The snapshot a document compiles to for harvests of works."""
    return compile_spec(rows_of_document(document), "crossref", "works", Operation.HARVEST, now)


@cache
def shipped(source: str, endpoint: str, operation: Operation = Operation.HARVEST) -> SpecSnapshot:
    """What a shipped source compiles to."""
    rows = rows_of(read_source(shipped_sources()[f"{source}.yaml"], f"{source}.yaml"))
    return compile_spec(rows, source, endpoint, operation, NOW)


WHOLE = ("mapping", "expression", "detail")
"""The parts of a snapshot that are replaced as a whole."""


def changed_spec(spec: SpecSnapshot, **changes: Any) -> SpecSnapshot:
    """The snapshot with other settings: a mapping changes keys of its part, anything else replaces it."""
    value = spec.json_value()
    for name, change in changes.items():
        merges = isinstance(change, dict) and name not in WHOLE
        value[name] = {**value.get(name, {}), **change} if merges else change
    return SpecSnapshot.from_json(value)


def crossref_spec(**changes: Any) -> SpecSnapshot:
    """The shipped Crossref's snapshot, with other settings: `crossref_spec(window={"unit": "DAY"})`."""
    return changed_spec(shipped("crossref", "works"), **changes)


def pubmed_spec(**changes: Any) -> SpecSnapshot:
    """The shipped PubMed's snapshot, which has two phases and XML; `detail` changes keys of its part."""
    spec = shipped("pubmed", "search")
    assert spec.detail is not None
    detail = {**spec.detail.model_dump(mode="json"), **changes.pop("detail", {})}
    return changed_spec(spec, detail=detail, **changes)


def drafted(
    window: Window,
    spec: SpecSnapshot | None = None,
    trigger: str = "CLI:one",
    records: int = 0,
    method: EstimateMethod = EstimateMethod.CONSTANT,
    **more: Any,
) -> SliceDraft:
    """The slice of a window of a harvest, of the shipped Crossref if no other is given."""
    of = spec or crossref_spec()
    drafter = Drafter(of, harvest_namespace(of), trigger, of.slicing.strategy, of.time.lag_seconds, 3)
    return drafter.draft(Piece(window, Estimate(records, method), **more))


def page_of(
    items: Sequence[Any],
    *,
    raw: list[str] | None = None,
    total: int | None = None,
    next_token: str | None = None,
    has_more: bool | None = None,
    **more: Any,
) -> DecodedPage:
    """A decoded page; its records' texts matter only where a test gives them."""
    texts = [str(item) for item in items] if raw is None else raw
    long_numbers = holds_long_number("".join(texts).encode("utf-8", "replace"))
    return DecodedPage(items, texts, total, next_token, has_more, long_numbers, **more)
