"""Records for those who take them out: in order, each once, as of one moment, a few at a time."""

from datetime import timedelta
from itertools import chain

import pytest
import sqlalchemy as sa

from ingest_core.model.stored_item import ItemChoice
from ingest_core.store.records.item_reader import PAGE, SqlItemReader
from ingest_core.store.schema.tables import ing_item
from tests.support.books import SOURCE, at
from tests.support.pages import page, record
from tests.support.tables import change, explain
from tests.support.wiring import Stores
from tests.support.working import begin, plan_harvest, read_page

RAW = '{"n": 12345678901234567890123, "f": 1.10, "e": 1E400, "s": "\\u00e9 <a>\'\\"", "z": 0.1000}'


@pytest.fixture
def reader(stores: Stores) -> SqlItemReader:
    return SqlItemReader(stores.database)


def store_items(stores: Stores, *hours: float, name: str = "id") -> None:
    """Records updated so many hours after midnight, stored in this order."""
    plan_harvest(stores, at(0), at(1))
    records = [record(f"{name}-{number:05}", at(hour)) for number, hour in enumerate(hours)]
    read_page(stores, begin(stores), page(*records))


def ids(reader: SqlItemReader, **which: object) -> list[str]:
    choice = ItemChoice(SOURCE, **which)  # type: ignore[arg-type]
    return [item.provider_id for item in chain.from_iterable(reader.pages(choice))]


def test_they_come_by_update_time_and_then_as_they_were_stored(stores: Stores, reader: SqlItemReader) -> None:
    store_items(stores, 3, 1, 2, 1)
    assert ids(reader) == ["id-00001", "id-00003", "id-00002", "id-00000"]


def test_a_payload_is_what_was_received_and_fields_are_what_was_mapped(stores: Stores, reader: SqlItemReader) -> None:
    plan_harvest(stores, at(0), at(1))
    read_page(stores, begin(stores), page(record("a", at(1), RAW)))
    ((item,),) = reader.pages(ItemChoice(SOURCE))
    assert item.payload == RAW
    assert (item.provider_id, item.endpoint, item.state, item.source_version) == ("a", "list", "PRESENT", None)
    assert (item.record, item.source_updated_at) == ({"title": "a"}, at(1))


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [(None, None, 4), (1, None, 3), (None, 1, 1), (1, 2, 1), (1, 2.5, 2), (5, None, 0)],
)
def test_the_bounds_are_half_open(
    stores: Stores, reader: SqlItemReader, since: float | None, until: float | None, expected: int
) -> None:
    store_items(stores, 0, 1, 2, 3)
    bounds = {"since": None if since is None else at(since), "until": None if until is None else at(until)}
    assert len(ids(reader, **bounds)) == expected
    assert reader.count(ItemChoice(SOURCE, **bounds)) == expected  # type: ignore[arg-type]


def test_only_the_source_and_the_endpoint_asked_for_come(stores: Stores, reader: SqlItemReader) -> None:
    store_items(stores, 0, 1)
    change(stores.database, ing_item, ing_item.c.provider_id == "id-00000", endpoint_name="other")
    assert ids(reader, endpoint="list") == ["id-00001"]
    assert ids(reader) == ["id-00001", "id-00000"]
    assert reader.count(ItemChoice("tapes")) == 0


def test_no_more_than_a_page_is_held(stores: Stores, reader: SqlItemReader) -> None:
    store_items(stores, *(0 for _ in range(2 * PAGE + 1)))
    assert [len(part) for part in reader.pages(ItemChoice(SOURCE))] == [PAGE, PAGE, 1]


def test_records_that_change_meanwhile_come_once_as_they_were(
    stores: Stores, others: Stores, reader: SqlItemReader
) -> None:
    store_items(stores, *(number / 10_000 for number in range(2 * PAGE + 10)))
    pages = reader.pages(ItemChoice(SOURCE))
    seen = list(next(pages))
    with others.database.write() as connection:
        moved = ing_item.c.provider_id.in_([seen[0].provider_id, f"id-{2 * PAGE:05}"])
        connection.execute(sa.update(ing_item).where(moved).values(source_updated_at=at(9)))
        connection.execute(sa.delete(ing_item).where(ing_item.c.provider_id == f"id-{2 * PAGE + 1:05}"))
    seen += chain.from_iterable(pages)
    assert [item.provider_id for item in seen] == [f"id-{number:05}" for number in range(2 * PAGE + 10)]
    assert max(item.source_updated_at for item in seen) < at(0) + timedelta(hours=1)


def test_reading_waits_for_nobody_and_sees_nothing_uncommitted(
    stores: Stores, others: Stores, reader: SqlItemReader
) -> None:
    store_items(stores, 0, 1)
    with others.database.write() as connection:
        connection.execute(sa.delete(ing_item))
        assert len(ids(reader)) == 2


def test_it_is_read_by_index(stores: Stores, reader: SqlItemReader) -> None:
    store_items(stores, *(number / 100 for number in range(1500)))
    (plan,) = explain(
        stores.database, lambda: list(reader.pages(ItemChoice(SOURCE, "list", at(3), at(3.1)))), "ing_item"
    )
    assert "idx_item_updated" in plan
