"""How an executor's run ends, in a sentence that names what somebody has to do."""

from dataclasses import dataclass

from ingest_core.execution.report import ExecuteReport

NAMED = 10
"""So many failures are named; the others are counted."""

LONGEST_ERROR = 300


@dataclass(frozen=True)
class Conclusion:
    """Whether a run ended well, and what there is to say."""

    good: bool
    message: str


def conclude(report: ExecuteReport, *, stopped: bool) -> Conclusion:
    """The end of a run: it failed if a task did or a source could not be reached; `stopped` if it was asked to end."""
    good = not report.failures and not report.unreachable
    parts = [
        _drained(report) if stopped else "",
        _failed(report),
        *(_unreachable(source, why) for source, why in report.unreachable.items()),
        *(_too_big(source, count) for source, count in report.too_big.items()),
        _succeeded(report) if good and not stopped else "",
        _full(report) if not stopped else "",
    ]
    return Conclusion(good, "; ".join(part for part in parts if part))


def _drained(report: ExecuteReport) -> str:
    return f"drained after {_tasks(report.attempts)}; {report.requeued} went back to the queue"


def _failed(report: ExecuteReport) -> str:
    if not report.failures:
        return ""
    named = [_short(failure) for failure in report.failures[:NAMED]]
    more = len(report.failures) - len(named)
    rest = [f"and {more} more"] if more else []
    return f"{report.failed} of {_tasks(report.attempts)} FAILED (Retry works them again): " + "; ".join(named + rest)


def _unreachable(source: str, why: str) -> str:
    return f"{source} could not be reached, its tasks stay queued: {_short(why)}"


def _too_big(source: str, count: int) -> str:
    were, them = ("slice was", "it") if count == 1 else ("slices were", "them")
    return f"{count} {were} too big: the next plan of {source} cuts {them} smaller"


def _succeeded(report: ExecuteReport) -> str:
    if not report.attempts:
        return "" if report.full else "nothing was due"
    again = f", {report.requeued} queued again" if report.requeued else ""
    lost = f", {report.lost} lost to another worker" if report.lost else ""
    counts = ", ".join(f"{number} {name}" for name, number in report.counts.json().items())
    return f"{_tasks(report.succeeded)} succeeded{again}{lost}: {counts}"


def _full(report: ExecuteReport) -> str:
    if not report.full:
        return ""
    return "no free slot for more of " + ", ".join(sorted(map(str, report.full)))


def _tasks(number: int) -> str:
    return "1 task" if number == 1 else f"{number} tasks"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_ERROR else text[: LONGEST_ERROR - 1] + "…"
