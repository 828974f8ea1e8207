"""The entry point: every error becomes a message and an exit code."""

import logging
import sys
from collections.abc import Sequence
from functools import cache
from typing import Annotated

import typer

from flows.cli import control, cursor, demo, gate, items, outbox, plan, quarantine, registry, room, source, work, worker
from flows.cli.help import CommandTree
from flows.cli.screen import console, print_error
from flows.process.logs import configure_logging
from ingest_core import __version__
from ingest_core.model.errors import BadInput, PatraError
from ingest_core.settings import load_settings

log = logging.getLogger(__name__)

app = CommandTree(
    name="patra",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(*, wanted: bool) -> None:
    if wanted:
        console.print(f"patra-ingest {__version__}")
        raise typer.Exit


@app.callback()
def about(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Show the version and exit.",
            is_eager=True,
            callback=lambda value: _show_version(wanted=value),
        ),
    ] = False,
) -> None:
    """Harvest literature APIs into a database, driven by configuration."""


demo.register(app)
registry.register(app)
plan.register(app)
work.register(app)
control.register(app)
quarantine.register(app)
items.register(app)
gate.register(app)
cursor.register(app)
source.register(app)
outbox.register(app)
room.register(app)
worker.register(app)


_command_of = cache(typer.main.get_command)  # it reads the signatures of all that is registered


_INTERRUPTED = 130
"""What Typer returns after Ctrl-C, without a word."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit with its code."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run a command; its exit code."""
    as_json = "--json" in arguments
    try:
        _refuse_unreadable(arguments)
        configure_logging(load_settings())
        result = _command_of(app).main(args=list(arguments), prog_name="patra", standalone_mode=False)
    except PatraError as error:
        print_error(error, as_json=as_json)
        return int(error.exit_code)
    except typer.Abort:
        print_error(BadInput("ABORTED", "nothing was changed"), as_json=as_json)
        return int(BadInput.exit_code)
    except Exception as error:
        usage = _usage_error(error)
        if usage is None:
            print_error(_defect(error), as_json=as_json)
            return int(PatraError.exit_code)
        if usage.message or as_json:  # without arguments, help has been printed
            print_error(usage, as_json=as_json)
        return int(usage.exit_code)
    if result == _INTERRUPTED:
        interrupted = PatraError("INTERRUPTED", "interrupted; everything committed before it is kept", where="patra")
        print_error(interrupted, as_json=as_json)
        return int(PatraError.exit_code)
    return int(result or 0)


def _refuse_unreadable(arguments: Sequence[str]) -> None:
    """BadInput for bytes that are no text: no statement, file name, URL or terminal could take them later."""
    for number, argument in enumerate(arguments, 1):
        if "\x00" in argument or not _is_unicode(argument):
            message = f"argument {number} holds a NUL, or bytes that are not UTF-8"
            raise BadInput("USAGE", message, where="patra", remedy="write it as UTF-8 text")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _defect(error: Exception) -> PatraError:
    """An error that no message was written for; its own text may hold a secret and goes to the log only."""
    log.debug("unexpected error", exc_info=error)
    return PatraError(
        "INTERNAL_ERROR",
        f"unexpected {type(error).__name__}; everything committed before it is kept",
        where="patra",
        remedy="set PATRA_LOG_LEVEL=DEBUG, run it again and report what it shows",
    )


def _usage_error(error: Exception) -> BadInput | None:
    """Typer's own complaints about the arguments, in our words."""
    message = getattr(error, "format_message", None)
    if message is None:
        return None
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "patra"
    return BadInput("USAGE", message(), where=command, remedy=f"see: {command} --help")
