"""The product as a wheel: installed elsewhere, it brings its migrations and sources along."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from flows.deploying.declared import declared_automations, declared_deployments
from ingest_core.shipped import shipped_sources
from ingest_core.store.schema.versions import head_revision

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, and with our dependencies but not our checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "env", with_pip=False)
    python = folder / "env/bin/python"
    (site,) = (folder / "env/lib").glob("python*/site-packages")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--target", str(site), str(wheel)], check=True, capture_output=True)
    # A plain path: the checkout's editable install is not followed from here.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return python


def _patra(python: Path, folder: Path, *arguments: str) -> object:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PATRA_", "PYTHON"))}
    environment["PATRA_UPSTREAM_CROSSREF"] = "http://127.0.0.1:1/crossref"  # nobody answers: a plan needs no sizes
    result = subprocess.run(
        [str(python), "-m", "flows.cli", *arguments, "--json"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(result.stdout)


def test_a_wheel_upgrades_a_database_and_knows_its_sources(installed: Path, tmp_path: Path) -> None:
    where = [str(installed), "-c", "import ingest_core; print(ingest_core.__file__)"]
    assert "site-packages" in subprocess.run(where, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert _patra(installed, tmp_path, "db", "upgrade") == {
        "from": None,
        "to": head_revision(),
        "sources_applied": sorted(name.removesuffix(".yaml") for name in shipped_sources()),
        "warnings": [],
    }
    plan = _patra(installed, tmp_path, "plan", "crossref")
    assert isinstance(plan, dict)
    assert plan["tasks_created"] > 0
    assert (tmp_path / ".patra/patra.db").exists()


def test_a_wheel_carries_what_is_deployed(installed: Path, tmp_path: Path) -> None:
    tell = (
        "from flows.deploying.declared import declared_automations, declared_deployments as deployments\n"
        "print([one.name for one in deployments()], len(declared_automations()))"
    )
    shown = subprocess.run(
        [str(installed), "-c", tell], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    here = [one.name for one in declared_deployments()], len(declared_automations())
    assert shown.strip() == f"{here[0]} {here[1]}"
