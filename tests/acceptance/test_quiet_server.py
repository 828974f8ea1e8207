"""A default installation with every harvest at once: a quiet log, few housekeeping runs, and all is harvested."""

import pytest

from tests.bench.noise import MOST_HOUSEKEEPING_A_DAY, MOST_LOCKED, default_installation, listen

MINUTES = 10
"""The beginning is the worst: eleven plans and their tasks. `make bench` listens for half an hour."""

DAY_MINUTES = 1440


@pytest.mark.long
@pytest.mark.alone
@pytest.mark.timeout(1800)
def test_eleven_harvests_at_once_are_quiet() -> None:
    with default_installation() as up:
        noise = listen(up, MINUTES)
    assert noise.harvests == {"Completed": 11}
    assert sum(noise.locked.values()) <= MOST_LOCKED
    # One more than its share: a period may begin just before a run and end just after one.
    assert 1 <= noise.began["housekeeping"] <= MOST_HOUSEKEEPING_A_DAY * MINUTES / DAY_MINUTES + 1
    assert set(noise.tasks) <= {"QUEUED", "DISPATCHED", "EXECUTING", "SUCCEEDED"}
    assert noise.tasks["SUCCEEDED"]
