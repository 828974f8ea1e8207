"""`patra plan` and `patra explain`: what will be read, and why."""

import uuid
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.cli.files import read_file, read_stdin
from flows.cli.help import CommandTree, Heading
from flows.cli.progress import sizes_shown
from flows.cli.screen import AsJson, console, errors, print_facts, print_json, print_table, shown_instant
from flows.cli.source import read_assignments
from flows.process.application import open_app
from flows.text.sizes import NOT_KNOWN, failure, in_numbers, known_by
from flows.text.wording import spelled
from ingest_core.model.codes import Operation, SchedulerCode
from ingest_core.model.errors import BadInput
from ingest_core.model.instant import format_instant, parse_instant, within_reach
from ingest_core.model.naming import counted
from ingest_core.planning.arithmetic import formula
from ingest_core.planning.relative_window import asked_bounds
from ingest_core.planning.request import PlanRequest, Trigger

explain_app = CommandTree(help="Explain planning decisions.")

SourceArgument = Annotated[str, typer.Argument(help="Code of the source, such as crossref.", show_default=False)]
Endpoint = Annotated[str | None, typer.Option(metavar="NAME", help="Endpoint; needed if the source has several.")]
AnyOperation = Annotated[Operation, typer.Option(case_sensitive=False, help="Type of the plan.")]
From = Annotated[str | None, typer.Option("--from", metavar="TIME", help="Start of the window, inclusive (UTC).")]
To = Annotated[str | None, typer.Option("--to", metavar="TIME", help="End of the window, exclusive (UTC).")]
InWords = Annotated[
    str | None,
    typer.Option(
        "--window",
        metavar="WORDS",
        help='Window in words, instead of --from and --to: "last 7 days", "last 6 hours", yesterday, "last month".',
    ),
]
Query = Annotated[
    str | None,
    typer.Option(metavar="QUERY", help='Only records that match, such as title:"heart failure" AND NOT type:review.'),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Override a setting for this plan, such as pagination.page_size=200. Can be given several times.",
    ),
]
Campaign = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Name of a BACKFILL or UPDATE; a later plan with this name continues it."),
]
NewestFirst = Annotated[bool, typer.Option("--newest-first", help="Read a BACKFILL from newest to oldest.")]
Now = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Replace the clock for planning; a time in the future only with --dry-run."),
]
AnyNow = Annotated[str | None, typer.Option("--now", metavar="TIME", help="Replace the clock.")]

MAX_IDS_BYTES = 50_000_000
"""Some two million ids; one plan takes fewer."""

BARS = " ▁▂▃▄▅▆▇█"


def register(app: CommandTree) -> None:
    """Hang these commands into the tree."""
    example = "Example: patra plan crossref --from 2026-01-01 --to 2026-01-02"
    app.command("plan", rich_help_panel=Heading.HARVEST, epilog=example)(plan)
    example = "Example: patra explain window pubmed --operation BACKFILL --from 2020-01-01"
    explain_app.command("window", epilog=example)(explain_window)
    app.add_typer(explain_app, name="explain", rich_help_panel=Heading.HARVEST)


def plan(
    source: SourceArgument,
    endpoint: Endpoint = None,
    operation: AnyOperation = Operation.HARVEST,
    window_from: From = None,
    window_to: To = None,
    window: InWords = None,
    query: Query = None,
    overrides: Overrides = None,
    campaign: Campaign = None,
    priority: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Priority of the tasks, 1 (most urgent) to 9 (default: HARVEST 3, UPDATE 5, BACKFILL 7).",
        ),
    ] = None,
    ids: Annotated[
        Path | None, typer.Option(help="File with the ids to refresh (UPDATE), one per line; - reads stdin.")
    ] = None,
    now: Now = None,
    trigger_key: Annotated[
        str | None, typer.Option(metavar="KEY", help="Identity of the trigger; the same key again creates nothing new.")
    ] = None,
    *,
    newest_first: NewestFirst = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan without writing anything.")] = False,
    probe: Annotated[
        bool, typer.Option("--probe", help="With --dry-run: ask the provider for the sizes of the slices.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Plan slices and tasks for a source."""
    asked = (_instant(window_from, "--from"), _instant(window_to, "--to"), window)
    settings = read_assignments(overrides)
    named = _read_ids(ids) if ids else ()
    moment = _instant(now, "--now")
    trigger = Trigger(SchedulerCode.CLI, trigger_key or f"cli-{uuid.uuid4()}")
    with open_app() as opened, sizes_shown(opened, show=not as_json) as app:
        bounds = asked_bounds(*asked, moment or app.database.now())
        request = PlanRequest(
            source, operation, endpoint, *bounds, query, settings, campaign, newest_first, named, priority, window
        )
        if dry_run:
            shown = app.planner.dry_run(request, moment, probe=probe).json()
        else:
            shown = app.planner.plan(request, trigger, moment).json()
    if as_json:
        print_json(shown)
    else:
        _show_plan(shown)


def _instant(text: str | None, option: str) -> datetime | None:
    return within_reach(parse_instant(text, option), option) if text else None


def _read_ids(file: Path) -> tuple[str, ...]:
    try:
        text = read_stdin(MAX_IDS_BYTES) if str(file) == "-" else read_file(file, MAX_IDS_BYTES)
    except BadInput as error:
        raise BadInput(
            "IDS_UNREADABLE", str(error), where="--ids", remedy="name a text file, or - for stdin"
        ) from error
    found = tuple(line.strip() for line in text.splitlines() if line.strip())
    if not found:
        raise BadInput("IDS_MISSING", f"{file} names no id", where="--ids", remedy="write one id per line")
    return found


def _show_plan(report: dict[str, Any]) -> None:
    window, sizes = report["window"], report["sizes"]
    title = "dry run: nothing was written" if report["dry_run"] else f"plan {report['plan_id']} ({report['status']})"
    rows = [
        ("window", _span(window)) if report["ids"] is None else ("ids", report["ids"]),
        ("slices", f"{report['slices']} ({report['slices_existing']} existing)"),
    ]
    if report["campaign"]:
        rows.append(("campaign", report["campaign"]))
    if not report["dry_run"]:
        rows += [("tasks created", report["tasks_created"]), ("tasks existing", report["tasks_existing"])]
    if sizes.get("smallest"):
        rows += _size_rows(report, sizes)
    if report["reason"]:
        rows.append(("reason", report["reason"]))
    print_facts(title, rows)
    if any(sizes.get("timeline", [])):
        _show_timeline(sizes["timeline"], window)
    for note in report["notes"]:
        console.print(f"note: {note}", markup=False)
    recut = report["resliced"]
    if recut["served"]:
        cut = counted(recut["served"], "slice")
        console.print(f"note: {cut} that reached a limit cut again, into {recut['children']:,} smaller ones")
    for warning in [*report["warnings"], *recut["refused"]]:
        errors.print(f"warning: {warning}", style="yellow", markup=False)
    if report.get("tasks_created"):
        console.print("next: patra execute")


def _size_rows(report: dict[str, Any], sizes: dict[str, Any]) -> list[tuple[str, Any]]:
    if report["ids"] is not None:
        return [("requests expected", f"{sizes['expected_requests']:,}")]
    failed = failure(report["slices"], sizes)
    rows: list[tuple[str, Any]] = [("sizes", failed)] if failed else []
    if not in_numbers(sizes):
        how = "; --probe asks the provider" if report["dry_run"] and not failed else ""
        return [*rows, ("records expected", f"{NOT_KNOWN} (slices sized {known_by(sizes)}{how})")]
    return [
        *rows,
        ("smallest slice", _sized(sizes["smallest"])),
        ("largest slice", _sized(sizes["largest"])),
        ("records expected", f"{sizes['estimated_records']:,} (slices sized {known_by(sizes)})"),
        ("requests expected", f"{sizes['expected_requests']:,}"),
        ("time expected", f"{spelled(sizes['expected_seconds'])} at the configured rate"),
    ]


def _sized(one: dict[str, Any]) -> str:
    return f"{one['records']:,} records, {_span(one)}"


def _span(window: dict[str, Any]) -> str:
    return f"{shown_instant(window['from'])} .. {shown_instant(window['to'])}"


def _show_timeline(bins: list[int], window: dict[str, str]) -> None:
    """The window as a line: the higher, the more records."""
    highest = max(bins)
    line = "".join(BARS[-(-count * (len(BARS) - 1) // highest)] for count in bins)
    console.print(f"|{line}|", markup=False)
    start, end = (parse_instant(window[name]) for name in ("from", "to"))
    console.print(f" {start:%Y-%m-%d}{' ' * max(1, len(bins) - 20)}{end:%Y-%m-%d}", markup=False)


def explain_window(
    source: SourceArgument,
    endpoint: Endpoint = None,
    operation: AnyOperation = Operation.HARVEST,
    window_from: From = None,
    window_to: To = None,
    window: InWords = None,
    query: Query = None,
    overrides: Overrides = None,
    campaign: Campaign = None,
    now: AnyNow = None,
    *,
    newest_first: NewestFirst = False,
    as_json: AsJson = False,
) -> None:
    """Show how the window of a plan is computed, step by step."""
    asked = (_instant(window_from, "--from"), _instant(window_to, "--to"), window)
    settings = read_assignments(overrides)
    moment = _instant(now, "--now")
    with open_app() as app:
        bounds = asked_bounds(*asked, moment or app.database.now())
        request = PlanRequest(
            source, operation, endpoint, *bounds, query, settings, campaign, newest_first, window_words=window
        )
        proposal = app.planner.resolve(request, app.planner.compile(request, now=moment), moment)
    decision = proposal.decision
    report = {
        "source": source,
        "endpoint": proposal.namespace.partition.endpoint_name,
        "operation": operation.value,
        "campaign": proposal.campaign,
        "namespace_key": proposal.namespace.key,
        "window": {"from": format_instant(decision.start), "to": format_instant(decision.end)},
        "empty": decision.window is None,
        "reason": decision.reason,
        "steps": decision.audit,
        "warnings": decision.warnings,
    }
    if as_json:
        print_json(report)
    else:
        _show_explanation(report)


def _show_explanation(report: dict[str, Any]) -> None:
    window = report["window"]
    console.print(f"{report['source']}.{report['endpoint']} {report['operation']}", markup=False)
    if report["campaign"]:
        console.print(f"campaign {report['campaign']}", markup=False)
    rows = (
        (step["step"], _value(step), ": ".join(filter(None, (formula(step), step["why"])))) for step in report["steps"]
    )
    print_table("arithmetic", ("step", "value", "how"), rows)
    if report["empty"]:
        console.print(f"no window: {report['reason']}", markup=False)
    else:
        console.print(f"window: {shown_instant(window['from'])} .. {shown_instant(window['to'])}", markup=False)
    for warning in report["warnings"]:
        errors.print(f"warning: {warning}", style="yellow", markup=False)


def _value(step: dict[str, Any]) -> str:
    value = step["value"]
    if value is None:
        return "none"
    return shown_instant(value) if value.endswith("Z") else str(value)
