"""Sources in the Registry: applied whole, with their history."""

from typing import Any

import pytest
import sqlalchemy as sa

from ingest_core.model.errors import BadInput, ExitCode, PatraError
from ingest_core.registry.rows import Rows
from ingest_core.store import database as database_module
from ingest_core.store.tables import SOURCE_TABLES
from tests.support.stores import (
    SOURCE,
    Stores,
    contents,
    crash_at_every_step,
    rows,
    source_block,
    source_rows,
    while_uncommitted,
)

RATES = SOURCE_TABLES["reg_prov_rate_limit_cfg"]

RICH: dict[str, Any] = {
    "source": source_block(description="Bücher 書 📚\nin two lines", docs_url="https://docs.example/?a=b&c=%20"),
    "http": {
        "base_url": "https://books.example",
        "headers": {"Accept": "application/json", "X-Empty": ""},
        "query": {"mailto": "x"},
        "connect_timeout": "PT0.5S",
        "allow_plain_http": True,
    },
    "retry": {"multiplier": 1.1, "jitter": 0.1, "statuses": [503, 429]},
    "rate_limit": [
        {"requests_per_second": 1 / 3, "burst": 2},
        {"requests_per_second": 0.1, "for": {"operation": "HARVEST"}, "effective_from": "2026-01-01T00:00:00.000001Z"},
        {"requests_per_second": 3, "for": {"endpoint": "list"}, "effective_to": "2027-01-01T01:00:00+02:00"},
    ],
    "batching": {"id_batch_size": 50},
    "credential": {"auth": "API_KEY", "ref": "env:BOOKS_KEY"},
    "capabilities": [{"field": "changed_at", "ops": ["RANGE"]}],
}


def as_sets(given: Rows) -> dict[str, list[Any]]:
    """Rows without an order, with their types."""
    return {
        name: sorted(repr(sorted(row.items())) for row in table_rows)
        for name, table_rows in given.items()
        if table_rows
    }


def test_rows_read_back_are_the_rows_written(registered: Stores) -> None:
    written = source_rows(**RICH)
    registered.registry.apply([written])
    assert as_sets(registered.registry.rows(SOURCE)) == as_sets(written)


def test_applying_twice_changes_nothing(registered: Stores) -> None:
    written = source_rows(**RICH)
    assert registered.registry.apply([written]) != []
    before = contents(registered.database, "reg_")
    assert registered.registry.changes([written]) == []
    assert registered.registry.apply([written]) == []
    assert contents(registered.database, "reg_") == before


def test_a_change_closes_the_old_row_and_opens_a_new_one(registered: Stores) -> None:
    changed = source_rows(rate_limit={"requests_per_second": 2})
    announced = registered.registry.changes([changed])
    assert len(rows(registered.database, RATES)) == 1
    assert registered.registry.apply([changed]) == announced
    assert [(change["table"], change["change"]) for change in announced] == [
        ("reg_prov_rate_limit_cfg", "closed"),
        ("reg_prov_rate_limit_cfg", "added"),
    ]
    old, new = rows(registered.database, RATES)
    assert (old["refill_rate_per_sec"], new["refill_rate_per_sec"]) == (5, 2)
    assert old["closed_at"] is not None
    assert new["closed_at"] is None
    assert [row["refill_rate_per_sec"] for row in registered.registry.rows(SOURCE)[RATES.name]] == [2]


def test_a_block_left_out_is_closed(registered: Stores) -> None:
    registered.registry.apply([source_rows(rate_limit=[])])
    assert registered.registry.rows(SOURCE)[RATES.name] == []
    assert len(rows(registered.database, RATES)) == 1


def test_a_row_that_comes_back_is_a_new_row(registered: Stores) -> None:
    registered.registry.apply([source_rows(rate_limit=[])])
    registered.registry.apply([source_rows()])
    assert [row["closed_at"] is None for row in rows(registered.database, RATES)] == [False, True]


def test_a_source_leaves_the_others_alone(registered: Stores) -> None:
    before = registered.registry.rows(SOURCE)
    registered.registry.apply([source_rows("tapes", rate_limit={"requests_per_second": 1})])
    assert registered.registry.rows(SOURCE) == before


def test_several_sources_are_applied_all_or_none(registered: Stores) -> None:
    before = contents(registered.database, "reg_")
    wanted = [source_rows(rate_limit={"requests_per_second": 2}), source_rows("tapes")]

    def nothing_remains() -> None:
        assert contents(registered.database, "reg_") == before

    crash_at_every_step(registered.database, lambda: registered.registry.apply(wanted), nothing_remains, stride=4)
    assert [source["code"] for source in registered.registry.sources()] == ["books", "tapes"]


def test_a_source_the_database_refuses_takes_none_with_it(registered: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_module, "_CONFLICT_WAIT_SECONDS", 0)
    broken = source_rows("tapes")
    broken["reg_prov_rate_limit_cfg"][0]["refill_rate_per_sec"] = None
    before = contents(registered.database, "reg_")
    with pytest.raises(PatraError, match="refill_rate_per_sec"):
        registered.registry.apply([source_rows("discs"), broken])
    assert contents(registered.database, "reg_") == before


def test_an_unknown_source_is_bad_input_that_names_the_known_ones(registered: Stores) -> None:
    registered.registry.apply([source_rows("tapes")])
    with pytest.raises(BadInput, match="'Books'") as refused:
        registered.registry.rows("Books")
    assert (refused.value.code, refused.value.exit_code) == ("SOURCE_UNKNOWN", ExitCode.BAD_INPUT)
    assert refused.value.remedy == "known sources: books, tapes"


def test_sources_are_listed_with_what_they_serve(registered: Stores) -> None:
    assert registered.registry.sources() == [
        {"code": "books", "name": "Books", "endpoints": [{"name": "list", "operations": ["HARVEST"]}]}
    ]


def open_rows(registered: Stores) -> list[int]:
    """How many rows of each kind are in force."""
    return [len(table_rows) for table_rows in registered.registry.rows(SOURCE).values()]


def test_the_same_change_applied_twice_at_once_is_applied_once(registered: Stores, others: Stores) -> None:
    changed = source_rows(rate_limit={"requests_per_second": 2})
    expected = open_rows(registered)
    while_uncommitted(
        registered.database, lambda: registered.registry.apply([changed]), lambda: others.registry.apply([changed])
    )
    assert open_rows(registered) == expected


def test_of_two_changes_applied_at_once_one_is_in_force(registered: Stores, others: Stores) -> None:
    slower, faster = (source_rows(rate_limit={"requests_per_second": rate}) for rate in (2, 50))
    while_uncommitted(
        registered.database, lambda: registered.registry.apply([slower]), lambda: others.registry.apply([faster])
    )
    assert [row["refill_rate_per_sec"] for row in registered.registry.rows(SOURCE)[RATES.name]] == [50]


def test_readers_see_a_source_whole(registered: Stores, others: Stores) -> None:
    """A source applied between two statements of a reader is not seen by halves."""
    versions = [
        source_rows(rate_limit={"requests_per_second": number}, window=window(number), retry={"max_attempts": number})
        for number in (1, 2)
    ]
    registered.registry.apply([versions[0]])
    later = iter([versions[1]])

    def apply_meanwhile(_connection: object, _cursor: object, statement: str, *_more: object) -> None:
        if "FROM reg_prov_retry_cfg" in statement:
            for version in later:
                registered.registry.apply([version])

    sa.event.listen(others.database.engine, "before_cursor_execute", apply_meanwhile)
    try:
        seen = others.registry.rows(SOURCE)
    finally:
        sa.event.remove(others.database.engine, "before_cursor_execute", apply_meanwhile)
    assert as_sets(seen) in [as_sets(version) for version in versions]


def window(hours: int) -> dict[str, Any]:
    """A `window` block with slices of so many hours."""
    return {
        "field": "changed_at",
        "watermark_key": "changed_at",
        "step": f"PT{hours}H",
        "unit": "SECOND",
        "format": "%Y-%m-%dT%H:%M:%S",
        "upper_inclusive": False,
    }
