"""The documents say what the code is: whatever is added there is missed here."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, get_args

import pytest
import typer
import yaml
from pydantic import BaseModel

from flows.cli.main import app
from ingest_core.execution.request import render_query
from ingest_core.model import codes
from ingest_core.model.codes import ExprOp, Operation, QuarantineReason, TermMatch
from ingest_core.model.errors import ExitCode
from ingest_core.model.slice_codes import ResliceReason
from ingest_core.model.template import FUNCTIONS
from ingest_core.model.window import Window
from ingest_core.registry.columns import SETTINGS
from ingest_core.registry.compile import CompileRequest, compile_source
from ingest_core.registry.extraction import _KINDS as EXPRESSION_KINDS
from ingest_core.registry.merge import OVERRIDABLE, PLATFORM
from ingest_core.registry.params import KNOWN_VALUES, RULE
from ingest_core.registry.read import read_source
from ingest_core.registry.rows import rows_of
from ingest_core.registry.source_file import Defaults, Scope, ScopedBlock, SourceFile
from ingest_core.registry.values import FUNCTION_NAMES
from ingest_core.shipped import shipped_sources

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", *DOCS.rglob("*.md")])

_VARIABLE = re.compile(r"PATRA_[A-Z_]*[A-Z]")
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_ERROR = re.compile(r'(?:BadInput|Refused|Unreachable|PatraError|DemoFailed)\(\s*"([A-Z_]+)"')
_RULE = re.compile(r'"([A-Z]+(?:_[A-Z]+)+)"')
_YAML = re.compile(r"^```yaml\n(.+?)^```$", re.MULTILINE | re.DOTALL)
_REQUEST_ERROR = re.compile(r'(?:UpstreamError|PageBroken)\(\s*(?:ErrorLevel\.\w+,\s*)?"([A-Z_]+)"')
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


def _nested(model: type[BaseModel]) -> list[type[BaseModel]]:
    """The model and the blocks within it; `defaults` repeats blocks that have a section of their own."""
    inner = [one for field in model.model_fields.values() for one in _models(field.annotation)]
    return [model, *(found for one in inner if one not in (Defaults, Scope) for found in _nested(one))]


def _keys(model: type[BaseModel]) -> frozenset[str]:
    """The keys a file may use in this block; those of every scoped block are told apart."""
    shared = set(ScopedBlock.model_fields) if issubclass(model, ScopedBlock) else set()
    return frozenset(field.alias or name for name, field in model.model_fields.items() if name not in shared)


def _tables(body: str) -> list[dict[str, list[str]]]:
    """Each table of a section: the code that begins a row -> its cells."""
    tables = re.findall(r"(?:^\|.*\n)+", body, re.MULTILINE)
    return [
        {cells[0].strip("`"): cells for line in table.splitlines()[2:] if (cells := _cells(line))[0].startswith("`")}
        for table in tables
    ]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def _told(body: str) -> set[str]:
    """Everything that has a row of its own in a table of the section."""
    return {code for table in _tables(body) for code in table}


def _codes(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def _anchors(path: Path) -> set[str]:
    """The anchors a page's headings get."""
    headings = _HEADING.findall(_FENCE.sub("", _text(path)))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_setting_is_explained_and_none_that_is_gone() -> None:
    known = set(_VARIABLE.findall(_text(ROOT / "ingest_core" / "settings.py")))
    told = _text(DOCS / "reference" / "settings.md").split("## For tests")[0]
    assert {name for name in known if f"| `{name}" not in told and not name.startswith("PATRA_UPSTREAM_")} == set()
    assert {name for name in _VARIABLE.findall(told) if not name.startswith("PATRA_UPSTREAM_")} <= known


def test_every_command_has_a_section_that_names_its_options() -> None:
    sections = _sections("reference/cli.md")
    commands = dict(_commands(typer.main.get_command(app), "patra"))
    assert set(commands) == {heading for heading in sections if heading.startswith("patra ")}
    for path, command in commands.items():
        options = {name for param in command.params for name in param.opts if name.startswith("--")}
        assert {name for name in options - _EVERYWHERE if name not in sections[path]} == set(), path


def test_every_exit_code_is_explained() -> None:
    told = _sections("reference/cli.md")["Exit codes"]
    assert [code.name for code in ExitCode if f"| {code.value} |" not in told] == []


def test_every_error_code_is_explained() -> None:
    sources = [path for folder in ("ingest_core", "flows") for path in (ROOT / folder).rglob("*.py")]
    raised = {code for path in sources for code in _ERROR.findall(_text(path))}
    told = _text(DOCS / "reference" / "cli.md") + _text(DOCS / "explanation" / "life-cycle.md")
    assert raised
    assert {code for code in raised if f"`{code}`" not in told} == set()


def test_every_error_of_a_request_is_in_the_life_cycle() -> None:
    raised = {code for path in (ROOT / "ingest_core").rglob("*.py") for code in _REQUEST_ERROR.findall(_text(path))}
    assert len(raised) > 5
    assert {code for code in raised if f"`{code}`" not in _text(DOCS / "explanation" / "life-cycle.md")} == set()


STATUS_ENUMS = [enum for name, enum in vars(codes).items() if name.endswith("Status") and issubclass(enum, StrEnum)]


@pytest.mark.parametrize("enum", STATUS_ENUMS, ids=lambda enum: enum.__name__)
def test_every_status_is_in_the_section_of_its_life_cycle(enum: type[StrEnum]) -> None:
    section = _sections("explanation/life-cycle.md")[enum.__name__.removesuffix("Status")]
    assert [status.value for status in enum if f"`{status.value}`" not in section] == []


def test_every_reason_for_quarantine_is_explained() -> None:
    told = _text(DOCS / "reference" / "glossary.md") + _text(DOCS / "explanation" / "life-cycle.md")
    assert [reason.value for reason in QuarantineReason if f"| `{reason.value}` |" not in told] == []


def test_every_habit_that_cannot_be_detected_is_listed_and_no_other() -> None:
    from tests.models.habit_excuses import UNDETECTABLE

    _, _, told = _sections("explanation/life-cycle.md")["Task"].partition("**What cannot be detected.**")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in told.splitlines() if line.startswith("|")]
    assert {row[0]: row[-1] for row in rows[2:]} == {one.name: "yes" if one.weak else "no" for one in UNDETECTABLE}


def test_every_end_signal_is_explained() -> None:
    told = _text(DOCS / "explanation" / "life-cycle.md")
    assert [signal.value for signal in codes.EndSignal if f"| `{signal.value}` |" not in told] == []


def test_every_table_is_in_the_glossary() -> None:
    from ingest_core.store.schema.tables import metadata

    told = _text(DOCS / "reference" / "glossary.md")
    assert [name for name in metadata.tables if f"`{name}`" not in told] == []


@pytest.mark.parametrize("block", SourceFile.model_fields)
def test_every_key_of_a_block_of_the_source_file_has_its_table(block: str) -> None:
    found = [model for one in _models(SourceFile.model_fields[block].annotation) for model in _nested(one)]
    tables = [frozenset(table) for table in _tables(_sections("reference/sources.md")[block])]
    assert [model.__name__ for model in found if _keys(model) not in tables] == []


def test_the_keys_of_every_scoped_block_are_explained() -> None:
    sections = _sections("reference/sources.md")
    told = sections["Rules for all blocks"]
    assert {field.alias or name for name, field in ScopedBlock.model_fields.items()} <= _told(told)
    assert [name for name in Scope.model_fields if f"`{name}`" not in told] == []
    assert _keys(Defaults) in [frozenset(table) for table in _tables(sections["source"])]


@pytest.mark.parametrize("block", PLATFORM)
def test_the_defaults_told_are_those_of_the_platform(block: str) -> None:
    (table,) = [
        one for one in _tables(_sections("reference/sources.md")[block]) if _keys(SETTINGS[block].model) == set(one)
    ]
    columns = {
        column: (SETTINGS[block].model.model_fields[key].alias or key, kind)
        for key, (column, kind) in SETTINGS[block].keys.items()
    }
    for column, value in PLATFORM[block].items():
        key, kind = columns[column]
        assert table[key][1].strip("`") == _default(kind.read(value)), key


def _default(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "none" if value == {} else f"{value:g}" if isinstance(value, float) else str(value)


def test_every_rule_of_the_compiler_is_explained_and_none_that_is_gone() -> None:
    folder = ROOT / "ingest_core" / "registry"
    modules = (
        "connection",
        "traversal",
        "limits",
        "response",
        "checks",
        "ownership",
        "params",
        "compile",
        "read",
        "query_text",
        "render",
        "merge",
    )
    raised = {code for name in modules for code in _RULE.findall(_text(folder / f"{name}.py"))}
    told = _told(_sections("reference/compiler.md")["Rules"])
    assert raised - told == set()
    assert told - raised == set()


def test_every_degradation_is_explained() -> None:
    noted = re.findall(r'"(no \w+): ', _text(ROOT / "ingest_core" / "registry" / "compile.py"))
    assert noted
    assert [
        note for note in noted if f"| {note} |" not in _sections("reference/compiler.md")["Warnings and degradations"]
    ] == []


def test_every_mapping_function_and_kind_of_expression_is_explained() -> None:
    told = _told(_sections("reference/sources.md")["mapping"])
    names = {name.removesuffix("...") for name in FUNCTION_NAMES}
    assert {
        name for name in names if not any(one == name or (":" in name and one.startswith(name)) for one in told)
    } == set()
    (functions,) = [table for table in _tables(_sections("reference/sources.md")["mapping"]) if "text" in table]
    assert {one.partition(":")[0] for one in functions} == {name.removesuffix(":") for name in names}
    assert [kind for kind in EXPRESSION_KINDS if not any(one.startswith(f"{{{kind}:") for one in told)] == []


def test_every_template_function_value_and_node_is_explained() -> None:
    sections = _sections("reference/sources.md")
    rules = sections["render_rules"]
    assert [name for name in FUNCTIONS if name not in _told(rules)] == []
    assert {*KNOWN_VALUES, RULE} <= _told(sections["params"])
    assert [op.value for op in ExprOp if f"`{op.value}`" not in rules] == []
    assert [match.value for match in TermMatch if f"`{match.value}`" not in sections["capabilities"]] == []


def test_what_may_be_set_for_one_plan_is_listed() -> None:
    told = _sections("reference/sources.md")["Rules for all blocks"].partition("**For one plan.**")[2]
    assert {code for code in _codes(told) if "." in code} == OVERRIDABLE


SHIPPED = {name.removesuffix(".yaml"): read_source(text, name) for name, text in shipped_sources().items()}


def test_every_shipped_source_is_in_the_table_with_its_endpoints_paging_and_credential() -> None:
    (table,) = _tables(_sections("reference/sources.md")["The shipped sources"])
    assert set(table) == set(SHIPPED)
    for code, file in SHIPPED.items():
        _, endpoints, paging, credential, _ = table[code]
        assert _codes(endpoints) == [one.name for one in file.endpoints]
        types = [block.type.value for block in file.pagination if block.type] or ["none"]
        units = [block.unit.value.lower() for block in file.window if block.unit]
        assert paging == ", ".join([*types, *units])
        kinds = [f"{one.auth}{', optional' if one.optional else ''}" for one in file.credential] or ["none"]
        assert credential == kinds[0]


def test_every_secret_of_a_shipped_source_is_told_with_its_variable() -> None:
    wanted = {
        (reference.removeprefix("env:"), code)
        for code, file in SHIPPED.items()
        for block in file.credential
        for reference in filter(None, (block.ref, block.username_ref))
    }
    (table,) = _tables(_sections("reference/settings.md")["Secrets"])
    told = {(name, code) for cells in table.values() for name in _codes(cells[0]) for code in _codes(cells[1])}
    assert told == wanted


def test_every_field_a_source_can_be_asked_is_listed_with_what_it_takes() -> None:
    (table,) = _tables(_sections("reference/queries.md")["What each source can be asked"])
    assert set(table) == set(SHIPPED)
    for code, file in SHIPPED.items():
        moving = {block.field for block in file.window}
        asked = {_field_mark(one) for one in file.capabilities if one.field is None or one.field not in moving}
        assert set(filter(None, table[code][1].split(", "))) == asked, code


def _field_mark(capability: Any) -> str:
    name = f"`{capability.field}`" if capability.field else "words"
    ranged = "[]" if ExprOp.RANGE in capability.ops else ""
    there = "*" if ExprOp.EXISTS in capability.ops else ""
    return name + ranged + there + ("!" if capability.negatable is False else "")


def test_every_example_of_a_query_is_asked_as_the_page_says() -> None:
    table = re.findall(
        r"^\| .+? \| `(.+)` \| `(.+)` \|$", _sections("reference/queries.md")["The syntax"], re.MULTILINE
    )
    rows, now = rows_of(SHIPPED["pubmed"]), datetime(2026, 1, 10, tzinfo=UTC)
    assert len(table) > 10
    for query, term in table:
        spec = compile_source(rows, CompileRequest("pubmed", "search", Operation.HARVEST, query), now).spec
        assert render_query(spec, Window(datetime(2026, 1, 9, tzinfo=UTC), now)).text == term


def test_every_example_of_a_block_is_one_a_file_may_have() -> None:
    examples = [yaml.safe_load(text) for text in _YAML.findall(_text(DOCS / "reference" / "sources.md"))]
    assert len(examples) > 10
    needed = {block: one[block] for one in examples for block in ("source", "endpoints") if block in one}
    for example in examples:
        SourceFile.model_validate({**needed, **example})


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


def test_every_reason_for_a_reslice_is_explained() -> None:
    told = _sections("explanation/planning.md")["Re-slicing"]
    assert [reason.value for reason in ResliceReason if f"| `{reason.value}` |" not in told] == []


def test_a_status_that_is_not_used_is_set_nowhere() -> None:
    sources = "".join(_text(path) for folder in ("ingest_core", "flows") for path in (ROOT / folder).rglob("*.py"))
    unused = {
        (enum.__name__, code)
        for enum in STATUS_ENUMS
        for code in re.findall(
            r"^\| `(\w+)` \| \| \*not used\* \|",
            _sections("explanation/life-cycle.md")[enum.__name__.removesuffix("Status")],
            re.MULTILINE,
        )
    }
    assert unused
    assert [(name, code) for name, code in unused if f"{name}.{code}" in sources] == []


def test_every_decision_is_listed_with_its_title_in_order() -> None:
    pages = sorted((DOCS / "adr").glob("0*.md"))
    listed = re.findall(r"^\| \[(\d+)\]\(([^)]+)\) \|", _text(DOCS / "adr" / "README.md"), re.MULTILINE)
    assert listed == [(page.name[:4], page.name) for page in pages]
    assert [page.name for page in pages if not _text(page).startswith(f"# {page.name[:4]}: ")] == []
