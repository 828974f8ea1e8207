"""A stranger's first minutes: clone, and one of the two commands."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _make(folder: Path, target: str, seconds: int) -> str:
    """What a command prints in a new clone, without our environment."""
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    ours = ("PATRA_", "PREFECT_", "VIRTUAL_ENV", "PYTEST_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    result = subprocess.run(
        ["make", target],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )
    assert result.returncode == 0, result.stdout[-5000:] + result.stderr[-5000:]
    return result.stdout


@pytest.mark.long
@pytest.mark.timeout(600)
def test_make_demo_works_at_once(tmp_path: Path) -> None:
    shown = _make(tmp_path / "clone", "demo", 600)
    assert "complete: " in shown
    assert "watermark after" in shown
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(tmp_path) not in left


@pytest.mark.long
@pytest.mark.alone
@pytest.mark.timeout(1800)
def test_make_test_works_at_once(tmp_path: Path) -> None:
    shown = _make(tmp_path / "clone", "test", 1800)
    assert " passed" in shown
    assert "databases" in shown
