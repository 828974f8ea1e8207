"""Every command explains itself, on a terminal of 80 columns."""

import contextlib
import io
import re
from typing import Any

import pytest
import typer

from flows.cli.main import app, run
from tests.support.generated_docs import commands

TREE: Any = typer.main.get_command(app)
COMMANDS: dict[str, Any] = {path.removeprefix("patra "): one for path, one in commands(TREE, "patra")}
GROUPS = sorted({" ".join(path.split()[:-1]) for path in COMMANDS})
_WORDS = re.compile(r"\S+")


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def page(command: str) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert run([*command.split(), "--help"]) == 0
    return printed.getvalue()


def texts(command: Any) -> list[str]:
    """What the page must show whole."""
    found = [command.help or "", command.epilog or ""]
    found += [one.help or "" for one in command.params]
    return found + [name for one in command.params for name in one.opts if name.startswith("--")]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_helps_with_an_example(command: str) -> None:
    shown = page(command)
    assert f"Usage: patra {command}" in shown
    assert f"Example: patra {command}" in " ".join(shown.split())
    assert "--json" in shown


@pytest.mark.parametrize("command", [*GROUPS, *COMMANDS])
def test_a_page_fits_80_columns_without_breaking_words(command: str) -> None:
    shown = page(command)
    one = COMMANDS.get(command)
    assert [line for line in shown.splitlines() if len(line) > 80] == []
    words = set(_WORDS.findall(shown))
    assert [word for text in texts(one) for word in _WORDS.findall(text) if word not in words] == [] if one else words


@pytest.mark.parametrize("command", COMMANDS)
def test_a_flag_is_shown_without_a_value_and_an_option_with_one(command: str) -> None:
    shown = page(command)
    for option in (one for one in COMMANDS[command].params if one.param_type_name == "option"):
        (line,) = (line for line in shown.splitlines() if re.match(rf"  (-\w, )?{option.opts[-1]}\b(?!-)", line))
        value = line.split(option.opts[-1], 1)[1].split("  ")[0].strip()
        assert bool(value) != option.is_flag, line


@pytest.mark.parametrize("command", [*GROUPS, *COMMANDS])
def test_a_page_has_no_names_of_python_types(command: str) -> None:
    assert re.findall(r"<\w+|list\[|\bNone\b|\w+ range\b|x<=|\bbool\b|\bstr\b", page(command)) == []


def test_the_commands_are_grouped_by_what_people_do() -> None:
    shown = page("")
    headings = re.findall(r"^(\S.*):$", shown, re.MULTILINE)
    assert headings == ["Try it", "Harvest", "Control and repair", "Records", "Sources", "Installation", "Options"]
    assert [name for name in TREE.commands if not re.search(rf"^  {name} ", shown, re.MULTILINE)] == []


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("patra quar", "quarantine"),
        ("patra quarantine re", "release retry"),
        ("patra plan crossref --dry", "--dry-run"),
        ("patra plan crossref --operation HA", "HARVEST"),
    ],
)
def test_the_shell_completes_commands_options_and_values(
    typed: str, offered: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {"_PATRA_COMPLETE": "complete_bash", "COMP_WORDS": typed}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split()) - 1))
    with pytest.raises(SystemExit) as ended:
        run([])
    assert (ended.value.code, sorted(capsys.readouterr().out.split())) == (0, offered.split())


@pytest.mark.parametrize("command", [*GROUPS, *COMMANDS])
def test_a_command_is_described_by_one_sentence_that_begins_with_a_verb(command: str) -> None:
    one = TREE
    for name in command.split():
        one = one.commands[name]
    first = (one.help or "").split("\n\n")[0]
    assert re.fullmatch(r"[A-Z][a-z]+ [^.]+\.", first), first
