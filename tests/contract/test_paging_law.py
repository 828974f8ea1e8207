"""The law of paging: what a provider had from the first page to the last is stored, or the task says why not.

Each example is a provider with habits and a source file. Either the stored records are the provider's, or the task did
not succeed and says why, or the difference is a recorded SHORTFALL within its limit, or the habit is one of
`UNDETECTABLE` and the end is marked weak. Nothing else. Most examples are worked in memory, some on the real stores.

A failure shows the provider, the source file and every request; `tests/support/law_cases.py` runs them again. Another
search: `--hypothesis-seed=N -m long`.
"""

import logging
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from ingest_core.execution import completeness
from ingest_core.store.database import Database
from tests.contract.conftest import MigratedDatabases
from tests.support.habit_draws import PROFILES, Drawn, cases
from tests.support.habits import Habits, Source
from tests.support.law_cases import CASES
from tests.support.law_memory_bench import MemoryBench
from tests.support.law_sql_bench import SqlBench
from tests.support.paging_law import Bench, Broken, check, describe, harvest

ANYHOW = settings(
    deadline=None,
    database=None,
    print_blob=True,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
IN_MEMORY = settings(ANYHOW, max_examples=100, derandomize=True, phases=[Phase.generate, Phase.shrink])
IN_SQL = settings(ANYHOW, max_examples=20, derandomize=True, phases=[Phase.generate])
LONG_IN_MEMORY = settings(ANYHOW, max_examples=6000, phases=[Phase.generate, Phase.shrink])
LONG_IN_SQL = settings(ANYHOW, max_examples=400, phases=[Phase.generate])


@pytest.fixture(autouse=True)
def _silent() -> Iterator[None]:
    """Failures are the point, and each would be logged."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(autouse=True)
def _small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Endless results end after some hundred pages."""
    for name in ("LEAST_PAGES", "LEAST_RECORDS", "PAGES_PER_BUDGET"):
        monkeypatch.setattr(completeness, name, 1)


@pytest.fixture(scope="module")
def sql(migrated: MigratedDatabases) -> Iterator[SqlBench]:
    """The product's stores on a SQLite database of their own."""
    database = Database(migrated.fresh("sqlite"))
    yield SqlBench(database)
    database.close()


def hold_to_the_law(bench: Bench, habits: Habits, source: Source) -> str:
    """How the harvest of such a provider ended; the whole story if the law does not hold."""
    ended = harvest(bench, habits, source)
    try:
        return check(habits, source, ended)
    except Broken as broken:
        raise AssertionError(f"{broken}\n{describe(habits, source, ended)}") from None


def search(bench: Bench, profile: str, how: settings) -> Counter[str]:
    """Hold drawn providers to the law; how their harvests ended."""
    ends: Counter[str] = Counter()

    @how
    @given(drawn=cases(profile))
    def law(drawn: Drawn) -> None:
        ends[hold_to_the_law(bench, *drawn)] += 1

    law()
    return ends


@pytest.mark.parametrize("name", CASES)
def test_what_was_once_lost_is_not_lost_again(sql: SqlBench, name: str) -> None:
    habits, source = CASES[name]
    hold_to_the_law(sql, habits, source)
    hold_to_the_law(MemoryBench(), habits, source)


@pytest.mark.parametrize("profile", PROFILES)
def test_nothing_is_lost_in_silence(profile: str) -> None:
    ends = search(MemoryBench(), profile, IN_MEMORY)
    assert ends["complete"] > IN_MEMORY.max_examples / 5, f"few examples of {profile} were complete: {ends}"


@pytest.mark.parametrize("profile", PROFILES)
def test_nothing_is_lost_in_silence_with_the_real_stores(sql: SqlBench, profile: str) -> None:
    assert search(sql, profile, IN_SQL)["complete"]


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("profile", PROFILES)
def test_nothing_is_lost_in_silence_however_long_one_looks(profile: str) -> None:
    ends = search(MemoryBench(), profile, LONG_IN_MEMORY)
    assert sum(ends.values()) >= LONG_IN_MEMORY.max_examples, ends


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("profile", PROFILES)
def test_nothing_is_lost_in_silence_with_the_real_stores_however_long_one_looks(sql: SqlBench, profile: str) -> None:
    ends = search(sql, profile, LONG_IN_SQL)
    assert sum(ends.values()) >= LONG_IN_SQL.max_examples, ends
