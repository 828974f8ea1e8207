"""The promises of docs/explanation/promises.md name code and tests that exist."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanation" / "promises.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.split("|")[1:-1]] for line in PAGE.splitlines() if line.startswith("| **")]
_CODE = re.compile(r"`(\w+)` in `([\w/]+\.py)`")
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


@cache
def _names(path: str) -> frozenset[str]:
    """The functions, methods and classes of a module."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return frozenset(
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    )


def _is_there(path: str, name: str) -> bool:
    return (ROOT / path).is_file() and name in _names(path)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].split("**")[1])
def test_a_promise_names_its_boundary_its_code_and_a_test(row: list[str]) -> None:
    _, boundary, code, tests = row
    assert boundary
    named, tested = _CODE.findall(code), _TEST.findall(tests)
    assert named
    assert tested
    assert [name for name, path in named if not _is_there(path, name)] == []
    assert [name for path, name in tested if not _is_there(path, name)] == []
    assert _TEST.sub("", tests).strip(", ") == ""
