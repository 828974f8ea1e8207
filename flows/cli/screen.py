"""What a command prints: one JSON document for scripts, tables for people."""

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import zip_longest
from typing import Annotated, Any

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ingest_core.model.errors import PatraError
from ingest_core.model.instant import format_instant, parse_instant
from ingest_core.model.visible import visible, visible_json, visible_lines

GAP = "  "
"""Between two columns."""

LIST_RULE = 40
"""The line between two rows of a table that is shown as lists."""

SHOWN_ROWS = 20
"""The rows of a long list that people see below its summary, where no --limit says otherwise."""

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]


class Screen(Console):
    """A console that shows text as it is: nothing in it is markup, and nothing in it acts on the terminal."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print texts, with escapes for control characters; lines wrap on a terminal only, at spaces."""
        shown = (visible_lines(one) if isinstance(one, str) else one for one in objects)
        super().print(*shown, **{"markup": False, "soft_wrap": not self.is_terminal, **options})


console = Screen(highlight=False)
errors = Screen(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    """One document on stdout."""
    sys.stdout.write(visible_json(json.dumps(value, ensure_ascii=False, default=_plain)) + "\n")


def _plain(value: Any) -> Any:
    return format_instant(value) if isinstance(value, datetime) else str(value)


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table as wide as the terminal at most, or a line that says it is empty.

    Cells wrap at spaces. Where the longest words of a row do not fit side by side, each row becomes a list of facts.
    """
    cells = [[_cell(cell) for cell in row] for row in rows]
    if not cells:
        console.print(f"{title}: none")
        return
    console.print(_cell(title, "italic"))
    heads = [_cell(one, "bold") for one in columns]
    widths = _widths([heads, *cells], console.width - len(GAP) * (len(columns) - 1))
    if widths:
        rule = [Text("─" * width) for width in widths]
        numbers = [_are_numbers(column) for column in zip(*cells, strict=True)]
        for row in (heads, rule, *cells):
            _print_row(row, widths, numbers)
        return
    for row in cells:
        console.print("─" * min(console.width, LIST_RULE))
        _print_list(zip(heads, row, strict=True))


def print_facts(title: str, facts: Iterable[tuple[str, Any]]) -> None:
    """Names and values, a line each; a value that does not fit beside its name is below it."""
    console.print(_cell(title, "italic"))
    _print_list([(_cell(name, "bold"), _cell(value)) for name, value in facts])


def _cell(value: Any, style: str = "") -> Text:
    """A value on one line: what looks like markup is none, and control characters are escapes."""
    if value is None:
        return Text()
    if isinstance(value, bool | dict | list | tuple):
        value = json.dumps(value, ensure_ascii=False, default=_plain)
    return Text(visible(str(value)), style=style)


def _are_numbers(column: Sequence[Text]) -> bool:
    """Whether a column is aligned to the right."""
    cells = {cell.plain.replace(",", "").replace(".", "", 1) for cell in column} - {"", "-"}
    return bool(cells) and all(cell.isdigit() for cell in cells)


def _widths(rows: Sequence[Sequence[Text]], room: int) -> list[int]:
    """The width of each column; none where the longest words need more than there is room for.

    A column has the width of its longest word, and what is left goes to those whose longest lines need it, evenly.
    """
    columns = list(zip(*rows, strict=True))
    widths = [max(_longest(cell.plain.split()) for cell in column) for column in columns]
    wanted = [max(_longest(cell.plain.splitlines()) for cell in column) for column in columns]
    if sum(widths) > room:
        return []
    for _ in range(room - sum(widths)):
        narrow = [number for number, width in enumerate(widths) if width < wanted[number]]
        if not narrow:
            break
        widths[min(narrow, key=widths.__getitem__)] += 1
    return widths


def _longest(parts: Iterable[str]) -> int:
    return max(map(cell_len, parts), default=0)


def _print_row(row: Sequence[Text], widths: Sequence[int], numbers: Sequence[bool]) -> None:
    """The cells side by side, on as many lines as the highest of them."""
    columns = [cell.wrap(console, width) for cell, width in zip(row, widths, strict=True)]
    for parts in zip_longest(*columns):
        line = Text()
        for part, width, number in zip(parts, widths, numbers, strict=True):
            text = part or Text()
            text.align("right" if number else "left", width)
            line.append_text(text).append(GAP)
        line.rstrip()
        console.print(line, soft_wrap=True)


def _print_list(facts: Iterable[tuple[Text, Text]]) -> None:
    """Names and values in two columns; a word that is longer than a line is broken at its end."""
    shown = list(facts)
    left = max((cell_len(name.plain) for name, _ in shown), default=0) + len(GAP)
    for name, value in shown:
        beside = _longest(value.plain.split()) <= console.width - left
        indent = left if beside else len(GAP)
        lines = value.wrap(console, console.width - indent)
        if not beside:
            console.print(name, soft_wrap=True)
        for number, line in enumerate(lines or [Text()]):
            start = name.copy() if beside and not number else Text()
            start.align("left", indent)
            start.append_text(line).rstrip()
            console.print(start, soft_wrap=True)


def shown_instant(text: str | None) -> str:
    """An instant as people read it."""
    if text is None:
        return "-"
    instant = parse_instant(text)
    return f"{instant:%Y-%m-%d %H:%M:%S} UTC" if instant.second else f"{instant:%Y-%m-%d %H:%M} UTC"


def print_error(error: PatraError, *, as_json: bool) -> None:
    """The error, its place, and the way out."""
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
