"""What a rule of the fault script strikes, and when."""

from typing import Any

import httpx
import pytest

from deployments.sandbox.provider import POSITIONS, Request
from deployments.sandbox.remote import Sandbox
from tests.sandbox.client import get, message
from tests.sandbox.wire import CLIENT

FORM = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}


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
    answers["detail"] = CLIENT.get(f"{sandbox.url()}/works/10.5555/nothing")

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
    statuses = [CLIENT.post(url, data={"db": "pubmed", "id": ids}).status_code for ids in ("7,8", "8,7")]

    assert statuses == [503, 200]
