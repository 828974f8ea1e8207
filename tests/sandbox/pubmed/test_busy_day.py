"""A day with four times the records that esearch lets one reach, among days of ten."""

import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import pytest

from deployments.sandbox.pubmed.catalogue import MOST_PMIDS
from deployments.sandbox.remote import Sandbox
from deployments.sandbox.server import running
from deployments.sandbox.settings import Settings
from tests.sandbox.pubmed import careful, naive
from tests.sandbox.pubmed.client import changed, result, true_ids

BUSY_DAY = date(2026, 2, 10)
SETTINGS = Settings(works=40_290, days=30, until=datetime(2026, 3, 1, tzinfo=UTC), busy={BUSY_DAY: 40_000})
DAYS = [date(2026, 1, 30) + timedelta(days=number) for number in range(30)]
BUSY = changed("2026/02/10", "2026/02/10")
QUICK_SECONDS = 10


@pytest.fixture(scope="module")
def busy_sandbox() -> Iterator[Sandbox]:
    with running(SETTINGS) as sandbox:
        yield sandbox


@pytest.fixture
def sandbox(busy_sandbox: Sandbox) -> Sandbox:
    """The busy sandbox at the end of its days."""
    busy_sandbox.move_clock(None)
    return busy_sandbox


@pytest.fixture(scope="module")
def busy_ids(busy_sandbox: Sandbox) -> set[str]:
    return true_ids(busy_sandbox, "2026-02-10", "2026-02-11")


def _count(sandbox: Sandbox, **asked: object) -> int:
    return int(result(sandbox, retmax=0, **asked)["count"])


def test_each_day_has_its_records(sandbox: Sandbox) -> None:
    counts = {day: _count(sandbox, **changed(f"{day:%Y/%m/%d}", f"{day:%Y/%m/%d}")) for day in DAYS}

    assert counts.pop(BUSY_DAY) == 40_000
    assert set(counts.values()) == {10}
    assert _count(sandbox) == 40_290


def test_the_truth_has_the_same_days(sandbox: Sandbox, busy_ids: set[str]) -> None:
    days = Counter(row["updated_at"][:10] for row in sandbox.truth("pubmed"))

    assert days == {str(day): 40_000 if day == BUSY_DAY else 10 for day in DAYS}
    assert len(busy_ids) == 40_000


def test_paging_reaches_a_quarter_and_ranges_reach_it_all(sandbox: Sandbox, busy_ids: set[str]) -> None:
    naively = naive.page_to_the_count(sandbox, rows=1000, term="all[sb]", **BUSY)
    carefully = careful.listed(sandbox, "2026/02/10", "2026/02/10")

    assert len(naively) == 9999
    assert len(carefully) == 40_000
    assert set(carefully) == busy_ids


def test_its_ids_lie_among_those_of_the_other_days(sandbox: Sandbox, busy_ids: set[str]) -> None:
    numbers = sorted(map(int, busy_ids))
    eighths = Counter(number * 8 // MOST_PMIDS for number in numbers)
    others = sorted(map(int, true_ids(sandbox) - busy_ids))

    assert len(eighths) == 8
    assert all(4000 < count < 6000 for count in eighths.values())
    assert numbers[-1] - numbers[0] > 40_000_000
    assert numbers[0] < others[5] < others[-5] < numbers[-1]


def test_a_day_to_come_is_empty_and_one_half_over_is_half_full(sandbox: Sandbox) -> None:
    sandbox.move_clock("2026-02-10T00:00:00Z")
    before = _count(sandbox, **BUSY)
    sandbox.move_clock("2026-02-10T12:00:00Z")
    at_noon = _count(sandbox, **BUSY)
    sandbox.move_clock("2026-02-11T00:00:00Z")

    assert before == 0
    assert 18_000 < at_noon < 22_000
    assert (_count(sandbox, **BUSY), _count(sandbox)) == (40_000, 40_110)


def test_records_of_a_busy_day_are_served_with_its_date(sandbox: Sandbox) -> None:
    ids = result(sandbox, retmax=200, **BUSY)["idlist"]
    records = careful.harvest_ids(sandbox, ids)
    days = [careful.updated_at(record) for record in records.values() if record is not None]

    assert list(records) == ids
    # Some records are not served, some tell no day.
    assert set(days) == {"2026-02-10", None}
    assert days.count("2026-02-10") > 150


def test_counts_pages_and_the_truth_are_quick(sandbox: Sandbox) -> None:
    _count(sandbox)
    began = time.monotonic()
    for part in range(1, 41):
        term = f"all[sb] AND 1:{part * 1_000_000}[UID] NOT yeast[tiab]"
        assert _count(sandbox, term=term, **BUSY) > 0
        assert len(result(sandbox, retstart=part * 100, retmax=1000, **BUSY)["idlist"]) == 1000
    sandbox.truth("pubmed", from_="2026-02-10", to="2026-02-11")

    # A scan of every record for every request takes several times as long.
    assert time.monotonic() - began < QUICK_SECONDS
