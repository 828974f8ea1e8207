"""What each kind of fault does."""

import contextlib
import time
from typing import Any

import httpx
import pytest

from deployments.sandbox.remote import Sandbox
from tests.sandbox.client import ask, dois, get, message, true_ids, window


def _scrolled_on(sandbox: Sandbox, fault: dict[str, Any]) -> bool:
    """True when the fault made the scroll lose a page."""
    in_order = dois(message(sandbox, rows=90)["items"])
    cursor = message(sandbox, cursor="*", rows=30)["next-cursor"]
    sandbox.script(fault)
    with contextlib.suppress(httpx.TransportError):
        ask(sandbox, {"cursor": cursor}, timeout_seconds=0.2)
    following = dois(message(sandbox, cursor=cursor)["items"])
    assert following in (in_order[30:60], in_order[60:90])
    return following == in_order[60:90]


@pytest.mark.parametrize(
    ("fault", "moves"),
    [
        ({"kind": "status", "status": 429}, False),
        ({"kind": "status", "status": 403}, False),
        ({"kind": "status", "status": 503}, True),
        ({"kind": "status", "status": 503, "moves": False}, False),
        ({"kind": "status", "status": 429, "moves": True}, True),
        ({"kind": "html"}, True),
        ({"kind": "html", "moves": False}, False),
        ({"kind": "timeout", "seconds": 1}, True),
        ({"kind": "cut"}, True),
        ({"kind": "drop"}, True),
        ({"kind": "latency", "seconds": 0.01}, True),
    ],
    ids=str,
)
def test_a_fault_moves_the_scroll_or_not(sandbox: Sandbox, fault: dict[str, Any], moves: bool) -> None:
    assert _scrolled_on(sandbox, fault) is moves


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 599])
def test_a_status_comes_as_html(sandbox: Sandbox, status: int) -> None:
    sandbox.script({"kind": "status", "status": status})
    response = get(sandbox)

    assert (response.status_code, response.headers["content-type"]) == (status, "text/html")
    assert "retry-after" not in response.headers
    assert response.text.startswith("<html>")
    assert get(sandbox).status_code == 200


def test_a_429_may_say_how_long_to_wait(sandbox: Sandbox) -> None:
    sandbox.script({"kind": "status", "status": 429, "retry_after": 2})

    assert get(sandbox).headers["retry-after"] == "2"


def test_a_cut_body_is_shorter_than_its_length(sandbox: Sandbox) -> None:
    sandbox.script({"kind": "cut"})
    with pytest.raises(httpx.RemoteProtocolError, match="without sending complete message body"):
        get(sandbox)


def test_a_timeout_ends_with_a_closed_connection(sandbox: Sandbox) -> None:
    sandbox.script({"kind": "timeout", "seconds": 0.2})
    began = time.monotonic()
    with pytest.raises(httpx.RemoteProtocolError):
        get(sandbox)

    assert time.monotonic() - began >= 0.2


def test_latency_delays_a_right_answer(sandbox: Sandbox) -> None:
    sandbox.script({"kind": "latency", "seconds": 0.2})
    began = time.monotonic()

    assert message(sandbox, rows=0)["total-results"] == 240
    assert time.monotonic() - began >= 0.2


def test_touched_works_leave_their_window_and_the_truth_follows(fresh_sandbox: Sandbox) -> None:
    fresh_sandbox.move_clock("2026-01-11T12:00:00Z")
    before = true_ids(fresh_sandbox, "2026-01-09", "2026-01-10")
    fresh_sandbox.script({"kind": "touch", "works": 7})
    page = message(fresh_sandbox, filter=window("2026-01-09", "2026-01-09"), rows=1000)
    touched = fresh_sandbox.truth(from_="2026-01-11")

    assert page["total-results"] == len(before) - 7
    assert set(dois(page["items"])) == true_ids(fresh_sandbox, "2026-01-09", "2026-01-10")
    assert {row["id"] for row in touched} == before - set(dois(page["items"]))
    assert {row["updated_at"] for row in touched} == {"2026-01-11T12:00:00.000000Z"}
    assert all(row["version"] > 1 for row in touched)
    assert set(dois(message(fresh_sandbox, filter="from-index-date:2026-01-11T12")["items"])) == {
        row["id"] for row in touched
    }


def test_a_touch_on_a_later_page_stays_within_the_window_of_the_scroll(fresh_sandbox: Sandbox) -> None:
    before = true_ids(fresh_sandbox, "2026-01-09", "2026-01-10")
    cursor = message(fresh_sandbox, cursor="*", filter=window("2026-01-09", "2026-01-09"), rows=5)["next-cursor"]
    fresh_sandbox.script({"kind": "touch", "works": 9})
    message(fresh_sandbox, cursor=cursor)

    assert len(before - true_ids(fresh_sandbox, "2026-01-09", "2026-01-10")) == 9


def test_touching_twice_in_the_same_instant_leaves_one_version(fresh_sandbox: Sandbox) -> None:
    fresh_sandbox.move_clock("2026-01-11T12:00:00Z")
    fresh_sandbox.script({"kind": "touch", "works": 3, "times": 2})
    for _ in range(2):
        message(fresh_sandbox, filter="doi:" + ",doi:".join(sorted(true_ids(fresh_sandbox))[:3]))

    assert len(fresh_sandbox.truth()) == 240
    assert len(fresh_sandbox.truth(from_="2026-01-11")) == 3
