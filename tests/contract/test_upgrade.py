"""A database of schema level 1, with a source and a plan in it, is brought up whole: nothing is lost or changed."""

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from ingest_core.bootstrap import prepare_demo_database
from ingest_core.execution.request import Caller, render_request
from ingest_core.model.codes import Operation, SchedulerCode
from ingest_core.model.errors import Refused
from ingest_core.model.namespace import harvest_namespace
from ingest_core.planning.request import PlanRequest, Trigger
from ingest_core.settings import Settings
from ingest_core.store.engine.database import Database
from ingest_core.store.schema.dictionary import seed_dictionary
from ingest_core.store.schema.tables import SOURCE_TABLES, ing_schema_info, ing_task
from ingest_core.store.schema.versions import (
    DEMO,
    SCHEMA_LEVEL,
    current_revision,
    head_revision,
    mark_purpose,
    purpose,
    refuse_other_schema,
    upgrade_schema,
)
from tests.conftest import DatabaseFactory
from tests.contract.test_schema import catalogue
from tests.support.books import as_compiled
from tests.support.breaking import crash_at_every_step
from tests.support.compiling import compile_spec
from tests.support.level_one import GOLDEN, LEVEL, OLD_ROWS, create_level_one, old_snapshot, plan_as_then, window_of
from tests.support.specs import NOW, at, crossref_spec
from tests.support.tables import contents, rows
from tests.support.wiring import wire
from tests.support.working import begin, claim, finish

OLDEST_CODE_LEVEL = 10
"""Older code would not heed the rows of rate limiters that adapt."""

RATES = SOURCE_TABLES["reg_prov_rate_limit_cfg"]


@pytest.fixture
def old(dialect: str, database_factory: DatabaseFactory) -> Iterator[Database]:
    """A database of level 1 with Crossref registered."""
    database = Database(database_factory.fresh(dialect))
    create_level_one(database)
    yield database
    database.close()


def said(database: Database) -> dict[str, list[dict[str, Any]]]:
    """All the Registry's rows without what they leave unsaid, whichever tables and columns there are by now."""
    with database.read() as connection:
        present = set(sa.inspect(connection).get_table_names())
        tables = {
            name: connection.exec_driver_sql(f"SELECT * FROM {name} ORDER BY id").mappings().all()
            for name in SOURCE_TABLES
            if name in present
        }
    return {
        name: [{column: value for column, value in row.items() if value is not None} for row in table]
        for name, table in tables.items()
        if table
    }


def kept(database: Database) -> dict[str, Any]:
    """The columns of level 1, as the golden file has them, of the rows in force."""
    present = wire(database).registry.rows("crossref")
    return {
        name: [{column: row[column] for column in old_row} for old_row, row in zip(table, present[name], strict=True)]
        for name, table in OLD_ROWS.items()
    }


def test_a_database_of_level_one_is_refused_until_it_is_upgraded(old: Database) -> None:
    with pytest.raises(Refused) as refused:
        refuse_other_schema(old)
    assert (refused.value.code, refused.value.remedy) == ("SCHEMA_OLD", "run: patra db upgrade")
    assert [row["schema_level"] for row in rows(old, ing_schema_info)] == [LEVEL]


def test_an_upgrade_says_from_where_and_to_where_and_shuts_older_code_out(old: Database) -> None:
    assert upgrade_schema(old) == ("0001", head_revision())
    (level,) = rows(old, ing_schema_info)
    assert (level["schema_level"], level["oldest_code_level"]) == (SCHEMA_LEVEL, OLDEST_CODE_LEVEL)
    refuse_other_schema(old)


def test_an_upgraded_database_is_a_new_one_but_for_its_rows(old: Database, database: Database) -> None:
    upgrade_schema(old)
    upgraded, new = catalogue(old), catalogue(database)
    assert upgraded.keys() == new.keys()
    for name, entries in new.items():
        assert upgraded[name] == entries


def test_the_registrys_rows_come_along_unchanged_with_their_history(old: Database) -> None:
    upgrade_schema(old)
    assert kept(old) == OLD_ROWS
    current, past = rows(old, RATES)
    assert (current["refill_rate_per_sec"], current["closed_at"]) == (5.0, None)
    assert past["refill_rate_per_sec"] == 1.0
    assert past["closed_at"] == past["effective_from"] == past["created_at"] == current["created_at"]


def test_columns_of_level_two_say_nothing_in_old_rows(old: Database) -> None:
    upgrade_schema(old)
    known = {"id", "version", "created_at", "updated_at", "closed_at", "effective_from"}
    for name, table in said(old).items():
        for row in table:
            assert row.keys() - known <= OLD_ROWS[name][0].keys()


def test_an_old_source_compiles_as_it_did(old: Database) -> None:
    upgrade_schema(old)
    seed_dictionary(old)
    spec = compile_spec(wire(old).registry.rows("crossref"), "crossref", "works", Operation.HARVEST, NOW)
    assert spec.model_copy(update={"snapshot_version": LEVEL}) == old_snapshot()


def test_upgrading_twice_is_harmless(old: Database) -> None:
    upgrade_schema(old)
    schema, content = catalogue(old), contents(old, "reg_")
    assert upgrade_schema(old) == (head_revision(), head_revision())
    assert catalogue(old) == schema
    assert contents(old, "reg_") == content


def test_an_upgrade_that_is_broken_off_anywhere_is_finished_by_the_next(old: Database, database: Database) -> None:
    before = said(old)
    # MySQL commits each change of the schema by itself.
    between = {f"{number:04}" for number in range(2, SCHEMA_LEVEL)} if old.dialect_name == "mysql" else set()

    def nothing_is_lost() -> None:
        assert said(old) == before
        assert current_revision(old) in {"0001", *between, head_revision()}

    crash_at_every_step(old, lambda: upgrade_schema(old), nothing_is_lost, stride=5)
    assert said(old) == before
    assert catalogue(old) == catalogue(database)


def test_an_upgraded_source_can_be_changed(old: Database) -> None:
    """Rows are added after those that came along: ids go on."""
    upgrade_schema(old)
    changed = {**OLD_ROWS, RATES.name: [{**OLD_ROWS[RATES.name][0], "refill_rate_per_sec": 2.0}]}
    registry = wire(old).registry
    registry.apply([changed])
    assert [row["refill_rate_per_sec"] for row in registry.rows("crossref")[RATES.name]] == [2.0]
    assert [row["id"] for row in rows(old, RATES)] == [1, 2, 3]


def test_a_task_planned_before_the_upgrade_asks_as_it_would_have(old: Database) -> None:
    plan_as_then(old)
    upgrade_schema(old)
    task = claim(wire(old), source="crossref")
    asked = GOLDEN["requests"][0]
    request = render_request(task.spec, task.window, "*", Caller("ing-7-1"))
    assert [list(pair) for pair in request.query] == asked["query"]
    assert request.headers == asked["headers"]
    assert [row["idempotent_key"] for row in rows(old, ing_task)] == [GOLDEN["slice"]["idempotent_key"]]


def test_a_plan_made_before_the_upgrade_is_found_by_its_trigger_after_it(old: Database) -> None:
    plan_as_then(old)
    upgrade_schema(old)
    window = window_of(GOLDEN["slice"]["window"])
    wanted = PlanRequest("crossref", user_from=window.start, user_to=window.end)
    stores, fired = wire(old), Trigger(SchedulerCode.CLI, "one")
    instance_id = stores.plans.record_trigger(fired, wanted, harvest_namespace(crossref_spec()).partition)
    report = stores.planner.derive(wanted, fired, instance_id, as_compiled(crossref_spec()))
    assert not report.created
    assert len(rows(old, ing_task)) == 1


def test_an_old_harvest_goes_on_where_it_stood(old: Database) -> None:
    plan_as_then(old)
    upgrade_schema(old)
    stores, namespace = wire(old), harvest_namespace(crossref_spec())
    finish(stores, begin(stores))
    assert stores.cursors.advance(namespace) == at("06:00")
    wanted, fired = PlanRequest("crossref", user_to=at("12:00")), Trigger(SchedulerCode.CLI, "two")
    instance_id = stores.plans.record_trigger(fired, wanted, namespace.partition)
    report = stores.planner.derive(wanted, fired, instance_id, as_compiled(crossref_spec()))
    assert (report.plan.start, report.plan.end) == (at("04:00"), at("12:00"))
    assert [(row["window_from"], row["window_to"]) for row in rows(old, ing_task)] == [
        (at("00:00"), at("06:00")),
        (at("06:00"), at("12:00")),
    ]


@pytest.mark.parametrize("keep", [False, True])
def test_a_demo_of_an_older_version_is_replaced_or_brought_up(old: Database, *, keep: bool) -> None:
    settings = Settings(database_url=old.url.render_as_string(hide_password=False))
    with pytest.raises(Refused) as foreign:
        prepare_demo_database(settings, keep=keep)
    assert foreign.value.code == "DATABASE_IN_USE"
    mark_purpose(old, DEMO)
    prepare_demo_database(settings, keep=keep)
    refuse_other_schema(old)
    assert purpose(old) == DEMO
