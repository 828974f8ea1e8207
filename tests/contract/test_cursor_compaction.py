"""Compacting events: nothing is forgotten that anybody would read again."""

from datetime import timedelta

import pytest

from ingest_core.model.codes import CursorType, EventType, NamespaceScope
from ingest_core.model.id_range import IdRange
from ingest_core.model.instant import format_instant
from ingest_core.model.namespace import Namespace
from ingest_core.model.window import Window
from ingest_core.planning.needs import Need, needs_by_range, needs_reading, survey
from ingest_core.store.cursors import compaction as cursor_compaction
from ingest_core.store.cursors.events import append_event
from ingest_core.store.cursors.store import open_cursor
from ingest_core.store.schema.tables import ing_cursor, ing_cursor_event
from tests.support.books import NAMESPACE, PARTITION, SPEC, at
from tests.support.breaking import crash_at_every_step, together
from tests.support.cursor_ground import LINEAGE, OTHER, cover, kinds, open_at, put, value
from tests.support.frontiers import closed_ids
from tests.support.tables import change, contents, rows
from tests.support.wiring import Stores


def needs(stores: Stores) -> list[Need]:
    """What a plan would read of the first day, as the planner sees it."""
    config, window, now = SPEC.time, Window(at(0), at(24)), at(100)
    with stores.plans.look() as seen:
        ground = survey(seen.coverage(NAMESPACE, window), seen.live(NAMESPACE, window), config)
    return needs_by_range(needs_reading(window, ground, config, now), ground, config, now)


def settle(stores: Stores, hour: float) -> None:
    """Let a plan have found everything up to there settled."""
    change(stores.database, ing_cursor, settled_instant=at(hour))


class TestCompaction:
    @pytest.fixture(autouse=True)
    def _small_batches(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(cursor_compaction, "BATCH", 3)

    def compact(self, stores: Stores) -> int:
        """Compact whatever is older than a moment."""
        return stores.cursor_compaction.compact(NAMESPACE, timedelta(0))

    def test_old_settled_events_become_one_and_nothing_else_changes(self, stores: Stores) -> None:
        open_at(stores, 0)
        for hour in range(8):
            cover(stores, hour, hour + 1, as_of=hour + 3)
        cover(stores, 9, 10)
        cover(stores, 5, 6, part=IdRange("uid", None, 9), as_of=95)
        settle(stores, 7)
        before = value(stores), needs(stores), stores.cursor_reports.show(NAMESPACE).holes
        assert stores.cursor_compaction.count(NAMESPACE, timedelta(0)) == 8
        assert self.compact(stores) == 8
        assert sorted(kinds(stores)) == ["ANCHOR", "COMPACT", "COVERAGE", "COVERAGE"]
        assert (value(stores), needs(stores), stores.cursor_reports.show(NAMESPACE).holes) == before
        assert stores.cursor_reports.rebuild(NAMESPACE).agrees
        (event,) = rows(stores.database, ing_cursor_event, ing_cursor_event.c.event_type == "COMPACT")
        assert (event["window_from"], event["window_to"], event["as_of"]) == (at(0), at(7), at(3))
        assert (event["record_remarks"]["events"], event["observed_max_value"]) == (8, format_instant(at(6.5)))
        cover(stores, 8, 9)
        assert value(stores) == at(10)

    def test_compacting_again_takes_what_came_since_into_the_same_event(self, stores: Stores) -> None:
        open_at(stores, 0)
        for hour in range(4):
            cover(stores, hour, hour + 1)
        settle(stores, 4)
        self.compact(stores)
        before = contents(stores.database)
        assert self.compact(stores) == 0
        assert contents(stores.database) == before
        cover(stores, 1, 3, as_of=99)
        cover(stores, 4, 5)
        settle(stores, 5)
        assert self.compact(stores) == 2
        assert sorted(kinds(stores)) == ["ANCHOR", "COMPACT"]
        assert (value(stores), stores.cursor_reports.rebuild(NAMESPACE).agrees) == (at(5), True)

    def test_what_is_young_or_not_settled_or_above_a_hole_stays(self, stores: Stores) -> None:
        open_at(stores, 0)
        for hour in (0, 1, 2, 4):
            cover(stores, hour, hour + 1)
        assert self.compact(stores) == 0, "nothing is known to be settled"
        settle(stores, 9)
        assert stores.cursor_compaction.compact(NAMESPACE, timedelta(days=365_00)) == 0, "all of it is young"
        assert self.compact(stores) == 3
        assert sorted(kinds(stores)) == ["ANCHOR", "COMPACT", "COVERAGE"]

    def test_a_value_ahead_of_its_events_does_not_make_a_hole_look_read(self, stores: Stores) -> None:
        open_at(stores, 0)
        cover(stores, 0, 1)
        cover(stores, 2, 3)
        put(stores, 3)
        settle(stores, 3)
        self.compact(stores)
        assert stores.cursor_reports.rebuild(NAMESPACE).verdict == "AHEAD"
        assert needs(stores)[0].window == Window(at(1), at(2))

    def test_what_was_taken_over_stays_to_be_told(self, stores: Stores) -> None:
        open_at(stores, 0, OTHER)
        open_at(stores, 0)
        cover(stores, 0, 8, namespace=OTHER)
        stores.cursor_adoption.adopt(OTHER, NAMESPACE, reason=None, by="ann")
        cover(stores, 8, 9)
        settle(stores, 9)
        assert self.compact(stores) == 1
        mine = ing_cursor_event.c.namespace_key == NAMESPACE.key
        kept = [row["event_type"] for row in rows(stores.database, ing_cursor_event, mine)]
        assert sorted(kept) == ["ADOPT", "ANCHOR", "COMPACT"]
        assert stores.cursor_reports.rebuild(NAMESPACE).agrees

    def test_newest_first_what_lies_above_the_watermark_is_compacted(self, stores: Stores) -> None:
        open_at(stores, 8, is_descending=1)
        change(stores.database, ing_cursor, operation_code="BACKFILL")
        change(stores.database, ing_cursor_event, operation_code="BACKFILL")
        (campaign,) = stores.cursor_reports.find()
        for start in (7, 6, 4):
            cover(stores, start, start + 1, namespace=campaign)
        assert stores.cursor_compaction.compact(campaign, timedelta(0)) == 2
        assert stores.cursor_reports.rebuild(campaign).agrees
        cover(stores, 5, 6, namespace=campaign)
        assert value(stores) == at(4)

    def test_ranges_of_ids_are_compacted_too(self, stores: Stores) -> None:
        ids = Namespace(PARTITION, "item_id", NamespaceScope.CUSTOM, "ids", cursor_type=CursorType.ID)
        with stores.database.write() as connection:
            open_cursor(connection, ids, 0, now=at(0), lineage=LINEAGE)
            for first in (1, 11, 31):
                append_event(
                    connection, ids, EventType.COVERAGE, closed_ids(first, first + 9), now=at(1), as_of=at(1),
                    lineage=LINEAGE, key_parts=(first,), value=first + 9,
                )  # fmt: skip
        stores.cursors.advance(ids)
        assert stores.cursor_compaction.compact(ids, timedelta(0)) == 2
        assert stores.cursor_reports.rebuild(ids).agrees
        assert stores.cursors.advance(ids) == 20

    def test_the_timeline_stays_in_order(self, stores: Stores) -> None:
        open_at(stores, 0)
        for hour in range(4):
            cover(stores, hour, hour + 1, written=hour + 1)
        settle(stores, 3)
        self.compact(stores)
        steps = [(one.event_type, one.after) for one in stores.cursor_reports.timeline(NAMESPACE, None, 9)]
        assert steps == [
            ("ANCHOR", format_instant(at(0))),
            ("COMPACT", format_instant(at(3))),
            ("COVERAGE", format_instant(at(4))),
        ]

    def test_a_crash_at_any_step_loses_no_ground(self, stores: Stores) -> None:
        open_at(stores, 0)
        for hour in range(7):
            cover(stores, hour, hour + 1)
        settle(stores, 7)

        def all_is_there() -> None:
            assert stores.cursor_reports.rebuild(NAMESPACE).agrees
            assert value(stores) == at(7)

        crash_at_every_step(stores.database, lambda: self.compact(stores), all_is_there)
        all_is_there()
        assert sorted(kinds(stores)) == ["ANCHOR", "COMPACT"]

    def test_compacting_while_others_read_and_advance_loses_nothing(self, stores: Stores, others: Stores) -> None:
        open_at(stores, 0)

        def read() -> None:
            for hour in range(30):
                cover(others, hour, hour + 1)

        def compact() -> None:
            for hour in range(10):
                settle(stores, hour * 3)
                self.compact(stores)

        together(read, compact)
        assert value(stores) == at(30)
        assert stores.cursor_reports.rebuild(NAMESPACE).agrees
