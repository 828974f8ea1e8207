"""Windows and slices as people name them, and what they type."""

from datetime import datetime, timedelta

from ingest_core.model.codes import Operation
from ingest_core.model.id_range import IdRange
from ingest_core.model.partition import Partition
from ingest_core.model.task import Task
from ingest_core.model.window import Window

_DAY = timedelta(days=1)


def counted(number: int, noun: str) -> str:
    """A number with its noun: `1 slice`, `2,400 slices`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def resume_command(partition: Partition) -> str:
    """What lets a partition that was stopped go on."""
    return f"`patra resume {partition.provenance_code} --reason TEXT`"


def accept_drift_command(partition: Partition) -> str:
    """What accepts the pages that failed as schema drift, and lets the partition go on."""
    return f"`patra resume {partition.provenance_code} --accept-drift --reason TEXT`"


def window_name(window: Window) -> str:
    """A slice's window in few letters: `03:00-04:00` where it lies within a day, else as any other span."""
    if not _is_within_a_day(window):
        return span_name(window.start, window.end)
    return f"{_time(window.start)}-{_time(window.end) if _has_time(window.end) else '24:00'}"


def span_name(start: datetime, end: datetime) -> str:
    """A window in few characters: `2026-01-01..02`, `2026-01-01 03:00..04:00`, `2026-01-01 16:00..02 16:00`."""
    if start >= end:
        return f"{start:%Y-%m-%d %H:%M}"
    if not _has_time(start) and not _has_time(end):
        return f"{start:%Y-%m-%d}..{_rest(start, end)}"
    last = _time(end) if start.date() == end.date() else f"{_rest(start, end)} {_time(end)}"
    return f"{start:%Y-%m-%d} {_time(start)}..{last}"


def _rest(start: datetime, end: datetime) -> str:
    """What of the end's date is another than the start's."""
    if start.year != end.year:
        return f"{end:%Y-%m-%d}"
    return f"{end:%m-%d}" if start.month != end.month else f"{end:%d}"


def _has_time(moment: datetime) -> bool:
    return bool(moment.hour or moment.minute or moment.second or moment.microsecond)


def _time(moment: datetime) -> str:
    if moment.microsecond:
        return f"{moment:%H:%M:%S}.{moment.microsecond // 1000:03d}"
    return f"{moment:%H:%M:%S}" if moment.second else f"{moment:%H:%M}"


def slice_name(task: Task) -> str:
    """The task's slice and what it holds: `crossref slice 3/24 03:00-04:00`."""
    holds = counted(len(task.ids), "id") if task.ids else window_name(task.window)
    return f"{slice_number(task)} {holds}{_part(task.range)}"


def slice_number(task: Task) -> str:
    """The task's slice: `crossref slice 3/24`."""
    operation = task.partition.operation_code
    what = "" if operation == Operation.HARVEST else f" {operation.lower()}"
    return f"{task.partition.provenance_code}{what} slice {task.slice_no}/{task.slice_count}"


def slice_content(task: Task) -> str:
    """What the slice holds, with its date: `2026-01-01 03:00-04:00`."""
    if task.ids:
        return counted(len(task.ids), "id")
    day = f"{task.window.start:%Y-%m-%d} " if _is_within_a_day(task.window) else ""
    return f"{day}{window_name(task.window)}{_part(task.range)}"


def _part(within: IdRange | None) -> str:
    """Which numbers of a second field, where time alone does not tell the slice."""
    if within is None:
        return ""
    if within.is_unset:
        return f" {within}"
    ends = ("" if end is None else str(end) for end in (within.start, within.end))
    return f" {within.field} {'-'.join(ends)}"


def _is_within_a_day(window: Window) -> bool:
    """Whether it is a part of one day, which may be its last."""
    midnight = window.start.replace(hour=0, minute=0, second=0, microsecond=0)
    return window.end <= midnight + _DAY and window.length < _DAY
