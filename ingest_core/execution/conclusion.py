"""How an executor's run ends, in a sentence that names what the operator has to do."""

from dataclasses import dataclass

from ingest_core.execution.report import ExecuteReport
from ingest_core.model.naming import counted, resume_command
from ingest_core.model.partition import Resting

NAMED = 10
"""Maximum number of failures named; the others are counted."""

LONGEST_ERROR = 300


@dataclass(frozen=True)
class Conclusion:
    """Whether a run ended well, and what there is to say."""

    good: bool
    message: str


def conclude(report: ExecuteReport, *, stopped: bool) -> Conclusion:
    """The end of a run: it failed if a task did, a source could not be reached or what it was to work is stopped.

    `stopped` if it was asked to end.
    """
    good = not (report.failures or report.unreachable or report.held_up)
    parts = [
        _drained(report) if stopped else "",
        _failed(report),
        *(_unreachable(source, why) for source, why in report.unreachable.items()),
        *map(_rests, report.resting),
        *(_too_big(partition, count) for partition, count in report.too_big.items()),
        _succeeded(report) if good and not stopped else "",
        _full(report) if not stopped else "",
    ]
    return Conclusion(good, "; ".join(part for part in parts if part))


def _drained(report: ExecuteReport) -> str:
    return f"drained after {counted(report.attempts, 'task')}; {report.requeued} went back to the queue"


def _failed(report: ExecuteReport) -> str:
    if not report.failures:
        return ""
    named = [_short(failure) for failure in report.failures[:NAMED]]
    more = len(report.failures) - len(named)
    rest = [f"and {more} more"] if more else []
    hint = f"{'resume, and ' if report.fused else ''}Retry executes {'it' if report.failed == 1 else 'them'} again"
    return f"{report.failed} of {counted(report.attempts, 'task')} FAILED ({hint}): " + "; ".join(named + rest)


def _unreachable(source: str, why: str) -> str:
    return f"{source} could not be reached, its tasks stay queued: {_short(why)}"


def _rests(resting: Resting) -> str:
    wait = f"{counted(resting.waiting, 'task')} {'waits' if resting.waiting == 1 else 'wait'}"
    said = f": {_short(resting.reason)}" if resting.reason else ""
    return f"{wait} until {resume_command(resting.partition)}: {resting.partition} is {resting.state}{said}"


def _too_big(partition: str, count: int) -> str:
    were, them = ("slice was", "it") if count == 1 else ("slices were", "them")
    return f"{count} {were} too big: housekeeping, or the next plan of {partition}, cuts {them} smaller"


def _succeeded(report: ExecuteReport) -> str:
    if not report.attempts:
        return "" if report.full else "nothing was due"
    again = f", {report.requeued} queued again" if report.requeued else ""
    lost = f", {report.lost} lost to another worker" if report.lost else ""
    counts = ", ".join(f"{number:,} {name}" for name, number in report.counts.json().items())
    return f"{counted(report.succeeded, 'task')} succeeded{again}{lost}: {counts}"


def _full(report: ExecuteReport) -> str:
    if not report.full:
        return ""
    return "no free slot for more of " + ", ".join(sorted(map(str, report.full)))


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_ERROR else text[: LONGEST_ERROR - 1] + "…"
