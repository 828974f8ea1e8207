"""Sources in the Registry: applied whole, with their history."""

from typing import Any

import pytest
import sqlalchemy as sa

from ingest_core.execution.ports import RunOutcome
from ingest_core.model.codes import TaskStatus
from ingest_core.model.dictionary import DICTIONARY
from ingest_core.model.errors import BadInput, ExitCode, PatraError, Refused
from ingest_core.model.instant import parse_instant
from ingest_core.model.slice_codes import ResliceReason
from ingest_core.registry.rows import Rows
from ingest_core.store.engine import database as database_module
from ingest_core.store.schema.tables import SOURCE_TABLES
from tests.support.books import SOURCE, at, source_rows
from tests.support.breaking import crash_at_every_step, while_uncommitted
from tests.support.pages import page, record
from tests.support.rich_source import RICH
from tests.support.tables import contents, rows
from tests.support.wiring import Stores
from tests.support.working import begin, finish, plan_harvest, read_page

RATES = SOURCE_TABLES["reg_prov_rate_limit_cfg"]


def as_sets(given: Rows) -> dict[str, list[Any]]:
    """A source's rows without an order, with their types."""
    return {
        name: sorted(repr(_in_order(row)) for row in table_rows)
        for name, table_rows in given.items()
        if table_rows and name in SOURCE_TABLES
    }


def _in_order(value: Any) -> Any:
    """The value with every object's keys sorted: PostgreSQL keeps JSON's keys in an order of its own."""
    if isinstance(value, dict):
        return {name: _in_order(value[name]) for name in sorted(value)}
    return [_in_order(one) for one in value] if isinstance(value, list) else value


def test_the_rich_source_has_a_value_in_every_column() -> None:
    given = source_rows(**RICH)
    said = {
        (name, column) for name, table in given.items() for row in table for column in row if row[column] is not None
    }
    bookkeeping = {"id", "closed_at", "record_remarks", "version", "created_at", "updated_at"}
    wanted = {(name, column.name) for name, table in SOURCE_TABLES.items() for column in table.columns}
    scopes = {"endpoint_name", "effective_from", "effective_to"}  # each is said by one table, and all have the same
    assert {pair for pair in wanted - said if pair[1] not in bookkeeping | scopes} == set()
    assert {("reg_prov_rate_limit_cfg", scope) for scope in scopes} <= said


def test_rows_read_back_are_the_rows_written(registered: Stores) -> None:
    written = source_rows(**RICH)
    registered.registry.apply([written])
    assert as_sets(registered.registry.rows(SOURCE)) == as_sets(written)


def test_a_row_that_says_little_keeps_what_it_leaves_out_unsaid(registered: Stores) -> None:
    registered.registry.apply([source_rows(rate_limit={"burst": 2}, retry={})])
    (rate,), (retry,) = (registered.registry.rows(SOURCE)[f"reg_prov_{name}_cfg"] for name in ("rate_limit", "retry"))
    scope = {"provenance_code": SOURCE, "operation_code": "ALL"}
    assert {name: value for name, value in rate.items() if value is not None} == {**scope, "burst_capacity": 2}
    assert {name: value for name, value in retry.items() if value is not None} == scope


def test_the_dictionary_comes_along_with_a_sources_rows(registered: Stores) -> None:
    codes = {(row["type_code"], row["item_code"]) for row in registered.registry.rows(SOURCE)["sys_dict_item"]}
    assert codes == {(name, item.value) for name, items in DICTIONARY.items() for item in items}


def test_a_sources_history_names_every_row_with_its_times(registered: Stores) -> None:
    registered.registry.apply([source_rows(rate_limit={"requests_per_second": 2})])
    history = registered.registry.history(SOURCE)
    old, new = (entry for entry in history if entry.table == RATES.name)
    assert (old.row["refill_rate_per_sec"], new.row["refill_rate_per_sec"]) == (5, 2)
    assert old.closed_at is not None
    assert old.opened_at < old.closed_at == new.opened_at
    assert new.closed_at is None
    assert [entry.opened_at for entry in history] == sorted(entry.opened_at for entry in history)
    assert all(value is not None for entry in history for value in entry.row.values())
    shown = old.json()
    assert list(shown) == ["table", "opened_at", "closed_at", "row"]
    assert [parse_instant(shown[name]) for name in ("opened_at", "closed_at")] == [old.opened_at, old.closed_at]
    assert new.json()["closed_at"] is None
    with pytest.raises(BadInput, match="'Books'"):
        registered.registry.history("Books")


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
    assert [(change.table, change.change) for change in announced] == [
        ("reg_prov_rate_limit_cfg", "closed"),
        ("reg_prov_rate_limit_cfg", "added"),
    ]
    assert list(announced[0].json()) == ["source", "table", "change", "row"]
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
    assert [source.code for source in registered.registry.sources()] == ["books", "tapes"]


def test_a_source_the_database_refuses_takes_none_with_it(registered: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_module, "_CONFLICT_WAIT_SECONDS", 0)
    broken = source_rows("tapes")
    broken["reg_prov_api_param_map"][0]["std_key"] = None
    before = contents(registered.database, "reg_")
    with pytest.raises(PatraError, match="std_key"):
        registered.registry.apply([source_rows("discs"), broken])
    assert contents(registered.database, "reg_") == before


def test_an_unknown_source_is_bad_input_that_names_the_known_ones(registered: Stores) -> None:
    registered.registry.apply([source_rows("tapes")])
    with pytest.raises(BadInput, match="'Books'") as refused:
        registered.registry.rows("Books")
    assert (refused.value.code, refused.value.exit_code) == ("SOURCE_UNKNOWN", ExitCode.BAD_INPUT)
    assert refused.value.remedy == "known sources: books, tapes"


def test_sources_are_listed_with_what_they_serve(registered: Stores) -> None:
    assert [source.json() for source in registered.registry.sources()] == [
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


class TestARemovedSource:
    def test_is_closed_whole_and_keeps_its_history(self, registered: Stores) -> None:
        registered.registry.apply([source_rows("tapes")])
        others = registered.registry.rows("tapes")
        before = registered.registry.history(SOURCE)
        changes = registered.registry.remove(SOURCE)
        assert {change.change for change in changes} == {"closed"}
        assert len(changes) == len(before)
        after = registered.registry.history(SOURCE)
        assert [entry.row for entry in after] == [entry.row for entry in before]
        assert all(entry.closed_at is not None for entry in after)
        assert [source.code for source in registered.registry.sources()] == ["tapes"]
        assert registered.registry.removed() == {SOURCE}
        assert registered.registry.rows("tapes") == others

    def test_is_unknown_and_says_why(self, registered: Stores) -> None:
        registered.registry.remove(SOURCE)
        for look in (registered.registry.rows, registered.registry.remove):
            with pytest.raises(BadInput) as unknown:
                look(SOURCE)
            assert unknown.value.code == "SOURCE_UNKNOWN"
            assert unknown.value.message == f"source {SOURCE!r} was removed"

    def test_can_be_applied_again_as_it_was(self, registered: Stores) -> None:
        before = registered.registry.rows(SOURCE)
        registered.registry.remove(SOURCE)
        assert {change.change for change in registered.registry.apply([source_rows()])} == {"added"}
        assert registered.registry.rows(SOURCE) == before
        assert registered.registry.removed() == set()

    def test_of_a_name_that_never_was_is_unknown(self, registered: Stores) -> None:
        with pytest.raises(BadInput, match="no source 'tapes' is registered"):
            registered.registry.remove("tapes")

    @pytest.mark.parametrize("begun", [False, True])
    def test_is_refused_while_tasks_are_live(self, registered: Stores, *, begun: bool) -> None:
        plan_id = plan_harvest(registered, at(0), at(2)).plan.plan_id
        if begun:
            begin(registered)
        before = contents(registered.database, "reg_")
        with pytest.raises(Refused) as refused:
            registered.registry.remove(SOURCE)
        assert refused.value.code == "SOURCE_IN_USE"
        assert refused.value.message.startswith(f"2 live tasks and 0 open re-slice requests of plans {plan_id}")
        assert f"patra cancel --plan {plan_id}" in refused.value.remedy
        assert contents(registered.database, "reg_") == before

    def test_is_refused_while_a_part_waits_to_be_cut(self, registered: Stores) -> None:
        plan_harvest(registered, at(0), at(1))
        partial = RunOutcome(TaskStatus.PARTIAL, {}, reslice=ResliceReason.PAGE_CAP)
        registered.ledger.finish(begin(registered), partial)
        with pytest.raises(Refused, match="0 live tasks and 1 open re-slice request of plans"):
            registered.registry.remove(SOURCE)

    def test_leaves_plans_records_and_cursors(self, registered: Stores) -> None:
        plan_harvest(registered, at(0), at(1))
        run = begin(registered)
        read_page(registered, run, page(record("a")))
        finish(registered, run)
        before = contents(registered.database)
        registered.registry.remove(SOURCE)
        assert contents(registered.database) == before

    def test_is_removed_all_or_not_at_all(self, registered: Stores) -> None:
        before = contents(registered.database, "reg_")

        def nothing_changed() -> None:
            assert contents(registered.database, "reg_") == before

        crash_at_every_step(registered.database, lambda: registered.registry.remove(SOURCE), nothing_changed, stride=5)
        assert registered.registry.removed() == {SOURCE}
