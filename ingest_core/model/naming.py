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
    midnight = datetime(start.year, start.month, start.day, tzinfo=UTC)
    if end <= midnight + _DAY and window.length < _DAY:
        last = "24:00" if end == midnight + _DAY else _clock(end)
        return f"{_clock(start)}-{last}"
    if _is_midnight(start) and _is_midnight(end):
        same_month = (start.year, start.month) == (end.year, end.month)
        return f"{start:%Y-%m-%d}..{end:%d}" if same_month else f"{start:%Y-%m-%d}..{end:%Y-%m-%d}"
    return f"{start:%Y-%m-%d} {_clock(start)}..{end:%Y-%m-%d} {_clock(end)}"


def slice_name(task: Task) -> str:
    """The task's slice and what it holds: `crossref slice 3/24 03:00-04:00`."""
    operation = task.partition.operation_code
    what = "" if operation == Operation.HARVEST else f" {operation.lower()}"
    holds = f"{len(task.ids)} ids" if task.ids else window_name(task.window)
    return f"{task.partition.provenance_code}{what} slice {task.slice_no}/{task.slice_count} {holds}{_part(task.range)}"


def _part(within: IdRange | None) -> str:
    """Which numbers of a second field, where time alone does not tell the slice."""
    if within is None:
        return ""
    ends = ("" if end is None else str(end) for end in (within.start, within.end))
    return f" {within.field} {'-'.join(ends)}"


def _is_midnight(moment: datetime) -> bool:
    return (moment.hour, moment.minute, moment.second, moment.microsecond) == (0, 0, 0, 0)


def _clock(moment: datetime) -> str:
    if moment.microsecond:
        return f"{moment:%H:%M:%S}.{moment.microsecond // 1000:03d}"
    return f"{moment:%H:%M:%S}" if moment.second else f"{moment:%H:%M}"
