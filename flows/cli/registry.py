"""`patra db` and `patra registry`: the schema and the sources."""

from pathlib import Path
from typing import Annotated, Any

import typer

from flows.cli.screen import AsJson, console, on_terminal, print_facts, print_json, print_table
from ingest_core.bootstrap import App, check_source, open_app, upgrade_database
from ingest_core.model.errors import BadInput
from ingest_core.registry.rows import Rows

db_app = typer.Typer(help="The database's schema.", no_args_is_help=True)
registry_app = typer.Typer(help="The sources, as configuration.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Hang these commands into the tree."""
    app.add_typer(db_app, name="db")
    app.add_typer(registry_app, name="registry")


@db_app.command("upgrade", epilog="Example: PATRA_DATABASE_URL=postgresql://localhost/patra patra db upgrade")
def db_upgrade(*, as_json: AsJson = False) -> None:
    """Bring the database to this version's schema; a new one gets the shipped sources."""
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


@registry_app.command("apply", epilog="Example: patra registry apply my-source.yaml --yes")
def registry_apply(
    files: Annotated[list[Path], typer.Argument(help="Source files (YAML).", show_default=False)],
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check source files and write them to the Registry, all of them or none."""
    texts = {str(file): _read(file) for file in files}
    with open_app() as app:
        sources = [check_source(text, name, app.database) for name, text in texts.items()]
        _refuse_same_source_twice(sources)
        changes = _apply(app, sources, ask=not (yes or as_json) and on_terminal())
    if as_json:
        print_json({"changes": changes})
    elif not changes:
        console.print("nothing changed")
    else:
        console.print(f"{len(changes)} rows changed")


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise BadInput("FILE_UNREADABLE", f"cannot be read: {reason}", where=str(file)) from error


def _refuse_same_source_twice(sources: list[Rows]) -> None:
    codes = [rows["reg_provenance"][0]["provenance_code"] for rows in sources]
    for code in codes:
        if codes.count(code) > 1:
            raise BadInput("SOURCE_TWICE", f"source {code!r} is in two of the files", where="registry apply")


def _apply(app: App, sources: list[Rows], *, ask: bool) -> list[dict[str, Any]]:
    if ask:
        pending = app.registry.changes(sources)
        print_table("changes", ("change", "table", "row"), ((c["change"], c["table"], c["row"]) for c in pending))
        if pending and not typer.confirm("Apply?"):
            raise typer.Abort
    return app.registry.apply(sources)


@registry_app.command("show", epilog="Example: patra registry show crossref")
def registry_show(
    code: Annotated[str, typer.Argument(help="The source's code.", show_default=False)], *, as_json: AsJson = False
) -> None:
    """Show a source as it is in force."""
    with open_app() as app:
        rows = app.registry.rows(code)
    if as_json:
        print_json({"code": code, "tables": rows})
        return
    for table in sorted(rows, key=lambda name: (name != "reg_provenance", name != "reg_prov_endpoint_def", name)):
        for entry in rows[table]:
            shown = ((name, value) for name, value in entry.items() if name != "provenance_code" and value is not None)
            print_facts(table, shown)


@registry_app.command("list", epilog="Example: patra registry list --json")
def registry_list(*, as_json: AsJson = False) -> None:
    """List the registered sources."""
    with open_app() as app:
        sources = app.registry.sources()
    if as_json:
        print_json(sources)
        return
    rows = (
        (source["code"], source["name"], endpoint["name"], ", ".join(endpoint["operations"]))
        for source in sources
        for endpoint in source["endpoints"]
    )
    print_table("sources", ("code", "name", "endpoint", "operations"), rows)
