"""OpenAlex's `/works` as it is documented."""

import pytest

from deployments.sandbox.openalex.expected import expected_record
from deployments.sandbox.remote import Sandbox
from tests.sandbox.openalex.client import get, harvest, page, true_ids, window
from tests.sandbox.wire import CLIENT

SAID = {"title", "authors", "dates", "identifiers", "journal", "type", "abstract"}


def test_a_page_of_a_window_has_the_documented_envelope(sandbox: Sandbox) -> None:
    body = page(sandbox, filter=window("2026-01-09", "2026-01-09"), cursor="*", per_page=3)

    assert list(body) == ["meta", "results", "group_by"]
    assert list(body["meta"]) == ["count", "db_response_time_ms", "page", "per_page", "groups_count", "next_cursor"]
    assert (body["meta"]["page"], body["meta"]["per_page"], len(body["results"])) == (None, 3, 3)
    assert body["meta"]["count"] == len(true_ids(sandbox, "2026-01-09", "2026-01-10"))


def test_a_next_page_continues_where_the_first_ended(sandbox: Sandbox) -> None:
    asked = {"filter": window("2026-01-09", "2026-01-09"), "per_page": 10}
    first = page(sandbox, cursor="*", **asked)
    second = page(sandbox, cursor=first["meta"]["next_cursor"], **asked)
    both = [work["id"] for part in (first, second) for work in part["results"]]

    assert both == [work["id"] for work in page(sandbox, **{**asked, "per_page": 20})["results"]]


def test_a_page_by_number_has_no_cursor(sandbox: Sandbox) -> None:
    body = page(sandbox)

    assert "next_cursor" not in body["meta"]
    assert (body["meta"]["page"], body["meta"]["per_page"], body["meta"]["count"]) == (1, 25, 240)


@pytest.mark.parametrize(
    ("bound", "from_", "to"),
    [
        ("2026-01-09", "2026-01-09T00:00:00", "2026-01-10T00:00:00"),
        ("2026-01-09T05:30", "2026-01-09T05:30:00", "2026-01-09T05:31:00"),
    ],
)
def test_a_bound_reaches_to_the_end_of_what_it_names(sandbox: Sandbox, bound: str, from_: str, to: str) -> None:
    assert set(harvest(sandbox, filter=window(bound, bound))) == true_ids(sandbox, from_, to)


def test_a_work_can_be_told_to_the_microsecond(sandbox: Sandbox) -> None:
    row = sandbox.truth("openalex")[0]
    moment = row["updated_at"].removesuffix("Z")

    assert set(harvest(sandbox, filter=window(moment, moment))) == {row["id"]}


def test_filters_of_type_title_id_and_doi_narrow_the_result(sandbox: Sandbox) -> None:
    works = harvest(sandbox)
    preprints = {key for key, work in works.items() if work["type"] == "preprint"}
    titled = {key for key, work in works.items() if "cell" in (work["title"] or "").lower()}
    two = [work for work in works.values() if work["doi"]][:2]

    assert preprints
    assert set(harvest(sandbox, filter="type:preprint")) == preprints
    assert titled
    assert set(harvest(sandbox, filter="title.search:CELL")) == titled
    assert set(harvest(sandbox, filter=f"openalex:{two[0]['id']}|{two[1]['id'].rpartition('/')[2]}")) == {
        work["id"] for work in two
    }
    assert set(harvest(sandbox, filter=f"doi:{two[0]['doi']}")) == {two[0]["id"]}


def test_select_drops_all_it_does_not_name(sandbox: Sandbox) -> None:
    assert {name for work in page(sandbox, select="id,title")["results"] for name in work} == {"id", "title"}


def test_results_can_be_sorted_by_update_time(sandbox: Sandbox) -> None:
    ids = [row["id"] for row in sandbox.truth("openalex")]

    assert list(harvest(sandbox, sort="updated_date:asc")) == ids
    assert list(harvest(sandbox, sort="updated_date:desc")) == ids[::-1]


REFUSED = [
    ({"filter": "has_wings:1"}, "Invalid query parameters error.", "has_wings is not a valid field"),
    ({"filter": "from_updated_date:yesterday"}, "Invalid query parameters error.", "must be a date in format"),
    ({"filter": "from_updated_date:2026-02-30"}, "Invalid query parameters error.", "must be a date in format"),
    ({"rows": "5"}, "Invalid query parameters error.", "rows is not a valid parameter"),
    ({"per_page": "ff"}, "Invalid query parameters error.", "must be a number"),
    ({"per_page": "101"}, "Pagination error.", "must be between 1 and 100"),
    ({"per_page": "0"}, "Pagination error.", "must be between 1 and 100"),
    ({"page": "0"}, "Pagination error.", "must be greater than 0"),
    ({"page": "2", "cursor": "*"}, "Pagination error.", "Cannot use page parameter with cursor"),
    ({"cursor": "nonsense"}, "Pagination error.", "Invalid cursor value"),
    ({"sort": "beauty"}, "Invalid query parameters error.", "not a valid sort"),
    ({"select": "id,wings"}, "Invalid query parameters error.", "not a valid select field"),
]


@pytest.mark.parametrize(("asked", "error", "message"), REFUSED, ids=lambda part: str(part)[:40])
def test_a_bad_parameter_is_refused(sandbox: Sandbox, asked: dict[str, str], error: str, message: str) -> None:
    response = get(sandbox, **asked)

    assert response.status_code == 400
    assert response.json()["error"] == error
    assert message in response.json()["message"]


def test_an_unknown_key_is_refused(sandbox: Sandbox) -> None:
    response = get(sandbox, api_key="invalid-key")

    assert (response.status_code, response.json()["error"]) == (401, "Invalid or missing API key")


def test_a_key_may_come_in_the_header(sandbox: Sandbox) -> None:
    headers = {"authorization": "Bearer test"}
    parameters = {"filter": window("2026-01-09", "2026-01-09")}
    url = f"{sandbox.url('openalex')}/works"

    assert CLIENT.get(url, params=parameters, headers=headers).status_code == 200


def test_a_work_is_found_by_its_id_and_its_doi_for_free(sandbox: Sandbox) -> None:
    work = next(work for work in page(sandbox)["results"] if work["doi"])
    for name in (work["id"], work["id"].rpartition("/")[2].lower(), work["doi"], f"doi:{work['doi'][16:]}"):
        response = get(sandbox, f"/works/{name}")
        assert (response.status_code, response.json()) == (200, work)
        assert response.headers["x-ratelimit-credits-used"] == "0"


@pytest.mark.parametrize(
    "path", ["/works/W1", "/works/https://doi.org/10.5555/none", "/authors", "/works/doi:10.1/x.w1"]
)
def test_what_is_not_there_is_html(sandbox: Sandbox, path: str) -> None:
    response = get(sandbox, path)

    assert response.status_code == 404
    assert response.text.startswith("<!doctype html>")


def test_only_reading_is_allowed(sandbox: Sandbox) -> None:
    assert CLIENT.post(f"{sandbox.url('openalex')}/works").status_code == 405


def test_the_budget_left_is_counted_down(sandbox: Sandbox) -> None:
    left = [int(get(sandbox, api_key="counted", per_page=1).headers["x-ratelimit-remaining"]) for _ in range(2)]

    assert left[0] - left[1] == 1


def test_every_usable_work_has_a_record_that_says_something(sandbox: Sandbox) -> None:
    records = [row["record"] for row in sandbox.truth("openalex", record=True) if row["usable"]]

    assert all(set(record) <= SAID and all(record.values()) for record in records)
    assert set().union(*records) == SAID


def test_a_work_becomes_the_common_record() -> None:
    work = {
        "id": "https://openalex.org/W1",
        "doi": "https://doi.org/10.1/A/b",
        "title": " T ",
        "publication_date": "2015-12-21",
        "publication_year": 2015,
        "created_date": "2025-10-10T00:00:00",
        "ids": {"pmid": "https://pubmed.ncbi.nlm.nih.gov/12", "pmcid": "https://www.ncbi.nlm.nih.gov/pmc/articles/34"},
        "authorships": [
            {"author": {"display_name": "Ada L", "orcid": "https://orcid.org/0000-0002-1825-0097"}},
            {"author": {"display_name": None}, "raw_author_name": "L., Ada"},
            {"author": {"display_name": None}, "raw_author_name": None},
        ],
        "primary_location": {"source": {"display_name": "J", "issn": ["0021-8979", "0021-8979"]}},
        "type": "article",
        "abstract_inverted_index": {"b": [1, 9], "a": [0]},
    }

    assert expected_record(work) == {
        "title": "T",
        "authors": [{"name": "Ada L", "orcid": "0000-0002-1825-0097"}, {"name": "L., Ada"}],
        "dates": {"published": "2015-12-21", "created": "2025-10-10"},
        "identifiers": {"doi": "10.1/a/b", "pmid": "12", "pmcid": "34"},
        "journal": {"title": "J", "issn": ["0021-8979"]},
        "type": "article",
        "abstract": "a b b",
    }
