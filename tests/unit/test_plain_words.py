"""What people read is in plain words: docs, messages, forms, help and declarations have none of the banned ones."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from flows.cli.main import app
from tests.support.generated_docs import commands

ROOT = Path(__file__).parents[2]
BANNED = re.compile(
    r"\b(nobody|somebody|anybody|everybody|so\s+(?:many|long|often|much)|what\s+(?:is|was|are|were))\b", re.IGNORECASE
)
PAGES = sorted(
    [
        *(ROOT / name for name in ("README.md", "CHANGELOG.md")),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "deployments").rglob("*.md"),
    ]
)
DECLARED = sorted(
    [
        ROOT / "prefect.yaml",
        *(ROOT / "deployments" / "automations").glob("*.yaml"),
        *(ROOT / "deployments" / "kubernetes").rglob("*.json"),
        *(ROOT / "ingest_core" / "registry" / "sources").glob("*"),
        *(ROOT / "docs" / "examples").glob("*.yaml"),
    ]
)
MODULES = sorted(path for folder in ("flows", "ingest_core") for path in (ROOT / folder).rglob("*.py"))


def _banned(text: str) -> list[str]:
    """Each banned word with its surroundings."""
    return [" ".join(text[max(0, one.start() - 40) : one.end() + 40].split()) for one in BANNED.finditer(text)]


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", [*PAGES, *(path for path in DECLARED if path.is_file())], ids=_name)
def test_pages_and_declarations_have_no_banned_word(path: Path) -> None:
    assert _banned(path.read_text(encoding="utf-8")) == []


def _texts(module: Path) -> Iterator[str]:
    """The string literals of a module but for its docstrings."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.value


def test_messages_and_forms_have_no_banned_word() -> None:
    found = {_name(path): [one for text in _texts(path) for one in _banned(text)] for path in MODULES}
    assert {name: words for name, words in found.items() if words} == {}


def _help(command: Any) -> Iterator[str]:
    yield command.help or ""
    yield from (getattr(param, "help", None) or "" for param in command.params)


def test_help_has_no_banned_word() -> None:
    texts = {path: list(_help(command)) for path, command in commands(typer.main.get_command(app), "patra")}
    assert len(texts) > 30
    found = {path: [one for text in said for one in _banned(text)] for path, said in texts.items()}
    assert {path: words for path, words in found.items() if words} == {}


def test_the_banned_words_are_found() -> None:
    text = "Nobody needs so\nmuch; what is left stays. What would be left, and so on, stays too."
    assert [one[0] for one in BANNED.finditer(text)] == ["Nobody", "so\nmuch", "what is"]
