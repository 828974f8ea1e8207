"""The page of a plan: what it came to, how its window came about, its slices, and what to do next."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from flows.planning.outcome import plan_tag, runs_path
from flows.text.markdown import table, text
from flows.text.sizes import NOT_KNOWN, failure, in_numbers, known_by, shown_records, sized
from flows.text.wording import spelled
from ingest_core.model.codes import PlanStatus
from ingest_core.model.instant import parse_instant
from ingest_core.model.naming import counted, span_name
from ingest_core.planning.arithmetic import formula
from ingest_core.planning.report import PlanReport


def plan_headline(report: PlanReport) -> str:
    """What happened, in one line: the state's message."""
    facts, plan = report.json(), report.plan
    if report.dry_run:
        return f"dry run, nothing was written: {_planned(facts) if plan.slices else facts['reason']}"
    if not plan.slices:
        return f"nothing to read: {facts['reason'] or 'the queue is full'} (plan {plan.plan_id})"
    done = "planned" if report.created else "planned before"
    short = "; the queue is full, and a later run plans the rest" if facts["stock"] else ""
    warned = f"; {counted(len(facts['warnings']), 'warning')}" if facts["warnings"] and not short else ""
    return f"{done}: {_planned(facts)} (plan {plan.plan_id}){short}{warned}"


def plan_message(report: PlanReport, ui_url: str | None) -> str:
    """The state's message: what was planned, and where its execution is seen."""
    if report.dry_run or not report.plan.slices:
        return plan_headline(report)
    plan_id = report.plan.plan_id
    place = f": {ui_url.rstrip('/')}/v2/{runs_path(plan_id)}" if ui_url else ""
    return f"{plan_headline(report)}. The runs tagged {plan_tag(plan_id)} execute it{place}"


def _planned(facts: dict[str, Any]) -> str:
    if facts["ids"] is not None:
        return f"{counted(facts['slices'], 'slice')}, {counted(facts['ids'], 'id')}"
    return sized(facts["slices"], facts["sizes"])


def plan_page(report: PlanReport, outcome: str = "") -> str:
    """The page, as Markdown; of a plan with tasks, with the part that says what became of it."""
    facts, remarks = report.json(), report.plan.remarks
    title = "dry run" if report.dry_run else f"plan {report.plan.plan_id}"
    parts = [
        f"# {text(str(report.partition))}: {title}",
        text(plan_headline(report)),
        table(("", ""), _facts(facts)),
        *_notices("Warnings", facts["warnings"]),
        outcome,
        *_next_steps(report, facts),
        *_window_steps(facts, remarks.get("audit", [])),
        *_slices(facts),
        *_notices("Missing capabilities of the provider", facts["notes"]),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _facts(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    sizes, by_id = facts["sizes"], facts["ids"] is not None
    if by_id:
        yield "ids", f"{facts['ids']:,}"
    else:
        yield "window", span_name(*(parse_instant(facts["window"][name]) for name in ("from", "to")))
    if facts["campaign"]:
        yield "campaign", facts["campaign"]
    yield "slices", f"{facts['slices']:,}, cut by {facts['strategy']}"
    if facts["tasks_existing"]:
        yield "tasks", f"{facts['tasks_existing']:,}, planned before"
    if by_id:
        yield "requests expected", f"{sizes.get('expected_requests', 0):,}"
        return
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


def _sized(one: dict[str, Any]) -> str:
    return f"{counted(one['records'], 'record')}, {_span(one)}"


def _span(one: dict[str, Any]) -> str:
    return span_name(parse_instant(one["from"]), parse_instant(one["to"]))


def _next_steps(report: PlanReport, facts: dict[str, Any]) -> Iterator[str]:
    steps = list(_steps_after(report, facts))
    if steps:
        yield "## Next steps"
        yield "\n".join(f"- {step}" for step in steps)


def _steps_after(report: PlanReport, facts: dict[str, Any]) -> Iterator[str]:
    if report.dry_run:
        yield "Run it again without *Dry run* to plan this."
        return
    if facts["slices"] and failure(facts["slices"], facts["sizes"]):
        yield "Nothing is lost by a wrong size: a slice that turns out too big is cut again."
    if not facts["slices"]:
        yield "Nothing. A later run checks again."
    if facts["status"] == PlanStatus.PARTIAL:
        yield "Run it again when fewer tasks are queued: it plans the rest."
    if facts["campaign"]:
        name = text(facts["campaign"])
        yield f"Run it again under the campaign `{name}` to continue; covered time is not read again."


def _window_steps(facts: dict[str, Any], audit: Iterable[dict[str, Any]]) -> Iterator[str]:
    if facts["ids"] is None:  # a refresh by id has no window
        yield "## Window, step by step"
        yield table(("", "value", "by", "why"), _steps(audit))


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
    if facts["ids"] is not None:
        yield table(("slice", "ids"), ((f"{one['no']:,}", f"{one['ids']:,}") for one in shown))
        return
    rows = ((f"{one['no']:,}", _span(one), _beside(one), shown_records(one), one["method"]) for one in shown)
    yield table(("slice", "window", "part", "records", "method"), rows)


def _beside(one: dict[str, Any]) -> str:
    """What narrows a slice beside its window."""
    part = one.get("range")
    if part and part.get("without") == "ONLY":
        return f"without {part['key']}"
    return f"{part['key']} {part['from'] or ''}..{part['to'] or ''}" if part else ""


def _notices(title: str, notices: Sequence[str]) -> Iterator[str]:
    if notices:
        yield f"## {title}"
        yield "\n".join(f"- {text(notice)}" for notice in notices)
