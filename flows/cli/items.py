"""`patra items`: stored records."""

from functools import partial
from typing import Annotated

import typer

from flows.cli.export import STDOUT, Force, Output, check_output, opened, print_summary, pump
from flows.cli.help import CommandTree, Heading
from flows.cli.screen import AsJson
from flows.process.application import open_app
from ingest_core.model.errors import BadInput
from ingest_core.model.instant import parse_instant
from ingest_core.model.stored_item import ItemChoice
from ingest_core.readside.item_export import item_writer
from ingest_core.readside.tables import FileFormat
from ingest_core.registry.rows import Rows

items_app = CommandTree(help="Export stored records.")


def register(app: CommandTree) -> None:
    """Hang these commands into the tree."""
    example = "Example: patra items export crossref --format parquet --output crossref.parquet"
    items_app.command("export", epilog=example)(items_export)
    app.add_typer(items_app, name="items", rich_help_panel=Heading.RECORDS)


def items_export(
    source: Annotated[str, typer.Argument(help="Code of the source, such as crossref.", show_default=False)],
    endpoint: Annotated[str | None, typer.Option(metavar="NAME", help="Only records of this endpoint.")] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Only records that the source updated at or after this time (UTC)."),
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="Only records that the source updated before this time (UTC).")
    ] = None,
    form: Annotated[FileFormat, typer.Option("--format", case_sensitive=False, help="File format.")] = FileFormat.JSONL,
    output: Output = STDOUT,
    *,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write stored records to a file.

    A record has the common fields, and the payload as received.
    """
    choice = _choice(source, endpoint, since, until)
    with open_app() as app:
        rows = app.registry.rows(source)
        _refuse_unknown(rows, source, endpoint)
        check_output(output, form, force=force, as_json=as_json)
        with opened(output) as stream:
            writer = item_writer(form, stream, _fields(rows))
            pages, count = app.items.pages(choice), partial(app.items.count, choice)
            records = pump(pages, writer.write, count, target=output, as_json=as_json)
            writer.close()
    summary = {"source": source, "format": form.value, "path": output, "records": records}
    print_summary(summary, as_json=as_json)


def _choice(source: str, endpoint: str | None, since: str | None, until: str | None) -> ItemChoice:
    start = parse_instant(since, "--since") if since else None
    end = parse_instant(until, "--until") if until else None
    if start and end and start >= end:
        message, remedy = f"since {since} is not before until {until}", "give a --since that is earlier than --until"
        raise BadInput("WINDOW_INVALID", message, where="window", remedy=remedy)
    return ItemChoice(source, endpoint, start, end)


def _refuse_unknown(rows: Rows, source: str, endpoint: str | None) -> None:
    names = sorted(row["endpoint_name"] for row in rows["reg_prov_endpoint_def"])
    if endpoint is not None and endpoint not in names:
        raise BadInput(
            "ENDPOINT_UNKNOWN",
            f"no endpoint {endpoint!r}",
            where=f"source {source!r}",
            remedy=f"its endpoints: {', '.join(names)}",
        )


def _fields(rows: Rows) -> set[str]:
    """The common fields the source maps, at whichever endpoint."""
    mappings = [rows["reg_provenance"][0]["output_mapping"]]
    mappings += [row.get("output_mapping") for row in rows["reg_prov_endpoint_def"]]
    return {name for mapping in mappings if mapping for name in mapping}
