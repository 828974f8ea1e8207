"""The import contracts hold, and would not if somebody broke them."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

BROKEN = {
    "the library imports Prefect": ("ingest_core/model/window.py", "import prefect\n"),
    "the library imports a flow": ("ingest_core/execution/execute.py", "import flows.parameters\n"),
    "a pure package opens a database": ("ingest_core/planning/window.py", "import sqlalchemy\n"),
    "a pure package reads files": ("ingest_core/registry/rows.py", "import pathlib\n"),
    "a pure package knows a store": ("ingest_core/cursor/frontier.py", "import ingest_core.store.engine.database\n"),
    "a flow reaches past bootstrap": ("flows/planner.py", "from ingest_core.store.plans.store import SqlPlanStore\n"),
    "a layer looks up": ("ingest_core/model/window.py", "import ingest_core.gate.bucket\n"),
    "two modules need each other": ("ingest_core/model/errors.py", "import ingest_core.model.instant\n"),
}


def _lint(folder: Path) -> "subprocess.CompletedProcess[str]":
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    return subprocess.run(
        command, cwd=folder, env={"PYTHONPATH": str(folder)}, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree")
    for package in ("ingest_core", "flows", "deployments"):
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__", "*.gz"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def test_the_contracts_hold(copy: Path) -> None:
    result = _lint(copy)
    assert result.returncode == 0, result.stdout
    assert "0 broken" in result.stdout


@pytest.mark.parametrize(("place", "line"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_contract_fails(copy: Path, place: str, line: str) -> None:
    file = copy / place
    before = file.read_text(encoding="utf-8")
    docstring, rest = before.split("\n", 1)
    file.write_text(f"{docstring}\n{line}{rest}", encoding="utf-8")
    try:
        result = _lint(copy)
    finally:
        file.write_text(before, encoding="utf-8")
    assert result.returncode == 1, result.stdout
    assert "BROKEN" in result.stdout
