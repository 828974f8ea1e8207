"""A day of 40,000 records among days of 10: every record in one slice, and no slice more than a query gives."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from deployments.sandbox.remote import Sandbox
from deployments.sandbox.server import running
from deployments.sandbox.settings import Settings
from ingest_core.model.instant import parse_instant
from tests.conftest import DatabaseFactory
from tests.support.patra import Patra, Row

START, END, NOW = "2026-01-30", "2026-03-01", "2026-03-02T00:00:00Z"
PERIOD = ("--from", START, "--to", END, "--now", NOW)
BUSY, BUSY_RECORDS, RECORDS = date(2026, 2, 10), 40_000, 40_290
CAP = 9_999
"""PubMed gives no more of one query."""
TINY = CAP // 4
MOST_TINY = 2
"""A busy day parts the quiet ones into those before and those after it: one slice each."""
PROBE_BUDGET = 50


@pytest.fixture(scope="module")
def pubmed() -> Iterator[Sandbox]:
    """A simulated PubMed with one heavy day."""
    settings = Settings(until=datetime(2026, 3, 1, tzinfo=UTC), days=30, works=RECORDS, busy={BUSY: BUSY_RECORDS})
    with running(settings) as sandbox:
        sandbox.move_clock(NOW)
        yield sandbox


@pytest.fixture
def patra(
    database_factory: DatabaseFactory, pubmed: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Patra]:
    """`patra` on a new database, with the quick PubMed registered."""
    patra = Patra(database_factory.upgraded("sqlite"), pubmed.url("crossref"), tmp_path, monkeypatch)
    patra.reach(pubmed, "pubmed", monkeypatch)
    patra("registry", "apply", str(patra.quick_file("pubmed")))
    pubmed.clear_requests()
    yield patra
    patra.stop_all()


def is_unset(spec: Row) -> bool:
    """Whether a slice holds the records without an id, of which there are none."""
    return bool(spec.get("range", {}).get("without") == "ONLY")


class Esearch:
    """The provider, asked by a test with a slice's own bounds."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._url = f"{sandbox.url('pubmed')}/esearch.fcgi"

    def count(self, spec: Row) -> int:
        """How many records the provider says the slice holds."""
        return int(self._ask(spec, 0)["count"])

    def ids(self, spec: Row) -> list[str]:
        """The records the provider gives for the slice."""
        return list(self._ask(spec, CAP)["idlist"])

    def _ask(self, spec: Row, most: int) -> Row:
        first, end = (parse_instant(spec["window"][name]) for name in ("from", "to"))
        low, high = (spec.get("range", {}).get(name) for name in ("from", "to"))
        ids = f"{low or 1}:{high or 999_999_999}[UID]"
        params: dict[str, Any] = {
            "db": "pubmed",
            "retmode": "json",
            "datetype": "mdat",
            "mindate": f"{first:%Y/%m/%d}",
            "maxdate": f"{end - timedelta(days=1):%Y/%m/%d}",
            "term": f"all[sb] NOT {ids}" if is_unset(spec) else ids,
            "retstart": 0,
            "retmax": most,
        }
        answer = httpx.get(self._url, params=params, trust_env=False, timeout=60).raise_for_status().json()
        found: Row = answer["esearchresult"]
        return found


def slices_of(patra: Patra) -> list[Row]:
    """The specifications of every slice there is."""
    return [row["slice_spec"] for row in patra.rows("ing_plan_slice")]


def test_every_record_is_in_exactly_one_slice_and_none_is_above_the_cap(patra: Patra, pubmed: Sandbox) -> None:
    plan = patra("plan", "pubmed", *PERIOD)
    asked = pubmed.requests("pubmed")
    esearch, specs = Esearch(pubmed), slices_of(patra)
    counts = [esearch.count(spec) for spec in specs]
    owned = Counter(name for spec in specs for name in esearch.ids(spec))
    truth = {row["id"] for row in pubmed.truth("pubmed", from_=START, to=END)}

    assert len(truth) == RECORDS
    assert set(owned) == truth
    assert set(owned.values()) == {1}
    assert sum(counts) == RECORDS
    assert max(counts) <= CAP
    assert [count for spec, count in zip(specs, counts, strict=True) if is_unset(spec)] == [0]
    assert sum(count <= TINY for count in counts if count) <= MOST_TINY
    assert counts == [spec["hints"]["estimatedRecords"] for spec in specs]
    assert plan["sizes"]["methods"] == {"COUNT": len(specs)}
    assert (plan["slices"], plan["warnings"]) == (len(specs), [])
    assert 0 < len(asked) <= PROBE_BUDGET
    assert {(request["correlation"], request["query"]["retmax"]) for request in asked} == {("estimate", "1")}


def test_the_heavy_day_is_split_by_id_and_the_quiet_days_are_joined(patra: Patra) -> None:
    patra("plan", "pubmed", *PERIOD)
    windows = [(spec["window"]["from"][:10], spec["window"]["to"][:10]) for spec in slices_of(patra)]
    ranges = [spec["range"] for spec in slices_of(patra) if "range" in spec and not is_unset(spec)]
    ends = [(part.get("from"), part.get("to")) for part in ranges]

    assert sorted(set(windows)) == [(START, "2026-02-10"), ("2026-02-10", "2026-02-11"), ("2026-02-11", END)]
    assert [window for window in windows if window != ("2026-02-10", "2026-02-11")] == [
        (START, "2026-02-10"), ("2026-02-11", END),
    ]  # fmt: skip
    assert {part["key"] for part in ranges} == {"uid"}
    assert (ends[0][0], ends[-1][1]) == (None, None)
    assert [int(low) for low, _ in ends[1:]] == [int(high) + 1 for _, high in ends[:-1]]


def test_a_small_budget_is_kept_and_coverage_is_the_same(patra: Patra, pubmed: Sandbox) -> None:
    plan = patra("plan", "pubmed", *PERIOD, "--set", "slicing.probe_budget=4")
    asked = pubmed.requests("pubmed")
    esearch = Esearch(pubmed)
    counts = [esearch.count(spec) for spec in slices_of(patra)]

    assert len(asked) == 4
    assert sum(counts) == RECORDS
    assert "SHARE" in plan["sizes"]["methods"]


def test_without_a_budget_nobody_is_asked_and_every_day_is_a_slice(patra: Patra, pubmed: Sandbox) -> None:
    plan = patra("plan", "pubmed", *PERIOD, "--set", "slicing.probe_budget=0")
    asked = pubmed.requests("pubmed")
    counts = sorted(Esearch(pubmed).count(spec) for spec in slices_of(patra))

    assert asked == []
    assert (plan["slices"], plan["sizes"]["methods"]) == (30, {"CONSTANT": 30})
    assert counts == [10] * 29 + [BUSY_RECORDS]
    assert plan["warnings"] == []


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_the_heavy_day_is_read_to_the_last_record(patra: Patra, pubmed: Sandbox) -> None:
    plan = patra("plan", "pubmed", *PERIOD)
    done = patra("execute")

    assert done["tasks"] == {"succeeded": plan["slices"], "partial": 0, "failed": 0}
    counts = done["records"]
    assert counts["inserted"] + counts["quarantined"] == RECORDS
    assert (counts["received"], counts["skipped"]) == (RECORDS + BUSY_RECORDS, BUSY_RECORDS)  # two passes list the day
    patra.assert_truth(pubmed.truth("pubmed", from_=START, to=END))
    assert len(patra.items()) + len(patra.rows("ing_quarantine")) == RECORDS
    assert patra.rows("ing_reslice_request") == []
    assert patra("cursor", "list")[0]["value"] == "2026-03-01T00:00:00.000000Z"
