"""Laws of windows in words: they lie where they say, whatever the moment."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ingest_core.model.errors import BadInput
from ingest_core.model.instant import from_micros
from ingest_core.planning.relative_window import asked_bounds, read_window

LENGTH = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
}
UNITS = [*LENGTH, "month", "year"]

moments = st.integers(-631_152_000 * 10**6, 4_102_444_800 * 10**6).map(from_micros)  # 1950 to 2100
units = st.sampled_from(UNITS)


@given(moments, units, st.integers(1, 500))
def test_a_number_counts_back_from_now(now: datetime, unit: str, number: int) -> None:
    window = read_window(f"last {number} {unit}s", now)

    assert timedelta(0) <= now - window.end < timedelta(milliseconds=1)
    if unit in LENGTH:
        assert window.length == number * LENGTH[unit]
    else:
        months = (window.end.year - window.start.year) * 12 + window.end.month - window.start.month
        assert months == number * (12 if unit == "year" else 1)
        assert window.start.day <= window.end.day
        assert window.start.time() == window.end.time()


@given(moments, units)
def test_this_one_holds_now_and_the_last_one_ends_where_it_begins(now: datetime, unit: str) -> None:
    last, this = read_window(f"last {unit}", now), read_window(f"this {unit}", now)

    assert last.end == this.start <= now < this.end
    assert read_window(f"this {unit}", last.start) == read_window(f"this {unit}", last.end - timedelta(microseconds=1))
    assert read_window(f"last {unit}", this.start) == last


@given(moments, units)
def test_the_same_words_mean_the_same_all_through_a_unit(now: datetime, unit: str) -> None:
    this = read_window(f"this {unit}", now)

    assert read_window(f"this {unit}", this.start) == this
    assert read_window(f"this {unit}", this.end - timedelta(microseconds=1)) == this


@given(moments, units, st.integers(1, 99), st.sampled_from([" ", "  ", "\t"]))
def test_case_space_and_plural_do_not_matter(now: datetime, unit: str, number: int, space: str) -> None:
    plain = read_window(f"last {number} {unit}s", now)

    assert read_window(f"{space}LAST{space}{number}{space}{unit.title()}{space}", now) == plain


@given(moments)
def test_days_have_names(now: datetime) -> None:
    assert read_window("yesterday", now) == read_window("last day", now)
    assert read_window("Today", now) == read_window("this day", now)


@given(st.text(max_size=40), moments)
def test_whatever_else_is_said_is_refused_in_words(words: str, now: datetime) -> None:
    assume(words.lower().strip()[:4] not in ("last", "this", "toda", "yest"))
    with pytest.raises(BadInput) as refused:
        read_window(words, now)

    assert refused.value.code == "WINDOW_UNREADABLE"
    assert "last 7 days" in refused.value.remedy


@pytest.mark.parametrize(
    "words",
    [
        "", "last", "last days", "last 0 days", "last -1 days", "last 1.5 days", "last 2000 years", "next week",
        "last 999999999 days", "last 9999999999 days", "7 days", "last 7 days ago", "last seven days",
    ],
)  # fmt: skip
def test_what_is_no_window_is_refused(words: str) -> None:
    with pytest.raises(BadInput) as refused:
        read_window(words, datetime(2026, 3, 10, 6, tzinfo=UTC))

    assert repr(words) in refused.value.message


def test_a_month_back_from_its_last_day_is_the_last_day_of_a_shorter_one() -> None:
    window = read_window("last 1 month", datetime(2026, 3, 31, 6, 30, tzinfo=UTC))

    assert window.start == datetime(2026, 2, 28, 6, 30, tzinfo=UTC)


def test_bounds_are_given_by_dates_or_in_words() -> None:
    now, start = datetime(2026, 3, 10, 6, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC)

    assert asked_bounds(start, None, None, now) == (start, None)
    assert asked_bounds(None, None, "yesterday", now) == (now.replace(day=9, hour=0), now.replace(hour=0))
    with pytest.raises(BadInput, match="not both"):
        asked_bounds(start, None, "yesterday", now)
