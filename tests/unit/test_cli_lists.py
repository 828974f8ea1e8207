"""Every list fits 80 columns without breaking words, and a long one begins with a summary."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, repeat
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from flows.cli import cursor, gate, outbox, progress, quarantine, registry, screen, work
from flows.cli.main import run
from flows.cli.screen import Screen
from ingest_core.execution.outcomes import RunSummary
from ingest_core.execution.shift import Bounds
from ingest_core.gate.ports import QuotaShown, RateLimiter
from ingest_core.model.codes import Direction, NamespaceScope, Operation, TaskStatus
from ingest_core.model.cursor_report import CursorEntry
from ingest_core.model.message import MessageEntry
from ingest_core.model.namespace import Namespace
from ingest_core.model.partition import Partition
from ingest_core.model.progress import PartitionStatus, TaskProgress
from ingest_core.model.quarantine import QuarantineCount, QuarantineEntry
from ingest_core.model.record import Counts
from ingest_core.model.source_change import RowVersion
from tests.support.specs import crossref_spec

NOW = datetime(2026, 1, 9, 6, 3, 7, tzinfo=UTC)
LONG_ID = "10.17070/aeaas.2014.12.36.103.w1308-a-long-suffix-of-a-long-id"
SOURCE, ENDPOINT = "a_source_with_a_long_code", "an_endpoint_with_a_long_name"
URL = "https://api.example.org/works?cursor=AoJ/4Mjs6K7gAj8maHR0cDovL2R4LmRvaS5vcmc"


def rate_limiter(key: str, changes: list[dict[str, Any]]) -> RateLimiter:
    """A rate limiter that is closed, with a quota."""
    quota = QuotaShown(limit=100_000, used=99_000, reserved=1_000, resets_at=NOW)
    return RateLimiter(
        key, 0.5, 10.0, None, None, 3, NOW, "REMAINING_ZERO", "CLOSED", 0, quota, [f"{SOURCE}/works/HARVEST"], changes
    )


APP = SimpleNamespace(
    readside=SimpleNamespace(
        status=lambda source: [
            PartitionStatus(SOURCE, ENDPOINT, operation, "PAUSED", {"QUEUED": 12_345, "SUCCEEDED": 1_000_000})
            for operation in ("HARVEST", "BACKFILL")
        ]
    ),
    quarantine=SimpleNamespace(
        tally=lambda *_: [QuarantineCount(SOURCE, "UPDATED_AT_MISSING", "RETRYING", 12_345)],
        entries=lambda *_: [
            QuarantineEntry(1_234_567, SOURCE, ENDPOINT, LONG_ID, "UPDATED_AT_MISSING", "$.a.b", "RETRYING")
        ],
    ),
    outbox=SimpleNamespace(
        tally=lambda *_: {"DEAD": 1_234},
        messages=lambda *_: [
            MessageEntry(
                7, f"{SOURCE}.{ENDPOINT}", LONG_ID, "INSERTED", "DEAD", 10, NOW, None, None, f"{URL} answered 422"
            )
        ],
    ),
    cursors=SimpleNamespace(
        cursors=lambda: [
            CursorEntry(
                Namespace(
                    Partition(SOURCE, ENDPOINT, Operation.BACKFILL),
                    "indexed_at",
                    NamespaceScope.CUSTOM,
                    "1c62993d15a606659e3b1806128fd8b274ff0d9505116c4d61d69537d7746281",
                    Direction.BACKFILL,
                ),
                value="2026-01-09T06:03:07.000000Z",
                observed_max=None,
                query=None,
                campaign="a-campaign-with-a-long-name",
            )
        ]
    ),
    rates=SimpleNamespace(
        entries=lambda: [rate_limiter(f"{SOURCE}:env:A_SECRET_WITH_A_LONG_NAME", [])],
        entry=lambda key: rate_limiter(
            key, [{"at": "2026-01-09T06:03:07.000000Z", "by": "ann", "change": "clear", "reason": URL}]
        ),
    ),
    registry=SimpleNamespace(
        sources=lambda: [
            SimpleNamespace(
                code=SOURCE, name="A Provider", endpoints=[SimpleNamespace(name=ENDPOINT, operations=["HARVEST"])]
            )
        ],
        history=lambda code: [
            RowVersion("reg_prov_http_cfg", NOW, None, {"provenance_code": code, "url": URL}),
        ],
    ),
)

LISTS: dict[tuple[str, ...], tuple[ModuleType, list[str]]] = {
    ("status",): (work, [SOURCE, ENDPOINT, "1,000,000"]),
    ("quarantine", "list"): (quarantine, [SOURCE, LONG_ID, "UPDATED_AT_MISSING", "12,345"]),
    ("outbox", "list"): (outbox, [f"{SOURCE}.{ENDPOINT}", LONG_ID, URL, "1,234"]),
    ("cursor", "list"): (cursor, [f"{SOURCE}.{ENDPOINT}", "a-campaign-with-a-long-name"]),
    ("gate", "list"): (gate, [f"{SOURCE}:env:A_SECRET_WITH_A_LONG_NAME"]),
    ("gate", "show", "k"): (gate, [URL]),
    ("registry", "list"): (registry, [SOURCE, ENDPOINT]),
    ("registry", "history", SOURCE): (registry, ["reg_prov_http_cfg"]),
}


@contextmanager
def opened() -> Iterator[Any]:
    yield APP


@pytest.mark.parametrize("command", LISTS, ids=" ".join)
def test_a_list_with_long_values_fits_80_columns_and_breaks_no_word(
    command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module, words = LISTS[command]
    narrow = Screen(highlight=False, width=80)
    for place in (screen, module):
        monkeypatch.setattr(place, "console", narrow, raising=False)
    monkeypatch.setattr(module, "open_app", opened)

    assert run(command) == 0
    shown = capsys.readouterr().out
    assert [line for line in shown.splitlines() if len(line) > 80] == []
    assert [word for word in words if word not in shown.split()] == []


@pytest.mark.parametrize(
    ("command", "summary"),
    [(("status",), "2,024,690 tasks in 2 partitions"), (("quarantine", "list"), "rejected records by reason")],
    ids=["status", "quarantine list"],
)
def test_a_long_list_begins_with_a_summary(
    command: tuple[str, ...], summary: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(LISTS[command][0], "open_app", opened)
    assert run(command) == 0
    assert capsys.readouterr().out.splitlines()[0].startswith(summary)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What a terminal of 80 columns is sent."""
    sent = io.StringIO()
    monkeypatch.setattr(progress, "errors", Screen(file=sent, force_terminal=True, width=80, highlight=False))
    monkeypatch.setattr(progress, "on_terminal", lambda: True)
    return sent


def test_an_execution_shows_tasks_records_and_the_task_at_hand(terminal: io.StringIO) -> None:
    pages = chain([TaskProgress(100, 0)], repeat(TaskProgress(600, 1_000)))
    app: Any = SimpleNamespace(
        readside=SimpleNamespace(queued=lambda source: 3, task_progress=lambda task: next(pages))
    )
    task: Any = SimpleNamespace(
        partition=SimpleNamespace(provenance_code="crossref"), slice_no=2, lineage=SimpleNamespace(task_id=1)
    )
    with progress.execution_shown(app, Bounds(), show=True) as watch:
        assert isinstance(watch, progress._ExecutionWatch)
        watch.began(task)
        watch.look()
        watch._progress.refresh()
        watch.ended(task, RunSummary(1, TaskStatus.SUCCEEDED, Counts(received=7_574)))
    assert "crossref slice 2" in terminal.getvalue()
    assert "0/3 tasks, 500 records" in terminal.getvalue()
    assert "1/3 tasks, 7,574 records" in terminal.getvalue()


def test_a_plan_shows_the_sizes_it_asks_for(terminal: io.StringIO) -> None:
    class Asking:
        def asking_through(self, wrap: Any) -> Any:
            return wrap(SimpleNamespace(ask=lambda *_: None))

    @dataclass(frozen=True)
    class Opened:
        planner: Any

    app: Any = Opened(Asking())
    with progress.sizes_shown(app, show=True) as shown:
        probe: Any = shown.planner
        assert probe.ask(crossref_spec(), None) is None
    assert "asking crossref for sizes of slices" in terminal.getvalue()


def test_nothing_is_shown_without_a_terminal(terminal: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "on_terminal", lambda: False)
    app: Any = object()
    with progress.sizes_shown(app, show=True) as same, progress.execution_shown(app, Bounds(), show=True):
        assert same is app
    assert terminal.getvalue() == ""
