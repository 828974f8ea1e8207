"""The E-utilities refuse as they do: often inside a 200."""

import pytest

from deployments.sandbox.remote import Sandbox
from tests.sandbox.pubmed.client import changed, get, result
from tests.sandbox.wire import CLIENT

WINDOW = changed("2026/01/09", "2026/01/09")


@pytest.mark.parametrize("term", ["", "  "])
def test_an_empty_term_is_an_error_in_a_200(sandbox: Sandbox, term: str) -> None:
    response = get(sandbox, "esearch", db="pubmed", retmode="json", term=term, **WINDOW)

    assert response.status_code == 200
    assert response.json()["esearchresult"] == {"ERROR": "Empty term and query_key - nothing todo"}


@pytest.mark.parametrize("term", ["((", "(yeast", "yeast)", "(" * 80 + ")" * 80])
def test_parentheses_that_do_not_fit_are_an_error_in_a_200(sandbox: Sandbox, term: str) -> None:
    response = get(sandbox, "esearch", db="pubmed", retmode="json", term=term)

    assert response.status_code == 200
    assert response.json()["esearchresult"]["ERROR"].startswith("Search Backend failed")


@pytest.mark.parametrize("dates", [("2026-01-09", "2026-01-10"), ("2026/02/30", "2026/03/01"), ("yesterday", "today")])
def test_a_date_that_is_none_finds_nothing(sandbox: Sandbox, dates: tuple[str, str]) -> None:
    assert result(sandbox, **changed(*dates))["count"] == "0"


@pytest.mark.parametrize("key", ["", "invalid-key"])
def test_a_bad_key_is_a_400_that_repeats_it(sandbox: Sandbox, key: str) -> None:
    response = get(sandbox, "esearch", db="pubmed", retmode="json", term="yeast", api_key=key)

    assert response.status_code == 400
    assert (response.json()["error"], response.json()["api-key"]) == ("API key invalid", key)


def test_a_key_raises_the_limit(sandbox: Sandbox) -> None:
    asked = {"db": "pubmed", "retmode": "json", "term": "all[sb]"}

    assert get(sandbox, "esearch", **asked).headers["x-ratelimit-limit"] == "3"
    assert get(sandbox, "esearch", api_key="0123abcd", **asked).headers["x-ratelimit-limit"] == "10"


def test_without_a_key_the_fourth_request_in_a_second_is_refused(sandbox: Sandbox) -> None:
    sandbox.configure(rate_limit_per_second=10)
    with_key = [get(sandbox, "esearch", term="yeast", api_key="0123abcd").status_code for _ in range(5)]
    without_key = [get(sandbox, "esearch", term="yeast") for _ in range(4)]

    assert with_key == [200] * 5
    assert [response.status_code for response in without_key] == [200, 200, 200, 429]
    assert without_key[-1].json()["limit"] == "3"


def test_other_paths_methods_and_databases_are_refused(sandbox: Sandbox) -> None:
    base = sandbox.url("pubmed")

    assert CLIENT.get(f"{base}/elink.fcgi").status_code == 404
    assert CLIENT.delete(f"{base}/esearch.fcgi").status_code == 405
    assert get(sandbox, "esearch", db="nosuch", term="yeast").status_code == 400
