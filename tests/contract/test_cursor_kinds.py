"""Cursors over ids and tokens: the same events first, the same compare and set."""

from itertools import permutations

import pytest

from ingest_core.model.codes import CursorType, EventType, NamespaceScope
from ingest_core.model.namespace import Namespace
from ingest_core.store.cursors.events import append_event
from ingest_core.store.cursors.store import open_cursor
from ingest_core.store.schema.tables import ing_cursor, ing_cursor_event
from tests.support.books import PARTITION, at
from tests.support.breaking import crash_at_every_step, together
from tests.support.frontiers import closed_ids
from tests.support.tables import change, contents, explain, rows
from tests.support.wiring import Stores

IDS = Namespace(PARTITION, "item_id", NamespaceScope.CUSTOM, "ids", cursor_type=CursorType.ID)
TOKENS = Namespace(PARTITION, "page_token", NamespaceScope.CUSTOM, "tokens", cursor_type=CursorType.TOKEN)
LINEAGE = {"plan_id": 1, "task_id": 1}
BIG = 10**38 - 1


def begin(stores: Stores, namespace: Namespace, value: int | str) -> None:
    """Begin a namespace."""
    with stores.database.write() as connection:
        open_cursor(connection, namespace, value, now=at(0), lineage=LINEAGE)


def read_ids(stores: Stores, first: int, last: int) -> None:
    """Write down that these ids were read."""
    with stores.database.write() as connection:
        append_event(
            connection, IDS, EventType.COVERAGE, closed_ids(first, last), now=at(1), as_of=at(1), lineage=LINEAGE,
            key_parts=(first, last), value=last,
        )  # fmt: skip


def take_token(stores: Stores, token: str) -> None:
    """Write down a token."""
    with stores.database.write() as connection:
        append_event(
            connection, TOKENS, EventType.COVERAGE, None, now=at(1), as_of=at(1), lineage=LINEAGE,
            key_parts=(token,), value=token,
        )  # fmt: skip


def ids_reached(stores: Stores) -> int:
    """The last id that was read without a hole; its text says the same."""
    (cursor,) = rows(stores.database, ing_cursor, ing_cursor.c.cursor_key == "item_id")
    assert cursor["cursor_value"] == str(cursor["normalized_numeric"])
    reached = cursor["normalized_numeric"]
    assert isinstance(reached, int)
    return reached


def test_an_id_cursor_moves_over_closed_ranges_in_any_order(stores: Stores) -> None:
    begin(stores, IDS, 0)
    for order in permutations([(1, 10), (8, 20), (22, 30)]):
        with stores.database.write() as connection:
            connection.execute(ing_cursor_event.delete().where(ing_cursor_event.c.event_type == "COVERAGE"))
        change(stores.database, ing_cursor, normalized_numeric=0, cursor_value="0")
        seen = []
        for first, last in order:
            read_ids(stores, first, last)
            stores.cursors.advance(IDS)
            seen.append(ids_reached(stores))
        assert seen == sorted(seen)
        assert seen[-1] == 20, order


def test_the_id_that_was_missing_takes_the_cursor_over_all_that_waited(stores: Stores) -> None:
    begin(stores, IDS, -1)
    read_ids(stores, 1, 5)
    assert stores.cursors.advance(IDS) == -1
    read_ids(stores, 0, 0)
    assert stores.cursors.advance(IDS) == 5


@pytest.mark.parametrize("last", [2**53 + 1, 2**63 - 1, 2**63, 2**63 + 1, BIG], ids=str)
def test_ids_of_up_to_38_digits_are_exact(stores: Stores, last: int) -> None:
    begin(stores, IDS, 0)
    read_ids(stores, 1, last - 2)
    read_ids(stores, last - 1, last)
    assert stores.cursors.advance(IDS) == last
    assert ids_reached(stores) == last
    assert stores.cursor_reports.rebuild(IDS).agrees


def test_ids_are_in_order_whatever_their_length(stores: Stores) -> None:
    begin(stores, IDS, 0)
    for first, last in ((1, 9), (10, 10**18), (10**18 + 1, 10**20), (10**20 + 1, 10**30)):
        read_ids(stores, first, last)
        stores.cursors.advance(IDS)
        assert ids_reached(stores) == last
    read_ids(stores, 5, 20)
    assert stores.cursors.advance(IDS) == 10**30


def test_an_id_of_39_digits_is_refused(stores: Stores) -> None:
    begin(stores, IDS, 0)
    with pytest.raises(Exception, match="38 digits"):
        read_ids(stores, 1, 10**38)


def test_an_id_cursor_is_found_by_index(stores: Stores) -> None:
    begin(stores, IDS, 0)
    read_ids(stores, 1, 9)
    plans = explain(stores.database, lambda: stores.cursors.advance(IDS), "ing_cursor_event.prev_numeric >=")
    assert all("idx_cur_evt_" in plan for plan in plans), plans


def test_workers_that_read_ids_at_once_lose_no_move(stores: Stores, others: Stores) -> None:
    begin(stores, IDS, 0)

    def read(worker: Stores, start: int) -> list[int]:
        seen = []
        for number in range(start, 40, 2):
            read_ids(worker, number * 10 + 1, number * 10 + 10)
            worker.cursors.advance(IDS)
            seen.append(ids_reached(worker))
        return seen

    for seen in together(lambda: read(stores, 0), lambda: read(others, 1)):
        assert seen == sorted(seen)
    assert ids_reached(stores) == 400


def test_a_token_cursor_keeps_the_token_of_the_last_event(stores: Stores) -> None:
    begin(stores, TOKENS, "*")
    for token in ("zz", "aa", "mm"):
        take_token(stores, token)
        assert stores.cursors.advance(TOKENS) == token
    take_token(stores, "zz")
    assert stores.cursors.advance(TOKENS) == "mm", "an event written twice has no effect"
    (cursor,) = rows(stores.database, ing_cursor)
    found = (cursor["cursor_value"], cursor["normalized_instant"], cursor["normalized_numeric"], cursor["version"])
    assert found == ("mm", None, None, 3)


def test_a_token_is_kept_byte_by_byte(stores: Stores) -> None:
    begin(stores, TOKENS, "*")
    token = "A" + "é" * 2000 + " "
    take_token(stores, token)
    assert stores.cursors.advance(TOKENS) == token
    assert stores.cursors.cursors()[0].value == token


def test_workers_that_take_tokens_at_once_end_at_the_last_event(stores: Stores, others: Stores) -> None:
    begin(stores, TOKENS, "*")

    def take(worker: Stores, name: str) -> None:
        for number in range(20):
            take_token(worker, f"{name} {number}")
            worker.cursors.advance(TOKENS)

    together(lambda: take(stores, "ann"), lambda: take(others, "bob"))
    last = rows(stores.database, ing_cursor_event)[-1]
    (cursor,) = rows(stores.database, ing_cursor)
    assert cursor["cursor_value"] == last["new_value"]


@pytest.mark.parametrize("namespace", [IDS, TOKENS], ids=["ID", "TOKEN"])
def test_a_crash_between_event_and_value_is_repaired_by_the_next_advance(stores: Stores, namespace: Namespace) -> None:
    if namespace is IDS:
        begin(stores, IDS, 0)
        read_ids(stores, 1, 7)
    else:
        begin(stores, TOKENS, "*")
        take_token(stores, "7")
    before = contents(stores.database)

    def nothing_remains() -> None:
        assert contents(stores.database) == before

    crash_at_every_step(stores.database, lambda: stores.cursors.advance(namespace), nothing_remains)
    assert stores.cursors.cursors()[0].value == "7"
    stores.cursors.repair()
    assert stores.cursors.cursors()[0].value == "7"
