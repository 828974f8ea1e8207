"""The law of paging: what a provider had from the first page to the last is stored, or the task says why not.

Each example is a provider with habits and a source file. Either the stored records are the provider's, or the task did
not succeed and says why, or the difference is a recorded SHORTFALL within its limit, or the habit is one of
`UNDETECTABLE` and the end is marked weak. Nothing else. Most examples are worked in memory, some on the real stores.

A failure shows the provider, the source file and every request; `tests/models/law_cases.py` runs them again. Another
search: `--hypothesis-seed=N -m long`.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from ingest_core.execution import completeness
from ingest_core.store.engine.database import Database
from tests.contract.conftest import MigratedDatabases
from tests.models.habit_draws import PROFILES, Drawn, cases
from tests.models.habit_pages import BEGIN
from tests.models.habits import Beyond, Habits, Kind, Source, Stop, Total
from tests.models.law_cases import CASES
from tests.models.law_memory_bench import MemoryBench
from tests.models.law_sql_bench import SqlBench
from tests.models.paging_law import Bench, Broken, Ended, check, describe, harvest

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
    monkeypatch.setattr(completeness, "BUDGETS", 1)


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


@pytest.mark.parametrize("source", [Source(), Source(hurried=True)], ids=["quick", "one page an attempt"])
@pytest.mark.parametrize("beyond", [Beyond.NOT_FOUND, Beyond.REFUSED])
@pytest.mark.parametrize("stop", [None, *((2, stop) for stop in Stop), *((3, stop) for stop in Stop)])
@pytest.mark.parametrize("kind", [Kind.OFFSET, Kind.PAGE])
def test_a_refused_page_behind_the_last_one_fails_no_attempt_that_begins_there(
    kind: Kind, stop: tuple[int, Stop] | None, beyond: Beyond, source: Source
) -> None:
    habits = Habits(kind=kind, size=2, slots=(0,) * 4, units=1, beyond=beyond, stop=stop)
    assert hold_to_the_law(MemoryBench(), habits, source) == "complete"


@pytest.mark.parametrize("kind", [Kind.OFFSET, Kind.PAGE, Kind.TOKEN])
def test_search_results_without_an_id_do_not_make_two_passes_differ(sql: SqlBench, kind: Kind) -> None:
    habits = Habits(kind=kind, size=2, slots=(0,) * 7, units=1, nameless=(1, 2, 5), two_phase=True)
    assert hold_to_the_law(sql, habits, Source()) == "complete"


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


def test_the_law_tells_a_loss_from_what_is_allowed() -> None:
    """The oracle itself: each way in which an honest harvest is spoilt afterwards is found."""
    honest, source = Habits(slots=(0, 1, 2, 3, 4, 5, 6)), Source()
    told = Counter(spoil.__name__ for spoil in SPOILS if _is_broken(honest, source, spoil))
    assert told == Counter(spoil.__name__ for spoil in SPOILS)
    ended = harvest(MemoryBench(), honest, source)
    del ended.items["b003"], ended.items["b004"]
    ended.quarantine.append({"provider_id": None, "reason_code": "SHORTFALL", "task_id": 1})
    assert check(honest, source, ended) == "shortfall"
    with pytest.raises(Broken, match="silent loss"):
        check(honest, Source(max_shortfall=1), ended)


def test_an_undetectable_loss_counts_only_if_the_end_is_marked_weak() -> None:
    habits, source = Habits(kind=Kind.TOKEN, slots=(0,) * 7, units=1, total=Total.NONE, served=2), Source()
    ended = harvest(MemoryBench(), habits, source)
    loses, last = replace(habits, lost_after=4), ended.runs[-1]["stats"]
    del ended.items["b003"]
    last["weakEnd"] = True
    assert check(loses, source, ended) == "undetectable: lost token"
    with pytest.raises(Broken, match="not documented as undetectable"):
        check(habits, source, ended)
    last["weakEnd"] = False
    with pytest.raises(Broken, match="its end is not marked weak"):
        check(loses, source, ended)


def _lose_one(ended: Ended) -> None:
    del ended.items["b003"]


def _pass_the_watermark(ended: Ended) -> None:
    ended.watermark = BEGIN + timedelta(days=1)


def _fail_without_a_word(ended: Ended) -> None:
    ended.tasks[0] |= {"status_code": "FAILED", "last_error": None}


def _count_one_twice(ended: Ended) -> None:
    ended.runs[0]["stats"]["skipped"] += 1


def _store_what_was_not_shown(ended: Ended) -> None:
    ended.items["b999"] = "PRESENT"


SPOILS = (_lose_one, _pass_the_watermark, _fail_without_a_word, _count_one_twice, _store_what_was_not_shown)


def _is_broken(habits: Habits, source: Source, spoil: Callable[[Ended], None]) -> bool:
    ended = harvest(MemoryBench(), habits, source)
    check(habits, source, ended)
    spoil(ended)
    try:
        check(habits, source, ended)
    except Broken:
        return True
    return False
