"""What an executor's run says at its end, and what its tasks are called."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest

from flows.execution.page import MOST_SLICES, Worked, render_page
from flows.execution.progress import percent_succeeded
from flows.execution.run_name import name_at_end, name_at_work, name_so_far
from ingest_core.execution.conclusion import NAMED, conclude
from ingest_core.execution.outcomes import RunSummary
from ingest_core.execution.report import ExecuteReport
from ingest_core.model.checkpoint import Checkpoint
from ingest_core.model.codes import ControlState, Operation, TaskStatus
from ingest_core.model.id_range import IdRange
from ingest_core.model.lease import Lease
from ingest_core.model.namespace import Namespace
from ingest_core.model.naming import slice_content, slice_name, window_name
from ingest_core.model.partition import Partition, Resting
from ingest_core.model.record import Counts
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.task import Lineage, Task
from ingest_core.model.window import Window

CROSSREF = Partition("crossref", "works", Operation.HARVEST)
DAY = datetime(2026, 1, 1, tzinfo=UTC)


def hours(start: float, end: float) -> Window:
    """A window so many hours after the first of January."""
    return Window(DAY + timedelta(hours=start), DAY + timedelta(hours=end))


def task(slice_no: int = 3, window: Window | None = None, partition: Partition = CROSSREF) -> Task:
    """A task of a plan with 24 slices."""
    return Task(
        lease=Lease(slice_no, "ann", 1, 60),
        lineage=Lineage(1, 17, slice_no, slice_no),
        partition=partition,
        namespace=cast(Namespace, None),
        spec=cast(SpecSnapshot, None),
        window=window or hours(slice_no, slice_no + 1),
        slice_no=slice_no,
        expr_hash="",
        checkpoint=Checkpoint(),
        attempt_no=1,
        slice_count=24,
    )


def report(*ends: tuple[int, RunSummary]) -> ExecuteReport:
    """What tasks of these slice numbers came to."""
    made = ExecuteReport()
    for slice_no, summary in ends:
        made.add(task(slice_no), summary)
    return made


GOOD = RunSummary(1, TaskStatus.SUCCEEDED, Counts(10, 7, 1, 1, 1), batches=2)
BAD = RunSummary(2, TaskStatus.FAILED, error="HTTP 404: no such thing")
BIG = RunSummary(3, TaskStatus.PARTIAL, error="max_page")
BACK = RunSummary(4, TaskStatus.QUEUED, error="interrupted; the task is queued again")


@pytest.mark.parametrize(
    ("window", "name"),
    [
        (hours(3, 4), "03:00-04:00"),
        (hours(23, 24), "23:00-24:00"),
        (hours(3.5, 3.51), "03:30-03:30:36"),
        (hours(0, 24), "2026-01-01..02"),
        (hours(0, 72), "2026-01-01..04"),
        (hours(0, 31 * 24), "2026-01-01..02-01"),
        (hours(23, 25), "2026-01-01 23:00..02 01:00"),
        (Window(DAY, DAY + timedelta(milliseconds=5)), "00:00-00:00:00.005"),
    ],
)
def test_a_window_is_named_in_few_letters(window: Window, name: str) -> None:
    assert window_name(window) == name


def test_a_task_is_named_by_its_slice() -> None:
    assert slice_name(task()) == "crossref slice 3/24 03:00-04:00"
    backfill = task(partition=Partition("crossref", "works", Operation.BACKFILL))
    assert slice_name(backfill) == "crossref backfill slice 3/24 03:00-04:00"
    part = replace(task(), range=IdRange("uid", None, 99))
    assert slice_name(part) == "crossref slice 3/24 03:00-04:00 uid -99"
    assert slice_content(part) == "2026-01-01 03:00-04:00 uid -99"
    ids = replace(task(partition=Partition("crossref", "works", Operation.UPDATE)), ids=("a", "b"))
    assert slice_name(ids) == "crossref update slice 3/24 2 ids"


def test_a_run_that_went_well_says_what_it_read() -> None:
    end = conclude(report((1, GOOD), (2, GOOD)), stopped=False)
    counts = "20 received, 14 inserted, 2 updated, 2 skipped, 0 gone, 2 quarantined"
    assert (end.good, end.message) == (True, f"2 tasks succeeded: {counts}")


def test_a_run_without_work_says_so() -> None:
    assert conclude(report(), stopped=False).message == "nothing was due"
    full = report()
    full.full = [CROSSREF]
    assert conclude(full, stopped=False).message == "no free slot for more of crossref.works.harvest"


def test_a_run_with_failures_names_them_and_counts_the_rest() -> None:
    end = conclude(report((1, GOOD), (3, BAD)), stopped=False)
    assert not end.good
    assert end.message == (
        "1 of 2 tasks FAILED (Retry executes it again): crossref slice 3/24 03:00-04:00: HTTP 404: no such thing"
    )
    many = conclude(report(*((number, BAD) for number in range(1, NAMED + 4))), stopped=False).message
    assert many.startswith(f"{NAMED + 3} of {NAMED + 3} tasks FAILED (Retry executes them again): ")
    assert many.count("HTTP 404") == NAMED
    assert many.endswith("; and 3 more")


def test_an_error_of_any_length_leaves_room_for_the_others() -> None:
    long = replace(BAD, error="x" * 10_000)
    assert len(conclude(report(*((number, long) for number in range(1, 20))), stopped=False).message) < 4000


def test_a_partial_run_ends_well_and_says_what_follows() -> None:
    end = conclude(report((1, BIG), (2, BIG), (3, GOOD)), stopped=False)
    assert end.good
    assert end.message.startswith(
        "2 slices were too big: housekeeping, or the next plan of crossref.works.harvest, cuts them smaller; 1 task"
    )
    one = conclude(report((1, BIG)), stopped=False).message
    assert one.startswith("1 slice was too big: housekeeping, or the next plan of crossref.works.harvest, cuts it")


RESUME = "`patra resume crossref --reason TEXT`"
FUSED = Resting(CROSSREF, ControlState.FUSED, "task 7: the provider answered 401", 3)


def test_a_run_says_what_waits_for_somebody_to_resume_it() -> None:
    waits = report()
    waits.resting = [FUSED]
    end = conclude(waits, stopped=False)
    assert end.good
    assert end.message == (
        f"3 tasks wait until {RESUME}: crossref.works.harvest is FUSED: task 7: the provider answered 401; "
        "nothing was due"
    )


def test_a_retry_whose_tasks_are_stopped_does_not_end_well() -> None:
    held_up = report()
    held_up.resting, held_up.held_up = [replace(FUSED, waiting=1, reason=None)], True
    end = conclude(held_up, stopped=False)
    assert (end.good, end.message) == (False, f"1 task waits until {RESUME}: crossref.works.harvest is FUSED")


def test_a_failure_that_stopped_its_partition_does_not_promise_that_a_retry_alone_helps() -> None:
    end = conclude(report((3, replace(BAD, fused=True))), stopped=False)
    assert end.message.startswith("1 of 1 task FAILED (resume, and Retry executes it again): crossref slice 3/24")


def test_a_source_that_could_not_be_reached_fails_the_run() -> None:
    end = conclude(report((1, replace(BACK, error="no route", unreachable=True))), stopped=False)
    assert (end.good, end.message) == (False, "crossref could not be reached, its tasks stay queued: no route")


def test_a_drained_run_ends_well_and_says_what_went_back() -> None:
    end = conclude(report((1, GOOD), (2, BACK), (3, BACK)), stopped=True)
    assert (end.good, end.message) == (True, "drained after 3 tasks; 2 went back to the queue")
    worse = conclude(report((1, BAD), (2, BACK)), stopped=True)
    assert not worse.good
    assert worse.message.startswith("drained after 2 tasks; 1 went back to the queue; 1 of 2 tasks FAILED")


def worked(count: int, summary: RunSummary = GOOD) -> list[Worked]:
    return [Worked.of(task(number), summary) for number in range(1, count + 1)]


def test_the_page_shows_totals_and_every_slice() -> None:
    summary = replace(GOOD, waited=timedelta(seconds=1.25), retries=2)
    page = render_page("crossref", "all is well", report((1, summary)), [Worked.of(task(1), summary)])
    assert "# Execution of crossref" in page
    assert "| tasks | 1 succeeded, 0 partial, 0 failed |" in page
    assert "| waited for permits | 1.2 s |" in page
    assert (
        "| crossref slice 1/24 | 2026-01-01 01:00-02:00 | 17 | SUCCEEDED | 2 "
        "| 7 inserted, 1 updated, 1 skipped, 1 quarantined | 1.2 s | 2 |" in page
    )
    assert "Errors" not in page


def test_the_page_shows_what_went_wrong_first_and_is_bounded() -> None:
    slices = [*worked(MOST_SLICES + 50), Worked.of(task(9), BIG), Worked.of(task(7), BAD)]
    page = render_page("all sources", "", report(), slices)
    lines = [line for line in page.splitlines() if line.startswith("| crossref")]
    assert len(lines) == MOST_SLICES
    assert ["FAILED" in lines[0], "PARTIAL" in lines[1], "SUCCEEDED" in lines[2]] == [True] * 3
    assert page.endswith("and 52 more\n")


def of(source: str, task_id: int, summary: RunSummary) -> Worked:
    """An attempt at a task of a source."""
    partition = Partition(source, "works", Operation.HARVEST)
    return Worked.of(task(partition=partition), replace(summary, task_id=task_id))


@pytest.mark.parametrize(
    ("attempts", "name"),
    [
        ([], "execute all sources: no tasks"),
        ([("pubmed", 1, GOOD), ("crossref", 2, GOOD)], "execute crossref, pubmed: 2 tasks, 16 records"),
        ([("crossref", 1, GOOD), ("crossref", 2, BAD)], "execute crossref: 2 tasks, 8 records, 1 failed"),
        ([("crossref", 1, BIG), ("crossref", 2, BIG)], "execute crossref: 2 tasks, 0 records, 2 partial"),
        ([("crossref", 1, BACK), ("crossref", 1, GOOD)], "execute crossref: 1 task, 8 records"),
        ([("crossref", 1, BACK)], "execute crossref: 0 records, 1 queued again"),
        ([(name, at, GOOD) for at, name in enumerate("edcba")], "execute a, b, c and 2 more: 5 tasks, 40 records"),
        ([("crossref", 1, replace(GOOD, counts=Counts(5000, 4000, 262)))], "execute crossref: 1 task, 4,262 records"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_run_is_named_by_what_it_did(attempts: list[tuple[str, int, RunSummary]], name: str) -> None:
    assert name_at_end("all sources", [of(*one) for one in attempts]) == name


def test_a_run_that_works_is_named_by_what_it_is_at() -> None:
    assert name_at_work({"pubmed", "crossref"}) == "execute crossref, pubmed: at work"
    assert name_so_far("all sources", [of("crossref", 1, GOOD)]) == "execute crossref: 1 task, 8 records so far"


GONE_WELL, NOT_WELL = TaskStatus.SUCCEEDED, TaskStatus.FAILED


@pytest.mark.parametrize(
    ("last", "left", "most", "percent"),
    [
        ({1: GONE_WELL, 2: GONE_WELL, 3: NOT_WELL}, None, 500, 66),
        ({1: GONE_WELL, 2: GONE_WELL, 3: GONE_WELL}, None, 500, 100),
        (dict.fromkeys(range(4), TaskStatus.PARTIAL), None, 500, 0),
        ({1: GONE_WELL, 2: TaskStatus.QUEUED}, None, 500, 50),
        ({1: GONE_WELL, 2: None}, None, 500, 50),
        ({1: GONE_WELL, 2: NOT_WELL}, 1, 500, 33),
        ({1: GONE_WELL, 2: TaskStatus.QUEUED}, 1, 500, 50),
        ({1: GONE_WELL}, 999, 10, 10),
        ({1: GONE_WELL}, 0, 500, 100),
        ({}, 7, 500, 0),
        ({}, None, 500, 0),
    ],
)
def test_progress_counts_what_succeeded_in_whole_per_cent(
    last: dict[int, TaskStatus | None], left: int | None, most: int, percent: int
) -> None:
    shown = percent_succeeded(last, left, most)
    assert (shown, type(shown)) == (percent, int)


def test_an_error_cannot_break_the_page() -> None:
    hostile = replace(BAD, error="a | b\n# <script>alert(1)</script> [x](http://y) `z`" + "w" * 1000)
    page = render_page("crossref", "m", report(), [Worked.of(task(1), hostile)])
    (line,) = [
        line for line in page.splitlines() if line.startswith("- **crossref slice 1/24**, 2026-01-01 01:00-02:00: ")
    ]
    assert r"a \| b \# \<script\>" in line
    assert len(line) < 700
