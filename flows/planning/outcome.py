"""What became of a plan, as its page shows it: the part that executor runs keep up to date."""

from collections.abc import Iterator
from datetime import datetime

from flows.text.markdown import caption, table
from ingest_core.model.codes import LIVE_TASKS, PlanStatus, TaskStatus
from ingest_core.model.naming import counted
from ingest_core.model.progress import PlanOutcome

OUTCOME = "## Outcome"
_OF_CARD = "; outcome: "
_FINAL = (PlanStatus.SUCCEEDED, PlanStatus.PARTIAL, PlanStatus.FAILED, PlanStatus.CANCELLED)


def plan_tag(plan_id: int) -> str:
    """What the runs of a plan are found by: the one that made it, and those that execute it."""
    return f"plan:{plan_id}"


def runs_path(plan_id: int) -> str:
    """The list of a plan's runs in the Prefect UI, below the address of its pages."""
    return f"runs?tags={plan_tag(plan_id)}"


def outcome_line(outcome: PlanOutcome) -> str:
    """What became of the plan, in one line."""
    total = sum(outcome.tasks.values())
    if not outcome.ended:
        return "not executed yet"
    tasks = f"{outcome.ended} of {counted(total, 'task')} ended"
    records = f"{counted(outcome.counts.stored, 'record')} stored"
    if outcome.ended < total:
        return f"{tasks} so far, {records}"
    return f"{_status(outcome)}: {tasks}, {records}"


def not_executed(plan_id: int) -> str:
    """The part of the page before a task of the plan has ended."""
    lines = [
        OUTCOME,
        "",
        "Not executed yet: nothing is read and stored by planning.",
        "",
        "- The next run of the `executor` deployment executes these tasks, or `patra execute`.",
        f"- {_link(plan_id)}",
        f"- Stop them with `patra cancel --plan {plan_id}`.",
    ]
    return "\n".join(lines)


def outcome_part(outcome: PlanOutcome, now: datetime) -> str:
    """The part of the page once tasks of the plan have ended."""
    lines = [OUTCOME, "", table(("", ""), _facts(outcome, now)), "", f"- {_link(outcome.plan_id)}"]
    if outcome.ended < sum(outcome.tasks.values()):
        lines.append(f"- Stop the rest with `patra cancel --plan {outcome.plan_id}`.")
    if outcome.tasks.get(TaskStatus.FAILED):
        lines.append(f"- Retry failed tasks with `patra retry --plan {outcome.plan_id}`.")
    return "\n".join(lines)


def _link(plan_id: int) -> str:
    # Relative to the page of an artifact, so that it leads to the same server under whatever address it is read.
    return f"[The runs that execute this plan](../../{runs_path(plan_id)}) have the tag `{plan_tag(plan_id)}`."


def _facts(outcome: PlanOutcome, now: datetime) -> Iterator[tuple[str, str]]:
    yield "status", _status(outcome)
    said = [f"{number:,} {status}" for status, number in sorted(outcome.tasks.items())]
    yield "tasks", ", ".join(said)
    counts = outcome.counts.json()
    received = counts.pop("received")
    kinds = ", ".join(f"{number:,} {name}" for name, number in counts.items() if number)
    yield "records", f"{received:,} received{f': {kinds}' if kinds else ''}"
    if outcome.weak_ends:
        ends = counted(outcome.weak_ends, "slice")
        yield "unconfirmed ends", f"{ends}: no total confirms that every record came"
    yield "as of", f"{now:%Y-%m-%d %H:%M} UTC"


def _status(outcome: PlanOutcome) -> str:
    if any(status in LIVE_TASKS for status in outcome.tasks):
        return "under way"
    return str(outcome.status) if outcome.status in _FINAL else "slices that were too big wait to be cut smaller"


def with_outcome(page: str, part: str) -> str:
    """The page of a plan with this part in place of the one it has; a page of an earlier version gets it on top."""
    lines = page.splitlines()
    headings = [at for at, line in enumerate(lines) if line.startswith("## ")]
    start = next((at for at in headings if lines[at] == OUTCOME), None)
    if start is None:
        start = end = headings[0] if headings else len(lines)
    else:
        end = next((at for at in headings if at > start), len(lines))
    return "\n".join([*lines[:start], *part.splitlines(), "", *lines[end:]]).rstrip("\n") + "\n"


def card_with_outcome(description: str, outcome: PlanOutcome) -> str:
    """The card that leads to the page, with the outcome in one line."""
    return caption(f"{description.partition(_OF_CARD)[0]}{_OF_CARD}{outcome_line(outcome)}")
