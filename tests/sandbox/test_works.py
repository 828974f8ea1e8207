"""Crossref's `/works` as it was recorded."""

from datetime import datetime
from urllib.parse import quote

import pytest

from deployments.sandbox.remote import Sandbox
from tests.sandbox.client import ask, dois, get, indexed_at, message, true_ids, window
from tests.sandbox.wire import CLIENT


def test_a_page_has_the_recorded_envelope(sandbox: Sandbox) -> None:
    body = get(sandbox, query="the", cursor="*", rows=3).json()

    assert list(body) == ["status", "message-type", "message-version", "message"]
    assert (body["status"], body["message-type"], body["message-version"]) == ("ok", "work-list", "1.0.0")
    page = body["message"]
    assert list(page) == ["facets", "next-cursor", "total-results", "items", "items-per-page", "query"]
    assert (len(page["items"]), page["items-per-page"]) == (3, 3)
    assert page["query"] == {"start-index": 0, "search-terms": "the"}
    assert len(page["next-cursor"]) > 1400


def test_a_page_without_cursor_has_none(sandbox: Sandbox) -> None:
    page = message(sandbox)

    assert "next-cursor" not in page
    assert (len(page["items"]), page["items-per-page"], page["total-results"]) == (20, 20, 240)


def test_no_rows_still_state_the_total(sandbox: Sandbox) -> None:
    page = message(sandbox, rows=0, filter=window("2026-01-09", "2026-01-09"))

    assert page["items"] == []
    assert page["total-results"] == len(true_ids(sandbox, "2026-01-09", "2026-01-10"))


def test_the_hours_of_a_day_add_up_to_the_day(sandbox: Sandbox) -> None:
    hours = [f"2026-01-09T{hour:02}" for hour in range(24)]
    found = [dois(message(sandbox, filter=window(hour, hour), rows=1000)["items"]) for hour in hours]

    assert sorted(doi for hour in found for doi in hour) == sorted(true_ids(sandbox, "2026-01-09", "2026-01-10"))


def test_a_window_reaches_to_the_end_of_its_last_hour(sandbox: Sandbox) -> None:
    works = message(sandbox, filter=window("2026-01-09", "2026-01-09T11"), rows=1000)["items"]

    assert max(indexed_at(work) for work in works).startswith("2026-01-09T11")
    assert set(dois(works)) == true_ids(sandbox, "2026-01-09", "2026-01-09T12:00:00")


@pytest.mark.parametrize("bound", ["2026-01-09T05", "2026-01-09T05:30", "2026-01-09T05:30:59", "2026-01-09T05:59:59Z"])
def test_bounds_are_as_coarse_as_an_hour(sandbox: Sandbox, bound: str) -> None:
    hour = true_ids(sandbox, "2026-01-09T05:00:00", "2026-01-09T06:00:00")

    assert hour
    assert set(dois(message(sandbox, filter=window(bound, bound), rows=1000)["items"])) == hour


def test_a_window_with_one_open_end_is_a_window(sandbox: Sandbox) -> None:
    later = message(sandbox, filter="from-index-date:2026-01-10", rows=0)["total-results"]
    earlier = message(sandbox, filter="until-index-date:2026-01-09", rows=0)["total-results"]

    assert later == len(true_ids(sandbox, from_="2026-01-10"))
    assert later + earlier == 240


def test_filters_of_type_prefix_doi_and_update_narrow_the_result(sandbox: Sandbox) -> None:
    everything = message(sandbox, rows=1000)["items"]
    reports = [work["DOI"] for work in everything if work["type"] == "report"]
    wiley = [work["DOI"] for work in everything if work["DOI"].startswith("10.1002/")]
    old = [work["DOI"] for work in everything if work["deposited"]["timestamp"] < 1_420_070_400_000]

    assert reports
    assert [work["DOI"] for work in message(sandbox, filter="type:report", rows=1000)["items"]] == reports
    assert [work["DOI"] for work in message(sandbox, filter="prefix:10.1002", rows=1000)["items"]] == wiley
    assert [work["DOI"] for work in message(sandbox, filter="until-update-date:2014", rows=1000)["items"]] == old
    two = [work["DOI"] for work in everything[:2]]
    assert dois(message(sandbox, filter=f"doi:{two[0].upper()},doi:{two[1]}")["items"]) == [doi.lower() for doi in two]


def test_a_search_looks_into_titles(sandbox: Sandbox) -> None:
    titles = [" ".join(work["title"]).lower() for work in message(sandbox, query="CHEM", rows=1000)["items"]]

    assert titles
    assert all("chem" in title for title in titles)


def test_select_drops_all_it_does_not_name(sandbox: Sandbox) -> None:
    works = message(sandbox, select="DOI,title", rows=1000)["items"]

    assert {name for work in works for name in work} == {"DOI", "title"}


REFUSED = [
    ({"filter": "has-wings:1"}, "filter-not-available", "has-wings"),
    ({"filter": "from-index-date:yesterday"}, "date-not-valid", "yesterday"),
    ({"filter": "from-index-date:2026-01-01T05:99"}, "date-not-valid", "2026-01-01T05:99"),
    ({"filter": "until-index-date:2026-02-30"}, "date-not-legitimate", "2026-02-30"),
    ({"rows": "things"}, "integer-not-valid", "things"),
    ({"rows": "1001"}, "integer-not-valid", "1001"),
    ({"rows": "-1"}, "integer-not-valid", "-1"),
    ({"offset": "10001"}, "integer-not-valid", "10001"),
    ({"select": "DOI,language"}, "select-not-available", "language"),
    ({"sort": "beauty"}, "sort-field-not-valid", "beauty"),
    ({"order": "up"}, "sort-order-not-valid", "up"),
    ({"cursor": "*", "offset": "1"}, "cursor-with-offset-or-sample", "cursor"),
    ({"until-index-date": "2026-01-01"}, "unknown-parameter", "until-index-date"),
]


@pytest.mark.parametrize(("asked", "kind", "value"), REFUSED, ids=lambda part: str(part)[:40])
def test_a_bad_parameter_is_refused_with_its_value(
    sandbox: Sandbox, asked: dict[str, str], kind: str, value: str
) -> None:
    response = get(sandbox, **asked)

    assert response.status_code == 400
    assert response.headers["content-type"] == "application/json;charset=utf-8"
    body = response.json()
    assert (body["status"], body["message-type"]) == ("failed", "validation-failure")
    assert [(entry["type"], entry["value"]) for entry in body["message"]] == [(kind, value)]


def test_a_bad_integer_is_worded_as_recorded(sandbox: Sandbox) -> None:
    assert get(sandbox, rows="things").json()["message"][0]["message"] == (
        "Integer specified as things but must be a positive integer less than or equal to 1000. "
    )


def test_a_work_is_found_by_its_doi_in_any_case(sandbox: Sandbox) -> None:
    works = message(sandbox, rows=1000)["items"]
    hostile = next(work for work in works if "<" in work["DOI"])
    for spelling in (hostile["DOI"].upper(), hostile["DOI"].lower()):
        response = CLIENT.get(f"{sandbox.url()}/works/{quote(spelling, safe='')}")
        assert (response.status_code, response.json()["message-type"]) == (200, "work")
        assert response.json()["message"] == {**hostile, "score": 1}


@pytest.mark.parametrize(
    "path", ["/works/10.5555/nothing", "/works/10.5555/nothing.w1", "/journals", "/works/x.w99999"]
)
def test_what_is_not_there_is_plain_text(sandbox: Sandbox, path: str) -> None:
    response = CLIENT.get(sandbox.url() + path)

    assert (response.status_code, response.text) == (404, "Resource not found.")
    assert response.headers["content-type"].startswith("text/plain")


def test_only_reading_is_allowed(sandbox: Sandbox) -> None:
    assert CLIENT.post(f"{sandbox.url()}/works").status_code == 405


def test_the_headers_are_the_recorded_ones(sandbox: Sandbox) -> None:
    sandbox.move_clock("2026-06-16T16:43:54Z")
    headers = get(sandbox).headers

    assert headers["date"] == "Tue, 16 Jun 2026 16:43:54 GMT"
    assert headers["content-type"] == "application/json"
    assert headers["server"].startswith("Jetty")
    assert headers["access-control-expose-headers"] == "Link"


@pytest.mark.parametrize(
    ("asked", "agent", "pool"),
    [
        ({}, "naive/1", ("public", "5", "1")),
        ({"mailto": "me@example.org"}, "naive/1", ("polite", "10", "3")),
        ({}, "patra/1 (mailto:me@example.org)", ("polite", "10", "3")),
    ],
)
def test_who_leaves_an_address_is_in_the_polite_pool(
    sandbox: Sandbox, asked: dict[str, str], agent: str, pool: tuple[str, str, str]
) -> None:
    headers = ask(sandbox, asked, {"user-agent": agent}).headers

    assert (headers["x-api-pool"], headers["x-rate-limit-limit"], headers["x-concurrency-limit"]) == pool
    assert headers["x-rate-limit-interval"] == "1s"


def test_a_rate_limit_is_held_with_html_and_no_retry_after(sandbox: Sandbox) -> None:
    sandbox.configure(rate_limit_per_second=3)
    answers = [get(sandbox, rows=0) for _ in range(4)]

    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert [answer.headers["x-rate-limit-limit"] for answer in answers[:3]] == ["3", "3", "3"]
    assert answers[3].headers["content-type"] == "text/html"
    assert "retry-after" not in answers[3].headers


def test_a_work_says_when_it_was_indexed_in_three_ways(sandbox: Sandbox) -> None:
    for work in message(sandbox, rows=1000)["items"]:
        stamp = work["indexed"]
        moment = datetime.fromisoformat(indexed_at(work))
        assert stamp["date-parts"] == [[moment.year, moment.month, moment.day]]
        assert stamp.get("date-time", indexed_at(work)) == indexed_at(work)
