"""Planner processes at once, each with a trigger of its own, on the same window: each slice is planned once."""

import json
from datetime import datetime

import pytest

from ingest_core.model.instant import parse_instant
from tests.support.patra import Patra, Row

pytestmark = [pytest.mark.long, pytest.mark.alone]

START, END = "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z"
SOME, MANY = 6, 50
DEADLINE_SECONDS = 900


@pytest.fixture
def patra(patra: Patra) -> Patra:
    """Crossref in slices of six hours, however little they hold."""
    patra.apply_crossref(window={"max_window": "PT6H"})
    return patra


def plan_at_once(patra: Patra, keys: list[str], *arguments: str) -> list[Row]:
    """Start a planner for each trigger, all before any has ended; what they report."""
    planners = [patra.start("plan", "crossref", *arguments, "--trigger-key", key) for key in keys]
    reports = []
    for planner in planners:
        printed, complaint = planner.communicate(timeout=DEADLINE_SECONDS)
        assert planner.returncode == 0, complaint
        reports.append(json.loads(printed))
    return reports


def windows(patra: Patra, **where: str) -> list[tuple[datetime, datetime]]:
    """The windows of tasks, in order."""
    said = " AND ".join(f"{name} = '{value}'" for name, value in where.items()) or "1=1"
    rows = patra.rows("ing_task", "id", "window_from", "window_to", where=said)
    return sorted((row["window_from"], row["window_to"]) for row in rows)


def assert_tiles(found: list[tuple[datetime, datetime]], start: str, end: str) -> None:
    """One after the other, without gap or overlap."""
    ends = [parse_instant(start), *(end for _, end in found)]
    assert [begin for begin, _ in found] == ends[:-1]
    assert ends[-1] == parse_instant(end)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("planners", [SOME, pytest.param(MANY, marks=pytest.mark.long)])
def test_planners_at_once_with_distinct_triggers_plan_each_window_once(patra: Patra, planners: int) -> None:
    reports = plan_at_once(patra, [f"tick {number}" for number in range(planners)], "--from", START, "--to", END)
    assert_tiles(windows(patra), START, END)
    slices, tasks = patra.rows("ing_plan_slice"), patra.rows("ing_task")
    assert {row["status_code"] for row in tasks} == {"QUEUED"}
    assert len(tasks) == len(slices) == 12 == sum(report["tasks_created"] for report in reports)
    assert {row["slice_id"] for row in tasks} == {row["id"] for row in slices}
    assert len(patra.rows("ing_schedule_instance")) == len({report["plan_id"] for report in reports}) == planners
    assert [row["event_type"] for row in patra.rows("ing_cursor_event")] == ["ANCHOR"]
    assert len(patra.rows("ing_partition_control")) == len(patra.rows("ing_cursor")) == 1


@pytest.mark.timeout(1200)
@pytest.mark.long
def test_the_same_trigger_fired_many_times_at_once_makes_one_plan(patra: Patra) -> None:
    reports = plan_at_once(patra, ["tick"] * 16, "--from", START, "--to", END)
    assert {report["plan_id"] for report in reports} == {reports[0]["plan_id"]}
    assert sorted(report["tasks_created"] > 0 for report in reports) == [False] * 15 + [True]
    assert_tiles(windows(patra), START, END)
    assert len(patra.rows("ing_schedule_instance")) == len(patra.rows("ing_plan")) == 1


@pytest.mark.timeout(1200)
@pytest.mark.long
def test_planners_at_once_on_windows_that_overlap_plan_each_instant_once(patra: Patra) -> None:
    """Each asks for another end; who is late adds what is missing."""
    patra("plan", "crossref", "--from", START, "--to", "2026-01-01T12:00:00Z")
    ends = [f"2026-01-{day:02}T{hour:02}:00:00Z" for day in (2, 3, 4) for hour in (0, 7, 13, 20)]
    planners = [patra.start("plan", "crossref", "--from", START, "--to", end, "--trigger-key", end) for end in ends]
    for planner in planners:
        _, complaint = planner.communicate(timeout=DEADLINE_SECONDS)
        assert planner.returncode == 0, complaint
    assert_tiles(windows(patra), START, ends[-1])
