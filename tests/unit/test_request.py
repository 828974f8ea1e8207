"""The request for a page: bounds that lose nothing, and values that stay where they are put."""

from typing import Any

import httpx
import pytest

from ingest_core.execution.ports import Request
from ingest_core.execution.request import Caller, bounds_to_ask, render_request
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.window import Window
from tests.support.specs import at, crossref_spec, span

WINDOW = span("00:00", "06:00")
CALLER = Caller("ing-7-1")


def asked(spec: SpecSnapshot | None = None, window: Window = WINDOW, token: str | None = "*") -> Request:
    """The request for a page of the shipped Crossref, or of another source."""
    return render_request(spec or crossref_spec(), window, token, CALLER)


def bounds(window: Window = WINDOW, **changes: Any) -> tuple[str, str]:
    """The bounds asked for, as clock times of 10 March."""
    start, end = bounds_to_ask(window, crossref_spec(window=changes).time)
    return f"{start:%H:%M:%S}", f"{end:%H:%M:%S}"


@pytest.mark.parametrize(
    ("changes", "upper"),
    [
        ({"stored_precision": "SECOND"}, "06:00:00"),
        ({"stored_precision": "MINUTE"}, "06:00:00"),
        ({"stored_precision": None}, "06:00:00"),
        ({"stored_precision": "HOUR"}, "05:00:00"),
        ({"stored_precision": "DAY"}, "05:00:00"),
        ({"stored_precision": "HOUR", "upper_inclusive": False}, "06:00:00"),
        ({"stored_precision": "SECOND", "upper_inclusive": False}, "06:00:00"),
        ({"stored_precision": "SECOND", "unit": "SECOND"}, "05:59:59"),
        ({"stored_precision": "MILLISECOND", "unit": "SECOND"}, "06:00:00"),
    ],
    ids=str,
)
def test_an_inclusive_end_is_the_end_itself_where_the_source_stores_more_than_it_filters(
    changes: dict[str, Any], upper: str
) -> None:
    assert bounds(**changes) == ("00:00:00", upper)


def test_overlap_asks_for_more_below_and_not_above() -> None:
    assert bounds(span("02:00", "06:00"), overlap_seconds=5400) == ("00:30:00", "06:00:00")


@pytest.mark.parametrize(
    ("inclusive", "until"), [(True, "2026-03-10T05"), (False, "2026-03-10T06")], ids=["inclusive", "exclusive"]
)
def test_an_end_inside_a_unit_asks_for_the_whole_unit(*, inclusive: bool, until: str) -> None:
    spec = crossref_spec(window={"upper_inclusive": inclusive})
    request = asked(spec, span("00:00", "05:30"))

    assert dict(request.query)["filter"].endswith(f"until-index-date:{until}")


def test_a_start_inside_a_unit_asks_for_the_whole_unit() -> None:
    query = dict(asked(window=span("00:30", "06:00")).query)

    assert query["filter"].startswith("from-index-date:2026-03-10T00,")


def test_the_crossref_query_is_written_as_crossref_reads_it() -> None:
    request = asked()

    assert (request.source, request.method, request.http.base_url, request.path) == (
        "crossref",
        "GET",
        "https://api.crossref.org",
        "/works",
    )
    assert request.query == [
        ("filter", "from-index-date:2026-03-10T00,until-index-date:2026-03-10T06"),
        ("cursor", "*"),
        ("rows", "700"),
    ]
    assert request.headers == {"Accept": "application/json", "X-Ingest-Correlation-Id": "ing-7-1"}
    assert (request.http.connect_timeout_seconds, request.http.read_timeout_seconds) == (10.0, 60.0)
    assert not request.http.allow_plain_http
    assert (request.body, request.next_url) == (None, None)


def test_fixed_parameters_of_the_source_come_along() -> None:
    spec = crossref_spec(http={"query": {"select": "DOI,indexed"}})

    assert ("select", "DOI,indexed") in asked(spec).query


def test_a_parameter_may_go_into_a_header() -> None:
    params = [
        {"name": "X-Cursor", "location": "HEADER", "value": "page_token"},
        {"name": "rows", "location": "QUERY", "value": "page_size"},
    ]
    request = asked(crossref_spec(params=params), token="abc")

    assert request.headers["X-Cursor"] == "abc"
    assert [name for name, _ in request.query] == ["filter", "rows"]


def test_without_a_token_its_parameter_is_left_out() -> None:
    assert [name for name, _ in asked(token=None).query] == ["filter", "rows"]


HOSTILE = [
    "x&rows=1",
    "x#fragment",
    "x?y=1",
    "x;rows=1",
    "../../admin",
    "%26rows=1",
    "a+b c",
    "x\r\nHost: evil",
    "{from}",
    "é学😀",
    "A" * 1512,
]


@pytest.mark.parametrize("token", HOSTILE, ids=lambda token: repr(token[:20]))
def test_a_hostile_token_cannot_leave_its_parameter(token: str) -> None:
    request = asked(token=token)
    url = httpx.URL(request.http.base_url + request.path, params=httpx.QueryParams(tuple(request.query)))

    assert (url.host, url.path, url.fragment) == ("api.crossref.org", "/works", "")
    assert url.params.multi_items() == [
        ("filter", "from-index-date:2026-03-10T00,until-index-date:2026-03-10T06"),
        ("cursor", token),
        ("rows", "700"),
    ]


def test_a_template_is_filled_with_times_and_nothing_else() -> None:
    rule = {"op": "RANGE", "field": "indexed_at", "params": {"filter": "{from}/{to}"}}
    spec = crossref_spec(rules=[rule], window={"format": "{to}%d"})

    assert dict(asked(spec, token="{from}").query)["filter"] == "{to}10/{to}10"
    assert dict(asked(spec, token="{from}").query)["cursor"] == "{from}"


def test_microseconds_are_written_where_the_format_asks_for_them() -> None:
    spec = crossref_spec(window={"format": "%Y-%m-%dT%H:%M:%S.%fZ", "unit": "MILLISECOND"})
    window = Window(at("00:00:00.001"), at("00:00:00.002"))

    assert "from-index-date:2026-03-10T00:00:00.001000Z" in dict(asked(spec, window).query)["filter"]
