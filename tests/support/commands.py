"""Whether a command line that stands in a file would be understood: by `patra`, and by `prefect`."""

import shlex
from typing import Any

import typer

from flows.cli.main import app


def refusal(words: list[str]) -> str | None:
    """What is wrong with a command of ours or of Prefect's; nothing for one that is understood."""
    if words[:2] == ["sh", "-c"]:
        found = [refusal(shlex.split(part)) for part in words[2].split("&&")]
        return next((one for one in found if one), None)
    program, *rest = words
    if program == "patra":
        return _patra(rest)
    if program == "prefect":
        return _prefect(rest)
    return f"{program} is not a command of the image"


def _patra(words: list[str]) -> str | None:
    command: Any = typer.main.get_command(app)
    while (children := getattr(command, "commands", None)) is not None:
        if not words or words[0] not in children:
            return f"patra has no command {words[:1]}"
        command, words = children[words[0]], words[1:]
    try:
        command.make_context("patra", list(words), resilient_parsing=False)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def _prefect(words: list[str]) -> str | None:
    from prefect.cli._app import _app

    try:
        _app.parse_args(words, exit_on_error=False, print_error=False)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None
