"""Busy and quiet days: each has the works it was given, whatever the seed and the clock."""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deployments.sandbox.__main__ import read_arguments
from deployments.sandbox.corpus import Corpus, Version
from deployments.sandbox.instant import DAY_MS, to_datetime, to_ms
from deployments.sandbox.settings import Settings

UNTIL = datetime(2026, 3, 1, tzinfo=UTC)
END_MS = to_ms(UNTIL)
BUSY_DAY = date(2026, 2, 10)
DAYS = [date(2026, 2, 19) + timedelta(days=number) for number in range(10)]
seeds = st.integers(0, 2**32)
USUAL = [
    *((2, 1, 1767331030961), (3, 1, 1767414941705), (11, 1, 1767457019944), (9, 1, 1767655858157)),
    *((7, 1, 1767749230037), (8, 1, 1767851659424), (9, 2, 1767912914921), (10, 1, 1767950735447)),
    *((9, 3, 1767957892675), (4, 1, 1767983757626), (1, 1, 1767994773053), (6, 1, 1768004010224)),
    *((0, 1, 1768005109585), (5, 1, 1768033844035)),
]


def _settings(**given: Any) -> Settings:
    return Settings(**{"until": UNTIL, "days": 30, "works": 187, "busy": {BUSY_DAY: 100}, **given})


def _per_day(versions: Iterable[Version]) -> Counter[date]:
    return Counter(to_datetime(version.at_ms).date() for version in versions)


def _states(corpus: Corpus) -> list[tuple[int, int, int]]:
    return [(v.work, v.number, v.at_ms) for v in corpus.window(None, None, END_MS)]


def _on(day: date, states: list[tuple[int, int, int]]) -> set[int]:
    """The works of a day."""
    return {work for work, _, at_ms in states if to_datetime(at_ms).date() == day}


@given(seeds)
def test_a_busy_day_has_its_works_and_the_others_share_the_rest_evenly(seed: int) -> None:
    per_day = _per_day(Corpus(_settings(seed=seed)).window(None, None, END_MS))

    assert per_day.pop(BUSY_DAY) == 100
    assert len(per_day) == 29
    assert set(per_day.values()) == {3}


@given(st.dictionaries(st.sampled_from(DAYS), st.integers(0, 30), min_size=1, max_size=9), st.integers(0, 50))
def test_every_work_has_its_day_whatever_is_asked(busy: dict[date, int], rest: int) -> None:
    works = sum(busy.values()) + rest
    per_day = _per_day(Corpus(_settings(works=works, days=10, busy=busy)).window(None, None, END_MS))
    shares = [per_day[day] for day in DAYS if day not in busy]

    assert {day: per_day[day] for day in busy} == busy
    assert sum(shares) == rest
    assert max(shares) - min(shares) <= 1


@given(seeds, st.integers(0, 30 * DAY_MS))
def test_a_day_that_is_over_keeps_its_works_and_one_to_come_has_none(seed: int, ago_ms: int) -> None:
    now_ms = END_MS - ago_ms
    corpus, today = Corpus(_settings(seed=seed)), to_datetime(now_ms).date()
    then, at_last = (_per_day(corpus.window(None, None, instant)) for instant in (now_ms, END_MS))

    assert all(then[day] == (works if day < today else 0) for day, works in at_last.items() if day != today)


def test_works_are_changed_again_on_their_busy_day() -> None:
    corpus = Corpus(_settings(works=1290, busy={BUSY_DAY: 1000}))
    histories = [{to_datetime(version.at_ms).date() for version in history} for history in corpus._histories]
    again = sum(len(history) > 1 for history in corpus._histories)

    assert all(len(days) == 1 for days in histories)
    assert 0.07 < again / 1290 < 0.13


def test_the_works_of_a_busy_day_lie_anywhere_and_at_any_hour() -> None:
    corpus = Corpus(_settings(works=1000, busy={BUSY_DAY: 500}))
    busy = [v for v in corpus.window(None, None, END_MS) if to_datetime(v.at_ms).date() == BUSY_DAY]
    hours = Counter(to_datetime(version.at_ms).hour for version in busy)

    assert 200 < sum(version.work < 500 for version in busy) < 300
    assert 200 < sum(version.work % 2 for version in busy) < 300
    assert len(hours) == 24


@given(seeds)
def test_the_seed_alone_decides_which_works_a_busy_day_has(seed: int) -> None:
    first, same, other = (_states(Corpus(_settings(seed=one))) for one in (seed, seed, seed + 1))

    assert first == same
    assert _on(BUSY_DAY, first) != _on(BUSY_DAY, other)


def test_a_day_the_span_only_touches_has_its_works_within_the_span() -> None:
    until = datetime(2026, 3, 1, 6, tzinfo=UTC)
    corpus = Corpus(_settings(until=until, days=1.5, works=60, busy={date(2026, 3, 1): 40}))
    times = [version.at_ms for version in corpus.window(None, None, to_ms(until))]

    assert _per_day(corpus.window(None, None, to_ms(until))) == {date(2026, 2, 27): 10, date(2026, 2, 28): 10} | {
        date(2026, 3, 1): 40
    }
    assert to_ms(until) - 1.5 * DAY_MS <= min(times) < max(times) < to_ms(until)


def test_without_busy_days_the_corpus_is_what_it_always_was() -> None:
    corpus = Corpus(Settings(works=12))

    assert [(v.work, v.number, v.at_ms) for v in corpus._timeline] == USUAL


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"busy": {date(2026, 3, 1): 1}}, "busy=2026-03-01 must be one of the days=30 before 2026-03-01"),
        ({"busy": {date(2026, 1, 29): 1}}, "busy=2026-01-29 must be one of"),
        ({"busy": {BUSY_DAY: -1}}, "busy=-1 must not be negative"),
        ({"busy": {BUSY_DAY: 100, date(2026, 2, 11): 88}}, "busy=188 must not be more than works=187"),
        ({"busy": {date(2026, 2, 28): 186}, "days": 1}, "busy=186 leaves no day to the rest of works=187"),
    ],
)
def test_busy_days_without_sense_are_refused(wrong: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        _settings(**wrong)


def test_busy_days_may_be_all_there_are() -> None:
    settings = _settings(days=2, works=7, busy={date(2026, 2, 27): 0, date(2026, 2, 28): 7})

    assert _per_day(Corpus(settings).window(None, None, END_MS)) == {date(2026, 2, 28): 7}


def test_the_command_takes_one_busy_day_or_more() -> None:
    given = "--until 2026-03-01 --days 30 --works 187 --busy 2026-02-10=100 --busy 2026-02-11=0"

    assert read_arguments(given.split())[0] == _settings(busy={BUSY_DAY: 100, date(2026, 2, 11): 0})


@pytest.mark.parametrize("wrong", ["2026-02-10", "2026-02-10=many", "tomorrow=4"])
def test_the_command_refuses_a_busy_day_it_cannot_read(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        read_arguments(["--busy", wrong])

    assert wrong in capsys.readouterr().err
