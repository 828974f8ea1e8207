"""Spans, counts and times as people read them."""

import pytest

from flows.text.wording import shortened, spelled
from ingest_core.model.instant import parse_instant
from ingest_core.model.naming import counted, span_name


@pytest.mark.parametrize(
    ("start", "end", "name"),
    [
        ("2026-01-01", "2026-01-02", "2026-01-01..02"),
        ("2026-01-30", "2026-02-02", "2026-01-30..02-02"),
        ("2025-12-31", "2026-01-01", "2025-12-31..2026-01-01"),
        ("2026-01-01T03:00", "2026-01-01T04:00", "2026-01-01 03:00..04:00"),
        ("2026-01-01T03:00:30", "2026-01-01T04:00", "2026-01-01 03:00:30..04:00"),
        ("2026-01-01T23:00", "2026-01-02", "2026-01-01 23:00..02 00:00"),
        ("2026-01-31T16:00", "2026-02-01T16:00", "2026-01-31 16:00..02-01 16:00"),
        ("2026-01-01", "2026-01-01T06:00", "2026-01-01 00:00..06:00"),
        ("2026-01-01T06:00", "2026-01-01T06:00", "2026-01-01 06:00"),
    ],
)
def test_a_window_is_named_by_what_tells_it(start: str, end: str, name: str) -> None:
    assert span_name(parse_instant(start), parse_instant(end)) == name


def test_numbers_have_their_nouns() -> None:
    assert [counted(number, "slice") for number in (0, 1, 2400)] == ["0 slices", "1 slice", "2,400 slices"]


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "less than a second"), (59, "59 s"), (4800, "1 h 20 min"), (3601, "1 h 1 s")]
)
def test_times_are_spelled(seconds: int, words: str) -> None:
    assert spelled(seconds) == words


def test_a_long_name_is_cut() -> None:
    assert shortened("x" * 120) == "x" * 120
    assert shortened("x" * 121) == "x" * 119 + "…"
