"""`patra db` and `patra registry`: the schema and the sources."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.cli.export import Force
from flows.cli.files import read_file, write_file
from flows.cli.help import CommandTree, Heading
from flows.cli.screen import AsJson, console, errors, on_terminal, print_facts, print_json, print_table, shown_instant
from flows.process.application import open_app
from ingest_core.bootstrap import App, check_rows, check_source, code_of, upgrade_database
from ingest_core.model.errors import BadInput, ExitCode, PatraError
from ingest_core.model.instant import format_instant
from ingest_core.model.naming import counted
from ingest_core.model.record_merge import PendingMerge, RecordMerge
from ingest_core.model.source_change import RowChange, RowVersion
from ingest_core.readside.output_file import refuse_existing
from ingest_core.registry.columns import SETTINGS
from ingest_core.registry.difference import announce_merge, describe_changes, describe_merge
from ingest_core.registry.export import document_of, export_source
from ingest_core.registry.problems import SpecInvalid
from ingest_core.registry.read import read_source
from ingest_core.registry.rows import Rows, rows_of
from ingest_core.registry.yaml_bounds import MAX_BYTES
from ingest_core.shipped import shipped_sources

db_app = CommandTree(help="Manage the database schema.")
registry_app = CommandTree(help="Manage the sources in the Registry.")

Files = Annotated[list[Path] | None, typer.Argument(metavar="FILE...", help="Source files (YAML).", show_default=False)]
CodeArgument = Annotated[
    str, typer.Argument(metavar="SOURCE", help="Code of the source, such as crossref.", show_default=False)
]
Shipped = Annotated[bool, typer.Option("--shipped", help="Also take the shipped sources.")]


def register(app: CommandTree) -> None:
    """Hang these commands into the tree."""
    app.add_typer(db_app, name="db", rich_help_panel=Heading.INSTALL)
    app.add_typer(registry_app, name="registry", rich_help_panel=Heading.SOURCES)


@db_app.command("upgrade", epilog="Example: patra db upgrade")
def db_upgrade(*, as_json: AsJson = False) -> None:
    """Upgrade the schema to this version, and add missing shipped sources."""
    result = upgrade_database()
    if as_json:
        print_json(result)
        return
    if result["from"] == result["to"]:
        console.print(f"schema {result['to']}: nothing to do")
    else:
        console.print(f"schema {result['from'] or 'none'} -> {result['to']}")
    if result["sources_applied"]:
        console.print(f"sources applied: {', '.join(result['sources_applied'])}")
    for warning in result["warnings"]:
        errors.print(f"warning: {warning}", style="yellow", markup=False)


@registry_app.command("diff", epilog="Example: patra registry diff my-source.yaml")
def registry_diff(files: Files = None, *, shipped: Shipped = False, as_json: AsJson = False) -> None:
    """Show what applying source files would change."""
    texts = _texts(files, shipped=shipped)
    with open_app() as app:
        sources = _checked(texts, app)
        changes, merges = app.registry.changes(sources), app.record_merge.pending(sources)
    if as_json:
        print_json({"changes": _json(changes), "merges": _json(merges)})
    else:
        _show_changes(changes, merges)


@registry_app.command("apply", epilog="Example: patra registry apply my-source.yaml --yes")
def registry_apply(
    files: Files = None,
    *,
    shipped: Shipped = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check source files, show the changes, and write them: all files or none."""
    texts = _texts(files, shipped=shipped)
    with open_app() as app:
        sources = _checked(texts, app)
        if not as_json:
            pending = app.registry.changes(sources)
            _show_changes(pending, app.record_merge.pending(sources))
            if pending and not yes and on_terminal() and not typer.confirm("Apply?"):
                raise typer.Abort
        changes = app.registry.apply(sources)
        # Also where nothing changed: an earlier apply may have been stopped before it had merged all.
        merges = app.record_merge.merge(map(code_of, sources))
    if as_json:
        print_json({"changes": _json(changes), "merges": _json(merges)})
        return
    if changes:
        console.print(f"{counted(len(changes), 'row')} changed")
    for merge in merges:
        console.print(describe_merge(merge), markup=False)


@registry_app.command("remove", epilog="Example: patra registry remove museum --yes")
def registry_remove(
    code: CodeArgument,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove a source from the Registry; its records, plans and history stay.

    Refused while it has live tasks.
    """
    with open_app() as app:
        app.registry.rows(code)
        if not yes and not as_json and on_terminal() and not typer.confirm(f"Remove source {code}?"):
            raise typer.Abort
        changes = app.registry.remove(code)
    if as_json:
        print_json({"code": code, "changes": _json(changes)})
        return
    console.print(f"source {code} removed: {counted(len(changes), 'row')} closed", markup=False)
    console.print("now: patra deploy removes its deployment; patra registry apply FILE brings the source back")


@registry_app.command("validate", epilog="Example: patra registry validate my-source.yaml")
def registry_validate(files: Files = None, *, shipped: Shipped = False, as_json: AsJson = False) -> None:
    """Check source files without a database.

    Each file is compiled for every operation that it serves.
    """
    results = [_validate(name, text) for name, text in _texts(files, shipped=shipped).items()]
    if as_json:
        print_json({"files": results})
    else:
        for result in results:
            _show_validation(result)
    if not all(result["ok"] for result in results):
        raise typer.Exit(ExitCode.BAD_INPUT)


def _validate(name: str, text: str) -> dict[str, Any]:
    try:
        rows = check_rows(rows_of(read_source(text, name)), datetime.now(UTC))
    except PatraError as error:
        problems = [one.json() for one in error.problems] if isinstance(error, SpecInvalid) else []
        body = {"code": error.code, "message": error.message, "where": error.where, "remedy": error.remedy}
        return {"file": name, "source": None, "ok": False, "error": body, "problems": problems}
    return {"file": name, "source": code_of(rows), "ok": True, "error": None, "problems": []}


def _show_validation(result: dict[str, Any]) -> None:
    if result["ok"]:
        console.print(f"{result['file']}: source {result['source']!r} is fine", markup=False)
        return
    error = result["error"]
    place = f"{error['where']}: " if error["where"] and error["where"] != result["file"] else ""
    errors.print(f"{result['file']}: {place}{error['message']}", style="red", markup=False)


@registry_app.command("export", epilog="Example: patra registry export crossref --output crossref.yaml")
def registry_export(
    code: CodeArgument,
    output: Annotated[Path | None, typer.Option(help="File to write (default: stdout).")] = None,
    *,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write a registered source as a source file."""
    if output is not None:
        refuse_existing(output, force=force)
    with open_app() as app:
        rows = app.registry.rows(code)
    if output is not None:
        write_file(output, export_source(rows))
    if as_json:
        print_json({"code": code, "document": document_of(rows), "output": str(output) if output else None})
    elif output is None:
        typer.echo(export_source(rows), nl=False)
    else:
        console.print(f"written: {output}", markup=False)


@registry_app.command("show", epilog="Example: patra registry show crossref")
def registry_show(code: CodeArgument, *, as_json: AsJson = False) -> None:
    """Show the settings of a source that are in force, under the keys of source files."""
    with open_app() as app:
        rows = {name: entries for name, entries in app.registry.rows(code).items() if name.startswith("reg_")}
    if as_json:
        print_json({"code": code, "tables": rows})
        return
    for block, value in document_of(rows).items():
        for entry in value if isinstance(value, list) else [value]:
            print_facts(block, entry.items() if block == "mapping" else _settings(entry))


def _settings(entry: dict[str, Any], within: str = "") -> Iterator[tuple[str, Any]]:
    """The keys of a block with their values; a key in a block within it has that one's name before it."""
    for key, value in entry.items():
        if isinstance(value, dict) and key in _NESTED:
            yield from _settings(value, f"{within}{key}.")
        else:
            yield f"{within}{key}", value


_NESTED = {"response", "defaults", "for", *SETTINGS}
"""Keys whose values are blocks, not values that happen to be mappings."""


@registry_app.command("history", epilog="Example: patra registry history crossref")
def registry_history(code: CodeArgument, *, as_json: AsJson = False) -> None:
    """List all versions of a source's rows, with the times they were in force."""
    with open_app() as app:
        entries = app.registry.history(code)
    if as_json:
        print_json(_json(entries))
        return
    rows = ((_at(entry.opened_at), _at(entry.closed_at), entry.table, _content(entry.row)) for entry in entries)
    in_force = sum(entry.closed_at is None for entry in entries)
    console.print(f"{counted(len(entries), 'row')}, {in_force:,} in force")
    print_table(f"history of {code}", ("opened", "closed", "table", "row"), rows)


def _content(row: dict[str, Any]) -> dict[str, Any]:
    """A row without the source's code, which all of them have."""
    return {name: value for name, value in row.items() if name != "provenance_code"}


def _at(moment: datetime | None) -> str:
    return shown_instant(format_instant(moment) if moment else None)


def _json(rows: Sequence[RowChange | RowVersion | PendingMerge | RecordMerge]) -> list[dict[str, Any]]:
    return [row.json() for row in rows]


@registry_app.command("list", epilog="Example: patra registry list --json")
def registry_list(*, as_json: AsJson = False) -> None:
    """List the registered sources."""
    with open_app() as app:
        sources = app.registry.sources()
    if as_json:
        print_json([source.json() for source in sources])
        return
    rows = (
        (source.code, source.name, endpoint.name, ", ".join(endpoint.operations))
        for source in sources
        for endpoint in source.endpoints
    )
    print_table("sources", ("code", "name", "endpoint", "operations"), rows)


def _texts(files: list[Path] | None, *, shipped: bool) -> dict[str, str]:
    """The files named, and the shipped ones where they are wanted."""
    texts = dict(shipped_sources()) if shipped else {}
    texts |= {str(file): read_file(file, MAX_BYTES) for file in files or []}
    if not texts:
        raise BadInput("USAGE", "no source file named", where="patra registry", remedy="name a FILE, or use --shipped")
    return texts


def _checked(texts: dict[str, str], app: App) -> list[Rows]:
    """Every file's rows, if all of them compile and no source is in two."""
    sources = [check_source(text, name, app.database) for name, text in texts.items()]
    codes = [code_of(rows) for rows in sources]
    for code in codes:
        if codes.count(code) > 1:
            raise BadInput("SOURCE_TWICE", f"source {code!r} is in two of the files", where="registry apply")
    return sources


def _show_changes(changes: list[RowChange], merges: list[PendingMerge]) -> None:
    if not changes and not merges:
        console.print("nothing changes")
    for line in [*describe_changes(changes), *map(announce_merge, merges)]:
        style = {"+": "green", "-": "red"}.get(line[0], "yellow")
        console.print(line, style=style, markup=False)
