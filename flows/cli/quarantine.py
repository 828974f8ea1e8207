"""`patra quarantine`: rejected records, and what becomes of them."""

import uuid
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Literal

import typer

from flows.cli.export import STDOUT, Force, Output, check_output, opened, print_summary, pump
from flows.cli.help import CommandTree, Heading
from flows.cli.screen import (
    SHOWN_ROWS,
    AsJson,
    console,
    errors,
    on_terminal,
    print_facts,
    print_json,
    print_table,
    shown_instant,
)
from flows.process.application import open_app
from ingest_core.bootstrap import App
from ingest_core.model.codes import Operation, QuarantineReason, QuarantineState
from ingest_core.model.errors import BadInput, Refused
from ingest_core.model.instant import format_instant
from ingest_core.model.quarantine import QuarantineCount, Quarantined, QuarantineEntry, Redriven, Refusal
from ingest_core.model.whole_number import LARGEST_COUNT, LARGEST_ID, whole_number
from ingest_core.readside.tables import Csv, FileFormat, JsonLines

quarantine_app = CommandTree(help="Inspect and settle rejected records.")

MOST_RETRIED = 1000
MOST_LISTED = 1000
"""Rows of the JSON list where no --limit says otherwise."""
COLUMNS = (
    "id", "provenance", "endpoint", "operation", "provider_id", "reason_code", "json_path", "fragment",
    "fragment_hash", "plan_id", "slice_id", "task_id", "run_id", "batch_no", "state", "seen_count", "remarks",
    "created_at", "updated_at",
)  # fmt: skip

OptionalSource = Annotated[str | None, typer.Argument(help="Only records of this source.", show_default=False)]
Reason = Annotated[
    QuarantineReason | None, typer.Option("--reason", case_sensitive=False, help="Only records with this reason.")
]
State = Annotated[
    QuarantineState | None, typer.Option("--state", case_sensitive=False, help="Only records in this state.")
]
RowIds = Annotated[
    list[int],
    typer.Argument(
        metavar="ID...", max=LARGEST_ID, help="Rows, as listed by `patra quarantine list`.", show_default=False
    ),
]
Said = Annotated[str, typer.Option("--reason", help="Reason; stored with the row.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]


def register(app: CommandTree) -> None:
    """Hang these commands into the tree."""
    add = quarantine_app.command
    add("list", epilog="Example: patra quarantine list crossref --state OPEN")(quarantine_list)
    add("show", epilog="Example: patra quarantine show 34")(quarantine_show)
    add("export", epilog="Example: patra quarantine export crossref --format csv --output bad.csv")(quarantine_export)
    add("retry", epilog="Example: patra quarantine retry pubmed --reason DETAIL_FAILED")(quarantine_retry)
    add("release", epilog="Example: patra quarantine release 34 35 --reason 'fixed upstream'")(quarantine_release)
    add("discard", epilog="Example: patra quarantine discard 34 --reason 'a test record'")(quarantine_discard)
    app.add_typer(quarantine_app, name="quarantine", rich_help_panel=Heading.RECORDS)


def quarantine_list(
    source: OptionalSource = None,
    reason: Reason = None,
    state: State = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, max=LARGEST_COUNT, help="Maximum number of rows, newest first (default: 20; 1000 in JSON)."
        ),
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """List rejected records: the number by reason, then the newest."""
    with open_app() as app:
        if source is not None:
            app.registry.rows(source)
        if as_json:
            print_json([entry.json() for entry in app.quarantine.entries(source, limit or MOST_LISTED, reason, state)])
            return
        tally = app.quarantine.tally(source, reason, state)
        entries = app.quarantine.entries(source, limit or SHOWN_ROWS, reason, state)
    _show_tally(tally)
    if entries:
        _show_entries(entries, sum(one.records for one in tally), source)


def _show_tally(tally: list[QuarantineCount]) -> None:
    columns = ("source", "reason", "state", "records")
    rows = ((one.source, one.reason_code, one.state, f"{one.records:,}") for one in tally)
    print_table("rejected records by reason", columns, rows)


def _show_entries(entries: list[QuarantineEntry], total: int, source: str | None) -> None:
    """The newest rows; a listing of one source does not repeat its name."""
    columns = {"id": "id", "provenance": "source", "provider_id": "record", "reason_code": "reason", "state": "state"}
    if source is not None:
        del columns["provenance"]
    console.print()
    rows = ([entry.json()[column] for column in columns] for entry in entries)
    print_table("newest" if len(entries) < total else "all of them, newest first", list(columns.values()), rows)
    if len(entries) < total:
        console.print(f"{len(entries):,} of {total:,} shown; more with --limit, all with `patra quarantine export`")


def quarantine_show(
    row_id: Annotated[
        int,
        typer.Argument(
            metavar="ID", max=LARGEST_ID, help="Row, as listed by `patra quarantine list`.", show_default=False
        ),
    ],
    *,
    as_json: AsJson = False,
) -> None:
    """Show one rejected record in full."""
    with open_app() as app:
        entry = app.quarantine.entry(row_id)
    if as_json:
        print_json(entry.json())
        return
    print_facts(f"quarantine {row_id}", _facts(entry.json()))


_LABELS = {
    "provenance": "source",
    "reason_code": "reason",
    "json_path": "path",
    "fragment": "record",
    "fragment_hash": "record hash",
    "seen_count": "times seen",
    "run_id": "run",
    "batch_no": "page of the run",
    "plan_id": "plan",
    "slice_id": "slice",
    "task_id": "task",
    "page_no": "page",
}
"""What people read in place of the names that differ from the words of the docs."""


def _facts(entry: dict[str, Any], within: str = "") -> Iterator[tuple[str, Any]]:
    """What is known of a row, in words; what is not known is left out."""
    for name, value in entry.items():
        label = f"{within} {_LABELS.get(name, name.replace('_', ' '))}".strip()
        if isinstance(value, dict):
            yield from _facts(value, label)
        elif value is not None:
            yield label, shown_instant(format_instant(value)) if isinstance(value, datetime) else value


def quarantine_export(
    source: OptionalSource = None,
    reason: Reason = None,
    state: State = None,
    form: Annotated[
        Literal["jsonl", "csv"], typer.Option("--format", case_sensitive=False, help="File format.")
    ] = "jsonl",
    output: Output = STDOUT,
    *,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write rejected records to a file, with all columns."""
    with open_app() as app:
        if source is not None:
            app.registry.rows(source)
        check_output(output, FileFormat(form), force=force, as_json=as_json)
        pages = app.quarantine.stream(source, reason, state)
        with opened(output) as stream:
            writer = JsonLines(stream) if form == "jsonl" else Csv(stream, COLUMNS)
            count = partial(app.quarantine.count, source, reason, state)
            records = pump(pages, writer.write, count, target=output, as_json=as_json)
    print_summary({"source": source, "format": form, "path": output, "records": records}, as_json=as_json)


def quarantine_release(row_ids: RowIds, reason: Said, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Mark records as solved; one that is rejected again is OPEN again."""
    _settle(row_ids, QuarantineState.RELEASED, reason, yes=yes, as_json=as_json)


def quarantine_discard(row_ids: RowIds, reason: Said, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Discard records for good; their ids are not fetched again."""
    _settle(row_ids, QuarantineState.DISCARDED, reason, yes=yes, as_json=as_json)


def _settle(row_ids: list[int], state: QuarantineState, reason: str, *, yes: bool, as_json: bool) -> None:
    if not reason.strip():
        raise BadInput(
            "REASON_MISSING", "it is empty", where="--reason", remedy="give a reason: it is stored with the row"
        )
    with open_app() as app:
        _confirm(app.quarantine.named(row_ids), f"become {state}", yes=yes or as_json)
        changed = app.quarantine.settle(row_ids, state, reason)
    if as_json:
        print_json({"changed": [one.json() for one in changed]})
    else:
        print_table("quarantine", ("id", "from", "to"), ((one.row_id, one.before, one.after) for one in changed))


def _confirm(entries: list[Quarantined], what: str, *, yes: bool) -> None:
    """On a terminal, show the rows concerned and ask."""
    if yes or not on_terminal():
        return
    columns = ("id", "source", "endpoint", "provider_id", "seen")
    rows = ((one.row_id, one.source, one.endpoint, one.provider_id, one.seen_count) for one in entries)
    print_table(f"these {what}", columns, rows)
    if entries and not typer.confirm("Continue?"):
        raise typer.Abort


def quarantine_retry(
    targets: Annotated[
        list[str],
        typer.Argument(metavar="ID...|SOURCE", help="Rows, or the open rows of a source.", show_default=False),
    ],
    reason: Reason = None,
    limit: Annotated[
        int, typer.Option(min=1, max=LARGEST_COUNT, help="Maximum number of rows of a source, oldest first.")
    ] = MOST_RETRIED,
    *,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Fetch rejected records again.

    By id if the source can be refreshed by id, otherwise by the time window they were found in.
    """
    with open_app() as app:
        entries = _chosen(app, targets, reason, limit)
        _confirm(entries, "are fetched again", yes=yes or as_json)
        outcomes = list(app.redriver.retry(entries, uuid.uuid4().hex))
    done = [one for one in outcomes if isinstance(one, Redriven)]
    refused = [one for one in outcomes if isinstance(one, Refusal)]
    if refused and not done:
        ids = ", ".join(str(row_id) for one in refused for row_id in one.row_ids)
        raise Refused("NOT_RETRYABLE", refused[0].reason, where=f"quarantine {ids}", remedy="nothing was changed")
    report = {
        "retried": [one.json() for one in done],
        "refused": [{"ids": one.row_ids, "reason": one.reason} for one in refused],
        "next": _next(done),
    }
    if as_json:
        print_json(report)
    else:
        _show_retry(report)


def _chosen(app: App, targets: list[str], reason: QuarantineReason | None, limit: int) -> list[Quarantined]:
    ids = [whole_number(one) for one in targets]
    if None not in ids:
        if reason:
            raise BadInput("USAGE", "--reason chooses among a source's rows", where="retry", remedy="leave it out")
        return app.quarantine.named([one for one in ids if one is not None])
    if len(targets) > 1:
        raise BadInput("USAGE", "name rows, or one source", where="retry", remedy="see: patra quarantine retry --help")
    app.registry.rows(targets[0])
    return app.quarantine.open_entries(targets[0], reason, limit)


def _next(done: list[Redriven]) -> list[str]:
    """The commands that follow; plans of a BACKFILL are made already."""
    refreshed = {(one.source, one.endpoint) for one in done if one.operation == Operation.UPDATE.value}
    plans = [f"patra plan {source} --endpoint {endpoint} --operation UPDATE" for source, endpoint in sorted(refreshed)]
    return plans + [f"patra execute --source {source}" for source in sorted({one.source for one in done})]


def _show_retry(report: dict[str, Any]) -> None:
    columns = ("rows", "source", "endpoint", "operation", "campaign", "plan")
    rows = (
        (len(one["ids"]), one["provenance"], one["endpoint"], one["operation"], one["campaign"], one["plan_id"])
        for one in report["retried"]
    )
    print_table("to be fetched again", columns, rows)
    for one in report["refused"]:
        errors.print(f"not retried: {', '.join(map(str, one['ids']))}: {one['reason']}", style="yellow", markup=False)
    for command in report["next"]:
        console.print(f"next: {command}")
