"""What an answer says of our haste."""

from datetime import timedelta

import pytest

from ingest_core.gate.feedback import UNTOLD_COOL_DOWN, Feedback, read_feedback
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
    remaining_header="X-Left",
    reset_header="X-Reset",
    reset_kind=ResetKind.SECONDS_LEFT,
)


@pytest.mark.parametrize(
    ("status", "retry_after", "cool_down"),
    [
        (429, "7", timedelta(seconds=7)),
        (429, None, UNTOLD_COOL_DOWN),
        (429, "soon", UNTOLD_COOL_DOWN),
        (503, "7", timedelta(seconds=7)),
        (503, None, None),
        (403, "60", timedelta(seconds=60)),
        (200, None, None),
        (200, "7", None),
    ],
)
def test_nobody_asks_before_the_provider_wants_to_be_asked(
    status: int, retry_after: str | None, cool_down: timedelta | None
) -> None:
    headers = {"retry-after": retry_after} if retry_after else {}
    assert read_feedback(status, headers, PLAIN, NOW).cool_down == cool_down


def test_what_is_left_is_read_by_the_names_the_registry_knows() -> None:
    headers = {"x-limit": "50", "x-left": " 3 ", "x-reset": "90"}
    said = read_feedback(200, headers, TOLD, NOW)
    assert said == Feedback(200, None, 50, 3, NOW + timedelta(seconds=90))
    assert said.quota_json() == {
        "limit": 50,
        "remaining": 3,
        "windowReset": format_instant(NOW + timedelta(seconds=90)),
    }
    assert read_feedback(200, headers, PLAIN, NOW) == Feedback(200)


def test_a_reset_may_be_a_time() -> None:
    rate = TOLD.model_copy(update={"reset_kind": ResetKind.EPOCH_SECONDS})
    assert read_feedback(200, {"x-reset": "1577880000"}, rate, NOW).resets_at == at("2020-01-01T12:00")


@pytest.mark.parametrize("value", ["", "many", "-1", "1.5", "9" * 30, "٣"])
def test_what_is_no_number_says_nothing(value: str) -> None:
    said = read_feedback(200, {"x-limit": value, "x-left": value, "x-reset": value}, TOLD, NOW)
    assert said == Feedback(200)


def test_a_reset_beyond_all_time_says_nothing() -> None:
    assert read_feedback(200, {"x-reset": "9" * 18}, TOLD, NOW).resets_at is None
