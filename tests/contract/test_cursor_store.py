"""Watermarks: a function of the events, only ever forward."""

from collections.abc import Iterable
from datetime import datetime
from itertools import permutations
from threading import Event, current_thread
from typing import Any

import pytest

from ingest_core.cursor.frontier import fold_rising
from ingest_core.execution.ports import Run
from ingest_core.model.codes import EventType, TaskStatus
from ingest_core.model.cursor import Coverage, CursorValue
from ingest_core.model.id_range import IdRange
from ingest_core.model.instant import format_instant
from ingest_core.model.window import Window
from ingest_core.store.cursors import events as cursor_events
from ingest_core.store.cursors.events import append_event, coverage_of
from ingest_core.store.schema.tables import ing_cursor, ing_cursor_event
from tests.support.books import NAMESPACE, at
from tests.support.breaking import crash_at_every_step, together
from tests.support.tables import change, column, contents, rows
from tests.support.wiring import Stores
from tests.support.working import begin, finish, plan_harvest


def begin_all(stores: Stores, hours: int) -> list[Run]:
    """A plan of so many slices, all of them under way."""
    plan_harvest(stores, at(0), at(hours))
    return [begin(stores, f"worker {number}") for number in range(hours)]


def value(stores: Stores) -> datetime:
    """Where the watermark stands."""
    (cursor,) = rows(stores.database, ing_cursor)
    assert cursor["cursor_value"] == format_instant(cursor["normalized_instant"])
    stands: datetime = cursor["normalized_instant"]
    return stands


def cover(stores: Stores, start: float, end: float, part: IdRange | None = None) -> None:
    """Write a coverage event as the end of a task would."""
    with stores.database.write() as connection:
        append_event(
            connection,
            NAMESPACE,
            EventType.COVERAGE,
            Window(at(start), at(end)),
            now=at(900),
            as_of=at(900),
            lineage={"plan_id": 1, "task_id": 1},
            key_parts=(1, start, end, *([part.json()] if part else [])),
            value=at(end),
            part=part,
        )


def test_the_anchor_is_one_event_and_the_cursors_first_value(stores: Stores) -> None:
    report = plan_harvest(stores, at(3), at(5))
    plan_harvest(stores, at(3), at(6))
    (anchor,) = rows(stores.database, ing_cursor_event)
    assert (anchor["event_type"], anchor["new_value"]) == ("ANCHOR", format_instant(at(3)))
    assert anchor["plan_id"] == report.plan.plan_id
    assert value(stores) == at(3)


def test_the_watermark_moves_only_over_contiguous_ground(stores: Stores) -> None:
    runs = begin_all(stores, 4)
    expected = [(2, at(0)), (0, at(1)), (3, at(1)), (1, at(4))]
    for number, stands in expected:
        finish(stores, runs[number])
        assert stores.cursors.advance(runs[number].task.namespace) == stands
        assert value(stores) == stands


def test_the_watermark_waits_for_a_slice_that_failed(stores: Stores) -> None:
    runs = begin_all(stores, 3)
    for run, status in zip(runs, (TaskStatus.SUCCEEDED, TaskStatus.FAILED, TaskStatus.SUCCEEDED), strict=True):
        finish(stores, run, status)
        stores.cursors.advance(run.task.namespace)
    assert value(stores) == at(1)
    plan_harvest(stores, at(0), at(3))
    again = begin(stores)
    finish(stores, again)
    assert stores.cursors.advance(again.task.namespace) == at(3)


def test_the_watermark_is_a_function_of_the_events_in_any_order(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    events = [(0, 1), (0.5, 2), (3, 4)]
    for order in permutations(events):
        _reset(stores)
        for start, end in order:
            cover(stores, start, end)
            stores.cursors.advance(NAMESPACE)
        assert value(stores) == at(2), order


def _reset(stores: Stores, anchor: datetime | None = None) -> None:
    with stores.database.write() as connection:
        connection.execute(ing_cursor_event.delete().where(ing_cursor_event.c.event_type == "COVERAGE"))
        first = anchor or at(0)
        start = {"normalized_instant": first, "cursor_value": format_instant(first)}
        connection.execute(ing_cursor.update().values(**start))


def test_newest_first_the_watermark_is_a_function_of_the_events_and_only_goes_down(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    change(stores.database, ing_cursor, is_descending=1)
    for order in permutations([(4, 5), (2, 4.5), (0, 1), (5, 6)]):
        _reset(stores, at(5))
        seen = []
        for start, end in order:
            cover(stores, start, end)
            stores.cursors.advance(NAMESPACE)
            seen.append(value(stores))
        assert seen == sorted(seen, reverse=True), order
        assert seen[-1] == at(2), order


def test_a_window_read_in_ranges_moves_the_watermark_when_all_of_them_are(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    events = [(0, 1, IdRange("uid", None, 9)), (0, 1, IdRange("uid", 10, 19)), (0, 1, IdRange("uid", 20, None))]
    for order in permutations([*events, (1, 2, None)]):
        _reset(stores)
        read = set()
        for start, end, part in order:
            cover(stores, start, end, part)
            stores.cursors.advance(NAMESPACE)
            read.add(part)
            reached = (2 if None in read else 1) if read >= {one for _, _, one in events} else 0
            assert value(stores) == at(reached), order


def observed(stores: Stores) -> str | None:
    """The newest update time any covered slice saw."""
    (cursor,) = stores.cursors.cursors()
    return cursor.observed_max


@pytest.mark.parametrize(
    "order",
    [pytest.param((0, 1), id="in order"), pytest.param((1, 0), id="out of order")],
)
def test_the_newest_time_observed_is_a_function_of_the_events_too(stores: Stores, order: Iterable[int]) -> None:
    runs = begin_all(stores, 2)
    newest = (at(0.5), None)
    for number in order:
        finish(stores, runs[number], observed_max=newest[number])
        stores.cursors.advance(runs[number].task.namespace)
    assert observed(stores) == format_instant(at(0.5))


def test_coverage_written_twice_has_no_effect(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    cover(stores, 0, 1)
    stores.cursors.advance(NAMESPACE)
    before = contents(stores.database)
    cover(stores, 0, 1)
    stores.cursors.advance(NAMESPACE)
    assert contents(stores.database) == before


def test_advancing_twice_has_no_effect(stores: Stores) -> None:
    (run,) = begin_all(stores, 1)
    finish(stores, run)
    stores.cursors.advance(run.task.namespace)
    before = contents(stores.database)
    assert stores.cursors.advance(run.task.namespace) == at(1)
    assert contents(stores.database) == before


def test_without_a_cursor_there_is_nothing_to_advance(stores: Stores) -> None:
    assert stores.cursors.advance(NAMESPACE) is None


def test_the_watermark_says_which_slice_moved_it(stores: Stores) -> None:
    runs = begin_all(stores, 2)
    for run in reversed(runs):
        finish(stores, run)
    stores.cursors.advance(runs[0].task.namespace)
    (cursor,) = rows(stores.database, ing_cursor)
    last = runs[1]
    found = (cursor["plan_id"], cursor["slice_id"], cursor["task_id"], cursor["run_id"], cursor["expr_hash"])
    lineage = last.task.lineage
    assert found == (lineage.plan_id, lineage.slice_id, lineage.task_id, last.run_id, last.task.expr_hash)
    assert cursor["version"] == 1


def slow_worker(stores: Stores, others: Stores, monkeypatch: pytest.MonkeyPatch) -> list[CursorValue | None]:
    """One advances from what it saw before the last event; meanwhile another advances over it."""
    runs = begin_all(stores, 2)
    finish(stores, runs[0])
    computed, overtaken = Event(), Event()

    def slow_fold(start: datetime, coverage: Iterable[Window]) -> datetime:
        frontier = fold_rising(start, coverage)
        if current_thread() is slow_thread[0] and not computed.is_set():
            computed.set()
            overtaken.wait(0.3)
        return frontier

    slow_thread = []

    def slow() -> CursorValue | None:
        slow_thread.append(current_thread())
        return stores.cursors.advance(NAMESPACE)

    def fast() -> CursorValue | None:
        assert computed.wait(10)
        finish(others, runs[1])
        reached = others.cursors.advance(NAMESPACE)
        overtaken.set()
        return reached

    monkeypatch.setattr(cursor_events, "fold_rising", slow_fold)
    return together(slow, fast)


def test_a_slow_worker_does_not_move_the_watermark_back(
    stores: Stores, others: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow_worker(stores, others, monkeypatch)
    assert value(stores) == at(2)


def test_workers_that_advance_at_once_end_at_the_frontier(stores: Stores, others: Stores) -> None:
    runs = begin_all(stores, 6)

    def end(worker: Stores, mine: list[Run]) -> list[datetime]:
        seen = []
        for run in mine:
            finish(worker, run)
            worker.cursors.advance(run.task.namespace)
            seen.append(value(worker))
        return seen

    for seen in together(lambda: end(stores, runs[::2]), lambda: end(others, runs[1::2])):
        assert seen == sorted(seen)
    assert value(stores) == at(6)


def test_a_crash_while_advancing_leaves_the_watermark_where_it_was(stores: Stores) -> None:
    (run,) = begin_all(stores, 1)
    finish(stores, run)
    before = contents(stores.database)

    def nothing_remains() -> None:
        assert contents(stores.database) == before

    assert crash_at_every_step(stores.database, lambda: stores.cursors.advance(NAMESPACE), nothing_remains) == at(1)


def test_repair_moves_a_watermark_that_a_crash_left_behind(stores: Stores, others: Stores) -> None:
    for run in begin_all(stores, 2):
        finish(stores, run)
    assert value(stores) == at(0)
    assert others.cursors.repair() == 1
    assert value(stores) == at(2)
    assert others.cursors.repair() == 0
    assert value(stores) == at(2)


def many_above_a_hole(stores: Stores, number: int) -> None:
    """So many hours that were read, and before them one that was not."""
    plan_harvest(stores, at(0), at(1))
    cover(stores, 1, 2)
    (pattern,) = rows(stores.database, ing_cursor_event, ing_cursor_event.c.event_type == "COVERAGE")
    values = [
        {
            **{name: value for name, value in pattern.items() if name != "id"},
            "window_from": at(hour),
            "window_to": at(hour + 1),
            "as_of": at(hour + 2),
            "idempotent_key": f"event {hour}",
        }
        for hour in range(2, number)
    ]
    with stores.database.write() as connection:
        connection.execute(ing_cursor_event.insert(), values)


def test_a_long_run_above_a_hole_costs_little_until_the_hole_is_filled(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    many_above_a_hole(stores, 5 * cursor_events.CHUNK)
    read: list[object] = []

    def counted(row: Any) -> Coverage:
        read.append(row)
        return coverage_of(row)

    monkeypatch.setattr(cursor_events, "coverage_of", counted)
    assert stores.cursors.advance(NAMESPACE) == at(0)
    assert len(read) <= 2
    cover(stores, 0, 1)
    assert stores.cursors.advance(NAMESPACE) == at(5 * cursor_events.CHUNK)
    assert value(stores) == at(5 * cursor_events.CHUNK)


def test_a_reading_across_the_watermark_takes_it_over_the_hole(stores: Stores) -> None:
    many_above_a_hole(stores, 9)
    cover(stores, -1, 1)
    assert stores.cursors.advance(NAMESPACE) == at(9)
    cover(stores, 3, 11)
    assert stores.cursors.advance(NAMESPACE) == at(11)


def test_a_row_that_was_lost_is_made_again_from_its_events(stores: Stores) -> None:
    runs = begin_all(stores, 2)
    for run in runs:
        finish(stores, run)
        stores.cursors.advance(run.task.namespace)
    (before,) = rows(stores.database, ing_cursor)
    with stores.database.write() as connection:
        connection.execute(ing_cursor.delete())
    assert stores.cursor_reports.lost() == [NAMESPACE]
    stores.cursors.restore(NAMESPACE)
    stores.cursors.restore(NAMESPACE)
    stores.cursors.advance(NAMESPACE)
    (after,) = rows(stores.database, ing_cursor)
    own = {"id", "version", "created_at", "updated_at"}
    assert {k: v for k, v in after.items() if k not in own} == {k: v for k, v in before.items() if k not in own}
    assert stores.cursor_reports.lost() == []


def test_an_event_that_moved_nothing_keeps_its_window(stores: Stores) -> None:
    runs = begin_all(stores, 2)
    finish(stores, runs[1])
    stores.cursors.advance(runs[1].task.namespace)
    assert column(stores.database, ing_cursor_event, "window_from") == [at(0), at(1)]
    assert value(stores) == at(0)


def test_cursors_are_shown_under_their_interfaces_names(stores: Stores) -> None:
    (run,) = begin_all(stores, 1)
    finish(stores, run, observed_max=at(0.25))
    stores.cursors.advance(run.task.namespace)
    assert [one.json() for one in stores.cursors.cursors()] == [
        {
            "provenance": "books",
            "endpoint": "list",
            "operation": "HARVEST",
            "cursor_key": "changed_at",
            "cursor_type": "TIME",
            "namespace_scope": "EXPR",
            "namespace_key": run.task.namespace.key,
            "value": "2020-01-01T01:00:00.000000Z",
            "observed_max": "2020-01-01T00:15:00.000000Z",
            "query": None,
            "campaign": None,
        }
    ]
