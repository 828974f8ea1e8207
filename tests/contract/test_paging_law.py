"""The law of paging: what a provider had from the first page to the last is stored, or the task says why not.

Each example is a provider with habits and a source file. Either the stored records are the provider's, or the task did
not succeed and says why, or the difference is a recorded SHORTFALL within its limit, or the habit is one of
`UNDETECTABLE` and the end is marked weak. Nothing else.
"""

import logging
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from ingest_core.store.database import Database
from tests.contract.conftest import MigratedDatabases
from tests.support.habit_draws import PROFILES, Drawn, cases
from tests.support.habits import Habits, Source
from tests.support.paging_law import Broken, Desk, check, describe, harvest, open_desk

SHORT = settings(
    max_examples=60,
    deadline=None,
    database=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
)
LONG = settings(SHORT, max_examples=4000, derandomize=False)


@pytest.fixture(scope="module")
def desk(migrated: MigratedDatabases) -> Iterator[Desk]:
    """A desk on a migrated SQLite database of its own."""
    database = Database(migrated.fresh("sqlite"))
    logging.disable(logging.CRITICAL)  # failures are the point, and each would be written out
    yield open_desk(database)
    logging.disable(logging.NOTSET)
    database.close()


def hold_to_the_law(desk: Desk, habits: Habits, source: Source) -> str:
    """How the harvest of such a provider ended; the whole story if the law does not hold."""
    ended = harvest(desk, habits, source)
    try:
        return check(habits, source, ended)
    except Broken as broken:
        raise AssertionError(f"{broken}\n{describe(habits, source, ended)}") from None


def search(desk: Desk, profile: str, how: settings) -> Counter[str]:
    """Hold drawn providers to the law; how their harvests ended."""
    ends: Counter[str] = Counter()

    @how
    @given(drawn=cases(profile))
    def law(drawn: Drawn) -> None:
        ends[hold_to_the_law(desk, *drawn)] += 1

    law()
    return ends


@pytest.mark.parametrize("profile", PROFILES)
def test_nothing_is_lost_in_silence(desk: Desk, profile: str) -> None:
    ends = search(desk, profile, SHORT)
    assert ends["complete"], f"no example of {profile} was complete: {ends}"


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("profile", PROFILES)
def test_nothing_is_lost_in_silence_however_long_one_looks(desk: Desk, profile: str, number: int) -> None:
    ends = search(desk, profile, settings(LONG))
    print(f"{profile}: {dict(ends)}")
