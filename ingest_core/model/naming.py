"""Windows and slices as people name them."""

from datetime import UTC, datetime, timedelta

from ingest_core.model.codes import Operation
from ingest_core.model.id_range import IdRange
from ingest_core.model.window import Window
from ingest_core.model.work import Task

_DAY = timedelta(days=1)


def window_name(window: Window) -> str:
    """The window in few letters, its end not included: `03:00-04:00` within a day, else `2026-01-01..02`."""
    start, end = window.start.astimezone(UTC), window.end.astimezone(UTC)
    if _is_within_a_day(window):
        return f"{_clock(start)}-{'24:00' if _is_midnight(end) else _clock(end)}"
    if _is_midnight(start) and _is_midnight(end):
        same_month = (start.year, start.month) == (end.year, end.month)
        return f"{start:%Y-%m-%d}..{end:%d}" if same_month else f"{start:%Y-%m-%d}..{end:%Y-%m-%d}"
    return f"{start:%Y-%m-%d} {_clock(start)}..{end:%Y-%m-%d} {_clock(end)}"


def slice_name(task: Task) -> str:
    """The task's slice and what it holds: `crossref slice 3/24 03:00-04:00`."""
    holds = f"{len(task.ids)} ids" if task.ids else window_name(task.window)
    return f"{slice_number(task)} {holds}{_part(task.range)}"


def slice_number(task: Task) -> str:
    """The task's slice: `crossref slice 3/24`."""
    operation = task.partition.operation_code
    what = "" if operation == Operation.HARVEST else f" {operation.lower()}"
    return f"{task.partition.provenance_code}{what} slice {task.slice_no}/{task.slice_count}"


def slice_content(task: Task) -> str:
    """What the slice holds, with its date: `2026-01-01 03:00-04:00`."""
    if task.ids:
        return f"{len(task.ids)} ids"
    day = f"{task.window.start.astimezone(UTC):%Y-%m-%d} " if _is_within_a_day(task.window) else ""
    return f"{day}{window_name(task.window)}{_part(task.range)}"


def _part(within: IdRange | None) -> str:
    """Which numbers of a second field, where time alone does not tell the slice."""
    if within is None:
        return ""
    ends = ("" if end is None else str(end) for end in (within.start, within.end))
    return f" {within.field} {'-'.join(ends)}"


def _is_within_a_day(window: Window) -> bool:
    """Whether it is a part of one day, which may be the last."""
    start = window.start.astimezone(UTC)
    midnight = datetime(start.year, start.month, start.day, tzinfo=UTC)
    return window.end <= midnight + _DAY and window.length < _DAY


def _is_midnight(moment: datetime) -> bool:
    return (moment.hour, moment.minute, moment.second, moment.microsecond) == (0, 0, 0, 0)


def _clock(moment: datetime) -> str:
    if moment.microsecond:
        return f"{moment:%H:%M:%S}.{moment.microsecond // 1000:03d}"
    return f"{moment:%H:%M:%S}" if moment.second else f"{moment:%H:%M}"
