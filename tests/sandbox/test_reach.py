"""How far into a result requests reach by position: as far as at the real provider, unless the settings say less."""

import pytest

from deployments.sandbox.arxiv.failure import QueryError
from deployments.sandbox.arxiv.query import read_query as read_arxiv
from deployments.sandbox.datacite.links import total_pages
from deployments.sandbox.datacite.query import read_query as read_datacite
from deployments.sandbox.pubmed.form import Form
from deployments.sandbox.pubmed.search import read_search
from deployments.sandbox.remote import Sandbox
from deployments.sandbox.settings import Settings
from tests.sandbox.wire import CLIENT

WITHIN_AND_BEYOND = {
    "crossref": ("/works?rows=1&offset=10000", "/works?rows=1&offset=10001"),
    "openalex": ("/works?per_page=100&page=100", "/works?per_page=100&page=101"),
    "doaj": ("/api/search/articles/*?pageSize=100&page=10", "/api/search/articles/*?pageSize=100&page=11"),
    "zenodo": ("/api/records?size=25&page=400", "/api/records?size=25&page=401"),
}


@pytest.mark.parametrize("source", WITHIN_AND_BEYOND)
def test_a_place_beyond_the_real_reach_is_refused(sandbox: Sandbox, source: str) -> None:
    within, beyond = (CLIENT.get(sandbox.url(source) + path) for path in WITHIN_AND_BEYOND[source])

    assert (within.status_code, beyond.status_code) == (200, 400)


def test_arxiv_gives_30000_results() -> None:
    read_arxiv({"id_list": "2101.00001", "start": "29990"})
    with pytest.raises(QueryError, match="the first 30000 results"):
        read_arxiv({"id_list": "2101.00001", "start": "29991"})


def test_datacite_gives_10000_records_by_number() -> None:
    query = read_datacite({"page[size]": "1000", "page[number]": "99"})

    assert (query.number, total_pages(query, 10_500)) == (10, 10)


def test_pubmed_gives_9999_ids() -> None:
    assert read_search(Form({"term": "all[sb]", "retmax": "20000"}, url_too_long=False)).retmax == 9999


def test_a_reach_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="reach=0 must be above 0"):
        Settings(reach=0)
