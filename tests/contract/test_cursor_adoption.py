"""Taking over from another namespace: by an event that says who and why, and forward only."""

from typing import Any

import pytest

from ingest_core.model.codes import CursorType, Direction
from ingest_core.model.errors import BadInput
from ingest_core.model.instant import format_instant
from ingest_core.model.namespace import Namespace
from ingest_core.model.window import Window
from ingest_core.store.cursors.store import open_cursor
from ingest_core.store.schema.tables import ing_cursor, ing_cursor_event
from tests.support.books import NAMESPACE, PARTITION, at
from tests.support.breaking import crash_at_every_step, together
from tests.support.cursor_ground import LINEAGE, OTHER, cover, kinds, open_at, value
from tests.support.tables import change, contents, rows
from tests.support.wiring import Stores


def adopt(stores: Stores, source: Namespace = NAMESPACE, target: Namespace = OTHER) -> Any:
    """Take over, as ann."""
    return stores.cursor_adoption.adopt(source, target, reason="wider query", by="ann")


class TestAdoption:
    def test_a_namespace_goes_on_where_another_stands_and_the_event_says_who_and_why(self, stores: Stores) -> None:
        open_at(stores, 0)
        open_at(stores, 1, OTHER)
        cover(stores, 0, 8)
        cover(stores, 2, 3, namespace=OTHER)
        adoption = adopt(stores)
        assert (adoption.before, adoption.after, adoption.done) == (
            format_instant(at(1)),
            format_instant(at(8)),
            False,
        )
        assert (value(stores), value(stores, OTHER)) == (at(8), at(8))
        (event,) = rows(stores.database, ing_cursor_event, ing_cursor_event.c.event_type == "ADOPT")
        told = event["record_remarks"]
        assert (told["from"], told["by"], told["reason"]) == (NAMESPACE.key, "ann", "wider query")
        assert (event["window_from"], event["window_to"], event["namespace_key"]) == (at(1), at(8), OTHER.key)
        assert stores.cursor_reports.rebuild(OTHER).agrees

    def test_taking_over_twice_has_no_effect_even_when_the_target_has_moved_on(self, stores: Stores) -> None:
        open_at(stores, 0)
        open_at(stores, 0, OTHER)
        cover(stores, 0, 8)
        adopt(stores)
        cover(stores, 8, 9, namespace=OTHER)
        before = contents(stores.database)
        assert adopt(stores).done
        assert contents(stores.database) == before

    def test_a_namespace_that_has_not_begun_begins_there(self, stores: Stores) -> None:
        open_at(stores, 0)
        cover(stores, 0, 8)
        adopt(stores)
        (row,) = rows(stores.database, ing_cursor, ing_cursor.c.namespace_key == OTHER.key)
        assert (row["normalized_instant"], row["anchor_instant"]) == (at(8), at(8))
        cover(stores, 8, 9, namespace=OTHER)
        assert value(stores, OTHER) == at(9)
        assert stores.cursor_reports.rebuild(OTHER).agrees
        assert adopt(stores).done

    def test_what_is_settled_there_is_settled_here(self, stores: Stores) -> None:
        open_at(stores, 0)
        open_at(stores, 0, OTHER)
        cover(stores, 0, 8)
        change(stores.database, ing_cursor, ing_cursor.c.namespace_key == NAMESPACE.key, settled_instant=at(5))
        adopt(stores)
        (row,) = rows(stores.database, ing_cursor, ing_cursor.c.namespace_key == OTHER.key)
        assert row["settled_instant"] == at(5)

    def test_what_was_not_settled_there_is_not_settled_here(self, stores: Stores) -> None:
        open_at(stores, 0)
        open_at(stores, 0, OTHER)
        cover(stores, 0, 4, as_of=90)
        cover(stores, 4, 8, as_of=8)
        adopt(stores)
        with stores.plans.look() as seen:
            (taken,) = seen.coverage(OTHER, Window(at(0), at(9)))
        assert (taken.counted, taken.as_of) == (Window(at(0), at(8)), at(8))

    def test_going_back_is_refused(self, stores: Stores) -> None:
        open_at(stores, 0)
        open_at(stores, 5, OTHER)
        cover(stores, 0, 3)
        self._refused(stores, OTHER, "would go back")

    def test_a_gap_that_nobody_read_is_refused(self, stores: Stores) -> None:
        open_at(stores, 4)
        open_at(stores, 1, OTHER)
        cover(stores, 4, 6)
        self._refused(stores, OTHER, "unread time between")

    def test_other_kinds_sources_and_directions_are_refused(self, stores: Stores) -> None:
        open_at(stores, 0)
        cover(stores, 0, 3)
        backwards = Namespace(PARTITION, NAMESPACE.cursor_key, NAMESPACE.scope, "c" * 64, Direction.BACKFILL)
        open_at(stores, 0, backwards)
        self._refused(stores, backwards, "direction differs")
        elsewhere = Namespace(PARTITION, "created_at", NAMESPACE.scope, "d" * 64)
        open_at(stores, 0, elsewhere)
        self._refused(stores, elsewhere, "cursor key differs")
        self._refused(stores, NAMESPACE, "the same")
        tokens = Namespace(PARTITION, NAMESPACE.cursor_key, NAMESPACE.scope, "e" * 64, cursor_type=CursorType.TOKEN)
        with stores.database.write() as connection:
            open_cursor(connection, tokens, "*", now=at(0), lineage=LINEAGE)
        self._refused(stores, tokens, "kind differs")
        with pytest.raises(BadInput, match="cannot be compared"):
            adopt(stores, tokens, NAMESPACE)
        with pytest.raises(BadInput, match="has no cursor"):
            adopt(stores, OTHER, NAMESPACE)

    def _refused(self, stores: Stores, target: Namespace, why: str) -> None:
        before = contents(stores.database)
        with pytest.raises(BadInput, match=why):
            adopt(stores, NAMESPACE, target)
        assert contents(stores.database) == before

    def test_newest_first_forward_is_down(self, stores: Stores) -> None:
        open_at(stores, 9, is_descending=1)
        open_at(stores, 9, OTHER, is_descending=1)
        cover(stores, 4, 9)
        adopt(stores)
        assert value(stores, OTHER) == at(4)
        assert stores.cursor_reports.rebuild(OTHER).agrees

    def test_a_crash_leaves_the_target_as_it_was_or_its_event_to_be_followed(self, stores: Stores) -> None:
        open_at(stores, 0)
        open_at(stores, 0, OTHER)
        cover(stores, 0, 8)
        crash_at_every_step(stores.database, lambda: adopt(stores), lambda: None)
        assert value(stores, OTHER) == at(8)
        assert kinds(stores).count("ADOPT") == 1

    def test_two_who_take_over_at_once_write_one_event(self, stores: Stores, others: Stores) -> None:
        open_at(stores, 0)
        open_at(stores, 0, OTHER)
        cover(stores, 0, 8)
        together(lambda: adopt(stores), lambda: adopt(others))
        assert value(stores, OTHER) == at(8)
        assert kinds(stores).count("ADOPT") == 1
