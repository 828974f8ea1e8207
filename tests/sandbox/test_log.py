"""The log of the requests."""

import httpx
import pytest

from deployments.sandbox.remote import Sandbox
from tests.sandbox.client import ask, dois, get, message
from tests.sandbox.wire import CLIENT


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


def test_the_log_says_how_long_each_request_was_open(sandbox: Sandbox) -> None:
    sandbox.script({"kind": "latency", "seconds": 0.3}, {"kind": "timeout", "seconds": 0.3})
    message(sandbox, rows=0)
    with pytest.raises(httpx.TransportError):
        get(sandbox, rows=0)
    message(sandbox, rows=0)
    late, silent, quick = sandbox.requests("crossref")
    spans = [entry["ended_seconds"] - entry["began_seconds"] for entry in (late, silent, quick)]

    assert min(spans[:2]) >= 0.3
    assert spans[2] > 0
    assert late["began_seconds"] < late["monotonic_seconds"] < late["ended_seconds"] < silent["began_seconds"]


def test_the_log_says_with_which_headers_and_body_was_asked(sandbox: Sandbox) -> None:
    url = f"{sandbox.url('pubmed')}/efetch.fcgi"
    CLIENT.post(url, data={"db": "pubmed", "id": "7"}, headers={"X-Mark": "a"})
    (entry,) = sandbox.requests("pubmed")

    assert (entry["body"], entry["headers"]["x-mark"]) == ("db=pubmed&id=7", "a")


def test_the_log_can_be_cleared_and_does_not_log_its_reading(sandbox: Sandbox) -> None:
    message(sandbox, rows=0)
    assert len(sandbox.requests()) == 1
    assert sandbox.requests("pubmed") == []
    sandbox.clear_requests()

    assert sandbox.requests() == []
