"""Semantic Scholar's batch and bulk search as they are documented."""

import pytest

from deployments.sandbox.remote import Sandbox
from deployments.sandbox.semanticscholar.expected import expected_record
from deployments.sandbox.server import running
from deployments.sandbox.settings import Settings
from tests.sandbox.semanticscholar.client import bulk, fetch, list_ids, post, true_ids
from tests.sandbox.wire import CLIENT

SAID = {"title", "authors", "dates", "identifiers", "journal", "type", "abstract"}


def test_a_batch_answers_each_id_in_its_place(sandbox: Sandbox) -> None:
    ids = sorted(true_ids(sandbox, usable=True))[:4]
    papers = post(sandbox, [*ids, "DOI:10.5555/none", ids[0]], fields="title,year").json()

    assert [paper and paper["paperId"] for paper in papers] == [*ids, None, ids[0]]
    assert all(set(paper) == {"paperId", "title", "year"} for paper in papers if paper)


def test_a_paper_is_found_by_each_of_its_ids(sandbox: Sandbox) -> None:
    papers = [paper for paper in fetch(sandbox, list_ids(sandbox)).values() if paper]
    prefixes = {"DOI": "DOI", "PubMed": "PMID", "PubMedCentral": "PMCID", "ArXiv": "ARXIV", "MAG": "MAG"}
    for theirs, prefix in prefixes.items():
        paper = next(paper for paper in papers if theirs in paper["externalIds"])
        assert post(sandbox, [f"{prefix}:{paper['externalIds'][theirs]}"]).json() == [paper]
    bare = next(paper for paper in papers if "DOI" in paper["externalIds"])
    assert post(sandbox, [bare["externalIds"]["DOI"]]).json() == [bare]


def test_a_page_of_a_search_has_the_documented_envelope(sandbox: Sandbox) -> None:
    body = bulk(sandbox, fields="title,externalIds").json()

    assert list(body) == ["total", "token", "data"]
    assert (len(body["data"]), body["token"]) == (240, None)
    assert set(body["data"][0]) == {"paperId", "title", "externalIds"}


def test_a_token_continues_where_the_page_ended() -> None:
    with running(Settings(works=1500, days=2)) as sandbox:
        first = bulk(sandbox).json()
        second = bulk(sandbox, token=first["token"]).json()

        assert (len(first["data"]), len(second["data"]), second["token"]) == (1000, 500, None)
        assert bulk(sandbox, token=first["token"]).json() == second


def test_a_search_looks_into_titles_and_years(sandbox: Sandbox) -> None:
    papers = bulk(sandbox, query="CELL", year="2010-2016", fields="title,year").json()["data"]

    assert papers
    assert all("cell" in paper["title"].lower() and 2010 <= paper["year"] <= 2016 for paper in papers)


def test_a_search_can_be_sorted_by_citations(sandbox: Sandbox) -> None:
    papers = bulk(sandbox, sort="citationCount:desc", fields="citationCount").json()["data"]
    counts = [paper["citationCount"] for paper in papers]

    assert counts[0] > counts[-1]
    assert {paper["paperId"] for paper in papers} == true_ids(sandbox)


def test_a_search_that_finds_nothing_is_empty(sandbox: Sandbox) -> None:
    assert bulk(sandbox, query="n0 r3sult").json() == {"total": 0, "token": None, "data": []}


def test_the_authors_can_be_asked_for_in_part(sandbox: Sandbox) -> None:
    papers = bulk(sandbox, fields="authors.authorId").json()["data"]

    assert {name for paper in papers for author in paper["authors"] for name in author} == {"authorId"}


REFUSED = [
    ({"fields": "unknown"}, "Unrecognized or unsupported fields: [unknown]"),
    ({"sort": "beauty"}, "Unsupported sort: beauty"),
    ({"token": "!"}, "Invalid or expired token"),
    ({"year": "then"}, "Unacceptable query params: [year=then]"),
    ({"rows": "5"}, "Unrecognized query parameters: [rows]"),
]


@pytest.mark.parametrize(("asked", "error"), REFUSED, ids=lambda part: str(part)[:30])
def test_a_bad_search_is_refused(sandbox: Sandbox, asked: dict[str, str], error: str) -> None:
    response = bulk(sandbox, **asked)

    assert (response.status_code, response.json()) == (400, {"error": error})


def test_a_search_without_query_is_refused(sandbox: Sandbox) -> None:
    response = CLIENT.get(f"{sandbox.url('semanticscholar')}/graph/v1/paper/search/bulk")

    assert response.status_code == 400


@pytest.mark.parametrize("body", [b"", b"[]", b'{"ids": "x"}', b'{"ids": [1]}', b'{"ids": []}', b'{"ids": ["x", ""]}'])
def test_a_bad_batch_is_refused(sandbox: Sandbox, body: bytes) -> None:
    response = CLIENT.post(f"{sandbox.url('semanticscholar')}/graph/v1/paper/batch", content=body)

    assert response.status_code == 400
    assert list(response.json()) == ["error"]


def test_an_unknown_key_is_forbidden(sandbox: Sandbox) -> None:
    url = f"{sandbox.url('semanticscholar')}/graph/v1/paper/search/bulk"
    answers = {key: CLIENT.get(url, params={"query": ""}, headers={"x-api-key": key}) for key in ("a", "invalid")}

    assert answers["a"].status_code == 200
    assert (answers["invalid"].status_code, answers["invalid"].json()) == (403, {"message": "Forbidden"})


def test_an_unknown_route_asks_for_a_token(sandbox: Sandbox) -> None:
    response = CLIENT.get(f"{sandbox.url('semanticscholar')}/graph/v1/paper/batch")

    assert (response.status_code, response.json()) == (403, {"message": "Missing Authentication Token"})


def test_a_paper_that_is_touched_is_a_new_version(fresh_sandbox: Sandbox) -> None:
    ids = sorted(true_ids(fresh_sandbox, usable=True))[:3]
    before = {row["id"]: row["version"] for row in fresh_sandbox.truth("semanticscholar")}
    fresh_sandbox.script({"kind": "touch", "works": 2})
    post(fresh_sandbox, ids)
    after = {row["id"]: row["version"] for row in fresh_sandbox.truth("semanticscholar")}

    assert {key for key in after if after[key] > before[key]} == set(ids[:2])


def test_every_usable_paper_has_a_record_that_says_something(sandbox: Sandbox) -> None:
    records = [row["record"] for row in sandbox.truth("semanticscholar", record=True) if row["usable"]]

    assert all(set(record) <= SAID and all(record.values()) for record in records)
    assert set().union(*records) == SAID


def test_a_paper_becomes_the_common_record() -> None:
    paper = {
        "paperId": "0" * 40,
        "title": " T ",
        "abstract": None,
        "year": 2020,
        "publicationDate": None,
        "externalIds": {"DOI": "10.1/A", "PubMed": "12", "PubMedCentral": "34", "ArXiv": "2101.00001", "CorpusId": 5},
        "authors": [{"authorId": "1", "name": "Ada Lovelace"}, {"authorId": None, "name": None}],
        "journal": {"volume": "3"},
        "venue": "V",
        "publicationVenue": {"name": "Venue", "issn": "0140-6736", "alternate_issns": ["1474-547X", "0140-6736"]},
        "publicationTypes": ["JournalArticle", "Review"],
    }

    assert expected_record(paper) == {
        "title": "T",
        "authors": [{"name": "Ada Lovelace"}],
        "dates": {"published": "2020"},
        "identifiers": {"doi": "10.1/a", "pmid": "12", "pmcid": "34", "arxiv": "2101.00001"},
        "journal": {"title": "V", "issn": ["0140-6736", "1474-547X"]},
        "type": "JournalArticle",
    }
