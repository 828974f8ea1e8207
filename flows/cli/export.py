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
from ingest_core.model.errors import BadInput, PatraError
from ingest_core.model.naming import counted
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
    pages: Iterator[Sequence[T]],
    write: Callable[[Sequence[T]], None],
    count: Callable[[], int],
    *,
    target: str,
    as_json: bool,
) -> int:
    """Write page after page, with a bar where a person watches; how many records.

    PatraError that says what was written, after Ctrl-C.
    """
    done = 0
    try:
        with _bar(count, shown=errors.is_terminal and not as_json) as show:
            for page in pages:
                write(page)
                done += len(page)
                show(done)
    except KeyboardInterrupt:
        raise _interrupted(target, done) from None
    return done


@contextmanager
def _bar(count: Callable[[], int], *, shown: bool) -> Iterator[Callable[[int], None]]:
    """Shows how many records are done; shows nothing where no person watches."""
    if not shown:
        yield lambda _done: None
        return
    columns = (TextColumn("records"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors) as progress:
        bar = progress.add_task("records", total=count())
        yield lambda done: progress.update(bar, completed=done)


def _interrupted(target: str, done: int) -> PatraError:
    """What an export leaves that was interrupted: a file is written whole or not at all."""
    if target == STDOUT:
        left = f"{counted(done, 'record')} written to stdout, the rest is missing"
    else:
        left = f"{target} was not written ({counted(done, 'record')} had been read)"
    return PatraError("INTERRUPTED", f"interrupted: {left}", where="export", remedy="run the command again")


def print_summary(summary: dict[str, Any], *, as_json: bool) -> None:
    """What was written, unless stdout is where it went."""
    if as_json:
        print_json(summary)
    elif summary["path"] != STDOUT:
        console.print(f"{counted(summary['records'], 'record')} written: {summary['path']}", markup=False)
