"""How far a provider's clock is behind, by the `Date` of its answers: only what is certain."""

from datetime import UTC, datetime, timedelta

import pytest

from ingest_core.execution.lateness import seconds_behind

NOW = datetime(2026, 3, 10, 12, 0, 0, tzinfo=UTC)


def date_of(moment: datetime) -> str:
    """The moment as a header says it."""
    return f"{moment:%a, %d %b %Y %H:%M:%S GMT}"


@pytest.mark.parametrize(
    ("behind", "took", "seconds"),
    [
        (timedelta(0), 0.0, 0),
        (timedelta(seconds=2), 0.0, 0),
        (timedelta(seconds=30), 0.0, 28),
        (timedelta(seconds=30), 10.0, 18),
        (timedelta(seconds=5), 10.0, 0),
        (timedelta(minutes=-5), 0.0, 0),
        (timedelta(hours=3), 0.0, 10_798),
        (timedelta(days=30), 0.0, 0),
    ],
    ids=["on time", "noise", "behind", "asked before", "slow, not behind", "ahead", "hours behind", "no clock at all"],
)
def test_a_clock_is_behind_by_what_neither_noise_nor_the_way_explains(
    behind: timedelta, took: float, seconds: int
) -> None:
    assert seconds_behind({"date": date_of(NOW - behind)}, NOW, took) == seconds


@pytest.mark.parametrize("headers", [{}, {"date": "yesterday"}, {"date": "Tue, 10 Mar 2026 11:00:00 GMT", "age": "60"}])
def test_an_answer_that_does_not_say_is_not_behind(headers: dict[str, str]) -> None:
    assert seconds_behind(headers, NOW, 0.0) == 0


def test_a_date_without_a_zone_is_utc() -> None:
    assert seconds_behind({"date": "Tue, 10 Mar 2026 11:59:00 -0000"}, NOW, 0.0) == 58
