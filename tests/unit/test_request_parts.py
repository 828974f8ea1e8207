"""Where values go in a request: path, query, header, body; each stays data, and what is not there is left out."""

from datetime import timedelta
from typing import Any

import pytest

from ingest_core.execution.ports import Request
from ingest_core.execution.request import Caller, bounds_to_ask, render_detail, render_request
from ingest_core.model.errors import BadInput
from ingest_core.model.expression import Term, Token
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.window import Window
from tests.support.specs import at, crossref_spec, pubmed_spec, span

WINDOW = span("00:00", "06:00")
CONTACT = "ann@example.org"
HOSTILE = [
    "a/b",
    "../../admin",
    "a?b=c",
    "a#b",
    "%2e%2e",
    "a b",
    "a\r\nHost: evil",
    "é学😀",
    "{from}",
    "a;b",
    "@",
    "a\\b",
]


def ask(spec: SpecSnapshot, token: str | None = "7", contact: str | None = CONTACT, window: Window = WINDOW) -> Request:
    """The request for the page at a token."""
    return render_request(spec, window, token, Caller("ing-1-1", contact))


def param(name: str, value: str, location: str = "QUERY", **more: Any) -> dict[str, Any]:
    """Where a value goes."""
    return {"name": name, "value": value, "location": location, **more}


class TestThePath:
    """A value in a path is one segment of it."""

    SPEC = crossref_spec(http={"path": "/list/{cursor}/all"}, params=[param("cursor", "page_token", "PATH")])

    def test_a_value_stands_where_it_is_named(self) -> None:
        request = ask(self.SPEC, contact=None)

        assert request.path == "/list/7/all"
        assert [name for name, _ in request.query] == ["filter"]

    @pytest.mark.parametrize("token", HOSTILE, ids=ascii)
    def test_it_cannot_leave_its_segment(self, token: str) -> None:
        path = ask(self.SPEC, token).path

        assert path.startswith("/list/")
        assert path.endswith("/all")
        segment = path.removeprefix("/list/").removesuffix("/all")
        assert set(segment) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~%")

    def test_dots_within_it_are_dots(self) -> None:
        assert ask(self.SPEC, "10.1..b").path == "/list/10.1..b/all"

    @pytest.mark.parametrize("token", ["..", ".", ""])
    def test_a_segment_that_leads_elsewhere_is_refused(self, token: str) -> None:
        with pytest.raises(BadInput, match="cursor"):
            ask(self.SPEC, token)

    def test_what_a_rule_writes_may_go_there_too(self) -> None:
        rule = {"op": "RANGE", "field": "indexed_at", "params": {"span": "{from}/{to}"}}
        spec = crossref_spec(http={"path": "/in/{span}"}, params=[param("span", "rule", "PATH")], rules=[rule])
        request = ask(spec, contact=None)

        assert request.path == "/in/2026-03-10T00%2F2026-03-10T06"
        assert request.query == []

    def test_a_path_with_a_hole_is_not_sent(self) -> None:
        with pytest.raises(BadInput):
            ask(self.SPEC, None)


class TestTheHeaders:
    """A value in a header is one line."""

    @pytest.mark.parametrize(
        ("value", "line"), [("a\r\nX-Evil: 1", "a X-Evil: 1"), ("a\n b", "a b"), ("  a  ", "a"), ("a\x0bb", "a b")]
    )
    def test_it_is_one_line(self, value: str, line: str) -> None:
        request = ask(crossref_spec(params=[param("X-Cursor", "page_token", "HEADER")]), value)

        assert request.headers["X-Cursor"] == line

    def test_the_correlation_id_is_always_there(self) -> None:
        assert ask(crossref_spec()).headers["X-Ingest-Correlation-Id"] == "ing-1-1"

    def test_a_sources_own_user_agent_goes_along(self) -> None:
        spec = crossref_spec(http={"user_agent": "reader (mailto:{contact})"})

        assert ask(spec).headers["User-Agent"] == "reader (mailto:ann@example.org)"
        assert "User-Agent" not in ask(spec, contact=None).headers
        assert "User-Agent" not in ask(crossref_spec()).headers


class TestTheContact:
    """The operator's address goes where the source asks for it, and is left out where nobody gave one."""

    SPEC = crossref_spec(
        http={"headers": {"From": "{contact}", "Accept": "x"}, "query": {"mailto": "{contact}", "v": "1"}}
    )

    def test_it_is_in_header_and_query(self) -> None:
        request = ask(self.SPEC)

        assert request.headers["From"] == CONTACT
        assert request.query[:2] == [("mailto", CONTACT), ("v", "1")]

    def test_without_one_its_parameters_are_left_out(self) -> None:
        request = ask(self.SPEC, contact=None)

        assert "From" not in request.headers
        assert request.headers["Accept"] == "x"
        assert request.query[0] == ("v", "1")

    def test_a_detail_request_says_it_too(self) -> None:
        request = render_detail(pubmed_spec(), ["1"], Caller("c", CONTACT))

        assert ("email", CONTACT) in request.query
        assert "email" not in dict(render_detail(pubmed_spec(), ["1"], Caller("c")).query)

    def test_it_may_be_a_parameter_of_its_own(self) -> None:
        spec = crossref_spec(params=[param("who", "contact")])

        assert ("who", CONTACT) in ask(spec).query
        assert "who" not in dict(ask(spec, contact=None).query)


class TestWhatIsNotThere:
    """A parameter without a value is left out, or has its default."""

    def test_without_a_query_its_parameter_is_left_out(self) -> None:
        assert "query" not in dict(ask(crossref_spec()).query)

    def test_with_one_it_is_sent(self) -> None:
        spec = crossref_spec(expression=Token("heart  failure").json())

        assert dict(ask(spec).query)["query"] == "heart failure"

    def test_a_default_stands_in(self) -> None:
        assert dict(ask(pubmed_spec()).query)["term"] == "all[sb]"
        spec = pubmed_spec(expression=Term("title", "x").json())
        assert dict(ask(spec).query)["term"] == '"x"[ti]'

    def test_functions_are_applied_to_a_value_and_not_to_a_default(self) -> None:
        spec = crossref_spec(params=[param("c", "page_token", functions=["upper", "url"], default="a b")])

        assert dict(ask(spec, "x y").query)["c"] == "X%20Y"
        assert dict(ask(spec, None).query)["c"] == "a b"


class TestTheBody:
    """A POST carries a form or JSON; a GET nothing."""

    def spec(
        self, body: dict[str, Any] | None = None, kind: str | None = "JSON", *params: dict[str, Any]
    ) -> SpecSnapshot:
        return crossref_spec(http={"method": "POST", "body_format": kind, "body": body}, params=list(params))

    def test_a_get_has_none(self) -> None:
        assert ask(crossref_spec()).body is None

    def test_parameters_of_the_body_are_in_it(self) -> None:
        request = ask(self.spec(None, "FORM", param("cursor", "page_token", "BODY"), param("rows", "page_size")))

        assert request.body == {"cursor": "7"}
        assert ("rows", "700") in request.query

    def test_a_form_holds_text_and_json_holds_values(self) -> None:
        placed = (param("n", "page_size", "BODY"),)

        assert ask(self.spec(None, "FORM", *placed)).body == {"n": "700"}
        assert ask(self.spec(None, "JSON", *placed)).body == {"n": 700}

    def test_a_template_is_filled_at_every_depth(self) -> None:
        template = {
            "page": {"size": "{page_size}", "at": "from {page_token}", "fixed": 3},
            "sort": [{"by": "date"}, "{page_token}"],
            "deep": [[{"mail": "{contact}"}]],
            "flag": True,
            "none": None,
        }

        assert ask(self.spec(template)).body == {
            "page": {"size": 700, "at": "from 7", "fixed": 3},
            "sort": [{"by": "date"}, "7"],
            "deep": [[{"mail": CONTACT}]],
            "flag": True,
        }

    def test_what_has_no_value_is_left_out_of_it(self) -> None:
        template = {"cursor": "{page_token}", "who": "mailto:{contact}", "keep": "x", "in": {"q": "{query}"}}

        assert ask(self.spec(template), None, None).body == {"keep": "x", "in": {}}

    def test_a_parameter_wins_over_the_template(self) -> None:
        assert ask(self.spec({"n": 1, "m": 2}, "JSON", param("n", "page_size", "BODY"))).body == {"n": 700, "m": 2}

    @pytest.mark.parametrize("token", HOSTILE, ids=ascii)
    def test_a_value_in_it_is_data(self, token: str) -> None:
        assert ask(self.spec({"a": "{page_token}", "b": "x{page_token}y"}), token).body == {
            "a": token,
            "b": f"x{token}y",
        }

    def test_the_query_is_text_in_it(self) -> None:
        spec = crossref_spec(
            http={"method": "POST", "body_format": "JSON", "body": {"q": "({query})"}},
            expression=Token("heart").json(),
            params=[],
        )

        assert ask(spec).body == {"q": "(heart)"}


class TestDetails:
    """The request for whole records."""

    def test_pubmed_is_asked_by_a_form(self) -> None:
        request = render_detail(pubmed_spec(), ["1", "2"], Caller("c"))

        assert (request.method, request.path, request.body) == ("POST", "/efetch.fcgi", {"id": "1,2"})
        assert dict(request.query) == {"db": "pubmed", "tool": "patra-ingest", "retmode": "xml"}
        assert request.http.read_timeout_seconds == 60
        assert request.auth == pubmed_spec().auth

    def test_json_takes_the_ids_as_a_list(self) -> None:
        detail = pubmed_spec().detail
        assert detail is not None
        http = {**detail.http.model_dump(mode="json"), "body_format": "JSON", "body": {"ids": "{ids}"}}
        request = render_detail(pubmed_spec(detail={"http": http, "params": []}), ["a", "b"], Caller("c"))

        assert request.body == {"ids": ["a", "b"]}

    def test_a_path_takes_one_id(self) -> None:
        detail = pubmed_spec().detail
        assert detail is not None
        http = {**detail.http.model_dump(mode="json"), "method": "GET", "path": "/paper/{id}", "body_format": None}
        spec = pubmed_spec(detail={"http": http, "params": [param("id", "ids", "PATH")]})

        assert render_detail(spec, ["10.1/a b"], Caller("c")).path == "/paper/10.1%2Fa%20b"
        assert render_detail(spec, ["10.1/a b"], Caller("c")).body is None

    def test_the_search_is_asked_by_its_own_parameters(self) -> None:
        request = ask(pubmed_spec(), "1000")

        assert (request.method, request.path, request.body) == ("GET", "/esearch.fcgi", None)
        assert dict(request.query) == {
            "db": "pubmed",
            "tool": "patra-ingest",
            "email": CONTACT,
            "retmode": "json",
            "datetype": "mdat",
            "mindate": "2026/03/10",
            "maxdate": "2026/03/10",
            "retstart": "1000",
            "retmax": "1000",
            "term": "all[sb]",
        }


class TestThePageAtAUrl:
    """Where the answer says where the next page is, nothing is added to it."""

    SPEC = crossref_spec(pagination={"type": "URL", "next_url_path": "$.next"}, http={"query": {"mailto": "{contact}"}})

    def test_the_first_page_is_asked_for_as_any(self) -> None:
        request = ask(self.SPEC, None)

        assert request.next_url is None
        assert [name for name, _ in request.query] == ["mailto", "filter", "rows"]

    def test_the_next_is_where_it_says(self) -> None:
        request = ask(self.SPEC, "https://api.crossref.org/works?page=2")

        assert (request.next_url, request.query) == ("https://api.crossref.org/works?page=2", [])
        assert request.headers["Accept"] == "application/json"


class TestTimeZones:
    """Bounds are written in the provider's zone, and lose nothing at either end."""

    @pytest.mark.parametrize(
        ("window", "zone", "written"),
        [
            (("2026-01-10T05:00:00Z", "2026-01-11T05:00:00Z"), "America/New_York", ("2026/01/10", "2026/01/10")),
            (("2026-01-10T00:00:00Z", "2026-01-11T00:00:00Z"), "America/New_York", ("2026/01/09", "2026/01/10")),
            (("2026-01-09T15:00:00Z", "2026-01-10T15:00:00Z"), "Asia/Tokyo", ("2026/01/10", "2026/01/10")),
            (("2026-01-10T00:00:00Z", "2026-01-11T00:00:00Z"), "Asia/Tokyo", ("2026/01/10", "2026/01/11")),
            (("2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"), "America/New_York", ("2026/03/08", "2026/03/08")),
        ],
        ids=str,
    )
    def test_days_are_those_of_the_zone(self, window: tuple[str, str], zone: str, written: tuple[str, str]) -> None:
        query = dict(ask(pubmed_spec(window={"time_zone": zone}), "0", window=span(*window)).query)

        assert (query["mindate"], query["maxdate"]) == written

    def test_where_more_is_stored_than_filtered_the_next_day_is_asked_for_too(self) -> None:
        spec = pubmed_spec(window={"time_zone": "Asia/Tokyo", "stored_precision": "SECOND"})
        query = dict(ask(spec, "0", window=span("2026-01-09T15:00:00Z", "2026-01-10T15:00:00Z")).query)

        assert (query["mindate"], query["maxdate"]) == ("2026/01/10", "2026/01/11")

    def test_an_upper_bound_that_is_left_out_by_the_provider_is_a_unit_later(self) -> None:
        spec = pubmed_spec(window={"time_zone": "Asia/Tokyo", "upper_inclusive": False})
        start, end = bounds_to_ask(span("2026-01-09T15:00:00Z", "2026-01-10T15:00:00Z"), spec.time)

        assert start == at("2026-01-09T15:00:00Z")
        assert end == at("2026-01-10T15:00:00Z") + timedelta(days=1) - timedelta(milliseconds=1)


def test_a_provider_that_cannot_filter_by_time_is_not_asked_to() -> None:
    spec = crossref_spec(window={"supports_updated_since": False})

    assert "filter" not in dict(ask(spec).query)


def test_a_rule_and_the_window_share_a_parameter() -> None:
    spec = crossref_spec(expression=Term("type", "book").json())

    assert dict(ask(spec).query)["filter"].split(",") == [
        "from-index-date:2026-03-10T00",
        "until-index-date:2026-03-10T06",
        "type:book",
    ]


def test_a_value_of_a_query_cannot_begin_another_parameter() -> None:
    spec = pubmed_spec(expression=Term("title", 'x" OR all[sb] OR "&retmax=9').json())
    query = ask(spec).query

    assert dict(query)["term"] == '"x OR all[sb] OR &retmax=9"[ti]'
    assert [name for name, _ in query].count("retmax") == 1


class TestTheNextUrl:
    """A page the provider names by its URL is asked for there, with the headers and without our parameters."""

    SPEC = crossref_spec(
        http={"path": "/search/{kind}", "query": {"mailto": "{contact}"}},
        pagination={"type": "URL", "next_url_path": "$.next", "next_token_path": None, "initial_token": None},
        params=[param("kind", "page_size", "PATH"), param("X-Size", "page_size", "HEADER")],
    )

    def test_a_path_that_is_filled_does_not_stand_in_its_way(self) -> None:
        first, following = ask(self.SPEC, None), ask(self.SPEC, "https://api.crossref.org/search/700?page=2")

        assert (first.path, first.next_url) == ("/search/700", None)
        assert (following.path, following.query) == ("/search/700", [])
        assert following.next_url == "https://api.crossref.org/search/700?page=2"
        assert following.headers["X-Size"] == "700"
