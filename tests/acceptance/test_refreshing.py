"""A refresh by id of a source with one phase: it changes the records the search stored, and adds none."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from deployments.sandbox.remote import Sandbox
from deployments.sandbox.server import running
from deployments.sandbox.settings import Settings
from tests.conftest import DatabaseFactory
from tests.support.patra import Patra
from tests.support.yaml_text import read_yaml, yaml_of

PERIOD = ("--from", "2026-01-08", "--to", "2026-01-11", "--now", "2026-01-20T00:00:00Z")
SEARCHES = {"clinicaltrials": "studies", "arxiv": "query"}
REFRESHED = 12


@pytest.fixture(scope="module")
def providers() -> Iterator[Sandbox]:
    """Every record there is lies within three days."""
    with running(Settings(works=120, days=3)) as sandbox:
        yield sandbox


@pytest.fixture
def patra(
    database_factory: DatabaseFactory, providers: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Patra:
    """`patra` on a new database, with the providers simulated."""
    patra = Patra(database_factory.upgraded("sqlite"), providers.url("crossref"), tmp_path, monkeypatch)
    for code in SEARCHES:
        patra.reach(providers, code, monkeypatch)
    return patra


def harvest(patra: Patra, code: str, file: Path) -> list[str]:
    """Harvest all there is; some of the ids that are stored now."""
    patra("registry", "apply", str(file))
    patra("plan", code, *PERIOD)
    patra("execute", "--until-idle")
    return sorted(row["provider_id"] for row in patra.rows("ing_item"))[:REFRESHED]


def refresh(patra: Patra, code: str, folder: Path, ids: list[str]) -> None:
    """Ask for these ids again; every task succeeds."""
    (folder / "ids.txt").write_text("\n".join(ids), encoding="utf-8")
    patra("plan", code, "--operation", "UPDATE", "--ids", str(folder / "ids.txt"))
    done = patra("execute", "--until-idle")
    assert done["tasks"] == {"succeeded": 1, "partial": 0, "failed": 0}, done["errors"]


def without_refreshes(patra: Patra, code: str) -> Path:
    """The source's file as it was before `refreshes` was known."""
    file = patra.quick_file(code)
    document = read_yaml(file.read_text(encoding="utf-8"))
    for endpoint in document["endpoints"]:
        endpoint.pop("refreshes", None)
    file.write_text(yaml_of(document), encoding="utf-8")
    return file


@pytest.mark.parametrize("code", SEARCHES)
def test_a_refresh_by_id_keeps_one_row_per_record(patra: Patra, tmp_path: Path, code: str) -> None:
    ids = harvest(patra, code, patra.quick_file(code))
    before = {row["id"]: row for row in patra.rows("ing_item")}
    refresh(patra, code, tmp_path, ids)
    after = {row["id"]: row for row in patra.rows("ing_item")}

    assert len(ids) == REFRESHED
    assert {row["endpoint_name"] for row in after.values()} == {SEARCHES[code]}
    assert after.keys() == before.keys()
    checked = {
        row["provider_id"]
        for key, row in after.items()
        if row["refresh_checked_at"] > before[key]["refresh_checked_at"]
    }
    assert checked == set(ids)
