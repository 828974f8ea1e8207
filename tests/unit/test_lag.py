"""The safety lag, as late arrivals teach it: `window-slicing` appendix C."""

from datetime import timedelta

import pytest

from ingest_core.model.cursor import CursorState
from ingest_core.model.record import Arrivals
from ingest_core.planning.lag import decide_lag, evidence_since
from tests.support.specs import at

NOW = at("2026-03-10T12:00Z")
MANY = 100_000


def cursor(lag: int | None = None, changed: str | None = None) -> CursorState:
    """A watermark with a lag that was learned, and when."""
    return CursorState(
        at("2026-03-01"), at("2026-01-01"), lag_seconds=lag, lag_changed_at=at(changed) if changed else None
    )


@pytest.mark.parametrize(
    ("configured", "known", "late", "learned"),
    [
        (600, None, 501, 900),
        (600, None, 500, 600),
        (600, None, 100, 600),
        (600, None, 99, 540),
        (600, 320, 0, 300),
        (600, 300, 0, 300),
        (600, 3500, 10_000, 3600),
        (600, 3600, 10_000, 3600),
        (120, None, 0, 120),
        (120, None, 10_000, 420),
        (7200, None, 10_000, 7200),
    ],
    ids=[
        "more than 0.5 % late: 5 minutes more",
        "0.5 % is not more",
        "0.1 % is not less",
        "less than 0.1 % late: a minute less",
        "never below 5 minutes",
        "at 5 minutes it stays",
        "never above an hour",
        "at an hour it stays",
        "a lag below 5 minutes is not lowered",
        "but raised",
        "a lag above an hour is not raised",
    ],
)
def test_a_lag_by_default_follows_the_share_of_late_records(
    configured: int, known: int | None, late: int, learned: int
) -> None:
    decided = decide_lag(configured, cursor(known), Arrivals(MANY, late), NOW, by_default=True)

    assert decided.learned_seconds == decided.seconds == learned
    assert decided.changed == (learned != (known or configured))


@pytest.mark.parametrize(("known", "learned"), [(None, 600), (900, 840), (630, 600), (300, 600)])
def test_a_lag_that_somebody_configured_is_never_undercut(known: int | None, learned: int) -> None:
    assert decide_lag(600, cursor(known), Arrivals(MANY, 0), NOW, by_default=False).learned_seconds == learned


def test_without_arrivals_nothing_is_learned() -> None:
    decided = decide_lag(600, cursor(), Arrivals(), NOW, by_default=True)

    assert (decided.seconds, decided.changed, decided.why) == (600, False, "configured 600 s")


@pytest.mark.parametrize(
    ("changed", "learned"),
    [("2026-03-09T12:00:00.000001Z", 900), ("2026-03-09T12:00Z", 1200)],
    ids=["today", "a day ago"],
)
def test_it_changes_once_a_day(changed: str, learned: int) -> None:
    decided = decide_lag(600, cursor(900, changed), Arrivals(MANY, 10_000), NOW, by_default=True)

    assert decided.learned_seconds == learned


def test_only_what_arrived_under_the_lag_in_force_counts_and_no_more_than_a_week() -> None:
    assert evidence_since(None, NOW) == NOW - timedelta(days=7)
    assert evidence_since(cursor(), NOW) == NOW - timedelta(days=7)
    assert evidence_since(cursor(900, "2026-03-08"), NOW) == at("2026-03-08")
    assert evidence_since(cursor(900, "2026-02-01"), NOW) == NOW - timedelta(days=7)


@pytest.mark.parametrize(("behind", "lag"), [(0, 600), (45, 645), (9999, 600 + 3600)])
def test_a_provider_whose_clock_is_behind_gets_that_much_longer(behind: int, lag: int) -> None:
    decided = decide_lag(600, cursor(), Arrivals(0, 0, behind), NOW, by_default=True)

    assert (decided.seconds, decided.learned_seconds, decided.changed) == (lag, 600, False)


def test_it_says_why() -> None:
    why = decide_lag(600, cursor(), Arrivals(MANY, 1000, 3), NOW, by_default=True).why

    assert (
        why
        == "configured 600 s; now 900 s: 1.00% of 100000 records came late; 3 s more: the provider's clock is behind"
    )
