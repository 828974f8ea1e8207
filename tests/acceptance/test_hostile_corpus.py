"""Whatever a provider answers costs its own task, at most: the executor goes on, in bounds, and says why."""

from pathlib import Path

import pytest

from tests.support.hostile_answers import HOSTILE
from tests.support.hostile_harvest import harvest_hostile
from tests.support.patra import Patra

MOST_MB = 250
QUICK = [name for name, one in HOSTILE.items() if one.quick and name.startswith(("value", "next"))]


def _hold(patra: Patra, folder: Path, patched: pytest.MonkeyPatch, names: list[str], seconds: float) -> None:
    done = harvest_hostile(patra, folder, {name: HOSTILE[name] for name in names}, patched, seconds)
    wrong = {name: said for name, said in done.ends.items() if said}
    assert not wrong, f"{len(wrong)} of {len(names)}: {wrong}"
    assert "Traceback" not in done.output, done.output[done.output.index("Traceback") - 300 :][:3000]
    assert "\x1b" not in done.output
    assert done.grown_mb <= MOST_MB


@pytest.mark.timeout(300)
@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_hostile_answers_cost_their_own_task(patra: Patra, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _hold(patra, tmp_path, monkeypatch, QUICK, 120)


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_every_hostile_answer_costs_its_own_task(patra: Patra, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _hold(patra, tmp_path, monkeypatch, list(HOSTILE), 900)
