"""One scripted scenario leaves the rows that are kept in `tests/golden/scenario.json`, on each database.

The file is compared, not trusted: whoever changes the rows on purpose writes it again and reads the difference:
`PATRA_WRITE_GOLDEN=1 pytest tests/acceptance/test_scripted_scenario.py`.
"""

import json
import os
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from deployments.sandbox.remote import Sandbox
from deployments.sandbox.server import running
from deployments.sandbox.settings import Settings
from ingest_core.model.canonical import canonical_json
from tests.conftest import DatabaseFactory
from tests.support.patra import Patra
from tests.support.stored_rows import Row, comparable_rows, differences

pytestmark = pytest.mark.sqlite_first

GOLDEN = Path(__file__).parents[1] / "golden" / "scenario.json"

NOW = "2026-02-06T00:00:00Z"
PERIOD = ("--from", "2026-02-02", "--to", "2026-02-05", "--now", NOW)
OLDER = ("--operation", "BACKFILL", "--campaign", "older", "--from", "2026-02-01", "--to", "2026-02-02", "--now", NOW)
UNAWARE = ("--set", "slicing.probe_budget=0")
"""The slices are cut without a look at what they hold."""

BUSY = date(2026, 2, 3)
"""This day has more records than one query gives."""

SMALL_PAGES = {"page_size": 8, "max_records": 24}


@pytest.fixture
def patra(
    dialect: str, database_factory: DatabaseFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Patra, Sandbox]]:
    """`patra` on a new database, and a small PubMed with one busy day."""
    settings = Settings(until=datetime(2026, 2, 5, tzinfo=UTC), days=4, works=56, busy={BUSY: 40})
    with running(settings) as pubmed:
        pubmed.move_clock(NOW)
        patra = Patra(database_factory.upgraded(dialect), pubmed.url("crossref"), tmp_path, monkeypatch)
        patra.reach(pubmed, "pubmed", monkeypatch)
        patra("registry", "apply", str(patra.quick_file("pubmed", pagination=SMALL_PAGES)))
        yield patra, pubmed


def play(patra: Patra, pubmed: Sandbox) -> None:
    """Plan, execute and re-slice; fail and retry; backfill; refresh; plan what needs no reading."""
    patra("plan", "pubmed", *PERIOD, *UNAWARE, "--trigger-key", "first")
    patra("execute")
    patra("plan", "pubmed", *PERIOD, "--trigger-key", "cuts the busy day")
    pubmed.script({"kind": "status", "status": 400, "times": 1})
    patra("execute", "--max-tasks", "1", exit_code=1)
    pubmed.script()
    (failed,) = patra.rows("ing_task", where="status_code = 'FAILED'")
    patra("retry", "--task", str(failed["id"]))
    patra("execute")
    patra("plan", "pubmed", *OLDER, "--trigger-key", "older")
    patra("plan", "pubmed", *OLDER, "--trigger-key", "older")
    patra("execute")
    ids = Path(os.environ["PATRA_HOME"]) / "ids.txt"
    ids.parent.mkdir(exist_ok=True)
    ids.write_text("\n".join(sorted(patra.items())[:3]), encoding="utf-8")
    patra("plan", "pubmed", "--operation", "UPDATE", "--ids", str(ids), "--now", NOW, "--trigger-key", "three ids")
    patra("execute")
    patra("plan", "pubmed", *PERIOD, "--trigger-key", "nothing is left")
    patra("plan", "pubmed", *PERIOD, "--query", "nothing:1", "--trigger-key", "bad query", exit_code=2)


def test_the_scenario_leaves_the_rows_that_are_known(patra: tuple[Patra, Sandbox]) -> None:
    play(*patra)
    rows = comparable_rows(patra[0].environment["PATRA_DATABASE_URL"])
    if os.environ.get("PATRA_WRITE_GOLDEN"):
        GOLDEN.write_text(_one_row_a_line(rows), encoding="utf-8")
    found = differences(json.loads(canonical_json(rows)), json.loads(GOLDEN.read_text(encoding="utf-8")))
    assert not found, "\n".join(found)


def _one_row_a_line(tables: dict[str, list[Row]]) -> str:
    """JSON that shows a changed row as one changed line."""
    listed = {name: ",\n".join(map(canonical_json, rows)) for name, rows in tables.items()}
    return "{\n" + ",\n".join(f"{json.dumps(name)}: [\n{rows}\n]" for name, rows in listed.items()) + "\n}\n"
