"""What a slice may say: `window-slicing` chapters 4 and 12, refusal by refusal."""

from typing import Any

import pytest

from ingest_core.model.errors import BadInput
from ingest_core.model.slice_spec import check_slice

WINDOW = {
    "from": "2026-03-10T00:00:00Z",
    "to": "2026-03-10T06:00:00Z",
    "boundary": {"from": "CLOSED", "to": "OPEN"},
    "timezone": "UTC",
    "precision": "HOUR",
}
RANGE = {"key": "provider_id", "from": "a", "to": "m"}
CURSOR = {"type": "TOKEN", "startToken": "*", "pageSize": 100, "stop": {"maxPages": 20}}
BUDGET = {"maxRequests": 800, "maxRecords": 200_000, "maxDurationSec": 1200, "priority": "HIGH"}


def time_slice(**changes: Any) -> dict[str, Any]:
    """A slice by time, changed."""
    return {"strategy": "TIME", "window": WINDOW, "budget": BUDGET, **changes}


def window(**changes: Any) -> dict[str, Any]:
    """A slice by time whose window is changed."""
    return time_slice(window={**WINDOW, **changes})


@pytest.mark.parametrize(
    "value",
    [
        time_slice(),
        time_slice(range={"key": "uid", "from": "1", "to": None}),
        {"strategy": "ID_RANGE", "range": RANGE, "budget": BUDGET},
        {"strategy": "ID_RANGE", "range": {**RANGE, "bucket": 37, "buckets": 128}, "budget": BUDGET},
        {"strategy": "CURSOR_LANDMARK", "cursor": CURSOR, "budget": BUDGET},
        {"strategy": "VOLUME_BUDGET", "budget": BUDGET, "hints": {"explore": True}},
        {"strategy": "HYBRID", "window": WINDOW, "cursor": CURSOR, "budget": BUDGET},
        {"strategy": "ONE_OF_OUR_OWN", "window": WINDOW, "budget": BUDGET},
    ],
    ids=lambda value: value["strategy"],
)
def test_every_strategy_has_its_payload(value: dict[str, Any]) -> None:
    assert check_slice(value).strategy == value["strategy"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"strategy": "TIME", "budget": BUDGET}, "a TIME slice needs window"),
        ({"strategy": "ID_RANGE", "budget": BUDGET}, "a ID_RANGE slice needs range"),
        ({"strategy": "CURSOR_LANDMARK", "budget": BUDGET}, "a CURSOR_LANDMARK slice needs cursor"),
        ({"strategy": "HYBRID", "budget": BUDGET}, "a HYBRID slice needs cursor and window"),
        ({"strategy": "VOLUME_BUDGET", "budget": BUDGET}, "a VOLUME_BUDGET slice explores"),
        ({"strategy": "TIME", "window": WINDOW}, "budget: Field required"),
        (window(to=WINDOW["from"]), "is not before"),
        (window(to="2026-03-09T00:00:00Z"), "is not before"),
        (window(**{"from": "2026-03-10T00:00:00+01:00"}), "in UTC"),
        (window(**{"from": "2026-03-10T00:00:00"}), "in UTC"),
        (window(timezone="Europe/Berlin"), "window.timezone"),
        (window(precision="FORTNIGHT"), "window.precision"),
        (window(boundary={"from": "OPEN", "to": "OPEN"}), "closed below and open above"),
        (window(boundary={"from": "CLOSED", "to": "AJAR"}), "window.boundary.to"),
        (time_slice(budget={**BUDGET, "maxRequests": 0}), "budget.maxRequests"),
        (time_slice(budget={**BUDGET, "priority": "URGENT"}), "budget.priority"),
        (time_slice(pages=3), "pages: Extra inputs"),
        (time_slice(range={**RANGE, "bucket": 3}), "of how many it is one"),
        (time_slice(range={**RANGE, "bucket": 3, "buckets": 3}), "bucket 3 is not one of 3"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_slice_that_is_wrong_is_refused(value: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message) as refused:
        check_slice(value)

    assert refused.value.code == "SLICE_INVALID"


def test_what_is_stored_is_in_normal_form_and_leaves_out_what_is_not_said() -> None:
    stored = check_slice(window(**{"from": "2026-03-10T00:00:00.0+00:00", "precision": "MILLIS"})).json_value()

    assert stored["window"] == {
        **WINDOW,
        "from": "2026-03-10T00:00:00.000000Z",
        "to": "2026-03-10T06:00:00.000000Z",
        "precision": "MILLIS",
    }
    assert stored["hints"] == {}
    assert "range" not in stored
    assert check_slice(stored).json_value() == stored
