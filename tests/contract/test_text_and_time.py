"""Text and time mean the same on every database."""

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
import sqlalchemy as sa

from ingest_core.model.canonical import canonical_json
from ingest_core.model.errors import BadInput
from ingest_core.store.engine.database import Database
from ingest_core.store.schema.tables import ing_item, ing_schedule_instance
from tests.support.books import at, source_block, source_rows
from tests.support.pages import page, record
from tests.support.tables import column, rows
from tests.support.wiring import Stores
from tests.support.working import begin, plan_harvest, read_page

COMPOSED, DECOMPOSED = "\u00e9", "e\u0301"
ALIKE = [
    "GT",
    "gt",
    "Gt",
    "a",
    "a ",
    " a",
    COMPOSED,
    DECOMPOSED,
    "e",
    "ss",
    "ß",
    "ı",
    "i",
    "𝒜",
    "ａ",
    "%",
    "_",
    "\\",
    "'",
]
"""Ids that a database's own rules would take for each other."""

MOMENTS = [
    datetime(2026, 3, 29, 1, 30, 0, 123456, tzinfo=UTC),  # an hour that half of Europe does not have
    datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    datetime(1900, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
    datetime(2040, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
]

PAYLOADS = [
    '{"price":1.10,"big":12345678901234567890.123456789,"e":1E5,"minus":-0.0}',
    '{"z":1,"a":2,"z":3}',
    '  { "spaced" :\t[ 1 ,\r\n 2 ] }  ',
    f'{{"emoji":"😀","escaped":"\\ud83d\\ude00 \\u00e9 \\/","composed":"{COMPOSED}","decomposed":"{DECOMPOSED}"}}',
    '{"quote":"\'","backslash":"\\\\","percent":"%s %(x)s :name","null":null}',
    '{"nul":"\\u0000","long":"' + "ü" * 70_000 + '"}',
]


@pytest.fixture
def kolkata(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine five and a half hours ahead of UTC."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Asia/Kolkata")
        time.tzset()
        yield
    time.tzset()


def elsewhere(database: Database) -> Database:
    """The same database for a session that would start in another time zone and isolation."""
    url = database.url
    if database.dialect_name == "postgresql":
        url = url.update_query_dict({"options": "-c timezone=Asia/Tokyo -c default_transaction_isolation=serializable"})
    elif database.dialect_name == "mysql":
        url = url.update_query_dict({"init_command": "SET time_zone = '+09:00', sql_mode = ''"})
    return Database(url.render_as_string(hide_password=False))


def test_ids_are_compared_byte_by_byte(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    once = page(*(record(name) for name in ALIKE))
    assert read_page(stores, run, once).inserted == len(ALIKE)
    assert sorted(column(stores.database, ing_item, "provider_id")) == sorted(ALIKE)
    assert read_page(stores, run, once, batch_no=2).skipped == len(ALIKE)
    assert read_page(stores, run, page(record("gt", at(2))), batch_no=3).updated == 1
    stored = {row["provider_id"]: row["source_updated_at"] for row in rows(stores.database, ing_item)}
    assert [name for name, version in stored.items() if version == at(2)] == ["gt"]


def test_an_id_is_found_by_its_bytes_alone(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    read_page(stores, begin(stores), page(*(record(name) for name in ALIKE)))
    for name in ALIKE:
        (found,) = rows(stores.database, ing_item, ing_item.c.provider_id == name)
        assert found["provider_id"] == name


def test_ids_are_ordered_by_their_bytes(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    read_page(stores, begin(stores), page(*(record(name) for name in ALIKE)))
    with stores.database.read() as connection:
        ordered = list(connection.execute(sa.select(ing_item.c.provider_id).order_by(ing_item.c.provider_id)).scalars())
    assert ordered == sorted(ALIKE, key=lambda name: name.encode())


def test_trigger_keys_are_compared_byte_by_byte(stores: Stores) -> None:
    keys = ["tick", "Tick", "tick ", f"tick {COMPOSED}", f"tick {DECOMPOSED}"]
    for key in keys:
        plan_harvest(stores, at(0), at(1), key=key)
    assert column(stores.database, ing_schedule_instance, "scheduler_log_id") == keys


def test_source_codes_are_compared_byte_by_byte(registered: Stores) -> None:
    for wrong in ("Books", "books ", "boöks"):
        with pytest.raises(BadInput):
            registered.registry.rows(wrong)


@pytest.mark.parametrize("payload", PAYLOADS, ids=["numbers", "keys", "spaces", "escapes", "quotes", "long"])
def test_a_payload_comes_back_byte_for_byte(stores: Stores, payload: str) -> None:
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    read_page(stores, run, page(record("a", at(1), payload)))
    assert column(stores.database, ing_item, "payload") == [payload]
    read_page(stores, run, page(record("a", at(2), f"[{payload}]")), batch_no=2)
    assert column(stores.database, ing_item, "payload") == [f"[{payload}]"]


def test_a_payload_is_stored_as_the_providers_own_json(stores: Stores) -> None:
    """Whoever queries the table, without our types, finds what was received."""
    raw = "payload"
    if stores.database.dialect_name == "postgresql":
        raw = "payload::text"
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    read_page(stores, run, page(record("a", at(1), PAYLOADS[0]), record("b", at(1), PAYLOADS[1])))
    read_page(stores, run, page(record("b", at(2), PAYLOADS[2])), batch_no=2)
    with stores.database.read() as connection:
        stored = connection.exec_driver_sql(f"SELECT {raw} FROM ing_item ORDER BY provider_id").scalars().all()
    assert stored == [PAYLOADS[0], PAYLOADS[2]]


def test_our_own_json_comes_back_as_it_was(stores: Stores) -> None:
    mapping = {"title": "$.title", "mixed": "é 😀 \\ \" ' %s"}
    stores.registry.apply([source_rows(source=source_block(), mapping=mapping)])
    assert stores.registry.rows("books")["reg_provenance"][0]["output_mapping"] == mapping


@pytest.mark.parametrize(
    "value",
    ["é 😀 \\ \" ' %s \t", ["a", None, True, 0, -1.5, 1e-7], {"b": {}, "a": []}, 2**53 + 1, 2**63 - 1, 2**70 + 1],
    ids=["text", "list", "object", "53 bits", "63 bits", "70 bits"],
)
def test_a_mapped_record_comes_back_as_it_was(stores: Stores, value: object) -> None:
    plan_harvest(stores, at(0), at(1))
    one = replace(record("a"), fields={"title": value})
    read_page(stores, begin(stores), page(one))
    (stored,) = column(stores.database, ing_item, "record")
    assert canonical_json(stored) == canonical_json({"title": value})


def test_times_keep_their_microseconds(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    read_page(stores, begin(stores), page(*(record(f"id {n}", moment) for n, moment in enumerate(MOMENTS))))
    found = column(stores.database, ing_item, "source_updated_at")
    assert found == MOMENTS
    assert {moment.tzinfo for moment in found} == {UTC}


def test_a_time_with_an_offset_is_the_same_moment(stores: Stores) -> None:
    moment = datetime(2026, 1, 1, 6, 30, 0, 5, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    plan_harvest(stores, at(0), at(1))
    read_page(stores, begin(stores), page(record("a", moment)))
    (stored,) = column(stores.database, ing_item, "source_updated_at")
    assert stored == moment
    assert stored.isoformat() == "2026-01-01T01:00:00.000005+00:00"


def test_times_are_utc_whatever_the_machines_time_zone(stores: Stores, kolkata: None) -> None:
    worker = Database(stores.database.url.render_as_string(hide_password=False))
    try:
        plan_harvest(stores, at(0), at(1))
        read_page(stores, begin(stores), page(*(record(f"id {n}", moment) for n, moment in enumerate(MOMENTS))))
        assert column(worker, ing_item, "source_updated_at") == MOMENTS
        assert abs(worker.now() - datetime.now(UTC)) < timedelta(seconds=30)
    finally:
        worker.close()


def test_times_are_utc_whatever_the_sessions_time_zone(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    read_page(stores, begin(stores), page(*(record(f"id {n}", moment) for n, moment in enumerate(MOMENTS))))
    tokyo = elsewhere(stores.database)
    try:
        assert column(tokyo, ing_item, "source_updated_at") == MOMENTS
        assert abs(tokyo.now() - stores.database.now()) < timedelta(seconds=30)
        found = rows(tokyo, ing_item, ing_item.c.source_updated_at == MOMENTS[0])
        assert [row["provider_id"] for row in found] == ["id 0"]
    finally:
        tokyo.close()


def test_the_databases_clock_has_microseconds_and_goes_on_within_a_transaction(database: Database) -> None:
    with database.write() as connection:
        seen = [database.now(connection) for _ in range(20)]
    assert seen == sorted(seen)
    assert seen[0] < seen[-1]
    assert any(moment.microsecond % 1000 for moment in seen)


def test_the_clock_can_be_shifted(database: Database, other: Database) -> None:
    other.clock_shift = timedelta(days=-400, microseconds=1)
    assert abs(database.now() - other.now() - timedelta(days=400)) < timedelta(seconds=30)


def test_sessions_are_utc_read_committed_and_strict(database: Database) -> None:
    worker = elsewhere(database)
    try:
        with worker.write() as connection:
            if worker.dialect_name == "postgresql":
                assert connection.exec_driver_sql("SHOW TimeZone").scalar() == "UTC"
                assert connection.exec_driver_sql("SHOW transaction_isolation").scalar() == "read committed"
            elif worker.dialect_name == "mysql":
                name = "tx_isolation" if getattr(connection.dialect, "is_mariadb", False) else "transaction_isolation"
                zone, isolation, mode = connection.exec_driver_sql(
                    f"SELECT @@session.time_zone, @@session.{name}, @@session.sql_mode"
                ).one()
                assert (zone, isolation) == ("+00:00", "READ-COMMITTED")
                assert "STRICT_ALL_TABLES" in mode
            else:
                assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
                assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 30_000
    finally:
        worker.close()


@pytest.mark.parametrize("dialect", ["postgresql", "mysql"], indirect=True)  # SQLite has no rivals
def test_what_another_committed_meanwhile_is_seen(database: Database, other: Database, stores: Stores) -> None:
    """READ COMMITTED: a second look within a transaction sees what was committed after the first."""
    query = sa.select(sa.func.count()).select_from(ing_schedule_instance)
    with other.write() as connection:
        assert connection.execute(query).scalar() == 0
        plan_harvest(stores, at(0), at(1))
        assert connection.execute(query).scalar() == 1
