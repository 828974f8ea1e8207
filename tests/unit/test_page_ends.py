"""Ends of a result that may not be believed: a lost token is looked for once more, more without a place is a fault."""

import json
from typing import Any

import pytest

from ingest_core.execution.evidence import http_stats
from ingest_core.execution.fetch import Fetcher
from ingest_core.execution.ports import Response
from ingest_core.execution.request import Caller, render_request
from ingest_core.gate.taxonomy import UpstreamError
from ingest_core.model.codes import ErrorLevel
from tests.support.specs import crossref_spec, span
from tests.support.upstream import ScriptedGate, ScriptedUpstream, status

SIZE = 2
PATIENT = {"max_attempts": 3, "initial_seconds": 0.0, "max_seconds": 0.0, "jitter": 0.0}


def answer(*names: str, token: str | None = None, more: bool | None = None) -> Response:
    """A page of these works."""
    said = {"next-cursor": token, "more": more}
    message = {"items": [{"DOI": name} for name in names], **{key: one for key, one in said.items() if one is not None}}
    return status(200, json.dumps({"message": message}).encode())


def fetcher_of(*answers: Response, **pagination: Any) -> Fetcher:
    """A fetcher whose pages hold two works, with a doubt about full last ones."""
    usual = {"page_size": SIZE, "position": "CLIENT", "tail_probe": True, "has_more_path": "$.message.more"}
    spec = crossref_spec(pagination={**usual, **pagination}, retry=PATIENT)
    return Fetcher(spec, ScriptedGate(), ScriptedUpstream(*answers))


def fetch(fetcher: Fetcher) -> Any:
    request = render_request(fetcher.spec, span("00:00", "06:00"), "*", Caller("c"))
    return fetcher.fetch(request, probe_tail=True)


def test_a_token_the_provider_lost_is_found_by_a_second_look() -> None:
    fetcher = fetcher_of(answer("a", "b"), answer("a", "b", token="t2"))
    found = fetch(fetcher)

    assert found.page.next_token == "t2"
    assert (fetcher.tally.requests, fetcher.tally.tail_probes) == (2, 1)


def test_the_records_are_those_of_the_first_look_and_no_more() -> None:
    found = fetch(fetcher_of(answer("a", "b"), answer("b", "c", token="t2")))

    assert [item["DOI"] for item in found.page.items] == ["a", "b"]
    assert found.page.count == SIZE


def test_a_second_look_that_finds_none_either_is_the_end() -> None:
    fetcher = fetcher_of(answer("a", "b"), answer("a", "b"), answer("a", "b", token="t2"))
    found = fetch(fetcher)

    assert (found.page.next_token, fetcher.tally.requests) == (None, 2)


def test_the_ledger_says_that_it_was_looked_for() -> None:
    assert http_stats(fetch(fetcher_of(answer("a", "b"), answer("a", "b"))))["tailProbed"] is True
    assert "tailProbed" not in http_stats(fetch(fetcher_of(answer("a"))))


@pytest.mark.parametrize(
    ("first", "setting"),
    [
        (answer("a"), {}),
        (answer("a", "b", token="t2"), {}),
        (answer("a", "b", more=False), {}),
        (answer("a", "b"), {"tail_probe": False}),
        (answer("a", "b"), {"position": "SERVER"}),
    ],
    ids=["not full", "a token", "explicitly no more", "not asked to", "the position is the provider's"],
)
def test_otherwise_nothing_is_asked_twice(first: Response, setting: dict[str, Any]) -> None:
    fetcher = fetcher_of(first, **setting)
    fetch(fetcher)

    assert (fetcher.tally.requests, fetcher.tally.tail_probes) == (1, 0)


def test_more_without_a_place_is_a_passing_fault() -> None:
    fetcher = fetcher_of(answer("a", "b", more=True), answer("a", "b", more=True, token="t2"))

    assert fetch(fetcher).page.next_token == "t2"
    assert (fetcher.tally.retries, fetcher.tally.tail_probes) == (1, 0)


def test_more_without_a_place_for_good_is_an_error_and_never_an_end() -> None:
    with pytest.raises(UpstreamError) as failed:
        fetch(fetcher_of(*[answer("a", more=True)] * 3))

    assert (failed.value.level, failed.value.code, failed.value.moved) == (ErrorLevel.L1, "NEXT_PAGE_MISSING", True)
