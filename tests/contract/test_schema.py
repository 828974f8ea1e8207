"""The schema: what migrations make is what the tables say, and who may use it."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlalchemy.dialects.mysql import pymysql
from sqlalchemy.dialects.sqlite import Insert as SqliteInsert

from ingest_core.gate.chain import Gate
from ingest_core.gate.feedback import Feedback
from ingest_core.gate.ports import Asker
from ingest_core.model.codes import TaskStatus
from ingest_core.model.dictionary import DICTIONARY
from ingest_core.model.errors import ExitCode, Refused
from ingest_core.store.engine.database import Database
from ingest_core.store.engine.dialect import now_plus, upsert
from ingest_core.store.engine.types import MYSQL_BINARY_COLLATION
from ingest_core.store.records.quarantine_store import SqlQuarantineStore
from ingest_core.store.schema import versions as schema
from ingest_core.store.schema.ddl import DIALECTS, reference_ddl
from ingest_core.store.schema.dictionary import seed_dictionary
from ingest_core.store.schema.tables import (
    ing_item,
    ing_quarantine,
    ing_schema_info,
    metadata,
    sys_dict_item,
    sys_dict_type,
)
from ingest_core.store.schema.versions import current_revision, head_revision, migrations_folder, refuse_other_schema
from tests.conftest import DatabaseFactory
from tests.contract.conftest import MigratedDatabases
from tests.support.books import PARTITION, SOURCE, at, source_rows
from tests.support.breaking import together
from tests.support.pages import page, record, rejected
from tests.support.tables import change, column, rows
from tests.support.wiring import Stores, wire
from tests.support.working import TTL_SECONDS, begin, finish, open_page, plan_harvest, read_page

# fmt: off
TABLES = {
    "reg_provenance", "reg_prov_endpoint_def", "reg_prov_http_cfg", "reg_prov_credential",
    "reg_prov_pagination_cfg", "reg_prov_window_offset_cfg", "reg_prov_retry_cfg", "reg_prov_rate_limit_cfg",
    "reg_prov_batching_cfg", "reg_prov_api_param_map", "reg_prov_expr_capability", "reg_prov_expr_render_rule",
    "reg_prov_slicing_cfg", "reg_expr_field_dict", "sys_dict_type", "sys_dict_item", "sys_dict_item_alias",
    "ing_schedule_instance", "ing_plan", "ing_plan_slice", "ing_task", "ing_task_run", "ing_task_run_batch",
    "ing_cursor", "ing_cursor_event", "ing_item", "ing_outbox_message", "ing_quarantine", "ing_signal",
    "ing_reslice_request", "ing_rate_gate", "ing_gate_use", "ing_quota_ledger", "ing_quota_reservation",
    "ing_partition_control", "ing_estimate", "ing_arrival",
}
# fmt: on

NAMESPACE = ["provenance_code", "operation_code", "cursor_key", "namespace_scope_code", "namespace_key"]
UNIQUE_KEYS = {
    "uk_sched_log": ("ing_schedule_instance", ["scheduler_code", "scheduler_log_id"]),
    "uk_plan_key": ("ing_plan", ["plan_key"]),
    "uk_slice_sig": ("ing_plan_slice", ["plan_id", "slice_signature_hash"]),
    "uk_task_idem": ("ing_task", ["idempotent_key"]),
    "uk_run_attempt": ("ing_task_run", ["task_id", "attempt_no"]),
    "uk_run_batch_no": ("ing_task_run_batch", ["run_id", "batch_no"]),
    "uk_run_before_tok": ("ing_task_run_batch", ["run_id", "before_hash"]),
    "uk_batch_idem": ("ing_task_run_batch", ["idempotent_key"]),
    "uk_cursor_ns": ("ing_cursor", NAMESPACE),
    "uk_cur_evt_idem": ("ing_cursor_event", ["idempotent_key"]),
    "uk_item_business": ("ing_item", ["provenance_code", "endpoint_name", "provider_id"]),
    "uk_quarantine": ("ing_quarantine", ["provenance_code", "endpoint_name", "fragment_hash", "reason_code"]),
}

MYSQL_KEY_BYTES = 3072
COLUMN_BYTES = {"BIGINT": 8, "INTEGER": 4, "SMALLINT": 2, "DATETIME(6)": 8, "NUMERIC(38, 0)": 17}

POSTGRES_CATALOGUE = {
    "columns": """
        SELECT c.relname, a.attname, a.attnum, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attcompression,
               l.collname, a.attidentity, replace(pg_get_expr(d.adbin, d.adrelid), 'public.', '')
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid AND c.relkind = 'r'
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        LEFT JOIN pg_collation l ON l.oid = a.attcollation
        WHERE c.relnamespace = 'public'::regnamespace AND a.attnum > 0 AND c.relname <> 'alembic_version'
        ORDER BY c.relname, a.attnum""",
    "constraints": """
        SELECT conrelid::regclass::text, conname, contype, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = 'public'::regnamespace AND conrelid::regclass::text <> 'alembic_version' ORDER BY 1, 2""",
    "indexes": """
        SELECT tablename, indexname, indexdef FROM pg_indexes
        WHERE schemaname = 'public' AND tablename <> 'alembic_version' ORDER BY 1, 2""",
}


def catalogue(database: Database) -> dict[str, list[tuple[Any, ...]]]:
    """Every table, column, type, key and index, in the server's own words."""
    with database.read() as connection:
        if database.dialect_name == "postgresql":
            return {
                name: [tuple(row) for row in connection.exec_driver_sql(query)]
                for name, query in POSTGRES_CATALOGUE.items()
            }
        if database.dialect_name == "mysql":
            names = sorted(set(sa.inspect(connection).get_table_names()) - {"alembic_version"})
            shown = [connection.exec_driver_sql(f"SHOW CREATE TABLE {name}").one() for name in names]
            return {name: _definition(re.sub(r" AUTO_INCREMENT=\d+", "", text)) for name, text in shown}
        query = """SELECT type, name, tbl_name, sql FROM sqlite_master
            WHERE name NOT LIKE 'sqlite_%' AND tbl_name <> 'alembic_version' ORDER BY type, name"""
        return {"master": [(*row[:3], " ".join(row[3].split())) for row in connection.exec_driver_sql(query)]}


def _definition(text: str) -> list[tuple[str]]:
    """A table's lines, columns in their order; a key that was added later stands last, which means nothing."""
    lines = [line.rstrip(",") for line in text.splitlines()]
    keys = [line for line in lines if re.match(r" +(UNIQUE |PRIMARY )?KEY ", line)]
    return [(line,) for line in [*(line for line in lines if line not in keys), *sorted(keys)]]


def create_from_reference(database: Database) -> None:
    """Run the reference DDL on an empty database."""
    script = (migrations_folder() / "reference" / f"{database.dialect_name}.sql").read_text(encoding="utf-8")
    with database.write() as connection:
        if getattr(connection.dialect, "is_mariadb", False):
            script = script.replace(MYSQL_BINARY_COLLATION, "utf8mb4_nopad_bin")
        for statement in script.split(";\n"):
            if statement.strip():
                connection.exec_driver_sql(statement)


@pytest.fixture
def empty(dialect: str, database_factory: DatabaseFactory) -> Iterator[Database]:
    """A database without a table."""
    fresh = Database(database_factory.fresh(dialect))
    yield fresh
    fresh.close()


@pytest.fixture
def restored(database: Database) -> Iterator[Database]:
    """A migrated database whose schema's level a test may change."""
    (level,) = rows(database, ing_schema_info)
    revision = current_revision(database)
    yield database
    change(database, ing_schema_info, **level)
    set_revision(database, revision)


def set_revision(database: Database, revision: str | None) -> None:
    """Say which migration was the last."""
    with database.write() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})


def test_migrations_make_what_the_reference_says(database: Database, empty: Database) -> None:
    create_from_reference(empty)
    made, said = catalogue(database), catalogue(empty)
    assert made.keys() == said.keys()
    for name, entries in said.items():
        assert made[name] == entries


@pytest.mark.parametrize("name", DIALECTS)
def test_the_reference_is_what_the_tables_say_now(name: str) -> None:
    written = (migrations_folder() / "reference" / f"{name}.sql").read_text(encoding="utf-8")
    assert written == reference_ddl(name), "run: python -m ingest_core.store.schema.ddl"


def test_upgrading_twice_changes_nothing(database: Database) -> None:
    before = catalogue(database)
    codes = rows(database, sys_dict_item)
    level = rows(database, ing_schema_info)
    assert schema.upgrade_schema(database) == (head_revision(), head_revision())
    assert seed_dictionary(database) == 0
    assert catalogue(database) == before
    assert rows(database, sys_dict_item) == codes
    assert rows(database, ing_schema_info) == level


def test_two_upgrades_at_once_made_one_schema(database: Database) -> None:
    """The fixture's database was upgraded by two at once."""
    assert [row["schema_level"] for row in rows(database, ing_schema_info)] == [schema.SCHEMA_LEVEL]
    assert current_revision(database) == head_revision()


def test_the_dictionary_holds_every_code(database: Database) -> None:
    known = {(row["type_code"], row["item_code"]) for row in rows(database, sys_dict_item)}
    assert known == {(code, item.value) for code, enum in DICTIONARY.items() for item in enum}
    assert set(column(database, sys_dict_type, "type_code")) == set(DICTIONARY)


def test_two_who_seed_the_dictionary_at_once_seed_it_once(database: Database, other: Database) -> None:
    with database.write() as connection:
        connection.execute(sa.delete(sys_dict_item))
    added = together(lambda: seed_dictionary(database), lambda: seed_dictionary(other))
    assert sum(added) == len(rows(database, sys_dict_item)) == sum(len(enum) for enum in DICTIONARY.values())


def test_a_database_without_a_schema_is_refused_with_the_way_out(empty: Database) -> None:
    with pytest.raises(Refused, match="no schema") as refused:
        refuse_other_schema(empty)
    assert (refused.value.exit_code, refused.value.remedy) == (ExitCode.REFUSED, "run: patra db upgrade")
    assert current_revision(empty) is None


def test_a_schema_older_than_the_code_is_refused_with_the_way_out(
    restored: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "SCHEMA_LEVEL", schema.SCHEMA_LEVEL + 1)
    with pytest.raises(Refused) as refused:
        refuse_other_schema(restored)
    assert (refused.value.exit_code, refused.value.remedy) == (ExitCode.REFUSED, "run: patra db upgrade")
    refuse_other_schema(restored, upgrading=True)


def test_code_older_than_the_schema_serves_is_refused(restored: Database) -> None:
    newer = schema.SCHEMA_LEVEL + 1
    change(restored, ing_schema_info, schema_level=newer, oldest_code_level=newer)
    for upgrading in (False, True):
        with pytest.raises(Refused) as refused:
            refuse_other_schema(restored, upgrading=upgrading)
        assert (refused.value.code, refused.value.exit_code) == ("CODE_OLD", ExitCode.REFUSED)
        assert refused.value.remedy == "upgrade patra-ingest"


def test_code_that_a_newer_schema_still_serves_is_served(restored: Database) -> None:
    change(restored, ing_schema_info, schema_level=schema.SCHEMA_LEVEL + 5, oldest_code_level=schema.SCHEMA_LEVEL)
    refuse_other_schema(restored)


def test_code_that_a_newer_schema_still_serves_leaves_it_alone_when_upgrading(restored: Database) -> None:
    """Planner and executor are upgraded apart: the older one's start must not fail."""
    change(restored, ing_schema_info, schema_level=schema.SCHEMA_LEVEL + 5, oldest_code_level=schema.SCHEMA_LEVEL)
    set_revision(restored, "9999")
    before = catalogue(restored)
    assert schema.upgrade_schema(restored) == ("9999", "9999")
    assert catalogue(restored) == before
    assert current_revision(restored) == "9999"


def test_every_table_of_the_design_exists(database: Database) -> None:
    with database.read() as connection:
        present = set(sa.inspect(connection).get_table_names())
    assert TABLES - present == set()
    assert present - TABLES == {"alembic_version", "ing_schema_info"}


def test_every_unique_key_of_the_design_exists(database: Database) -> None:
    with database.read() as connection:
        inspector = sa.inspect(connection)
        found = {
            str(key["name"]): (name, key["column_names"])
            for name in sorted({table for table, _ in UNIQUE_KEYS.values()})
            for key in inspector.get_unique_constraints(name)
        }
    assert found == UNIQUE_KEYS


def test_no_table_has_a_foreign_key(database: Database) -> None:
    with database.read() as connection:
        inspector = sa.inspect(connection)
        assert not any(inspector.get_foreign_keys(name) for name in TABLES)


def key_bytes(columns: list[sa.Column[Any]]) -> int:
    """How long a key over these columns may get on MySQL, in utf8mb4."""
    total = 0
    for one in columns:
        kind = one.type.compile(mysql.dialect())
        text = re.match(r"VARCHAR\((\d+)\)", kind)
        total += int(text[1]) * 4 if text else COLUMN_BYTES[kind]
    return total


def test_keys_fit_into_what_mysql_allows() -> None:
    lengths: dict[str, int] = {}
    for table in metadata.sorted_tables:
        keys = [("primary key", table.primary_key.columns), *((str(key.name), key.columns) for key in table.indexes)]
        keys += [(str(key.name), key.columns) for key in table.constraints if isinstance(key, sa.UniqueConstraint)]
        lengths |= {f"{table.name}.{name}": key_bytes(list(columns)) for name, columns in keys}
    assert {name: length for name, length in lengths.items() if length > MYSQL_KEY_BYTES} == {}
    assert max(lengths.values()) > 2000, "nothing was measured"


def live_through_everything(stores: Stores) -> None:
    """A harvest with all that can happen in the stores."""
    stores.registry.apply([source_rows()])
    plan_harvest(stores, at(0), at(3))
    run = begin(stores)
    read_page(stores, run, page(record("a"), record("b"), rejected=[rejected("x")]))
    read_page(stores, run, page(record("a", at(1)), record("b"), record("c"), rejected=[rejected("x")]), batch_no=2)
    stores.ledger.fail_batch(run, open_page(stores, run, 3), {"code": "HTTP_500"})
    stores.queue.renew(run.task.lease)
    finish(stores, run)
    finish(stores, begin(stores), TaskStatus.FAILED)
    stores.cursors.repair()
    finish(stores, begin(stores), TaskStatus.QUEUED)
    begin(stores)
    stores.database.clock_shift += schema_days()
    stores.queue.give_back_expired()
    stores.queue.claim("ann", TTL_SECONDS, SOURCE)
    stores.queue.waiting(SOURCE)
    stores.gate.limits(PARTITION, run.task.spec.rate)
    gate, asker = Gate("key", run.task.spec.rate.model_copy(update={"daily_quota": 5})), Asker("1", 1, PARTITION)
    stores.gate.acquire(gate, asker, schema_days())
    stores.gate.feedback(gate, asker, Feedback(429, schema_days(), refused=True))
    stores.gate.estimate(gate, schema_days())
    stores.ledger.seen_ids(run.task, at(0))
    stores.readside.status(SOURCE)
    SqlQuarantineStore(stores.database).entries(SOURCE)
    stores.readside.plan_progress(run.task.lineage.plan_id)
    stores.readside.task_progress(run.task.lineage.task_id)
    stores.readside.item_versions(SOURCE, at(0), at(1))
    stores.cursors.cursors()
    stores.registry.sources()


def schema_days() -> Any:
    """A day, after which every lease has expired."""
    return at(24) - at(0)


def test_every_statement_compiles_for_mysql_8(migrated: MigratedDatabases) -> None:
    """Without a server: what the stores execute elsewhere, written in MySQL 8's words."""
    eight = pymysql.dialect()
    eight.server_version_info = (8, 0, 34)
    eight._requires_alias_for_on_duplicate_key = True  # as it finds on connecting to such a server
    executed: list[sa.ClauseElement] = [
        upsert("mysql", ing_item, ("provider_id",), ("payload",)),
        upsert("mysql", ing_quarantine, ("fragment_hash",), ("updated_at",), add=("seen_count",)),
        sa.select(now_plus("mysql", schema_days())),
    ]
    database = Database(migrated.fresh("sqlite"))
    database.engine.dialect.insert_executemany_returning = False  # as MySQL, so that it is asked as MySQL is

    def note(_connection: object, statement: sa.ClauseElement, *_more: object) -> None:
        if not isinstance(statement, SqliteInsert):
            executed.append(statement)

    sa.event.listen(database.engine, "before_execute", note)
    try:
        live_through_everything(wire(database))
    finally:
        database.close()
    written = {str(statement.compile(dialect=eight)) for statement in executed}
    assert len(written) > 60
    assert not [text for text in written if "RETURNING" in text]
    assert any("FOR UPDATE SKIP LOCKED" in text for text in written)
    assert any("AS new ON DUPLICATE KEY UPDATE" in text for text in written)
    assert any("seen_count = (ing_quarantine.seen_count + new.seen_count)" in text for text in written)
