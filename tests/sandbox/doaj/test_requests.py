"""The documented requests to DOAJ work, and what is wrong is answered as DOAJ answers it."""

import pytest

from deployments.sandbox.remote import Sandbox
from tests.sandbox.doaj.client import ask, careful
from tests.sandbox.wire import fetch, page

DAY = "last_updated:[2026-01-09T00:00:00Z TO 2026-01-09T23:59:59Z]"


def test_a_first_page_of_a_window_has_the_documented_envelope(sandbox: Sandbox) -> None:
    response = ask(sandbox, DAY, page=1, pageSize=10)
    reply = page(response)

    assert list(reply) == ["total", "page", "pageSize", "timestamp", "query", "results", "next", "last"]
    assert reply["total"] == len(sandbox.truth("doaj", from_="2026-01-09", to="2026-01-10"))
    assert (reply["page"], reply["pageSize"], reply["query"]) == (1, 10, DAY)
    assert response.headers["x-total-count"] == str(reply["total"])
    assert f"<{reply['next']}>; rel=next" in response.headers["link"]
    assert all(len(article["id"]) == 32 for article in reply["results"])


def test_the_next_page_is_where_next_says(sandbox: Sandbox) -> None:
    first = page(ask(sandbox, DAY, pageSize=10, sort="last_updated:asc"))
    second = page(fetch(first["next"]))

    assert (second["page"], second["total"], second["query"]) == (2, first["total"], DAY)
    assert second["sort"] == "last_updated:asc"
    assert first["next"].startswith(f"{sandbox.url('doaj')}/api/search/articles/last_updated:%5B")


def test_a_page_behind_the_last_is_empty(sandbox: Sandbox) -> None:
    reply = page(ask(sandbox, DAY, page=10, pageSize=100))

    assert reply["results"] == []
    assert "next" not in reply


@pytest.mark.parametrize(("asked", "served"), [("0", 10), ("-3", 10), ("1000", 100), ("7", 7)])
def test_a_page_size_out_of_bounds_is_moved_within(sandbox: Sandbox, asked: str, served: int) -> None:
    assert page(ask(sandbox, DAY, pageSize=asked))["pageSize"] == served


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ('bibjson.title:"Provoking Discomfort"', True),
        ('title:"Provoking Discomfort"', True),
        ('bibjson.title:"Discomfort Provoking"', False),
        ('(title:"Provoking" OR title:"Hydrostatic") AND bibjson.journal.title:"Cell Journal"', True),
        ("no.such.field:x", False),
        ("bibjson.title:Robert", True),
    ],
)
def test_queries_find_what_lucene_would(sandbox: Sandbox, query: str, found: bool) -> None:
    assert bool(careful(sandbox, query)) is found


@pytest.mark.parametrize(
    ("query", "parameters", "message"),
    [
        (DAY, {"page": "one"}, "Page number was not an integer"),
        (DAY, {"pageSize": "all"}, "Page size was not an integer"),
        (DAY, {"page": 11, "pageSize": 100}, "You cannot access results beyond 1000 records via this API."),
        (DAY, {"sort": "last_updated:up"}, "Sort direction must be 'asc' or 'desc'"),
        (DAY, {"sort": "a:b:c"}, "Malformed sort parameter"),
        ("title:mal*", {}, "Query contains disallowed Lucene features"),
        ("title:malaria~2", {}, "Query contains disallowed Lucene features"),
        ("last_updated:[yesterday TO today]", {}, "There was an error executing your query (ref: "),
        ('title:"open', {}, "There was an error executing your query (ref: "),
    ],
)
def test_what_is_wrong_is_a_400(sandbox: Sandbox, query: str, parameters: dict[str, object], message: str) -> None:
    refused = ask(sandbox, query, **parameters)

    assert refused.status_code == 400
    assert refused.json()["status"] == "bad_request"
    assert refused.json()["error"].startswith(message)


def test_one_article_is_found_by_id_and_an_unknown_path_is_a_404(sandbox: Sandbox) -> None:
    article = page(ask(sandbox, DAY))["results"][0]
    api = f"{sandbox.url('doaj')}/api"

    assert fetch(f"{api}/articles/{article['id']}").json() == article
    assert fetch(f"{api}/articles/{'0' * 32}").status_code == 404
    assert fetch(f"{api}/search/everything/x").json()["status"] == "not_found"


def test_the_truth_of_a_recorded_article_is_as_read_by_hand(sandbox: Sandbox) -> None:
    rows = [row["record"] for row in sandbox.truth("doaj", record=True)]
    article = next(row for row in rows if row.get("title") == "Where in the brain are the genes expressed")

    assert article["authors"] == [{"name": "Trygve B Leergaard"}, {"name": "Ilya Zaslavsky"}]
    assert article["dates"] == {"published": "2008-04", "created": "2014-05-22"}
    assert article["identifiers"]["doi"].startswith("10.3389/neuro.11.009.2007.w")
    assert article["journal"] == {"title": "Frontiers in Neuroinformatics", "issn": ["1662-5196"]}
