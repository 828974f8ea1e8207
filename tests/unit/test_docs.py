"""The documents say what the code is: whatever is added there is missed here."""

import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any, get_args

import pytest
import typer
from pydantic import BaseModel

from flows.cli.main import app
from ingest_core.model import codes
from ingest_core.model.codes import QuarantineReason
from ingest_core.model.errors import ExitCode
from ingest_core.registry.source_file import Scope, ScopedBlock, SourceFile

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", *DOCS.rglob("*.md")])

_VARIABLE = re.compile(r"PATRA_[A-Z_]*[A-Z]")
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_ERROR = re.compile(r'(?:BadInput|Refused|Unreachable|PatraError|DemoFailed)\(\s*"([A-Z_]+)"')
_EVERYWHERE = {"--json", "--help"}


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _sections(page: str) -> dict[str, str]:
    """The page's second-level sections by heading, without backticks."""
    parts = re.split(r"^## (.+)$", _text(DOCS / page), flags=re.MULTILINE)
    return {heading.replace("`", ""): body for heading, body in zip(parts[1::2], parts[2::2], strict=True)}


def _commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every command that does something, with the words that call it."""
    children = getattr(command, "commands", None)
    if children is None:
        yield path, command
        return
    for name, child in children.items():
        yield from _commands(child, f"{path} {name}")


def _models(annotation: Any) -> list[type[BaseModel]]:
    """The models an annotation speaks of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _models(argument)]


def _keys(model: type[BaseModel]) -> set[str]:
    """The keys a file may use in this block and the blocks in it; those of every scoped block are told apart."""
    shared = set(ScopedBlock.model_fields) if issubclass(model, ScopedBlock) else set()
    keys = {field.alias or name for name, field in model.model_fields.items() if name not in shared}
    for name, field in model.model_fields.items():
        if name not in shared:
            keys |= {key for inner in _models(field.annotation) for key in _keys(inner)}
    return keys


def _missing(keys: set[str], body: str) -> list[str]:
    """The keys that have no row of their own in a table of the section."""
    return sorted(key for key in keys if f"| `{key}` |" not in body)


def _anchors(path: Path) -> set[str]:
    """The anchors a page's headings get."""
    headings = _HEADING.findall(_FENCE.sub("", _text(path)))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_setting_is_explained_and_none_that_is_gone() -> None:
    known = set(_VARIABLE.findall(_text(ROOT / "ingest_core" / "settings.py")))
    told = _text(DOCS / "settings.md").split("## For tests")[0]
    assert {name for name in known if f"| `{name}" not in told} == set()
    assert {name for name in _VARIABLE.findall(told) if not name.startswith("PATRA_UPSTREAM_")} <= known


def test_every_command_has_a_section_that_names_its_options() -> None:
    sections = _sections("cli.md")
    commands = dict(_commands(typer.main.get_command(app), "patra"))
    assert set(commands) == {heading for heading in sections if heading.startswith("patra ")}
    for path, command in commands.items():
        options = {name for param in command.params for name in param.opts if name.startswith("--")}
        assert {name for name in options - _EVERYWHERE if name not in sections[path]} == set(), path


def test_every_exit_code_is_explained() -> None:
    told = _sections("cli.md")["Exit codes"]
    assert [code.name for code in ExitCode if f"| {code.value} |" not in told] == []


def test_every_error_code_is_explained() -> None:
    sources = [path for folder in ("ingest_core", "flows") for path in (ROOT / folder).rglob("*.py")]
    raised = {code for path in sources for code in _ERROR.findall(_text(path))}
    told = _text(DOCS / "cli.md") + _text(DOCS / "life-cycle.md")
    assert raised
    assert {code for code in raised if f"`{code}`" not in told} == set()


STATUS_ENUMS = [enum for name, enum in vars(codes).items() if name.endswith("Status") and issubclass(enum, StrEnum)]


@pytest.mark.parametrize("enum", STATUS_ENUMS, ids=lambda enum: enum.__name__)
def test_every_status_is_in_the_section_of_its_life_cycle(enum: type[StrEnum]) -> None:
    section = _sections("life-cycle.md")[enum.__name__.removesuffix("Status")]
    assert [status.value for status in enum if f"`{status.value}`" not in section] == []


def test_every_reason_for_quarantine_is_explained() -> None:
    told = _text(DOCS / "glossary.md") + _text(DOCS / "life-cycle.md")
    assert [reason.value for reason in QuarantineReason if f"| `{reason.value}` |" not in told] == []


def test_every_table_is_in_the_glossary() -> None:
    from ingest_core.store.tables import metadata

    told = _text(DOCS / "glossary.md")
    assert [name for name in metadata.tables if f"`{name}`" not in told] == []


@pytest.mark.parametrize("block", SourceFile.model_fields)
def test_every_key_of_a_block_of_the_source_file_is_explained(block: str) -> None:
    keys = {key for model in _models(SourceFile.model_fields[block].annotation) for key in _keys(model)}
    assert _missing(keys, _sections("sources.md")[block]) == []


def test_the_keys_of_every_scoped_block_are_explained() -> None:
    told = _sections("sources.md")["Rules for all blocks"]
    assert _missing({field.alias or name for name, field in ScopedBlock.model_fields.items()}, told) == []
    assert [name for name in Scope.model_fields if f"`{name}`" not in told] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    dead = []
    for link in _LINK.findall(_FENCE.sub("", _text(page))):
        if link.startswith(("https://", "http://", "mailto:")):
            continue
        target, _, anchor = link.partition("#")
        path = (page.parent / target).resolve() if target else page
        if not path.exists() or (anchor and anchor not in _anchors(path)):
            dead.append(link)
    assert dead == []
