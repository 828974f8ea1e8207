"""The output of an export, and its progress."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, BinaryIO, TypeVar

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from flows.cli.screen import console, errors, print_json
from ingest_core.model.errors import BadInput
from ingest_core.readside.output_file import refuse_existing, whole_file
from ingest_core.readside.tables import FileFormat

T = TypeVar("T")
STDOUT = "-"

Output = Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="File to write; - is stdout.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the file.")]


def check_output(target: str, form: FileFormat, *, force: bool, as_json: bool) -> None:
    """Refuse early what cannot be written."""
    if target != STDOUT:
        refuse_existing(Path(target), force=force)
    elif as_json:
        raise _usage("--json prints a summary, and stdout is taken by the export", "add --output FILE")
    elif form == FileFormat.PARQUET:
        raise _usage("a parquet file is not written to stdout", "add --output FILE")


def _usage(message: str, remedy: str) -> BadInput:
    return BadInput("USAGE", message, where="--output", remedy=remedy)


@contextmanager
def opened(target: str) -> Iterator[BinaryIO]:
    """The file, which appears when it is whole, or stdout; a reader that has enough ends the command quietly."""
    if target != STDOUT:
        with whole_file(Path(target)) as stream:
            yield stream
        return
    try:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit from None


def pump(
    pages: Iterator[Sequence[T]], write: Callable[[Sequence[T]], None], count: Callable[[], int], *, as_json: bool
) -> int:
    """Write page after page, with a bar where a person watches; how many records."""
    if as_json or not errors.is_terminal:
        return sum(_written(page, write) for page in pages)
    columns = (TextColumn("records"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    done = 0
    with Progress(*columns, console=errors) as progress:
        bar = progress.add_task("records", total=count())
        for page in pages:
            done += _written(page, write)
            progress.update(bar, completed=done)
    return done


def _written(page: Sequence[T], write: Callable[[Sequence[T]], None]) -> int:
    write(page)
    return len(page)


def print_summary(summary: dict[str, Any], *, as_json: bool) -> None:
    """What was written, unless stdout is where it went."""
    if as_json:
        print_json(summary)
    elif summary["path"] != STDOUT:
        console.print(f"{summary['records']:,} records written: {summary['path']}", markup=False)
