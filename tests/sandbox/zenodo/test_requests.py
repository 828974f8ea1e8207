"""The documented requests to Zenodo work, and what is wrong is answered as Zenodo answers it."""

from typing import Any

import pytest

from deployments.sandbox.remote import Sandbox
from tests.sandbox.wire import fetch, page
from tests.sandbox.zenodo.client import TOKEN, ask, careful, ids

DAY = "updated:[2026-01-09T00:00:00Z TO 2026-01-09T23:59:59Z]"


def test_a_first_page_of_a_window_has_the_documented_envelope(sandbox: Sandbox) -> None:
    response = ask(sandbox, q=DAY, size=25, all_versions="true")
    reply = page(response)

    assert set(reply) == {"hits", "aggregations", "links"}
    assert reply["hits"]["total"] == len(sandbox.truth("zenodo", from_="2026-01-09", to="2026-01-10"))
    assert len(reply["hits"]["hits"]) == 25
    assert all(str(upload["id"]) == upload["recid"] for upload in reply["hits"]["hits"])
    assert reply["links"]["next"].startswith(f"{sandbox.url('zenodo')}/api/records?all_versions=true&page=2&q=updated")
    assert {name for name in response.headers if name.startswith("x-ratelimit")} == {
        "x-ratelimit-limit",
        "x-ratelimit-remaining",
        "x-ratelimit-reset",
    }


def test_the_next_page_is_where_next_says(sandbox: Sandbox) -> None:
    first = page(ask(sandbox, q=DAY, size=25))
    second = page(fetch(first["links"]["next"]))

    assert second["hits"]["total"] == first["hits"]["total"]
    assert second["links"]["prev"] == first["links"]["self"]
    assert not set(ids(first["hits"]["hits"])) & set(ids(second["hits"]["hits"]))


def test_a_token_may_come_as_a_header_or_a_parameter(sandbox: Sandbox) -> None:
    assert len(page(ask(sandbox, TOKEN, size=100))["hits"]["hits"]) == 100
    assert len(page(ask(sandbox, size=100, access_token="any"))["hits"]["hits"]) == 100
    assert ask(sandbox, {"authorization": "Bearer"}, size=100).status_code == 400


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("metadata.resource_type.id:publication-article", True),
        ("metadata.resource_type.id:publication", False),
        ('metadata.title:"Quelques fourmis de Tokio"', True),
        ('metadata.title:"fourmis Tokio"', False),
        ("conceptrecid:10000070", True),
        ('title:"Quelques fourmis de Tokio"', True),
        ('creators.name:"Forel, A."', True),
        ('description:"Forel, A."', False),
        ("resource_type.type:publication AND publication_date:[1912 TO 1912-12]", True),
        ("resource_type.type:publication AND publication_date:[1800 TO 1911]", False),
        ("resource_type.type:music", False),
        ("title:*", True),
        ('title:"*"', False),
        ('doi:"10.5281/zenodo.10000001"', True),
        (f"{DAY} AND NOT {DAY}", False),
    ],
)
def test_queries_find_what_zenodo_would(sandbox: Sandbox, query: str, found: bool) -> None:
    assert bool(careful(sandbox, query)) is found


@pytest.mark.parametrize(
    ("parameters", "field", "message"),
    [
        ({"page": "one"}, "page", "Not a valid integer."),
        ({"size": "0"}, "size", "Must be greater than or equal to 1."),
        ({"size": "26"}, "size", "Page size cannot be greater than 25."),
    ],
)
def test_a_parameter_that_is_not_valid_is_named(
    sandbox: Sandbox, parameters: dict[str, Any], field: str, message: str
) -> None:
    refused = ask(sandbox, **parameters)
    error = refused.json()["errors"][0]

    assert refused.status_code == 400
    assert refused.json()["message"] == "A validation error occurred."
    assert error["field"] == field
    assert error["messages"][0].startswith(message)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"page": "401", "size": "25"}, "Invalid querystring parameters."),
        ({"sort": "random"}, "Invalid querystring parameters."),
        ({"q": "updated:[yesterday TO today]"}, "The syntax of the search query is invalid."),
        ({"q": "updated:[2026-13-01 TO 2026-13-02]"}, "The syntax of the search query is invalid."),
    ],
)
def test_other_refusals_only_have_a_message(sandbox: Sandbox, parameters: dict[str, Any], message: str) -> None:
    assert ask(sandbox, **parameters).json() == {"status": 400, "message": message}


def test_without_a_query_the_newest_come_first(sandbox: Sandbox) -> None:
    made = [upload["created"] for upload in page(ask(sandbox))["hits"]["hits"]]
    oldest = [upload["created"] for upload in page(ask(sandbox, sort="oldest"))["hits"]["hits"]]

    assert made == sorted(made, reverse=True)
    assert oldest == sorted(oldest)


def test_one_record_is_found_by_number_and_an_unknown_one_is_a_404(sandbox: Sandbox) -> None:
    upload = page(ask(sandbox, q=DAY))["hits"]["hits"][0]
    base = f"{sandbox.url('zenodo')}/api/records"

    assert fetch(f"{base}/{upload['id']}").json() == upload
    assert fetch(f"{base}/{upload['id'] + 1}").json()["message"] == "The persistent identifier does not exist."
    assert fetch(f"{sandbox.url('zenodo')}/api/nothing").status_code == 404


def test_the_versions_of_an_upload_share_a_concept_and_the_last_says_so(sandbox: Sandbox) -> None:
    versions = careful(sandbox, "conceptrecid:10000070")
    relations = {key: upload["metadata"]["relations"]["version"][0] for key, upload in versions.items()}

    assert {key: relation["index"] for key, relation in relations.items()} == {
        "10000071": 0,
        "10000081": 1,
        "10000091": 2,
    }
    assert [key for key, relation in relations.items() if relation["is_last"]] == ["10000091"]
    assert len({upload["doi"] for upload in versions.values()}) == 3


def test_the_truth_of_a_recorded_upload_is_as_read_by_hand(sandbox: Sandbox) -> None:
    rows = [row["record"] for row in sandbox.truth("zenodo", record=True)]
    upload = next(row for row in rows if row["title"] == "Quelques fourmis de Tokio.")

    assert upload["authors"] == [{"name": "Forel, A."}]
    assert upload["dates"]["published"] == "1912-12-31"
    assert upload["journal"] == {"title": "Annales de la Société Entomologique de Belgique"}
    assert upload["abstract"] == "<p>Uploaded by Plazi from Antbase. HNS:4047</p>"
    assert upload["type"] == "publication"
