"""Slices that turn out too big: cut again by the next plan until the truth is there and the watermark passes."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from deployments.sandbox.remote import Sandbox
from deployments.sandbox.server import running
from deployments.sandbox.settings import Settings
from tests.conftest import DatabaseFactory
from tests.support.patra import Patra, Row

pytestmark = pytest.mark.sqlite_first

START, END, NOW = "2026-02-01", "2026-02-05", "2026-02-06T00:00:00Z"
PERIOD = ("--from", START, "--to", END, "--now", NOW)
BUSY = date(2026, 2, 3)
BUSY_DAY = ("2026-02-03T00:00:00.000000Z", "2026-02-04T00:00:00.000000Z")
CAP = 160
MOST_ROUNDS = 6
"""600 records in halves of the id space."""
WATERMARK = "2026-02-05T00:00:00.000000Z"
UNAWARE = ("--set", "slicing.probe_budget=0")


@pytest.fixture(scope="module")
def pubmed() -> Iterator[Sandbox]:
    """A simulated PubMed with one heavy day."""
    settings = Settings(until=datetime(2026, 2, 5, tzinfo=UTC), days=4, works=630, busy={BUSY: 600})
    with running(settings) as sandbox:
        sandbox.move_clock(NOW)
        yield sandbox


@pytest.fixture
def patra(
    dialect: str,
    database_factory: DatabaseFactory,
    pubmed: Sandbox,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Patra]:
    """`patra` on a new database, with a PubMed that gives 160 records of a query."""
    patra = Patra(database_factory.upgraded(dialect), pubmed.url("crossref"), tmp_path, monkeypatch)
    patra.reach(pubmed, "pubmed", monkeypatch)
    apply(patra)
    pubmed.script()
    pubmed.clear_requests()
    yield patra
    pubmed.script()
    patra.stop_all()


def apply(patra: Patra, **blocks: Row) -> None:
    """Register PubMed with a small cap."""
    small = {"page_size": 40, "max_records": CAP}
    patra("registry", "apply", str(patra.quick_file("pubmed", pagination=small, **blocks)))


def bounds(row: Row) -> tuple[str, str]:
    """The window a slice owns."""
    window = row["slice_spec"]["window"]
    return window["from"], window["to"]


def ends(row: Row) -> tuple[int, int]:
    """The ids a slice owns, an open end as far out as can be."""
    part = row["slice_spec"].get("range", {})
    return int(part.get("from") or 0), int(part.get("to") or 10**12)


def is_unset(row: Row) -> bool:
    """Whether a slice holds the records without an id, of which there are none."""
    return bool(row["slice_spec"].get("range", {}).get("without") == "ONLY")


def leaves(patra: Patra) -> list[Row]:
    """The slices that were not cut again, in order of what they own."""
    rows = [row for row in patra.rows("ing_plan_slice") if row["status_code"] != "PARTIAL"]
    return sorted(rows, key=lambda row: (bounds(row), ends(row)))


def assert_whole(patra: Patra, pubmed: Sandbox) -> None:
    """Everything is read, once, and the watermark is at the end."""
    truth = pubmed.truth("pubmed", from_=START, to=END)
    patra.assert_truth(truth)
    assert len(truth) == len(patra.items()) + len(patra.rows("ing_quarantine"))
    (cursor,) = patra("cursor", "list")
    assert cursor["value"] == WATERMARK
    plan = patra.rows("ing_plan")[0]
    assert plan["status_code"] == "SUCCEEDED"
    busy = [ends(row) for row in leaves(patra) if bounds(row) == BUSY_DAY and not is_unset(row)]
    assert (busy[0][0], busy[-1][1]) == (0, 10**12)
    assert [low for low, _ in busy[1:]] == [high + 1 for _, high in busy[:-1]]


def test_a_plan_that_knew_nothing_ends_right_all_the_same(patra: Patra, pubmed: Sandbox) -> None:
    plan = patra("plan", "pubmed", *PERIOD, *UNAWARE)
    done = patra("execute")
    (request,) = patra.rows("ing_reslice_request")
    (parent,) = patra.rows("ing_plan_slice", where="status_code = 'PARTIAL'")

    assert (plan["slices"], pubmed.requests("pubmed")[0]["correlation"] != "estimate") == (4, True)
    assert done["tasks"] == {"succeeded": 3, "partial": 1, "failed": 0}
    assert (request["reason_code"], request["status_code"], bounds(parent)) == ("RECORD_CAP", "OPEN", BUSY_DAY)
    assert patra("cursor", "list")[0]["value"] == BUSY_DAY[0]
    assert patra.rows("ing_plan")[0]["status_code"] == "READY"

    rounds = 0
    while patra.rows("ing_reslice_request", where="status_code = 'OPEN'"):
        waiting = len(patra.rows("ing_reslice_request", where="status_code = 'OPEN'"))
        again = patra("plan", "pubmed", *PERIOD, *UNAWARE)
        unset = int(rounds == 0)  # the first cut is the one of the whole day
        assert again["resliced"] == {"served": waiting, "children": 2 * waiting + unset, "refused": []}
        assert again["slices"] == 0
        patra("execute")
        rounds += 1
        assert rounds <= MOST_ROUNDS

    assert rounds > 1
    assert_whole(patra, pubmed)
    numbers = [row["slice_no"] for row in patra.rows("ing_plan_slice")]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len({row["plan_id"] for row in patra.rows("ing_plan_slice")}) == 1


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_a_provider_that_answers_again_makes_one_round_enough(patra: Patra, pubmed: Sandbox) -> None:
    pubmed.script({"kind": "status", "status": 503, "times": None})
    plan = patra("plan", "pubmed", *PERIOD)
    asked = len(pubmed.requests("pubmed"))
    pubmed.script()
    patra("execute")
    again = patra("plan", "pubmed", *PERIOD)
    done = patra("execute")

    assert (asked, plan["slices"], plan["sizes"]["methods"]) == (1, 4, {"CONSTANT": 4})
    assert again["resliced"]["served"] == 1
    assert again["resliced"]["children"] >= 4
    assert done["tasks"] == {"succeeded": again["resliced"]["children"], "partial": 0, "failed": 0}
    assert_whole(patra, pubmed)
    assert all(row["slice_spec"]["hints"]["estimatedRecords"] <= CAP for row in leaves(patra))


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_planning_again_before_executing_serves_nothing_twice_and_plans_nothing_beside(patra: Patra) -> None:
    patra("plan", "pubmed", *PERIOD, *UNAWARE)
    patra("execute")
    first = patra("plan", "pubmed", *PERIOD, *UNAWARE)
    tasks = len(patra.rows("ing_task"))
    second = patra("plan", "pubmed", *PERIOD, *UNAWARE)

    assert first["resliced"] == {"served": 1, "children": 3, "refused": []}
    assert second["resliced"] == {"served": 0, "children": 0, "refused": []}
    assert (first["slices"], second["slices"], len(patra.rows("ing_task"))) == (0, 0, tasks)


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_a_dry_run_serves_no_request(patra: Patra) -> None:
    patra("plan", "pubmed", *PERIOD, *UNAWARE)
    patra("execute")
    patra("plan", "pubmed", *PERIOD, "--dry-run")

    assert [row["status_code"] for row in patra.rows("ing_reslice_request")] == ["OPEN"]
    assert len(patra.rows("ing_plan_slice")) == 4


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_a_range_that_failed_is_planned_again_alone_and_the_day_waits_for_it(patra: Patra, pubmed: Sandbox) -> None:
    patra("plan", "pubmed", *PERIOD)
    failing = [row for row in leaves(patra) if bounds(row) == BUSY_DAY and not is_unset(row)][1]
    low, high = ends(failing)
    hole = {"contains": f"{low}:{high}[UID]"}
    pubmed.script({"kind": "status", "status": 400, "times": None, "match": hole})
    failed = patra("execute", exit_code=1)
    pubmed.script()
    waiting = patra("cursor", "list")[0]["value"]
    again = patra("plan", "pubmed", *PERIOD)
    done = patra("execute")
    one = patra.rows("ing_plan_slice", where=f"plan_id = {again['plan_id']}")

    assert (failed["tasks"]["failed"], failed["tasks"]["partial"]) == (1, 0)
    assert waiting == BUSY_DAY[0]
    assert [(bounds(row), ends(row)) for row in one] == [(BUSY_DAY, (low, high))]
    assert done["tasks"]["succeeded"] == 1
    patra.assert_truth(pubmed.truth("pubmed", from_=START, to=END))
    assert patra("cursor", "list")[0]["value"] == WATERMARK


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_what_cannot_be_cut_is_refused_with_the_remedy_and_the_watermark_waits(patra: Patra) -> None:
    apply(patra, slicing={"split_field": None})
    patra("plan", "pubmed", *PERIOD, *UNAWARE)
    patra("execute")
    again = patra("plan", "pubmed", "--from", START, "--to", "2026-02-03", "--now", NOW, *UNAWARE)
    (refusal,) = again["resliced"]["refused"]

    assert (again["resliced"]["served"], again["resliced"]["children"]) == (0, 0)
    assert "2026-02-03" in refusal
    assert "slicing.split_field" in refusal
    assert [row["status_code"] for row in patra.rows("ing_reslice_request")] == ["REFUSED"]
    assert patra.rows("ing_plan")[0]["status_code"] == "PARTIAL"
    assert patra("cursor", "list")[0]["value"] == BUSY_DAY[0]


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_a_day_that_cannot_be_split_is_warned_of_before_it_is_read(patra: Patra) -> None:
    apply(patra, slicing={"split_field": None})
    plan = patra("plan", "pubmed", *PERIOD)
    (warning,) = plan["warnings"]

    assert warning.startswith("1 slice may hold more records than one query gives")
    assert "slicing.split_field" in warning
