"""The page of an executor run: what became of each slice."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from flows.planning.outcome import plan_tag
from flows.text.markdown import table, text
from ingest_core.execution.outcomes import RunSummary
from ingest_core.execution.report import ExecuteReport
from ingest_core.model.codes import TaskStatus
from ingest_core.model.naming import slice_content, slice_number
from ingest_core.model.task import Task

MOST_SLICES = 200
"""Maximum number of slices shown, failed ones first."""

LONGEST_ERROR = 300
_ORDER = [TaskStatus.FAILED, TaskStatus.PARTIAL, None, TaskStatus.QUEUED, TaskStatus.SUCCEEDED]
_COLUMNS = ("slice", "window", "plan", "status", "pages", "records", "waited", "asked again")


MOST_SOURCES = 3
"""How many sources a name lists; the others are counted."""


def listed(sources: Collection[str]) -> str:
    """The sources by name, as far as a name has room."""
    named = sorted(sources)
    more = len(named) - MOST_SOURCES
    return ", ".join(named) if more <= 0 else f"{', '.join(named[:MOST_SOURCES])} and {more} more"


def tags_of(task: Task) -> list[str]:
    """What a task is found by."""
    partition = task.partition
    return [
        f"source:{partition.provenance_code}",
        f"operation:{partition.operation_code}",
        plan_tag(task.lineage.plan_id),
    ]


@dataclass(frozen=True)
class Worked:
    """One attempt at a slice, as the page shows it."""

    name: str
    source: str
    plan_id: int
    window: str
    summary: RunSummary

    @classmethod
    def of(cls, task: Task, summary: RunSummary) -> "Worked":
        """The attempt, without what would keep the task in memory."""
        source = task.partition.provenance_code
        return cls(slice_number(task), source, task.lineage.plan_id, slice_content(task), summary)


def render_page(subject: str, message: str, report: ExecuteReport, worked: Sequence[Worked]) -> str:
    """The page of a run: totals, what went wrong, and a line for each slice."""
    shown = sorted(worked, key=lambda one: _ORDER.index(one.summary.status))[:MOST_SLICES]
    left = len(worked) - len(shown)
    parts = [
        f"# Execution of {text(listed({one.source for one in worked}) if worked else subject)}",
        text(message),
        _totals(report, worked),
        _errors(shown),
        "## Slices",
        table(_COLUMNS, (_row(one) for one in shown)) if shown else "None was due.",
        f"and {left} more" if left else "",
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _errors(worked: Sequence[Worked]) -> str:
    """A list, since a column of a narrow page is too narrow for an error."""
    errors = [f"- **{text(one.name)}**, {one.window}: {text(error)}" for one in worked if (error := _error(one))]
    return "\n".join(["## Errors", "", *errors]) if errors else ""


def _error(one: Worked) -> str:
    return (one.summary.error or "")[:LONGEST_ERROR]


def _totals(report: ExecuteReport, worked: Sequence[Worked]) -> str:
    waited = sum(one.summary.waited.total_seconds() for one in worked)
    rows: dict[str, object] = {
        "tasks": f"{report.succeeded} succeeded, {report.partial} partial, {report.failed} failed",
        "queued again": report.requeued,
        "unconfirmed ends": f"{report.weak_ends} (no total confirms that every record came)",
        "pages": report.batches,
        "requests": report.requests,
        **{name: f"{number:,}" for name, number in report.counts.json().items()},
        "waited for permits": f"{waited:.1f} s",
        "asked again": sum(one.summary.retries for one in worked),
    }
    return table(("", ""), ((name, str(value)) for name, value in rows.items()))


def _row(one: Worked) -> list[str]:
    summary, counts = one.summary, one.summary.counts.json()
    status = str(summary.status) if summary.status else "lease lost"
    became = [f"{number} {name}" for name, number in counts.items() if number and name != "received"]
    waited = f"{summary.waited.total_seconds():.1f} s" if summary.waited else ""
    retries = str(summary.retries or "")
    return [
        one.name,
        one.window,
        str(one.plan_id),
        status,
        str(summary.batches),
        ", ".join(became) or "none",
        waited,
        retries,
    ]
