"""An export needs the same memory for few records and for many."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from ingest_core.store.engine.database import Database
from ingest_core.store.schema.tables import ing_item
from tests.support.books import at
from tests.support.patra import Patra

FEW, MANY = 5_000, 50_000
MOST_GROWTH_MB = 25
MEASURED = """
import resource, sys
from flows.cli.main import run
code = run(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, file=sys.stderr)
sys.exit(code)
"""


def store(url: str, first: int, last: int) -> None:
    """Records of about 3 KB each."""
    database = Database(url)
    moment = at(0)
    common = {
        "provenance_code": "crossref",
        "endpoint_name": "works",
        "source_updated_at": moment,
        "payload_hash": "h",
        "expr_hash": "e",
        "state_code": "PRESENT",
        "refresh_checked_at": moment,
        "first_run_id": 1,
        "first_batch_no": 1,
        "last_run_id": 1,
        "last_batch_no": 1,
        "created_at": moment,
        "updated_at": moment,
    }
    try:
        for start in range(first, last, 1000):
            rows = [
                {
                    **common,
                    "provider_id": f"id-{number}",
                    "payload": f'{{"n": {number}, "text": "{number:03000}"}}',
                    "record": {"title": f"Title {number}", "authors": ["A", "B"]},
                }
                for number in range(start, start + 1000)
            ]
            with database.write() as connection:
                connection.execute(sa.insert(ing_item), rows)
    finally:
        database.close()


def peak_mb(patra: Patra, form: str, file: Path) -> int:
    """The most memory an export took."""
    arguments = ["items", "export", "crossref", "--format", form, "--output", str(file), "--force", "--json"]
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *arguments],
        env={**os.environ, **patra.environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stderr.split()[-1])


@pytest.mark.long
@pytest.mark.alone
def test_memory_stays_flat(patra: Patra, tmp_path: Path) -> None:
    url = patra.environment["PATRA_DATABASE_URL"]
    forms = ("jsonl", "csv", "parquet")
    store(url, 0, FEW)
    few = {form: peak_mb(patra, form, tmp_path / form) for form in forms}
    store(url, FEW, MANY)
    many = {form: peak_mb(patra, form, tmp_path / form) for form in forms}
    assert {form: many[form] for form in forms if many[form] - few[form] > MOST_GROWTH_MB} == {}, (few, many)
