"""Hostile values for every argument, setting, form field and source-file key, generated from what reads them."""

import contextlib
import io
import os
import signal
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import typer

from flows.cli.main import app, run

CASE_SECONDS = 10.0
"""A case that takes longer has failed; most take some milliseconds, and a busy machine is slow."""

WORDS: dict[str, str] = {
    "empty": "",
    "space": " ",
    "nul": "a\x00b",
    "surrogate": os.fsdecode(b"\xff\xfe"),
    "control": "a\x1b[2J\x07b",
    "newline": "a\r\nX-Injected: 1",
    "bidi": "\u202eabc",
    "letters": "é学😀",
    "long": "x" * 100_000,
    "markup": "[/red][link=x]",
    "braces": "{from}{{",
    "percent": "%00%ff%s",
    "traversal": "../" * 40 + "no-such-folder/file",  # leads nowhere: the tests may run as root
    "option": "--",
    "quotes": "'\";--",
    "json": '{"a": [1, {"b": null}]}',
    "url": "http://[::1",
    "regex": "(a+)+$[",
}
NUMBERS: dict[str, str] = {
    "digits": "9" * 400,
    "more digits": "1" * 5000,
    "negative": "-1",
    "zero": "0",
    "2**63": str(2**63),
    "2**31": str(2**31),
    "1e999": "1e999",
    "tiny": "1e-300",
    "infinite": "inf",
    "nan": "nan",
    "fraction": "0.5",
    "arabic": "٣",
    "superscript": "²",
    "underscore": "1_0",
}
TIMES: dict[str, str] = {
    "first year": "0001-01-01T00:00:00+14:00",
    "last year": "9999-12-31T23:59:59-14:00",
    "year 1": "0001-01-01",
    "year 9999": "9999-12-31T23:59:59.999999Z",
    "offset": "2026-01-01T00:00:00+99:99",
    "small offset": "2026-01-01T00:00:00+00:00:00.000001",
    "week": "2026-W01-1",
    "words": "last 99999999999999999999 days",
    "span": "P99999999999999999999D",
    "ages": "last 9999999 weeks",
}


@dataclass(frozen=True)
class HostileFiles:
    """Paths that are not a readable file of the wanted kind."""

    folder: Path

    def make(self) -> dict[str, str]:
        """Create them; what each is, and its path."""
        made = {
            name: self.folder / name for name in ("binary", "huge", "empty-file", "fifo", "deep.yaml", "unreadable")
        }
        made["binary"].write_bytes(bytes(range(256)))
        with made["huge"].open("wb") as sparse:
            sparse.truncate(5_000_000_000)
        made["empty-file"].touch()
        os.mkfifo(made["fifo"])
        made["deep.yaml"].write_text("[" * 100_000)
        made["unreadable"].touch(0o000)
        return {
            **{name: str(path) for name, path in made.items()},
            "folder": str(self.folder),
            "missing": str(self.folder / "no" / "such"),
            "device": "/dev/zero",
            "file as folder": str(made["empty-file"] / "x"),
            "full": "/dev/full",
        }


@dataclass(frozen=True)
class Case:
    """One command with one hostile value."""

    command: tuple[str, ...]
    parameter: str
    value: str
    arguments: tuple[str, ...] = field(repr=False)

    @property
    def name(self) -> str:
        """The same in a message."""
        return f"patra {' '.join(self.command)} {self.parameter} = {self.value}"


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    output: str

    @property
    def fault(self) -> str | None:
        """What a user must never see; None where the command ended well, or in a message of its own."""
        if self.code not in (0, 1, 2, 3, 4):
            return f"exit code {self.code}"
        if "Traceback" in self.output or "INTERNAL_ERROR" in self.output or "error: patra: unexpected " in self.output:
            return self.output[:500]
        return "no message" if self.code and not self.output.strip() else None


class TooSlow(BaseException):
    """A case took longer than it may."""


GIVEN = {
    "source": "crossref",
    "code": "crossref",
    "reason": "a reason",
    "row_id": "1",
    "row_ids": "1",
    "targets": "1",
    "older_than": "P1D",
    "source_namespace": "0" * 64,
    "target": "0" * 64,
}
"""A fitting value for a required parameter other than the hostile one."""


def commands() -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command, found in the tree that `patra` itself uses."""
    yield from _leaves(typer.main.get_command(app), ())


def _leaves(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    below = getattr(command, "commands", None)
    if not below:
        yield path, command
        return
    for name, one in below.items():
        yield from _leaves(one, (*path, name))


def cases(files: Mapping[str, str]) -> Iterator[Case]:
    """Every parameter of every command with every hostile value."""
    values = {**WORDS, **NUMBERS, **TIMES, **files}
    for path, command in commands():
        for parameter in command.params:
            if getattr(parameter, "is_flag", False):
                continue
            for name, value in values.items():
                yield Case(path, parameter.opts[0], name, (*path, *_arguments(command, parameter, value)))


def _arguments(command: Any, hostile: Any, value: str) -> list[str]:
    options: list[str] = []
    positional: list[str] = []
    for one in command.params:
        if one is not hostile and not getattr(one, "required", False):
            continue
        given = value if one is hostile else GIVEN.get(one.name, "1")
        if one.opts[0].startswith("-"):
            options.append(f"{one.opts[0]}={given}")
        else:
            positional.append(given)
    return [*options, "--", *positional] if positional else options


def run_case(arguments: tuple[str, ...]) -> Ended:
    """The command in this process, with a time limit; what it raises comes through."""
    shown = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with limited(), contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
        code = run(arguments)
    return Ended(code, shown.buffer.getvalue().decode())


@contextlib.contextmanager
def limited(seconds: float = CASE_SECONDS) -> Iterator[None]:
    """TooSlow in this thread when the block takes longer."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def row_counts(database: Path) -> dict[str, int]:
    """How many rows each table of work and configuration has."""
    with contextlib.closing(sqlite3.connect(database)) as connection:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        kept = [name for name in names if name.startswith(("ing_", "reg_")) and name != "ing_schedule_instance"]
        return {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in kept}
