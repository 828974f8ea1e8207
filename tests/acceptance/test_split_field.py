"""A day that only a second field can split, and records without that field: all of them are stored, or a task fails."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from deployments.sandbox.remote import Sandbox
from deployments.sandbox.server import running
from deployments.sandbox.settings import Settings
from tests.conftest import DatabaseFactory
from tests.support.patra import Patra, Row
from tests.support.shelf_source import (
    BY_QUERY,
    CODE,
    OFFSET_PARAM,
    PERIOD,
    RESPONSE,
    SIZE_PARAM,
    assert_exact,
    harvest,
    register,
    shelf_document,
)

WORKS = 420
LACKING = {"unnumbered_every": 24}
MISSING = 18
CAP = 160

RANGE = {
    "field": "number",
    "op": "RANGE",
    "template": "number:[{from} TO {to}]",
    "open_start": "*",
    "open_end": "*",
}
NOT = [{"op": "NOT", "template": " NOT "}, {"op": "CONST", "template": "all"}]
EXISTS = {"field": "number", "op": "EXISTS", "template": "_exists_:number"}
AND = {"op": "AND", "template": " AND "}


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """A shelf with 420 records of one day."""
    settings = Settings(until=datetime(2026, 1, 11, tzinfo=UTC), days=1, works=WORKS, busy={date(2026, 1, 10): WORKS})
    with running(settings) as sandbox:
        yield sandbox


@pytest.fixture
def patra(
    database_factory: DatabaseFactory, sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Patra]:
    """`patra` on a new database that asks the shelf."""
    patra = Patra(database_factory.upgraded("sqlite"), sandbox.url("crossref"), tmp_path, monkeypatch)
    patra.reach(sandbox, CODE, monkeypatch)
    yield patra
    patra.stop_all()


def document(*rules: Row, probe_budget: int = 50, response: Row | None = None, **pagination: Any) -> Row:
    """The shelf by day, at most 160 records of a query, split by number."""
    endpoint = {"name": "list", "path": "/offset", "operations": ["HARVEST"], "response": response or RESPONSE}
    return shelf_document(
        "offset",
        endpoints=[endpoint],
        pagination={"max_records": CAP, **pagination},
        window={"unit": "DAY", "format": "%Y-%m-%d", "lookback": "PT0S"},
        slicing={"split_field": "number", "split_max": 512, "probe_budget": probe_budget},
        params=[SIZE_PARAM, OFFSET_PARAM, {"name": "filter", "value": "query"}],
        fields=[{"name": "updated", "type": "DATETIME"}, {"name": "number", "type": "NUMBER"}],
        render_rules=[*BY_QUERY, RANGE, AND, *rules],
    )


def watermark(patra: Patra) -> str:
    return str(patra("cursor", "list")[0]["value"])


READABLE = {"NOT RANGE": NOT, "NOT EXISTS": [*NOT, EXISTS]}


@pytest.mark.parametrize("probe_budget", [50, 0, 4], ids=["counted", "not counted", "counted in part"])
@pytest.mark.parametrize("rules", READABLE.values(), ids=READABLE)
def test_records_without_the_split_field_are_read_as_a_part_of_their_own(
    patra: Patra, sandbox: Sandbox, tmp_path: Path, rules: list[Row], probe_budget: int
) -> None:
    sandbox.configure(shelf=LACKING)
    register(patra, tmp_path, document(*rules, probe_budget=probe_budget))
    done = harvest(patra)

    assert done["tasks"]["failed"] == 0, done["errors"]
    assert len(patra.rows("ing_item")) == WORKS
    assert_exact(patra, sandbox)


@pytest.mark.parametrize("probe_budget", [50, 0], ids=["counted", "not counted"])
def test_a_window_whose_parts_do_not_add_up_fails_and_names_the_field(
    patra: Patra, sandbox: Sandbox, tmp_path: Path, probe_budget: int
) -> None:
    sandbox.configure(shelf=LACKING)
    register(patra, tmp_path, document(probe_budget=probe_budget))
    patra("plan", CODE, *PERIOD)
    done = patra("execute", "--until-idle", exit_code=1 if probe_budget else 0)
    if not probe_budget:
        patra("plan", CODE, *PERIOD)
        done = patra("execute", "--until-idle", exit_code=1)

    (failed,) = patra.rows("ing_task", where="status_code = 'FAILED'")
    assert failed["params"]["range"]["without"] == "ONLY"
    assert failed["last_error"]["code"] == "SPLIT_FIELD_MISSING"
    assert f"{MISSING} of {WORKS} records are in no range of 'number'" in failed["last_error"]["message"]
    assert done["tasks"]["failed"] == 1
    assert watermark(patra) == "2026-01-10T00:00:00.000000Z"


def test_the_remedy_of_the_error_lets_the_next_plan_read_what_is_missing(
    patra: Patra, sandbox: Sandbox, tmp_path: Path
) -> None:
    sandbox.configure(shelf=LACKING)
    register(patra, tmp_path, document())
    patra("plan", CODE, *PERIOD)
    patra("execute", "--until-idle", exit_code=1)
    register(patra, tmp_path, document(*NOT))
    before = len(patra.rows("ing_task"))
    harvest(patra)

    assert len(patra.rows("ing_task")) == before + 1
    assert_exact(patra, sandbox)


@pytest.mark.parametrize("rules", [*READABLE.values(), []], ids=[*READABLE, "counted"])
def test_a_field_that_every_record_has_splits_without_a_failure(
    patra: Patra, sandbox: Sandbox, tmp_path: Path, rules: list[Row]
) -> None:
    register(patra, tmp_path, document(*rules))
    done = harvest(patra)

    assert done["tasks"]["failed"] == 0, done["errors"]
    assert_exact(patra, sandbox)
