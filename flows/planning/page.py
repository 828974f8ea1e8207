"""The page of a plan: what it came to, how its window came about, its slices, and what to do next."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from flows.text.markdown import table, text
from flows.text.sizes import NOT_KNOWN, failure, in_numbers, known_by, shown_records, sized
from flows.text.wording import spelled
from ingest_core.model.codes import PlanStatus
from ingest_core.model.instant import parse_instant
from ingest_core.model.naming import counted, span_name
from ingest_core.planning.arithmetic import formula
from ingest_core.planning.report import PlanReport

UNCONFIRMED = "unconfirmed ends"
"""The row of slices whose end no total confirms."""


def plan_headline(report: PlanReport) -> str:
    """What happened, in one line: the state's message."""
    facts, plan = report.json(), report.plan
    if report.dry_run:
        return f"dry run, nothing was written: {_outcome(facts) if plan.slices else facts['reason']}"
    name = f"plan {plan.plan_id}" if report.created else f"plan {plan.plan_id}, which was there already"
    if not plan.slices:
        return f"{name}: nothing to read: {facts['reason'] or 'too many tasks wait'}"
    short = "; too many tasks wait, and the rest is planned by a later run" if facts["stock"] else ""
    warned = f"; {counted(len(facts['warnings']), 'warning')}" if facts["warnings"] and not short else ""
    return f"{name}: {_outcome(facts)}{short}{warned}"


def _outcome(facts: dict[str, Any]) -> str:
    return sized(facts["slices"], facts["sizes"])


def plan_page(report: PlanReport) -> str:
    """The page, as Markdown."""
    facts, remarks = report.json(), report.plan.remarks
    title = "dry run" if report.dry_run else f"plan {report.plan.plan_id}"
    parts = [
        f"# {text(str(report.partition))}: {title}",
        text(plan_headline(report)),
        table(("", ""), _facts(facts)),
        *_notices("Warnings", facts["warnings"]),
        "## What to do next",
        "\n".join(f"- {step}" for step in _next_steps(report, facts)),
        "## How the window came about",
        table(("", "value", "by", "why"), _steps(remarks.get("audit", []))),
        *_slices(facts),
        *_notices("What the provider lacks", facts["notes"]),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _facts(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    start, end = (parse_instant(facts["window"][name]) for name in ("from", "to"))
    sizes = facts["sizes"]
    yield "window", span_name(start, end)
    if facts["campaign"]:
        yield "campaign", facts["campaign"]
    yield "slices", f"{facts['slices']:,}, cut by {facts['strategy']}"
    if facts["tasks_existing"]:
        yield "tasks", f"{facts['tasks_existing']:,}, which were there already"
    if facts["weak_ends"]:
        yield UNCONFIRMED, _unconfirmed(facts["weak_ends"])
    failed = failure(facts["slices"], sizes)
    if failed:
        yield "sizes", failed
    if sizes.get("smallest") and not in_numbers(sizes):
        yield "records expected", f"{NOT_KNOWN} (slices sized: {known_by(sizes)})"
    if in_numbers(sizes):
        yield "records expected", f"{sizes['estimated_records']:,} (slices sized: {known_by(sizes)})"
        yield "requests expected", f"{sizes['expected_requests']:,}"
        yield "time expected", f"{spelled(sizes['expected_seconds'])} at the configured rate"
        yield "smallest slice", _sized(sizes["smallest"])
        yield "largest slice", _sized(sizes["largest"])


def _unconfirmed(weak_ends: int) -> str:
    return f"{counted(weak_ends, 'slice')}: no total confirms that every record came"


def with_weak_ends(page: str, weak_ends: int) -> str:
    """The page of a plan with the number of its slices that ended unconfirmed, in its first table."""
    lines = [line for line in page.splitlines() if not line.startswith(f"| {UNCONFIRMED} |")]
    head = next((at for at, line in enumerate(lines) if line.startswith("| ---")), None)
    if head is None or not weak_ends:
        return page
    rows = next((at for at in range(head + 1, len(lines)) if not lines[at].startswith("|")), len(lines))
    lines.insert(rows, f"| {UNCONFIRMED} | {_unconfirmed(weak_ends)} |")
    return "\n".join(lines) + "\n"


def _sized(one: dict[str, Any]) -> str:
    return f"{counted(one['records'], 'record')}, {_span(one)}"


def _span(one: dict[str, Any]) -> str:
    return span_name(parse_instant(one["from"]), parse_instant(one["to"]))


def _next_steps(report: PlanReport, facts: dict[str, Any]) -> Iterator[str]:
    if report.dry_run:
        yield "Run it again without *Dry run* to plan this."
        return
    if facts["slices"]:
        yield "The `executor` deployment works these tasks when it runs next, or `patra execute` does."
        yield f"Stop them with `patra cancel --plan {facts['plan_id']}`."
        if failure(facts["slices"], facts["sizes"]):
            yield "Nothing is lost by a wrong size: a slice that turns out too big is cut again."
    else:
        yield "Nothing: there is nothing to read now, and a later run looks again."
    if facts["status"] == PlanStatus.PARTIAL:
        yield "Run it again once fewer tasks wait: it plans the rest."
    if facts["campaign"]:
        name = text(facts["campaign"])
        yield f"Run it again under the campaign `{name}` to continue; covered time is not read again."


def _steps(audit: Iterable[dict[str, Any]]) -> Iterator[tuple[str, str, str, str]]:
    for step in audit:
        yield step["step"], step["value"] or "none", formula(step) or "given", step["why"]


def _slices(facts: dict[str, Any]) -> Iterator[str]:
    """The first slices and the last, a row each."""
    shown = facts["sizes"].get("shown")
    if not shown:
        return
    yield "## Slices"
    left_out = facts["slices"] - len(shown)
    if left_out:
        yield f"{counted(left_out, 'slice')} in between are not shown."
    rows = ((f"{one['no']:,}", _span(one), _beside(one), shown_records(one), one["method"]) for one in shown)
    yield table(("slice", "window", "part", "records", "known by"), rows)


def _beside(one: dict[str, Any]) -> str:
    """What narrows a slice beside its window."""
    if "ids" in one:
        return counted(one["ids"], "id")
    part = one.get("range")
    if part and part.get("without") == "ONLY":
        return f"without {part['key']}"
    return f"{part['key']} {part['from'] or ''}..{part['to'] or ''}" if part else ""


def _notices(title: str, notices: Sequence[str]) -> Iterator[str]:
    if notices:
        yield f"## {title}"
        yield "\n".join(f"- {text(notice)}" for notice in notices)
