"""`patra registry show` as people read it: the keys of source files, no columns of tables."""

from pathlib import Path

import pytest

from flows.cli.main import run
from ingest_core.shipped import shipped_sources


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.mark.parametrize("name", sorted(shipped_sources()))
def test_a_source_is_shown_under_the_keys_of_its_file(
    name: str, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATRA_HOME", str(home))
    assert run(["db", "upgrade"]) == 0
    capsys.readouterr()
    assert run(["registry", "show", name.removesuffix(".yaml")]) == 0
    shown = capsys.readouterr().out
    for text in ("response.items", "max_page_size" if "pagination" in shipped_sources()[name] else "base_url"):
        assert text in shown
    for column in ("reg_prov", "_code ", "_path ", "provenance_", "None", "{'"):
        assert column not in shown
