"""Every harvest of a default `patra up`, with its corpus and each source's own page size: all end well."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from deployments.sandbox.remote import Sandbox
from deployments.sandbox.server import running
from deployments.sandbox.settings import Settings
from flows.up.home import Home, sandbox_settings
from ingest_core.settings import load_settings
from tests.acceptance.test_sources import CODES, TIMED
from tests.conftest import DatabaseFactory
from tests.support.patra import Patra

DAYS = {"zenodo": 3}
"""Days that are harvested, where one has too few pages of the source's size."""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """What `patra up` starts its sandbox with on a new home."""
    home = Home(tmp_path_factory.mktemp("home"), load_settings({}), sandbox=True)
    return sandbox_settings(home, datetime.now(UTC))


@pytest.fixture(scope="module")
def providers(corpus: Settings) -> Iterator[Sandbox]:
    """The sandbox of `patra up`."""
    with running(corpus) as sandbox:
        yield sandbox


@pytest.fixture
def patra(
    providers: Sandbox, database_factory: DatabaseFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Patra:
    """`patra` on a new database, with all sources at the sandbox."""
    patra = Patra(database_factory.upgraded("sqlite"), providers.url("crossref"), tmp_path, monkeypatch)
    for code in CODES:
        patra.reach(providers, code, monkeypatch)
    monkeypatch.setenv("PATRA_CONTACT", "ops@example.org")
    return patra


def controls(patra: Patra, code: str) -> list[str]:
    """Whether the source's partitions may work."""
    return [row["control"] for row in patra("status", code)]


@pytest.mark.parametrize("code", TIMED)
def test_a_harvest_of_a_default_room_succeeds(patra: Patra, corpus: Settings, code: str) -> None:
    patra("registry", "apply", str(patra.quick_file(code)))
    start = corpus.until - timedelta(days=corpus.days)
    # The same records at each run: they lie in days relative to the end of the corpus.
    end = start + timedelta(days=DAYS.get(code, 1))
    plan = patra("plan", code, "--from", start.isoformat(), "--to", end.isoformat())

    done = patra("execute", "--until-idle")

    assert done["tasks"] == {"succeeded": plan["slices"], "partial": 0, "failed": 0}, done["errors"]
    assert done["records"]["received"] > 500
    assert controls(patra, code) == ["ACTIVE"]


def test_a_refresh_of_the_source_without_times_succeeds(patra: Patra, providers: Sandbox, tmp_path: Path) -> None:
    patra("registry", "apply", str(patra.quick_file("semanticscholar")))
    known = [row["id"] for row in providers.truth("semanticscholar")][:1000]
    ids = tmp_path / "ids"
    ids.write_text("\n".join(known), encoding="utf-8")
    patra("plan", "semanticscholar", "--operation", "UPDATE", "--ids", str(ids))

    done = patra("execute", "--until-idle")

    assert (done["tasks"]["partial"], done["tasks"]["failed"]) == (0, 0), done["errors"]
    assert done["records"]["received"] == len(known) > 500
    assert controls(patra, "semanticscholar") == ["ACTIVE"]
