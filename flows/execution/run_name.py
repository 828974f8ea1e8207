"""What an executor run is called: what it is at while it works, and what it did once it is over."""

from collections.abc import Collection, Sequence

from flows.execution.page import Worked, listed
from ingest_core.model.codes import TaskStatus
from ingest_core.model.naming import counted

ENDED_TASKS = {TaskStatus.SUCCEEDED: "", TaskStatus.PARTIAL: "partial", TaskStatus.FAILED: "failed"}
"""How a task can end, and what a name calls it that is not well; another status is an attempt that did not end it."""


def name_at_work(sources: Collection[str]) -> str:
    """The name while tasks of these sources are worked: `execute crossref, pubmed: at work`."""
    return f"execute {listed(sources)}: at work"


def name_so_far(subject: str, worked: Sequence[Worked]) -> str:
    """The name of a run that has worked, while it waits for more work."""
    return f"{name_at_end(subject, worked)} so far"


def name_at_end(subject: str, worked: Sequence[Worked]) -> str:
    """The name by what the run did: `execute crossref, pubmed: 12 tasks, 4,262 records`."""
    if not worked:
        return f"execute {subject}: no tasks"
    return f"execute {listed({one.source for one in worked})}: {_did(worked)}"


def _did(worked: Sequence[Worked]) -> str:
    last = {one.summary.task_id: one.summary.status for one in worked}
    ended = [status for status in last.values() if status in ENDED_TASKS]
    records = sum(one.summary.counts.stored for one in worked)
    unwell = [f"{ended.count(status)} {name}" for status, name in ENDED_TASKS.items() if name and status in ended]
    again = len(last) - len(ended)
    parts = [
        counted(len(ended), "task") if ended else "",
        counted(records, "record"),
        *unwell,
        f"{again:,} queued again" if again else "",
    ]
    return ", ".join(filter(None, parts))
