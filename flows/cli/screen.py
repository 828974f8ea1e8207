"""What a command prints: one JSON document for scripts, tables for people."""

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ingest_core.model.errors import PatraError
from ingest_core.model.instant import format_instant, parse_instant
from ingest_core.model.visible import visible, visible_json, visible_lines

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]


class Screen(Console):
    """A console that shows text as it is: nothing in it is markup, and nothing in it acts on the terminal."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print texts, with escapes for control characters, and tables."""
        shown = (visible_lines(one) if isinstance(one, str) else one for one in objects)
        super().print(*shown, **{"markup": False, **options})


console = Screen(highlight=False, soft_wrap=True)
errors = Screen(stderr=True, highlight=False, soft_wrap=True)


def print_json(value: Any) -> None:
    """One document on stdout."""
    sys.stdout.write(visible_json(json.dumps(value, ensure_ascii=False, default=_plain)) + "\n")


def _plain(value: Any) -> Any:
    return format_instant(value) if isinstance(value, datetime) else str(value)


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table, or a line that says it is empty."""
    table = Table(title=_cell(title), title_justify="left", header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(_cell(cell) for cell in row))
    if table.row_count:
        console.print(table)
    else:
        console.print(f"{title}: none", markup=False)


def _cell(value: Any) -> Text:
    """A value as it is: what looks like markup is none, and control characters are escapes."""
    return Text("" if value is None else visible_lines(str(value)))


def print_facts(title: str, facts: Iterable[tuple[str, Any]]) -> None:
    """Names and values, a line each."""
    table = Table(title=_cell(title), title_justify="left", show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in facts:
        table.add_row(_cell(name), _cell(value))
    console.print(table)


def shown_instant(text: str | None) -> str:
    """An instant as people read it."""
    if text is None:
        return "-"
    instant = parse_instant(text)
    return f"{instant:%Y-%m-%d %H:%M:%S} UTC" if instant.second else f"{instant:%Y-%m-%d %H:%M} UTC"


def print_error(error: PatraError, *, as_json: bool) -> None:
    """What went wrong, where, and the way out."""
    if as_json:
        body = {"code": error.code, "message": error.message, "where": error.where, "remedy": error.remedy}
        print_json({"error": body})
        return
    place = f"{visible(error.where)}: " if error.where else ""
    errors.print(f"error: {place}{error.message}", style="red", markup=False)
    if error.remedy:
        errors.print(f"       {error.remedy}", markup=False)


def on_terminal() -> bool:
    """Whether a person is there to be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()
