"""Every rule of the Registry, each by a file that is right but for one thing.

A file says at its top which rule it breaks, where, with which value, and the way out. Its wrong line says what would be
right, so that the same file, mended, must compile: it is refused for nothing else.
"""

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from ingest_core import registry
from ingest_core.model.codes import Operation
from ingest_core.model.credential_names import CredentialNames
from ingest_core.model.dictionary import DICTIONARY
from ingest_core.model.errors import BadInput, ExitCode
from ingest_core.model.visible import visible
from ingest_core.registry.compile import Compiled, CompileRequest, compile_source
from ingest_core.registry.problems import Problem, SpecInvalid
from ingest_core.registry.read import read_source
from ingest_core.registry.rows import Row, Rows, rows_of
from tests.support.specs import NOW

FOLDER = Path(__file__).parent / "broken"
MODULES = Path(str(registry.__file__)).parent
FILES = sorted(path.name for path in FOLDER.glob("*.yaml"))
WRONG = re.compile(r"^(?P<indent> *)(?P<wrong>.*?) *# wrong; right: (?P<right>.*)$", re.MULTILINE)
HARVEST_OF_WORKS = "HARVEST works"


@cache
def text_of(name: str) -> str:
    """The broken file."""
    return (FOLDER / name).read_text()


@cache
def expected(name: str) -> dict[str, Any]:
    """What the file says about itself, in the comments at its top."""
    lines = (line for line in text_of(name).splitlines() if line.startswith("# "))
    found: dict[str, Any] = yaml.safe_load("\n".join(line.removeprefix("# ") for line in lines))
    return found


def mended(text: str) -> str:
    """The file with what would be right where it is wrong."""
    right = WRONG.sub(lambda line: f"{line['indent']}{line['right']}", text)
    return "\n".join(line for line in right.splitlines() if line.strip() != "nothing")


def compiled(name: str, text: str) -> Compiled:
    """What the text compiles to, with the dictionary and the hooks the file asks for."""
    asked = expected(name)
    operation, endpoint = asked.get("compile", HARVEST_OF_WORKS).split()
    rows = rows_of(read_source(text, name))
    hooks = frozenset(asked["hooks"]) if "hooks" in asked else None
    names = CredentialNames(tuple(asked["allowed"])) if "allowed" in asked else None
    request = CompileRequest(
        "small", endpoint, Operation(operation), signing_hooks=hooks, credential_names=names, from_file=True
    )
    return compile_source(with_dictionary(rows, asked.get("unregistered")), request, NOW)


def with_dictionary(rows: Rows, unregistered: str | None) -> Rows:
    """The rows with the dictionary as a database holds it, which may lack a code."""
    items: list[Row] = [
        {"type_code": kind, "item_code": item.value}
        for kind, codes in DICTIONARY.items()
        for item in codes
        if f"{kind} {item.value}" != unregistered
    ]
    return {**rows, "sys_dict_item": items}


@cache
def refusal(name: str) -> BadInput:
    """The error of a broken file."""
    with pytest.raises(BadInput) as refused:
        compiled(name, text_of(name))
    return refused.value


def codes_in(files: str, *calls: str) -> frozenset[str]:
    """Every code the Registry's modules give to these calls, found in their text: a new rule needs a broken file."""
    trees = [ast.parse(path.read_text()) for path in MODULES.glob(files)]
    return frozenset(code for tree in trees for node in ast.walk(tree) if (code := _code_of(node, calls)))


def _code_of(node: ast.AST, calls: tuple[str, ...]) -> str | None:
    if not isinstance(node, ast.Call):
        return None
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    place = 1 if called == "need" else 0
    argument = node.args[place] if called in calls and len(node.args) > place else None
    code = argument.value if isinstance(argument, ast.Constant) else None
    return code if isinstance(code, str) and code.isupper() else None


def names_of(*rules: str) -> list[str]:
    """The files that break one of the rules."""
    return [name for name in FILES if expected(name)["rule"] in rules]


PLAN_RULES = frozenset({"RATE_ABOVE_REGISTRY"})
"""About what a plan asks for, which no file can break: tests/unit/test_merge.py."""
COMPILE_RULES = codes_in("*.py", "need", "add") - PLAN_RULES
READING_RULES = codes_in("read.py", "BadInput")
QUERY_RULES = frozenset({"QUERY_INVALID", "QUERY_UNSUPPORTED"})


def broken_problem(name: str) -> Problem:
    """The problem a file is about, among those it has."""
    error = refusal(name)
    assert isinstance(error, SpecInvalid), error
    return next(problem for problem in error.problems if problem.rule == expected(name)["rule"])


def test_there_are_files_and_rules_to_speak_of() -> None:
    assert len(FILES) > 30
    assert len(COMPILE_RULES) > 50
    assert {
        "SOURCE_INVALID",
        "SOURCE_NOT_YAML",
        "SOURCE_KEY_TWICE",
        "SOURCE_NOT_A_MAPPING",
        "SOURCE_TOO_LARGE",
    } == READING_RULES


def test_every_rule_in_the_code_has_a_broken_file_and_every_file_a_rule() -> None:
    assert {expected(name)["rule"] for name in FILES} == COMPILE_RULES | READING_RULES | QUERY_RULES


@pytest.mark.parametrize("name", FILES)
def test_a_broken_file_is_bad_input(name: str) -> None:
    assert refusal(name).exit_code == ExitCode.BAD_INPUT


@pytest.mark.parametrize("name", names_of(*COMPILE_RULES))
def test_a_broken_rule_is_named_alone_with_its_place_value_and_remedy(name: str) -> None:
    asked, error, problem = expected(name), refusal(name), broken_problem(name)
    operation, endpoint = asked.get("compile", HARVEST_OF_WORKS).split()

    assert isinstance(error, SpecInvalid)
    assert [one.rule for one in error.problems] == [asked["rule"], *asked.get("also", [])]
    assert f"{problem.table} {problem.key}" == asked["place"]
    assert problem.value == asked.get("value")
    assert asked["remedy"] in problem.remedy
    assert error.where == f"source 'small', endpoint '{endpoint}', operation {operation}"


@pytest.mark.parametrize("name", names_of(*COMPILE_RULES))
def test_the_text_people_read_says_rule_table_key_and_remedy(name: str) -> None:
    asked, text = expected(name), str(refusal(name))
    table, key = asked["place"].split(" ")

    assert f"[{asked['rule']}, {table}]" in text
    assert f"{key}: " in text
    assert asked["remedy"] in text


@pytest.mark.parametrize("name", names_of(*COMPILE_RULES))
def test_scripts_get_the_same_as_json(name: str) -> None:
    asked = expected(name)

    assert broken_problem(name).json().items() >= {"rule": asked["rule"], "value": asked.get("value")}.items()


@pytest.mark.parametrize("name", names_of(*READING_RULES, *QUERY_RULES))
def test_a_mistake_of_reading_is_named_with_its_place_value_and_remedy(name: str) -> None:
    asked, error = expected(name), refusal(name)

    assert error.code == asked["rule"]
    assert asked["place"] in str(error)
    assert str(asked.get("value", "")) in str(error)
    assert asked["remedy"] in error.remedy


@pytest.mark.parametrize("name", [name for name in FILES if WRONG.search(text_of(name))])
def test_the_file_is_right_but_for_that(name: str) -> None:
    assert compiled(name, mended(text_of(name))).spec.provenance_code == "small"


@pytest.mark.parametrize("name", [name for name in FILES if "hidden" in expected(name)])
def test_a_secret_in_the_wrong_place_is_not_repeated(name: str) -> None:
    error, secret = refusal(name), expected(name)["hidden"]

    assert secret in text_of(name)
    assert secret not in str(error)
    if isinstance(error, SpecInvalid):
        assert secret not in str([problem.json() for problem in error.problems])


def test_the_text_people_read_says_the_value_too() -> None:
    valued = [name for name in names_of(*COMPILE_RULES) if expected(name).get("value") not in (None, "***")]

    assert [name for name in valued if visible(str(expected(name)["value"])) not in str(refusal(name))] == []


def test_every_error_of_reading_says_the_way_out() -> None:
    assert [name for name in names_of(*READING_RULES) if not refusal(name).remedy] == []


def test_a_document_without_a_bottom_is_bad_input() -> None:
    with pytest.raises(BadInput):
        read_source("source: " + "[" * 3000 + "]" * 3000, "deep.yaml")


def test_several_mistakes_of_reading_are_said_at_once_in_the_order_of_the_file() -> None:
    text = mended(text_of("read_code_unknown.yaml"))
    for right, wrong in (("type: TOKEN", "type: SCROLL"), ("unit: HOUR", "unit: WEEK"), ("name: Small", "nome: Small")):
        text = text.replace(right, wrong, 1)
    with pytest.raises(BadInput) as refused:
        read_source(text, "several.yaml")

    lines = refused.value.message.splitlines()
    numbers = [int(line.split(":")[1]) for line in lines]
    assert [line.split(": ")[1] for line in lines] == ["source.name", "source.nome", "pagination.type", "window.unit"]
    assert [text.splitlines()[number - 1].split(":")[0].strip() for number in numbers[1:]] == ["nome", "type", "unit"]


def test_several_broken_rules_are_said_at_once_whatever_their_table() -> None:
    text = mended(text_of("base_url_not_https.yaml"))
    changes = {
        "base_url: https": "base_url: http",
        "step: PT6H": "step: PT90M",
        "max_page_size: 100": "page_size: 100",
        "value: page_token": "value: token",
        "to:{to}": "to:{until}",
        "id: $.id": "id: .id",
    }
    for right, wrong in changes.items():
        text = text.replace(right, wrong, 1)
    with pytest.raises(SpecInvalid) as refused:
        compiled("base_url_not_https.yaml", text)

    assert [problem.rule for problem in refused.value.problems] == [
        "BASE_URL_NOT_HTTPS",
        "PAGE_CAP_MISSING",
        "STEP_NOT_WHOLE",
        "PARAM_VALUE_UNKNOWN",
        "PAGE_PLACE_UNSENT",
        "TEMPLATE_NAME_UNKNOWN",
        "TEMPLATE_NAME_MISSING",
        "EXPRESSION_INVALID",
    ]
    assert str(refused.value).count("\n") == len(refused.value.problems)
