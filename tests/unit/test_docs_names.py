"""Names and commands in the documentation exist: identifiers in backticks, `patra` commands and their options."""

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from prefect.events.schemas.automations import AutomationCore

from flows.cli.main import app
from tests.support.generated_docs import commands

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
CODE = ("*.py", "*.yaml", "*.yml", "*.json", "*.sql", "*.toml", "*.conf", "*.example", "Dockerfile", "Makefile")
FOLDERS = ("ingest_core", "flows", "deployments", "tests", "sql", "docs/examples")
ELSEWHERE = {
    # Of the database servers and the HTTP client; not in our code.
    "GET_LOCK",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "UTC_TIMESTAMP",
    "pg_advisory_xact_lock",
    "binlog_format",
    "innodb_buffer_pool_size",
    "innodb_flush_log_at_trx_commit",
    "innodb_log_file_size",
    "innodb_redo_log_capacity",
    "max_allowed_packet",
    "max_connections",
    "wait_timeout",
    # An example of a name that a reader chooses.
    "MUSEUM_API_KEY_2",
}
GROUPED = {"patra COMMAND --help", "patra registry validate|diff|apply"}
"""Not one command, but several."""

_FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_TICKS = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MADE = re.compile(r"HTTP_\d{3}|PARTITION_(?:PAUSED|FUSED)")  # codes that are put together when they are raised
_COMMAND = re.compile(r"^\s*(?:\$ )?(?:\w+=\S+ )*(?:\.venv/bin/)?patra (.+)$")


@cache
def _words() -> frozenset[str]:
    """Every word of the code, of what is declared, and of the names of files."""
    files = [path for folder in FOLDERS for kind in CODE for path in (ROOT / folder).rglob(kind)]
    files += [ROOT / "Makefile", ROOT / "pyproject.toml", ROOT / "prefect.yaml"]
    found = {word for path in files for word in _NAME.findall(path.read_text(encoding="utf-8", errors="replace"))}
    return frozenset(found | {path.stem for path in files})


def _identifiers(page: Path) -> Iterator[str]:
    """Names of tables, columns, functions, classes, settings and codes: they have an underscore or inner capitals."""
    for ticked in _ticked(page):
        if _COMMAND.match(ticked):
            continue
        for word in _NAME.findall(re.sub(r"https?://\S+|<[^>]+>|\"[^\"]*\"|'[^']*'", "", ticked)):
            if ("_" in word.strip("_") or re.search(r"[a-z][A-Z]", word)) and not _MADE.fullmatch(word):
                yield word


def _ticked(page: Path) -> list[str]:
    return _TICKS.findall(_FENCE.sub("", page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_identifier_in_backticks_is_in_the_code(page: Path) -> None:
    assert sorted({name for name in _identifiers(page) if name not in _words() | ELSEWHERE}) == []


def _lines(page: Path) -> Iterator[str]:
    """The command lines of a page's fenced blocks, joined where a backslash ends them."""
    for _, language, body in _FENCE.findall(page.read_text(encoding="utf-8")):
        for line in re.sub(r"\\\n\s*", "", body).splitlines():
            if language in ("sh", "") and _COMMAND.match(line):
                yield line


def _arguments(line: str) -> list[str]:
    """What follows `patra`, up to a comment, a pipe or a redirection."""
    match = _COMMAND.match(line)
    assert match
    words = shlex.split(match[1], comments=True)
    end = next((at for at, word in enumerate(words) if re.fullmatch(r"[|>&;]|&&|\.\.\.|[0-9]?>.*", word)), len(words))
    return words[:end]


@cache
def _commands() -> dict[str, Any]:
    return dict(commands(typer.main.get_command(app), "patra"))


def _refusal(arguments: list[str]) -> str | None:
    """Why these words are no command, if so: an unknown one, or an option it does not have."""
    if arguments[0].startswith("-"):
        return (
            None if arguments[0] in ("--help", "--version", "--install-completion", "--show-completion") else "option"
        )
    name = next(
        (" ".join(arguments[:size]) for size in (2, 1) if f"patra {' '.join(arguments[:size])}" in _commands()), ""
    )
    if not name:
        return "unknown command"
    command = _commands()[f"patra {name}"]
    known = {option for param in command.params for option in param.opts} | {"--help", "-h"}
    unknown = [word for word in arguments if word.startswith("--") and word.partition("=")[0] not in known]
    return f"unknown option {unknown[0]}" if unknown else None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_in_a_block_exists_with_its_options(page: Path) -> None:
    refused = {line: why for line in _lines(page) if (why := _refusal(_arguments(line)))}
    assert refused == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_in_backticks_exists_with_its_options(page: Path) -> None:
    given = [(line, _arguments(line)) for line in _ticked(page) if _COMMAND.match(line) and line not in GROUPED]
    groups = {name.split()[1] for name in _commands() if name.count(" ") == 2}
    whole = [(line, words) for line, words in given if words and not (len(words) == 1 and words[0] in groups)]
    assert {line: why for line, words in whole if (why := _refusal(words))} == {}


def test_a_wrong_command_is_noticed() -> None:
    lines = ["patra plan crossref --dry-runs", "$ patra plans crossref", ".venv/bin/patra retry --task 4 --yes | cat"]
    assert [_refusal(_arguments(line)) for line in lines] == ["unknown option --dry-runs", "unknown command", None]
    assert sum(1 for page in PAGES for _ in _lines(page)) > 60


def test_the_automations_of_the_how_to_page_are_ones_that_prefect_takes() -> None:
    page = ROOT / "docs" / "how-to" / "alert-by-automations.md"
    declared = [yaml.safe_load(body) for _, kind, body in _FENCE.findall(page.read_text("utf-8")) if kind == "yaml"]
    assert [AutomationCore.model_validate(one).name for one in declared] == [
        "Alert: a run of Patra failed",
        "Alert: no executor has completed",
    ]
