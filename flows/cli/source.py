"""`patra source`: create and test source files."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.cli.files import is_file, read_file, write_file
from flows.cli.help import CommandTree, Heading
from flows.cli.screen import AsJson, console, errors, on_terminal, print_facts, print_json, print_table
from flows.process.application import open_app, read_prefect_secret
from flows.text.record import record_facts
from ingest_core.bootstrap import check_rows, code_of, open_upstream, signing_hooks, strategies
from ingest_core.gate.ports import RateGate
from ingest_core.inspection.check_source import SHOWN_RECORDS, CheckRequest, SourceCheck
from ingest_core.inspection.local_gate import LocalGate
from ingest_core.inspection.ports import VisibleUpstream
from ingest_core.model.codes import Operation, PaginationType
from ingest_core.model.errors import BadInput, Refused
from ingest_core.model.instant import parse_instant
from ingest_core.model.naming import counted
from ingest_core.model.whole_number import LARGEST_COUNT, whole_number
from ingest_core.readside.output_file import refuse_existing
from ingest_core.registry.draft import PAGING, Answers, draft_source
from ingest_core.registry.merge import PLATFORM_DEFAULT
from ingest_core.registry.read import read_source
from ingest_core.registry.rows import Rows, rows_of
from ingest_core.registry.schema import schema_text
from ingest_core.registry.yaml_bounds import MAX_BYTES
from ingest_core.settings import load_settings
from ingest_core.shipped import shipped_sources

LONGEST_FRAGMENT = 120
"""Characters of a rejected record that are shown."""

source_app = CommandTree(help="Create and test source files.")


def register(app: CommandTree) -> None:
    """Hang these commands into the tree."""
    app.add_typer(source_app, name="source", rich_help_panel=Heading.SOURCES)


@dataclass(frozen=True)
class _Found:
    """A source's rows, where they are from, and how to ask its provider."""

    rows: Rows
    origin: str
    upstream: VisibleUpstream
    gate: RateGate
    now: datetime


@source_app.command("check", epilog="Example: patra source check crossref --from 2026-01-01 --to 2026-01-02 --send")
def source_check(
    source: Annotated[str, typer.Argument(help="Code of a source, or a source file.", show_default=False)],
    window_from: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="Start of the window, inclusive (UTC).")
    ] = None,
    window_to: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="End of the window, exclusive (UTC).")
    ] = None,
    query: Annotated[
        str | None,
        typer.Option(
            metavar="QUERY", help='Only records that match, such as title:"heart failure" AND NOT type:review.'
        ),
    ] = None,
    endpoint: Annotated[
        str | None, typer.Option(metavar="NAME", help="Endpoint; needed if the source has several.")
    ] = None,
    operation: Annotated[Operation | None, typer.Option(case_sensitive=False, help="Type of the plan.")] = None,
    ids: Annotated[
        str | None, typer.Option(metavar="ID,...", help="Ids to fetch (UPDATE), separated by commas.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum number of records to show.")] = SHOWN_RECORDS,
    overrides: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override a setting, as in `patra plan`.")
    ] = None,
    *,
    whole: Annotated[bool, typer.Option("--all", help="Also show settings that are platform defaults.")] = False,
    send: Annotated[bool, typer.Option("--send", help="Fetch one page and show its records.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compile a source and show its settings and requests.

    The requests are those of its first slice. --send fetches one page and shows its records.
    """
    asked = CheckRequest(
        endpoint=endpoint,
        operation=operation,
        user_from=parse_instant(window_from, "--from") if window_from else None,
        user_to=parse_instant(window_to, "--to") if window_to else None,
        query=query,
        overrides=read_assignments(overrides),
        ids=tuple(one.strip() for one in ids.split(",") if one.strip()) if ids else (),
        shown=limit,
    )
    settings = load_settings()
    with _find(source) as found:
        check = SourceCheck(
            found.rows,
            asked,
            found.upstream,
            found.now,
            settings.contact,
            signing_hooks(),
            strategies().codes,
            settings.credential_names,
            settings.upstream_for(code_of(found.rows)),
        )
        report: dict[str, Any] = {"origin": found.origin, **check.describe(), "page": None}
        if not as_json:
            _show_check(report, whole=whole)
        if send:
            report["page"], about_page = check.send(found.gate)
            report["warnings"] = [*report["warnings"], *about_page]
    if as_json:
        print_json(report)
    elif send:
        _show_page(report["page"], limit)
        _show_warnings(about_page)


def read_assignments(given: list[str] | None) -> dict[str, str]:
    """`KEY=VALUE` options by key."""
    pairs = {}
    for text in given or []:
        key, equals, value = text.partition("=")
        if not equals:
            raise BadInput(
                "USAGE", f"{text!r} is not KEY=VALUE", where="--set", remedy="write it as pagination.page_size=200"
            )
        pairs[key.strip()] = value.strip()
    return pairs


@contextmanager
def _find(source: str) -> Iterator[_Found]:
    """The source: from a file, from the Registry, or, where there is no database yet, as shipped."""
    with ExitStack() as stack:
        if source.endswith((".yaml", ".yml")) or "/" in source or is_file(source):
            yield stack.enter_context(_from_text(read_file(Path(source), MAX_BYTES), source))
            return
        try:
            app = stack.enter_context(open_app())
        except Refused:
            text = shipped_sources().get(f"{source}.yaml")
            if text is None:
                raise
            yield stack.enter_context(_from_text(text, f"shipped {source}.yaml"))
            return
        yield _Found(app.registry.rows(source), "registry", app.upstream, app.gate, app.database.now())


@contextmanager
def _from_text(text: str, name: str) -> Iterator[_Found]:
    rows = rows_of(read_source(text, name))
    with open_upstream(secret_readers={"prefect": read_prefect_secret}) as upstream:
        yield _Found(rows, name, upstream, LocalGate(), datetime.now(UTC))


def _show_check(report: dict[str, Any], *, whole: bool) -> None:
    title = f"{report['source']} {report['endpoint']} {report['operation']} (from {report['origin']})"
    shown = [one for one in report["settings"] if whole or one["origin"] != PLATFORM_DEFAULT]
    rows = ((one["key"], one["value"], one["origin"].partition(" (reg_")[0]) for one in shown)
    print_table(title, ("setting", "value", "set by"), rows)
    if len(shown) < len(report["settings"]):
        hidden = counted(len(report["settings"]) - len(shown), "platform default")
        console.print(f"{hidden} not shown (--all)")
    _show_warnings(report["warnings"])
    for degradation in report["degradations"]:
        console.print(f"note: {degradation}", markup=False)
    for request in report["requests"]:
        console.print(f"\n{request['purpose']}", style="bold")
        console.print(f"{request['method']} {request['url']}", markup=False)
        for name, value in request["headers"].items():
            console.print(f"  {name}: {value}", markup=False)
        if request["body"] is not None:
            console.print(f"  body: {request['body']}", markup=False)


def _show_warnings(warnings: list[str]) -> None:
    for warning in warnings:
        errors.print(f"warning: {warning}", style="yellow", markup=False)


def _show_page(page: dict[str, Any], limit: int) -> None:
    total = "" if page["total"] is None else f" of {page['total']}"
    console.print(
        f"\nanswer: status {page['status']}, {counted(page['received'], 'record')}{total}: "
        f"{page['mapped']:,} usable, {len(page['gone']):,} deleted, {len(page['rejected']):,} rejected; "
        f"{counted(page['requests'], 'request')}"
    )
    for record in page["records"]:
        print_facts(f"{record['provider_id']}  updated {record['updated_at']}", record_facts(record["record"]))
    if page["gone"]:
        deleted = ((one["provider_id"], one["reason_code"], one["gone_at"], one["merged_into"]) for one in page["gone"])
        print_table("deleted", ("id", "reason", "when", "merged into"), deleted)
    reasons = Counter((one["reason_code"], one["json_path"]) for one in page["rejected"])
    if reasons:
        rows = ((reason, path, f"{number:,}") for (reason, path), number in reasons.most_common())
        print_table("rejected records by reason", ("reason", "path", "records"), rows)
    for one in page["rejected"][:limit]:
        facts = {"reason": one["reason_code"], "path": one["json_path"], "record": one["fragment"][:LONGEST_FRAGMENT]}
        print_facts(f"{one['provider_id'] or 'no id'}  rejected", facts.items())


@source_app.command("schema", epilog="Example: patra source schema > source.schema.json")
def source_schema(*, as_json: AsJson = False) -> None:
    """Print the JSON Schema of source files, for editors."""
    typer.echo(schema_text(), nl=False)


@source_app.command("new", epilog="Example: patra source new --code myapi --name 'My API'")
def source_new(
    code: Annotated[str | None, typer.Option(help="Code of the source: lower-case letters, digits and _.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the provider.")] = None,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Base URL, such as https://api.example.org/v1.")
    ] = None,
    path: Annotated[str | None, typer.Option(help="Path of the list of records, such as /records.")] = None,
    items: Annotated[str | None, typer.Option(help="Place of the records in an answer, such as $.items.")] = None,
    record_id: Annotated[str | None, typer.Option("--id", help="Place of the id in a record, such as $.id.")] = None,
    updated: Annotated[str | None, typer.Option(help="Place of the update time in a record.")] = None,
    paging: Annotated[PaginationType | None, typer.Option(case_sensitive=False, help="Type of paging.")] = None,
    cap: Annotated[
        int | None, typer.Option(min=1, max=LARGEST_COUNT, help="Maximum page size of the provider, in records.")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="File to write (default: CODE.yaml).")] = None,
    *,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Ask a few questions and write a source file that compiles."""
    ask = _Questions(interactive=on_terminal() and not as_json)
    answers = Answers(
        code=ask.text("code", code, "myapi"),
        name=ask.text("name", name, "My API"),
        base_url=ask.text("base URL", base_url, "https://api.example.org"),
        path=ask.text("path", path, "/records"),
        items=ask.text("path of the records in an answer", items, Answers.items),
        id=ask.text("path of the id in a record", record_id, Answers.id),
        updated=ask.text("path of the update time in a record", updated, Answers.updated),
        paging=_paging(ask.text("paging (PAGE, OFFSET, TOKEN, URL)", paging, Answers.paging.value)),
        cap=_whole_number(ask.text("most records a page can have", cap, str(Answers.cap))),
    )
    text = draft_source(answers)
    check_rows(rows_of(read_source(text, f"{answers.code}.yaml")), datetime.now(UTC))
    file = output or Path(f"{answers.code}.yaml")
    refuse_existing(file, force=force)
    write_file(file, text)
    if as_json:
        print_json({"file": str(file), "code": answers.code})
    else:
        console.print(f"written: {file}\nnext: patra source check {file}", markup=False)


def _paging(answer: str) -> PaginationType:
    known = {kind.value: kind for kind in PAGING}
    if answer.upper() not in known:
        raise BadInput(
            "USAGE", f"{answer!r} is not a type of paging", where="paging", remedy=f"one of {', '.join(known)}"
        )
    return known[answer.upper()]


def _whole_number(answer: str) -> int:
    number = whole_number(answer, LARGEST_COUNT)
    if not number:
        raise BadInput("USAGE", f"{answer!r} is not a whole number above 0", where="cap", remedy="such as 100")
    return number


class _Questions:
    """Asks on a terminal for what no option says; elsewhere takes the default."""

    def __init__(self, *, interactive: bool) -> None:
        self._interactive = interactive

    def text(self, question: str, given: object, default: str) -> str:
        if given is not None:
            return str(given)
        return str(typer.prompt(question, default=default)) if self._interactive else default
