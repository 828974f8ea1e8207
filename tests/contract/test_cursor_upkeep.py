"""Rebuilding and telling: by events, and forward only."""

import pytest

from ingest_core.cursor.choice import one_of
from ingest_core.cursor.rebuild import CursorVerdict, applied
from ingest_core.model.codes import TaskStatus
from ingest_core.model.cursor_report import Span
from ingest_core.model.errors import BadInput
from ingest_core.model.instant import format_instant
from ingest_core.store.schema.tables import ing_cursor, ing_cursor_event, ing_task
from tests.support.books import NAMESPACE, PARTITION, at
from tests.support.cursor_ground import OTHER, cover, open_at, put, value
from tests.support.tables import rows
from tests.support.wiring import Stores
from tests.support.working import begin, finish, plan_harvest


class TestRebuild:
    def test_a_value_equals_what_its_events_say(self, stores: Stores) -> None:
        open_at(stores, 0)
        for hour in (0, 2, 1):
            cover(stores, hour, hour + 1)
        rebuilt = stores.cursor_reports.rebuild(NAMESPACE)
        assert (rebuilt.verdict, rebuilt.stored, rebuilt.agrees) == (CursorVerdict.EQUAL, format_instant(at(3)), True)

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
            (one.event_type, one.before, one.after, one.no_forward)
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
        assert [(one.before, one.after) for one in newest] == [(at_[2], at_[3])]

    def test_an_event_is_shown_under_its_interfaces_names(self, stores: Stores) -> None:
        open_at(stores, 0)
        cover(stores, 0, 1, written=1)
        (step,) = stores.cursor_reports.timeline(NAMESPACE, None, 1)
        assert list(step.json()) == [
            "id", "at", "event_type", "covered", "range", "as_of", "prev", "new", "no_forward", "observed_max",
            "lineage", "remarks",
        ]  # fmt: skip
        assert step.json()["covered"] == {"from": format_instant(at(0)), "to": format_instant(at(1))}
        assert (step.json()["prev"], step.json()["new"]) == (format_instant(at(0)), format_instant(at(1)))


class TestShow:
    def test_it_says_what_the_watermark_waits_for(self, stores: Stores) -> None:
        plan_harvest(stores, at(0), at(4))
        runs = [begin(stores, f"worker {number}") for number in range(4)]
        for number, run in enumerate(runs):
            finish(stores, run, TaskStatus.FAILED if number == 1 else TaskStatus.SUCCEEDED)
        stores.cursors.advance(NAMESPACE)
        shown = stores.cursor_reports.show(NAMESPACE)
        assert (shown.entry.value, shown.anchor) == (format_instant(at(1)), format_instant(at(0)))
        assert shown.holes == [Span(format_instant(at(1)), format_instant(at(2)))]
        assert shown.furthest == format_instant(at(4))
        assert shown.blocked_by is not None
        assert (shown.blocked_by.task_id, shown.blocked_by.status) == (runs[1].task.lease.task_id, "FAILED")
        assert shown.moved_by["task_id"] == runs[0].task.lease.task_id
        assert shown.events == {
            "ANCHOR": 1, "COVERAGE": 3, "COMPACT": 0, "ADOPT": 0, "VOID": 0, "SET_BACK": 0,
        }  # fmt: skip
        report = shown.json()
        assert list(report)[len(shown.entry.json()) :] == [
            "direction", "newest_first", "anchor", "settled", "bounds", "learned_lag_seconds", "behind_seconds",
            "moved_at", "moves", "moved_by", "events", "furthest", "holes", "blocked_by",
        ]  # fmt: skip
        assert report["holes"] == [{"from": format_instant(at(1)), "to": format_instant(at(2))}]
        assert list(report["blocked_by"]) == [
            "task_id", "plan_id", "slice_id", "slice_no", "window", "status", "attempts", "last_error",
        ]  # fmt: skip
        assert report["blocked_by"]["window"] == {"from": format_instant(at(1)), "to": format_instant(at(2))}

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
