"""Rebuilding, taking over and compacting: by events, forward only, and nothing is forgotten."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from ingest_core.cursor.choice import heir_of, one_of
from ingest_core.cursor.frontier import closed_ids
from ingest_core.cursor.rebuild import Verdict, applied
from ingest_core.model.codes import CursorType, Direction, EventType, NamespaceScope, TaskStatus
from ingest_core.model.errors import BadInput
from ingest_core.model.id_range import IdRange
from ingest_core.model.instant import format_instant
from ingest_core.model.window import Window
from ingest_core.model.work import Coverage, Namespace
from ingest_core.planning.needs import Need, needs_by_range, needs_reading, survey
from ingest_core.store import cursor_compaction
from ingest_core.store.cursor_events import append_event
from ingest_core.store.cursor_store import open_cursor
from ingest_core.store.tables import ing_cursor, ing_cursor_event, ing_task
from tests.support.stores import (
    NAMESPACE,
    PARTITION,
    SPEC,
    Stores,
    at,
    begin,
    change,
    column,
    contents,
    crash_at_every_step,
    finish,
    plan_harvest,
    rows,
    together,
)

OTHER = heir_of(NAMESPACE, "b" * 64)
LINEAGE = {"schedule_instance_id": 1, "plan_id": 1, "slice_id": 1, "task_id": 1}


def open_at(stores: Stores, hour: float, namespace: Namespace = NAMESPACE, **columns: Any) -> None:
    """Begin a namespace."""
    with stores.database.write() as connection:
        open_cursor(
            connection,
            namespace,
            at(hour),
            now=at(0),
            lineage=LINEAGE,
            window=Window(at(hour), at(hour + 1)),
            **columns,
        )


def cover(
    stores: Stores,
    start: float,
    end: float,
    *,
    namespace: Namespace = NAMESPACE,
    as_of: float = 90,
    written: float = 9,
    part: IdRange | None = None,
) -> None:
    """Write a coverage event as the end of a task would, and let the value follow."""
    with stores.database.write() as connection:
        append_event(
            connection, namespace, EventType.COVERAGE, Window(at(start), at(end)), now=at(written), as_of=at(as_of),
            lineage=LINEAGE, key_parts=(start, end, as_of, *([part.json()] if part else [])), value=at(end), part=part,
            observed_max=at(end - 0.5),
        )  # fmt: skip
    stores.cursors.advance(namespace)


def value(stores: Stores, namespace: Namespace = NAMESPACE) -> datetime:
    """Where a watermark stands."""
    (cursor,) = rows(stores.database, ing_cursor, ing_cursor.c.namespace_key == namespace.key)
    assert cursor["cursor_value"] == format_instant(cursor["normalized_instant"])
    stands: datetime = cursor["normalized_instant"]
    return stands


def put(stores: Stores, hour: float) -> None:
    """Write a value past the store."""
    change(stores.database, ing_cursor, normalized_instant=at(hour), cursor_value=format_instant(at(hour)))


def kinds(stores: Stores) -> list[str]:
    """What the events are."""
    return column(stores.database, ing_cursor_event, "event_type")


class TestRebuild:
    def test_a_value_equals_what_its_events_say(self, stores: Stores) -> None:
        open_at(stores, 0)
        for hour in (0, 2, 1):
            cover(stores, hour, hour + 1)
        rebuilt = stores.cursor_reports.rebuild(NAMESPACE)
        assert (rebuilt.verdict, rebuilt.stored, rebuilt.agrees) == (Verdict.EQUAL, format_instant(at(3)), True)

    def test_a_value_behind_its_events_moves_forward(self, stores: Stores) -> None:
        open_at(stores, 0)
        cover(stores, 0, 3)
        put(stores, 1)
        before = stores.cursor_reports.rebuild(NAMESPACE)
        assert (before.verdict, before.stored, before.rebuilt) == (
            "BEHIND",
            format_instant(at(1)),
            format_instant(at(3)),
        )
        stores.cursors.advance(NAMESPACE)
        after = applied(before, stores.cursor_reports.rebuild(NAMESPACE))
        assert (after.agrees, after.applied, after.stored, after.rebuilt) == (True, True, before.stored, before.rebuilt)

    def test_a_value_ahead_of_its_events_is_told_with_the_tasks_whose_events_are_missing(self, stores: Stores) -> None:
        plan_harvest(stores, at(0), at(4))
        for number in range(4):
            finish(stores, begin(stores, f"worker {number}"))
        stores.cursors.advance(NAMESPACE)
        tasks = {task["window_from"]: task["id"] for task in rows(stores.database, ing_task)}
        with stores.database.write() as connection:
            gone = ing_cursor_event.c.window_from.in_([at(1), at(3)])
            connection.execute(ing_cursor_event.delete().where(ing_cursor_event.c.event_type == "COVERAGE", gone))
        rebuilt = stores.cursor_reports.rebuild(NAMESPACE)
        assert (rebuilt.verdict, rebuilt.rebuilt) == ("AHEAD", format_instant(at(1)))
        assert [one["task_id"] for one in rebuilt.missing] == [tasks[at(1)], tasks[at(3)]]
        assert [(one["from"], one["to"]) for one in rebuilt.holes] == [
            (format_instant(at(1)), format_instant(at(2))),
            (format_instant(at(3)), format_instant(at(4))),
        ]
        stores.cursors.advance(NAMESPACE)
        assert value(stores) == at(4), "never rewound"

    def test_a_hole_that_no_task_explains_is_told_too(self, stores: Stores) -> None:
        open_at(stores, 0)
        put(stores, 5)
        (missing,) = stores.cursor_reports.rebuild(NAMESPACE).missing
        assert missing == {"event": None, "from": format_instant(at(0)), "to": format_instant(at(5))}

    def test_a_missing_anchor_is_told(self, stores: Stores) -> None:
        open_at(stores, 0)
        cover(stores, 0, 1)
        with stores.database.write() as connection:
            connection.execute(ing_cursor_event.delete().where(ing_cursor_event.c.event_type == "ANCHOR"))
        rebuilt = stores.cursor_reports.rebuild(NAMESPACE)
        assert (rebuilt.verdict, rebuilt.missing, rebuilt.agrees) == ("EQUAL", [{"event": "ANCHOR"}], False)

    def test_a_campaigns_row_that_was_lost_gets_its_bounds_and_its_direction_back(self, stores: Stores) -> None:
        open_at(stores, 8, is_descending=1, bound_from=at(0), bound_to=at(9))
        cover(stores, 6, 8)
        with stores.database.write() as connection:
            connection.execute(ing_cursor.delete())
        assert stores.cursor_reports.rebuild(NAMESPACE).verdict == "LOST"
        stores.cursors.restore(NAMESPACE)
        assert stores.cursors.advance(NAMESPACE) == at(6)
        (row,) = rows(stores.database, ing_cursor)
        assert (row["is_descending"], row["bound_from"], row["bound_to"]) == (1, at(0), at(9))


class TestTimeline:
    def test_it_tells_what_each_event_made_of_the_value(self, stores: Stores) -> None:
        open_at(stores, 0)
        for number, (start, end) in enumerate([(1, 2), (0, 1), (0.5, 1.5), (2, 3)]):
            cover(stores, start, end, written=number + 1)
        steps = [
            (one["event_type"], one["prev"], one["new"], one["no_forward"])
            for one in stores.cursor_reports.timeline(NAMESPACE, None, 100)
        ]
        at_ = [format_instant(at(hour)) for hour in range(4)]
        assert steps == [
            ("ANCHOR", None, at_[0], False),
            ("COVERAGE", at_[0], at_[0], True),
            ("COVERAGE", at_[0], at_[2], False),
            ("COVERAGE", at_[2], at_[2], True),
            ("COVERAGE", at_[2], at_[3], False),
        ]
        newest = stores.cursor_reports.timeline(NAMESPACE, at(3), 1)
        assert [(one["prev"], one["new"]) for one in newest] == [(at_[2], at_[3])]


class TestShow:
    def test_it_says_what_the_watermark_waits_for(self, stores: Stores) -> None:
        plan_harvest(stores, at(0), at(4))
        runs = [begin(stores, f"worker {number}") for number in range(4)]
        for number, run in enumerate(runs):
            finish(stores, run, TaskStatus.FAILED if number == 1 else TaskStatus.SUCCEEDED)
        stores.cursors.advance(NAMESPACE)
        shown = stores.cursor_reports.show(NAMESPACE)
        assert (shown["value"], shown["anchor"]) == (format_instant(at(1)), format_instant(at(0)))
        assert shown["holes"] == [{"from": format_instant(at(1)), "to": format_instant(at(2))}]
        assert shown["furthest"] == format_instant(at(4))
        assert (shown["blocked_by"]["task_id"], shown["blocked_by"]["status"]) == (runs[1].task.lease.task_id, "FAILED")
        assert shown["moved_by"]["task_id"] == runs[0].task.lease.task_id
        assert shown["events"] == {"ANCHOR": 1, "COVERAGE": 3, "COMPACT": 0, "ADOPT": 0}

    def test_of_several_that_fit_none_is_chosen(self, stores: Stores) -> None:
        open_at(stores, 0)
        open_at(stores, 0, OTHER)
        found = stores.cursor_reports.find(PARTITION.provenance_code)
        assert set(found) == {NAMESPACE, OTHER}
        assert stores.cursor_reports.find(namespace="bbb") == [OTHER]
        with pytest.raises(BadInput, match="2 cursors fit"):
            one_of(found, "books")
        with pytest.raises(BadInput, match="no cursor fits"):
            one_of(stores.cursor_reports.find("tapes"), "tapes")


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
        assert taken == Coverage(Window(at(0), at(8)), at(8))

    def test_going_back_is_refused(self, stores: Stores) -> None:
        open_at(stores, 0)
        open_at(stores, 5, OTHER)
        cover(stores, 0, 3)
        self._refused(stores, OTHER, "would go back")

    def test_a_gap_that_nobody_read_is_refused(self, stores: Stores) -> None:
        open_at(stores, 4)
        open_at(stores, 1, OTHER)
        cover(stores, 4, 6)
        self._refused(stores, OTHER, "nobody read")

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
        with pytest.raises(BadInput, match="never compared"):
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
        before = value(stores), needs(stores), stores.cursor_reports.show(NAMESPACE)["holes"]
        assert stores.cursor_compaction.count(NAMESPACE, timedelta(0)) == 8
        assert self.compact(stores) == 8
        assert sorted(kinds(stores)) == ["ANCHOR", "COMPACT", "COVERAGE", "COVERAGE"]
        assert (value(stores), needs(stores), stores.cursor_reports.show(NAMESPACE)["holes"]) == before
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
        steps = [(one["event_type"], one["new"]) for one in stores.cursor_reports.timeline(NAMESPACE, None, 9)]
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
