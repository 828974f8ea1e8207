"""The generated tables of the documentation are those of the code."""

import re
from pathlib import Path

import pytest

from ingest_core.gate.taxonomy import LEVELS
from ingest_core.store.schema.tables import metadata
from tests.support.code_tree import ROOT, SHOWN, sentence, shown_packages
from tests.support.generated_docs import DOCS, TABLES, exit_codes, regenerated
from tests.support.schema_tables import MEANINGS

PAGES = [page for page in sorted(DOCS.rglob("*.md")) if "<!-- generated: " in page.read_text(encoding="utf-8")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_a_generated_table_is_what_make_docs_writes(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == regenerated(text), "run: make docs"


def test_every_generated_table_is_in_a_page() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [name for name in TABLES if f"<!-- generated: {name} -->\n" not in pages] == []


def test_the_exit_codes_in_the_description_of_the_command_line_are_those_of_the_errors() -> None:
    rows = re.findall(
        r"^\| (`[A-Z_`, ]+`) \| (\d) \|", (DOCS / "reference" / "cli.md").read_text("utf-8"), re.MULTILINE
    )
    stated = {code: int(number) for codes, number in rows for code in re.findall(r"`(\w+)`", codes)}
    assert len(stated) > 50
    known = exit_codes()
    assert {code: number for code, number in stated.items() if known.get(code, number) != number} == {}


def test_the_levels_in_the_life_cycle_are_those_of_the_errors() -> None:
    page = (DOCS / "explanation" / "life-cycle.md").read_text("utf-8")
    rows = re.findall(r"^\| [^|]+ \| (L\d) (`[^|]+`) \|", page, re.MULTILINE)
    stated = {(code, level) for level, codes in rows for code in re.findall(r"`(\w+)`", codes)}
    assert len(stated) > 40
    by_case = {("NOT_JSON", "L2"), ("NOT_XML", "L2"), ("HTTP_429", "L1")}  # the same broken body twice, and a status
    known = {(code, level.value) for code, level in LEVELS.items()}
    unlisted = {(code, "L2") for code, _ in stated if code not in LEVELS}  # what is not in LEVELS is L2
    assert stated - known - unlisted - by_case == set()
    assert {code for code in LEVELS if code not in {code for code, _ in stated}} <= {"STATED_ERROR"}


def test_every_table_and_column_has_its_sentence_and_none_that_is_gone() -> None:
    columns = {name: {column.name for column in table.columns} for name, table in metadata.tables.items()}
    assert {name: set(said.columns) for name, said in MEANINGS.items()} == columns
    sentences = [text for said in MEANINGS.values() for text in (said.about, *said.columns.values())]
    assert [text for text in sentences if not text.endswith(".") or "|" in text] == []


PACKAGES = [package for name in SHOWN for package in shown_packages(ROOT / name)]


@pytest.mark.parametrize("package", PACKAGES, ids=str)
def test_every_package_says_what_is_in_it_and_the_modules_it_names_are_there(package: Path) -> None:
    said = sentence(package)
    assert len(said) > 20
    assert said.endswith(".")
    assert [name for name in re.findall(r"\w+\.py", said) if not (ROOT / package / name).exists()] == []


def test_every_place_that_the_architecture_names_is_in_the_module_it_names() -> None:
    _, _, rest = (DOCS / "architecture.md").read_text("utf-8").partition("| to find where | look at |\n")
    rows = re.findall(r"^\| [^|]+ \| (.+) \|$", rest.partition("\n\n")[0], re.MULTILINE)[1:]
    assert len(rows) > 5
    for row in rows:
        for module, names in re.findall(r"`([\w/]+\.py)`: ((?:`\w+`(?:, )?)+)", row):
            code = (ROOT / module).read_text("utf-8")
            assert [name for name in re.findall(r"`(\w+)`", names) if f"def {name}(" not in code] == [], module
