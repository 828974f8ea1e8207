"""The fault script, and what the request log says of it."""

import contextlib
import time
from typing import Any

import httpx
import pytest

from deployments.sandbox.provider import POSITIONS, Request
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


def test_a_rule_strikes_as_often_and_as_late_as_it_says(sandbox: Sandbox) -> None:
    sandbox.script({"kind": "status", "status": 503, "after": 2, "times": 2})

    assert [get(sandbox, rows=0).status_code for _ in range(6)] == [200, 200, 503, 503, 200, 200]
    assert [(rule["seen"], rule["hits"]) for rule in sandbox.faults()] == [(6, 2)]


def test_a_rule_without_end_strikes_always(sandbox: Sandbox) -> None:
    sandbox.script({"kind": "status", "status": 503, "times": None})

    assert {get(sandbox, rows=0).status_code for _ in range(5)} == {503}
    assert sandbox.script() == []
    assert get(sandbox, rows=0).status_code == 200


@pytest.mark.parametrize(
    ("match", "hit"),
    [
        ({"path": "/crossref/works"}, ["list", "opening", "later", "offset"]),
        ({"path": "/crossref/works/*"}, ["detail"]),
        ({"path": "/crossref/*", "cursor": "first"}, ["list", "opening", "detail"]),
        ({"cursor": "later"}, ["later", "offset"]),
        ({"contains": "rows=7"}, ["offset"]),
        ({"contains": "from-index-date:2026-01-09"}, ["list"]),
    ],
    ids=str,
)
def test_a_rule_strikes_only_what_it_matches(sandbox: Sandbox, match: dict[str, str], hit: list[str]) -> None:
    cursor = message(sandbox, cursor="*", rows=5)["next-cursor"]
    asked: dict[str, dict[str, str]] = {
        "list": {"filter": "from-index-date:2026-01-09"},
        "opening": {"cursor": "*"},
        "later": {"cursor": cursor},
        "offset": {"offset": "7", "rows": "7"},
    }
    sandbox.script({"kind": "status", "status": 418, "times": None, "match": match})
    answers = {name: get(sandbox, **parameters) for name, parameters in asked.items()}
    answers["detail"] = httpx.get(f"{sandbox.url()}/works/10.5555/nothing", verify=False)

    assert [name for name, answer in answers.items() if answer.status_code == 418] == hit


def test_of_several_rules_the_first_that_is_due_strikes(sandbox: Sandbox) -> None:
    sandbox.script({"kind": "status", "status": 500, "after": 1}, {"kind": "status", "status": 502, "times": None})

    assert [get(sandbox, rows=0).status_code for _ in range(3)] == [502, 500, 502]


@pytest.mark.parametrize(
    ("rule", "complaint"),
    [
        ({"kind": "earthquake"}, "earthquake"),
        ({}, "None is not a valid Kind"),
        ({"kind": "status"}, "needs 'status'"),
        ({"kind": "status", "status": 200}, "within 400..599"),
        ({"kind": "timeout"}, "needs 'seconds'"),
        ({"kind": "touch"}, "needs 'works'"),
        ({"kind": "html", "tmies": 2}, "tmies"),
        ({"kind": "html", "match": {"page": 2}}, "page"),
        ({"kind": "cut", "moves": False}, "'moves' is for"),
    ],
    ids=str,
)
def test_a_wrong_rule_is_refused_and_the_script_stays(sandbox: Sandbox, rule: dict[str, Any], complaint: str) -> None:
    sandbox.script({"kind": "html"})
    with pytest.raises(ValueError, match=complaint):
        sandbox.script(rule)

    assert [kept["kind"] for kept in sandbox.faults()] == ["html"]


def test_a_script_read_back_can_be_sent_again(sandbox: Sandbox) -> None:
    sandbox.script({"kind": "status", "status": 429, "retry_after": 1, "match": {"cursor": "later"}})

    assert sandbox.script(*sandbox.faults()) == sandbox.faults()


def test_the_log_says_what_was_asked_and_what_became_of_it(sandbox: Sandbox) -> None:
    headers = {"x-ingest-correlation-id": "run-1", "user-agent": "patra/1"}
    cursor = ask(sandbox, {"cursor": "*", "rows": 30}, headers).json()["message"]["next-cursor"]
    sandbox.script({"kind": "cut"}, {"kind": "drop"}, {"kind": "status", "status": 429})
    for _ in range(2):
        with pytest.raises(httpx.TransportError):
            get(sandbox, cursor=cursor)
    get(sandbox, cursor=cursor)
    fine = message(sandbox, cursor=cursor)
    opening, cut, dropped, refused, last = sandbox.requests("crossref")

    assert (opening["correlation"], opening["user_agent"], opening["cursor"]) == ("run-1", "patra/1", "*")
    assert (opening["method"], opening["path"]) == ("GET", "/crossref/works")
    assert opening["query"] == {"cursor": "*", "rows": "30"}
    assert [entry["page"] for entry in (opening, cut, dropped, refused, last)] == [0, 1, 2, None, 3]
    assert [entry["items"] for entry in (opening, cut, dropped, refused, last)] == [30, 0, 0, 0, 30]
    assert [entry["status"] for entry in (opening, cut, dropped, refused, last)] == [200, 200, None, 429, 200]
    assert [entry["fault"] for entry in (opening, cut, dropped, refused, last)] == [None, "cut", "drop", "status", None]
    assert last["first_id"] == dois(fine["items"])[0]
    assert last["scroll"] == opening["scroll"]
    assert len(cut["cursor"]) == 16
    assert opening["monotonic_seconds"] < cut["monotonic_seconds"] < dropped["monotonic_seconds"]
    assert [entry["no"] for entry in (cut, dropped)] == [opening["no"] + 1, opening["no"] + 2]


FORM = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}


@pytest.mark.parametrize("name", POSITIONS)
def test_every_way_to_name_a_place_tells_the_first_page_from_later_ones(name: str) -> None:
    assert [Request("GET", "/x", {name: place}, {}).first for place in ("*", "0", "1", "2", "AoE")] == [
        *(True, True, True),
        *(False, False),
    ]
    assert not Request("POST", "/x", {}, FORM, str(httpx.QueryParams({name: "20"})).encode()).first


@pytest.mark.parametrize(
    ("path", "first"),
    [
        ("/details/biorxiv/2026-01-09/2026-01-10/0", True),
        ("/details/biorxiv/2026-01-09/2026-01-10/30", False),
        ("/details/biorxiv/2026-01-09/2026-01-10", True),
        ("/works/10.5555/abc.w7", True),
    ],
)
def test_a_number_at_the_end_of_the_path_is_a_place(path: str, first: bool) -> None:
    assert Request("GET", path, {}, {}).first is first


def test_a_posted_body_is_a_form_only_if_it_says_so() -> None:
    posted = Request("POST", "/x", {"db": "pubmed", "id": "1"}, FORM, b"id=7%2C8&retstart=5")

    assert posted.asked == {"db": "pubmed", "id": "7,8", "retstart": "5"}
    assert Request("POST", "/x", {"id": "1"}, {"content-type": "application/json"}, b"id=7").asked == {"id": "1"}
    assert Request("GET", "/x", {"id": "1"}, FORM, b"id=7").asked == {"id": "1"}


def test_a_rule_looks_into_a_posted_form_too(sandbox: Sandbox) -> None:
    url = f"{sandbox.url('pubmed')}/efetch.fcgi"
    sandbox.script({"kind": "status", "status": 503, "times": None, "match": {"contains": "id=7,"}})
    statuses = [
        httpx.post(url, data={"db": "pubmed", "id": ids}, trust_env=False, verify=False).status_code
        for ids in ("7,8", "8,7")
    ]

    assert statuses == [503, 200]


def test_the_log_says_with_which_headers_and_body_was_asked(sandbox: Sandbox) -> None:
    url = f"{sandbox.url('pubmed')}/efetch.fcgi"
    httpx.post(url, data={"db": "pubmed", "id": "7"}, headers={"X-Mark": "a"}, trust_env=False, verify=False)
    (entry,) = sandbox.requests("pubmed")

    assert (entry["body"], entry["headers"]["x-mark"]) == ("db=pubmed&id=7", "a")


def test_the_log_can_be_cleared_and_does_not_log_its_reading(sandbox: Sandbox) -> None:
    message(sandbox, rows=0)
    assert len(sandbox.requests()) == 1
    assert sandbox.requests("pubmed") == []
    sandbox.clear_requests()

    assert sandbox.requests() == []
