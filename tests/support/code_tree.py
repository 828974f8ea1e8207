"""The tree of the code as documentation: each package with the sentence of its docstring."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHOWN = ("ingest_core", "flows", "deployments")
_LEAVES = ("deployments/sandbox",)
"""Packages whose own packages are not shown."""


def code_tree() -> str:
    """Every package, indented below the one it is in, with its sentence."""
    packages = [package for name in SHOWN for package in shown_packages(ROOT / name)]
    names = {path: f"{'  ' * (len(path.parts) - 1)}{path.name}/" for path in packages}
    width = max(map(len, names.values())) + 1
    return "".join(
        ["```\n", *(f"{names[path]:{width}} {sentence(path).replace('`', '')}\n" for path in packages), "```\n"]
    )


def shown_packages(folder: Path) -> Iterator[Path]:
    """A package and those within it, as paths from the root."""
    path = folder.relative_to(ROOT)
    yield path
    for inner in sorted(folder.iterdir()) if path.as_posix() not in _LEAVES else ():
        if (inner / "__init__.py").exists():
            yield from shown_packages(inner)


def sentence(package: Path) -> str:
    """The package's docstring, on one line."""
    text = (ROOT / package / "__init__.py").read_text(encoding="utf-8")
    return " ".join((ast.get_docstring(ast.parse(text)) or "").split())
