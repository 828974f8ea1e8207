"""A refresh by id of a source with one phase: it changes the records the search stored, and adds none."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from deployments.sandbox.remote import Sandbox
from deployments.sandbox.server import running
from deployments.sandbox.settings import Settings
from flows.cli.main import run
from ingest_core.registry.read import read_source
from ingest_core.registry.rows import rows_of
from ingest_core.store.engine.database import Database
from ingest_core.store.registry.sources import SqlRegistryStore
from tests.conftest import DatabaseFactory
from tests.support.patra import Patra, Row
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


def harvest(patra: Patra, code: str) -> list[str]:
    """Harvest all there is; some of the ids that are stored now."""
    patra("plan", code, *PERIOD)
    patra("execute", "--until-idle")
    return sorted(row["provider_id"] for row in patra.rows("ing_item"))[:REFRESHED]


def refresh(patra: Patra, code: str, folder: Path, ids: list[str]) -> Row:
    """Ask for these ids again; every task succeeds. The plan."""
    (folder / "ids.txt").write_text("\n".join(ids), encoding="utf-8")
    plan: Row = patra("plan", code, "--operation", "UPDATE", "--ids", str(folder / "ids.txt"))
    done = patra("execute", "--until-idle")
    assert done["tasks"] == {"succeeded": 1, "partial": 0, "failed": 0}, done["errors"]
    return plan


def text_before(file: Path) -> str:
    """The source's file as it was before `refreshes` was known."""
    document = read_yaml(file.read_text(encoding="utf-8"))
    for endpoint in document["endpoints"]:
        endpoint.pop("refreshes", None)
    return yaml_of(document)


def apply_as_before(patra: Patra, file: Path) -> None:
    """Apply the file as an older version did, which knew neither the key nor its rules."""
    database = Database(patra.environment["PATRA_DATABASE_URL"])
    SqlRegistryStore(database).apply([rows_of(read_source(text_before(file), file.name))])
    database.close()


def endpoints(patra: Patra) -> set[str]:
    """Where records are stored."""
    return {row["endpoint_name"] for row in patra.rows("ing_item")}


@pytest.mark.parametrize("code", SEARCHES)
def test_a_refresh_by_id_keeps_one_row_per_record(patra: Patra, tmp_path: Path, code: str) -> None:
    patra("registry", "apply", str(patra.quick_file(code)))
    ids = harvest(patra, code)
    before = {row["id"]: row for row in patra.rows("ing_item")}
    assert refresh(patra, code, tmp_path, ids)["warnings"] == []
    after = {row["id"]: row for row in patra.rows("ing_item")}

    assert len(ids) == REFRESHED
    assert endpoints(patra) == {SEARCHES[code]}
    assert after.keys() == before.keys()
    checked = {key for key, row in after.items() if row["refresh_checked_at"] > before[key]["refresh_checked_at"]}
    assert {after[key]["provider_id"] for key in checked} == set(ids)
    assert patra("registry", "diff", str(patra.quick_file(code)))["merges"] == []


@pytest.mark.parametrize("code", SEARCHES)
def test_second_rows_are_merged_when_the_key_is_first_applied(patra: Patra, tmp_path: Path, code: str) -> None:
    file, search = patra.quick_file(code), SEARCHES[code]
    apply_as_before(patra, file)
    ids = harvest(patra, code)
    harvested = {row["provider_id"]: row for row in patra.rows("ing_item")}
    (warning,) = refresh(patra, code, tmp_path, ids)["warnings"]
    assert f"refreshes: {search}" in warning
    assert endpoints(patra) == {search, "by_id"}
    assert len(patra.rows("ing_item")) == len(harvested) + REFRESHED

    place = {"source": code, "endpoint": "by_id", "into": search}
    announced = patra("registry", "diff", str(file))["merges"]
    assert announced == [{**place, "records": REFRESHED, "quarantined": 0}]
    assert endpoints(patra) == {search, "by_id"}
    merges = patra("registry", "apply", str(file))["merges"]
    assert merges == [{**place, "merged": REFRESHED, "moved": 0, "quarantined": 0}]
    merged = {row["provider_id"]: row for row in patra.rows("ing_item")}
    assert len(patra.rows("ing_item")) == len(merged)
    assert merged.keys() == harvested.keys()
    assert endpoints(patra) == {search}
    assert all(merged[one]["first_run_id"] == harvested[one]["first_run_id"] for one in merged)
    assert all(merged[one]["refresh_checked_at"] > harvested[one]["refresh_checked_at"] for one in ids)
    assert patra("registry", "apply", str(file)) == {"changes": [], "merges": []}


def test_people_are_shown_what_will_be_merged_and_what_was(
    patra: Patra, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = patra.quick_file("clinicaltrials")
    apply_as_before(patra, file)
    refresh(patra, "clinicaltrials", tmp_path, harvest(patra, "clinicaltrials")[:1])
    capsys.readouterr()

    assert run(["registry", "diff", str(file)]) == 0
    announced = "~ clinicaltrials: 1 record of by_id will be merged into studies"
    assert announced in capsys.readouterr().out
    assert run(["registry", "apply", str(file)]) == 0
    said = capsys.readouterr().out
    assert announced in said
    assert "clinicaltrials: from by_id into studies: 1 record merged" in said
    assert run(["registry", "apply", str(file)]) == 0
    assert capsys.readouterr().out == "nothing changes\n"


def test_a_file_that_does_not_say_whose_records_it_refreshes_is_refused(patra: Patra, tmp_path: Path) -> None:
    file = tmp_path / "before.yaml"
    file.write_text(text_before(patra.quick_file("clinicaltrials")), encoding="utf-8")
    error = patra("registry", "apply", str(file), exit_code=2)["error"]

    assert "REFRESHES_MISSING" in error["message"]
    assert "refreshes: studies" in error["message"]
