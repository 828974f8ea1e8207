"""What an answer says about the rate."""

from datetime import timedelta

import pytest

from ingest_core.gate.feedback import LONGEST_CLOSING, UNTOLD_COOL_DOWN, Feedback, read_feedback, says_refused
from ingest_core.gate.state import CloseReason
from ingest_core.model.codes import ResetKind
from ingest_core.model.instant import format_instant
from ingest_core.model.spec import RateSpec
from tests.support.specs import at

NOW = at("12:00")
PLAIN = RateSpec(requests_per_second=1, burst=1)
TOLD = RateSpec(
    requests_per_second=1,
    burst=1,
    limit_header="X-Limit",
    interval_header="X-Interval",
    remaining_header="X-Left",
    reset_header="X-Reset",
    reset_kind=ResetKind.SECONDS_LEFT,
    concurrency_header="X-Concurrency",
)


@pytest.mark.parametrize(
    ("status", "retry_after", "closed_for"),
    [
        (429, "7", timedelta(seconds=7)),
        (429, None, UNTOLD_COOL_DOWN),
        (429, "soon", UNTOLD_COOL_DOWN),
        (429, "0", UNTOLD_COOL_DOWN),
        (429, "1e9", LONGEST_CLOSING),
        (503, "7", timedelta(seconds=7)),
        (503, "Tue, 10 Mar 2026 12:00:03 GMT", timedelta(seconds=3)),
        (503, None, None),
        (403, "60", timedelta(seconds=60)),
        (200, None, None),
        (200, "7", None),
    ],
)
def test_the_limiter_closes_for_as_long_as_the_provider_says(
    status: int, retry_after: str | None, closed_for: timedelta | None
) -> None:
    headers = {"retry-after": retry_after} if retry_after else {}
    assert read_feedback(status, headers, PLAIN, NOW).closing(NOW) == (NOW + closed_for if closed_for else None)


def test_what_is_left_is_read_by_the_names_the_registry_knows() -> None:
    headers = {"x-limit": "50", "x-interval": "1s", "x-left": " 3 ", "x-reset": "90", "x-concurrency": "2"}
    said = read_feedback(200, headers, TOLD, NOW)
    reset = NOW + timedelta(seconds=90)
    assert said == Feedback(200, limit=50, interval_seconds=1, remaining=3, resets_at=reset, concurrency=2)
    assert said.quota_json() == {"limit": 50, "remaining": 3, "concurrency": 2, "windowReset": format_instant(reset)}
    assert read_feedback(200, headers, PLAIN, NOW) == Feedback(200)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (ResetKind.SECONDS_LEFT, "90.5"),
        (ResetKind.EPOCH_SECONDS, "1773144090.5"),
        (ResetKind.EPOCH_MILLIS, "1773144090500"),
        (ResetKind.ISO_TIME, "2026-03-10T12:01:30.5Z"),
    ],
)
def test_a_reset_comes_in_four_forms(kind: ResetKind, value: str) -> None:
    rate = TOLD.model_copy(update={"reset_kind": kind})
    assert read_feedback(200, {"x-reset": value}, rate, NOW).resets_at == NOW + timedelta(seconds=90.5)


@pytest.mark.parametrize(
    ("interval", "per_second"), [("1s", 50), ("60", 50 / 60), ("1m", 50 / 60), ("0", None), ("x", None)]
)
def test_a_limit_is_a_rate_only_with_its_interval(interval: str, per_second: float | None) -> None:
    said = read_feedback(200, {"x-limit": "50", "x-interval": interval}, TOLD, NOW)
    assert said.stated_rate == (pytest.approx(per_second) if per_second else None)


def test_the_drafted_headers_are_read_without_being_named() -> None:
    headers = {"ratelimit": '"default";r=0;t=30', "ratelimit-policy": '"default";q=10;w=60, "day";q=9'}
    said = read_feedback(200, headers, PLAIN, NOW)
    assert (said.remaining, said.resets_at, said.stated_rate) == (0, NOW + timedelta(seconds=30), 10 / 60)
    assert said.closes == CloseReason.REMAINING_ZERO


def test_nothing_left_closes_the_limiter_until_the_reset() -> None:
    said = read_feedback(200, {"x-left": "0", "x-reset": "3600"}, TOLD, NOW)
    assert (said.closes, said.closing(NOW)) == (CloseReason.REMAINING_ZERO, NOW + timedelta(hours=1))
    assert read_feedback(200, {"x-left": "0"}, TOLD, NOW).closes is None


@pytest.mark.parametrize("value", ["", "many", "-1", "9" * 30, "٣", "1e3", "inf", "nan"])
def test_what_is_no_number_says_nothing(value: str) -> None:
    headers = {"x-limit": value, "x-left": value, "x-reset": value, "x-concurrency": value}
    assert read_feedback(200, headers, TOLD, NOW) == Feedback(200)


def test_a_reset_beyond_all_time_says_nothing() -> None:
    assert read_feedback(200, {"x-reset": "9" * 15}, TOLD, NOW).resets_at is None


@pytest.mark.parametrize("text", ["", "soon", "2026", "10000-01-01T00:00:00Z"])
def test_a_reset_that_is_no_time_says_nothing(text: str) -> None:
    rate = TOLD.model_copy(update={"reset_kind": ResetKind.ISO_TIME})
    said = read_feedback(200, {"x-reset": text}, rate, NOW).resets_at
    assert said is None or text == "2026"


@pytest.mark.parametrize(
    ("status", "headers", "refuses"),
    [
        (403, {"retry-after": "5"}, True),
        (403, {"x-left": "0"}, True),
        (403, {"x-left": "1"}, False),
        (401, {"x-left": "0"}, False),
    ],
)
def test_other_statuses_refuse_the_rate_where_the_source_and_the_headers_say_so(
    status: int, headers: dict[str, str], refuses: bool
) -> None:
    rate = TOLD.model_copy(update={"refusal_statuses": [403]})
    assert says_refused(read_feedback(status, headers, rate, NOW), rate) is refuses
