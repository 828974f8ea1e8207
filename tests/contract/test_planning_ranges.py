"""Sibling ranges: a window a second field cuts is read when every range is; only what is missing comes again."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from ingest_core.execution.ports import Run
from ingest_core.model.codes import TaskStatus
from ingest_core.model.id_range import IdRange, Without, range_of, unset_part
from ingest_core.model.slice_codes import EstimateMethod
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.window import Window
from ingest_core.planning.estimate import Estimate, WindowPart
from ingest_core.store.engine.database import Database
from ingest_core.store.schema.tables import ing_cursor, ing_cursor_event, ing_estimate, ing_plan_slice, ing_task
from tests.support.books import at
from tests.support.planning_store import BACKFILL, Desk, assert_owned_once, holes, hours, in_hours, set_up
from tests.support.tables import column, rows

CAP = 1000
BUSY = 2500
"""Records of the busy hour: four ranges of it, and a part for records without a number."""

MOST = 4096
"""About the highest number; what is above it is in the last range."""


@dataclass
class BusyHour:
    """A Probe: the hour from one to two holds much and its minutes cannot be told apart, the others little."""

    records: int = BUSY

    def ask(self, spec: SpecSnapshot, window: Window, part: IdRange | None = None) -> Estimate | None:
        """Its count; numbers are spread evenly up to the highest."""
        held = self.records if window.start < at(2) and at(1) < window.end else 0
        quiet = 400 * (window.length - timedelta(hours=1 if held else 0)) // timedelta(hours=1)
        if part is not None:
            assert not part.is_unset, "this source cannot be asked for records without a number"
            low, high = part.start or 0, MOST if part.end is None else part.end
            return Estimate(-(-held * (high - low) // MOST), EstimateMethod.COUNT)
        return Estimate(held + max(0, quiet), EstimateMethod.COUNT)


@pytest.fixture
def desk(database: Database) -> Desk:
    """A desk at which the busy hour is cut by number; an hour is the provider's unit."""
    return set_up(
        database,
        probe=BusyHour(),
        window={"unit": "HOUR", "format": "%Y-%m-%dT%H"},
        pagination={"max_records": CAP, "page_size": 50},
        slicing={"split_field": "number", "split_max": MOST},
    )


def places(desk: Desk) -> list[WindowPart]:
    """What each task owns, in the order in which they were written."""
    return [
        (Window(row["window_from"], row["window_to"]), range_of(row["params"].get("range")))
        for row in rows(desk.database, ing_task)
    ]


def parts_of(desk: Desk, window: Window) -> list[IdRange]:
    return [part for one, part in places(desk) if one == window and part is not None]


def watermark(desk: Desk) -> float:
    (cursor,) = rows(desk.database, ing_cursor)
    return float((cursor["normalized_instant"] - at(0)) / timedelta(hours=1))


def by_range(runs: Sequence[Run]) -> tuple[list[Run], list[Run]]:
    """The runs of the busy hour, and the others."""
    return [run for run in runs if run.task.range], [run for run in runs if not run.task.range]


def test_a_unit_that_holds_too_much_is_cut_by_number_and_nothing_is_left_out(desk: Desk) -> None:
    desk.plan(0, 3)
    assert [window for window, part in places(desk) if part is None] == [hours(0, 1), hours(2, 3)]
    *parts, unset = parts_of(desk, hours(1, 2))
    assert (len(parts), unset) == (4, unset_part("number"))
    assert (parts[0].without, {part.without for part in parts[1:]}) == (Without.EXCLUDED, {Without.INCLUDED})
    assert (parts[0].start, parts[-1].end) == (None, None)
    assert all(one.end is not None and one.end + 1 == other.start for one, other in pairwise(parts))
    assert_owned_once(desk.database)
    assert holes(desk.database, desk.namespace(), hours(0, 3)) == []


def test_a_range_is_part_of_the_slice_the_query_and_the_signature(desk: Desk) -> None:
    desk.plan(1, 2)
    slices = rows(desk.database, ing_plan_slice)
    parts = parts_of(desk, hours(1, 2))
    assert [range_of(row["slice_spec"]["range"]) for row in slices] == parts
    for name in ("slice_signature_hash", "expr_hash"):
        assert len({row[name] for row in slices}) == len(parts)
    assert len(set(column(desk.database, ing_task, "idempotent_key"))) == len(parts)


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (1, 4, 3, 0, 2), (4, 2, 0, 3, 1)])
def test_the_watermark_passes_a_window_when_the_last_of_its_ranges_is_read(desk: Desk, order: tuple[int, ...]) -> None:
    desk.plan(0, 3)
    siblings, others = by_range(desk.begin_all())
    for run in others:
        desk.end(run)
    for number in order[:-1]:
        desk.end(siblings[number])
        assert watermark(desk) == 1
    desk.end(siblings[order[-1]])
    assert watermark(desk) == 3


def test_events_of_ranges_carry_them(desk: Desk) -> None:
    desk.plan(1, 2)
    desk.work()
    events = rows(desk.database, ing_cursor_event, ing_cursor_event.c.event_type == "COVERAGE")
    assert [range_of(row["range"]) for row in events] == parts_of(desk, hours(1, 2))
    assert {(row["window_from"], row["window_to"]) for row in events} == {(at(1), at(2))}
    assert len({row["idempotent_key"] for row in events}) == len(events)


@pytest.mark.parametrize("number", [0, 1, 4], ids=["the first", "a range", "the part without a number"])
@pytest.mark.parametrize("operation", ["HARVEST", "BACKFILL"])
def test_a_range_that_failed_is_planned_again_alone(desk: Desk, operation: str, number: int) -> None:
    how: dict[str, Any] = {"operation": BACKFILL, "campaign": "c"} if operation == "BACKFILL" else {}
    desk.plan(0, 3, **how)
    siblings, others = by_range(desk.begin_all())
    failing = siblings[number].task.range
    for run in (*siblings, *others):
        desk.end(run, TaskStatus.FAILED if run is siblings[number] else TaskStatus.SUCCEEDED)
    before = len(places(desk))
    desk.plan(0, 3, **how)
    assert places(desk)[before:] == [(hours(1, 2), failing)]
    desk.work()
    assert watermark(desk) == 3


def test_ranges_that_failed_at_both_ends_are_planned_again_with_their_ends_open(desk: Desk) -> None:
    desk.plan(1, 2)
    siblings, _ = by_range(desk.begin_all())
    failing = [siblings[0].task.range, siblings[-2].task.range]
    for run in siblings:
        desk.end(run, TaskStatus.FAILED if run.task.range in failing else TaskStatus.SUCCEEDED)
    before = len(places(desk))
    desk.plan(1, 2)
    assert [part for _, part in places(desk)[before:]] == failing


def test_a_window_whose_ranges_all_failed_is_planned_whole_again(desk: Desk) -> None:
    desk.plan(1, 2)
    first = places(desk)
    for run in desk.begin_all():
        desk.end(run, TaskStatus.FAILED)
    desk.plan(1, 2)
    assert places(desk)[len(first) :] == first


def test_nothing_of_a_window_is_planned_while_one_of_its_ranges_is_live(desk: Desk) -> None:
    """Another cut might overlap: what failed waits for the live one."""
    desk.plan(0, 3)
    siblings, others = by_range(desk.begin_all())
    for run in (*siblings[:1], *others):
        desk.end(run, TaskStatus.FAILED)
    before = len(places(desk))
    desk.plan(0, 3)
    assert in_hours(window for window, _ in places(desk)[before:]) == [(0, 1), (2, 3)]
    assert_owned_once(desk.database)


def test_a_range_is_no_history_and_what_the_provider_said_of_it_is_kept(desk: Desk) -> None:
    desk.plan(1, 2)
    desk.work()
    found = rows(desk.database, ing_estimate)
    assert {row["method_code"] for row in found} == {"COUNT"}
    assert [row for row in found if row["range"]]


def test_a_first_range_and_the_part_without_a_number_that_both_failed_are_planned_apart_again(desk: Desk) -> None:
    desk.plan(1, 2)
    siblings, _ = by_range(desk.begin_all())
    failing = [siblings[0].task.range, siblings[-1].task.range]
    for run in siblings:
        desk.end(run, TaskStatus.FAILED if run.task.range in failing else TaskStatus.SUCCEEDED)
    before = len(places(desk))
    desk.plan(1, 2)
    assert [part for _, part in places(desk)[before:]] == failing
    desk.work()
    assert watermark(desk) == 2


def test_windows_that_were_covered_before_parts_without_a_number_were_read_stay_covered(desk: Desk) -> None:
    """An upgrade takes no watermark back: a range stored without the key answers for those records."""
    desk.plan(1, 2)
    siblings, _ = by_range(desk.begin_all())
    for run in siblings[:-1]:
        assert run.task.range is not None
        task = replace(run.task, range=run.task.range.asked)
        desk.end(replace(run, task=task))
    assert watermark(desk) == 2
    stored = rows(desk.database, ing_cursor_event, ing_cursor_event.c.event_type == "COVERAGE")
    assert all("without" not in row["range"] for row in stored)
