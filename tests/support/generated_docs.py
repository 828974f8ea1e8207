"""The tables of the documentation that are generated from the code.

A page holds a generated table between `<!-- generated: NAME -->` and `<!-- end -->`. `make docs` writes every such
table; tests/unit/test_generated_docs.py compares them. A new table needs a function in `TABLES` and marks in a page.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import typer

from flows.cli.main import app
from ingest_core.gate.taxonomy import LEVELS
from ingest_core.model import errors
from ingest_core.settings import Settings, load_settings
from tests.support.code_tree import code_tree
from tests.support.limits_table import limit_rows
from tests.support.schema_tables import schema_tables
from tests.support.security_limits import ANSWERS, SOURCE_FILES, Defence, defence_rows

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_BLOCK = re.compile(r"(?<=<!-- generated: )([a-z-]+)( -->\n).*?(?=<!-- end -->)", re.DOTALL)


def regenerated(page: str) -> str:
    """The page with each generated table as the code has it today; KeyError for a name that is not in `TABLES`."""
    return _BLOCK.sub(lambda block: f"{block[1]}{block[2]}{TABLES[block[1]]()}", page)


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table; a `|` in a cell is escaped."""
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every command that does something, with the words that call it."""
    children = getattr(command, "commands", None)
    if children is None:
        yield path, command
        return
    for name, child in children.items():
        yield from commands(child, f"{path} {name}")


def exit_codes() -> dict[str, int]:
    """The exit code of each error code that is raised, or that a subclass of `PatraError` has."""
    nodes = [node for path in _modules() for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    kinds = {name: int(one.exit_code) for name, one in vars(errors).items() if hasattr(one, "exit_code")}
    for node in nodes:
        if isinstance(node, ast.ClassDef) and node.bases and (base := ast.unparse(node.bases[0])) in kinds:
            kinds.setdefault(node.name, kinds[base])
            kinds |= {f"{id(call)}": kinds[base] for call in ast.walk(node) if _is_super_call(call)}
    found: dict[str, int] = {}
    for node in (node for node in nodes if isinstance(node, ast.Call) and node.args):
        kind = kinds.get(ast.unparse(node.func), kinds.get(f"{id(node)}"))
        code = _text_of(node.args[0])
        if kind is not None and code:
            found[code] = max(found.get(code, 0), kind)
    return found


def _is_super_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "super().__init__"


def _text_of(node: ast.expr) -> str:
    """A string constant; of an f-string, what varies as `<name>`."""
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value)
            if isinstance(part, ast.Constant)
            else f"<{ast.unparse(getattr(part, 'value', part)).split('.')[-1]}>"
            for part in node.values
        )
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _modules() -> list[Path]:
    return sorted(path for folder in ("ingest_core", "flows") for path in (ROOT / folder).rglob("*.py"))


def _commands() -> str:
    listed = commands(typer.main.get_command(app), "patra")
    rows = [(path, command.get_short_help_str(limit=200)) for path, command in listed]
    return table(("command", "does"), ((f"[`{path}`](#{path.replace(' ', '-')})", text) for path, text in rows))


def _levels() -> str:
    return table(("code", "level"), ((f"`{code}`", level.value) for code, level in sorted(LEVELS.items())))


def _exits() -> str:
    return table(("code", "exit code"), ((f"`{code}`", str(number)) for code, number in sorted(exit_codes().items())))


def _limits() -> str:
    return table(("limit", "value", "set by"), limit_rows())


def _defences(defences: tuple[Defence, ...]) -> Callable[[], str]:
    return lambda: table(("threat", "limit", "setting (default)"), defence_rows(defences))


def _settings() -> str:
    tree = ast.parse((ROOT / "ingest_core" / "settings.py").read_text(encoding="utf-8"))
    (fields,) = [node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Settings"]
    meanings = {
        one.target.id: said.value.value
        for one, said in pairwise(fields)
        if isinstance(one, ast.AnnAssign)
        and isinstance(one.target, ast.Name)
        and isinstance(said, ast.Expr)
        and isinstance(said.value, ast.Constant)
    }
    rows = [
        (f"`{name}`", _default(field), " ".join(str(meanings[field]).split()))
        for field, name in setting_names(tree).items()
    ]
    return table(("variable", "default", "meaning"), rows)


def setting_names(tree: ast.Module) -> dict[str, str]:
    """The variable each field of `Settings` is read from."""
    calls = [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Settings"
    ]
    names = {}
    for keyword in calls[0].keywords:
        texts = [str(one.value) for one in ast.walk(keyword.value) if isinstance(one, ast.Constant)]
        names[str(keyword.arg)] = next((text for text in texts if text.startswith("PATRA_")), "PATRA_UPSTREAM_<CODE>")
    return names


def _default(field: str) -> str:
    value = getattr(load_settings({}), field)
    if field == "total_concurrency":
        return "2 for each core"
    if field == "credential_names":
        return "none"
    if value == Settings.__dataclass_fields__[field].default is False:
        return "`0`"
    return f"`{value}`" if value else "none"


TABLES: dict[str, Callable[[], str]] = {
    "commands": _commands,
    "levels": _levels,
    "exit-codes": _exits,
    "settings": _settings,
    "limits": _limits,
    "answer-limits": _defences(ANSWERS),
    "source-file-limits": _defences(SOURCE_FILES),
    "tables": schema_tables,
    "tree": code_tree,
}


def main() -> None:
    """Write every generated table."""
    for page in DOCS.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        page.write_text(regenerated(text), encoding="utf-8")


if __name__ == "__main__":
    main()
