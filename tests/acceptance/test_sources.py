"""Every shipped source, from the command line: the documented request, and records mapped to the truth."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from deployments.sandbox.remote import Sandbox
from deployments.sandbox.server import running
from deployments.sandbox.settings import Settings
from ingest_core.shipped import shipped_sources
from tests.conftest import DatabaseFactory
from tests.support.patra import Patra

DAY = ("--from", "2026-01-09", "--to", "2026-01-10")
CODES = sorted(name.removesuffix(".yaml") for name in shipped_sources())
TIMED = [code for code in CODES if code != "semanticscholar"]
TWELVE = {
    "arxiv",
    "biorxiv",
    "clinicaltrials",
    "crossref",
    "datacite",
    "doaj",
    "europepmc",
    "medrxiv",
    "openalex",
    "pubmed",
    "semanticscholar",
    "zenodo",
}

DOCUMENTED: dict[str, tuple[str, dict[str, str]]] = {
    "arxiv": ("/api/query", {"search_query": r"^lastUpdatedDate:\[202601090000 TO 202601100000\]$", "start": "^0$"}),
    "biorxiv": ("/details/biorxiv/2026-01-09/2026-01-09/0", {}),
    "clinicaltrials": (
        "/api/v2/studies",
        {"filter.advanced": r"^AREA\[LastUpdatePostDate\]RANGE\[2026-01-09,2026-01-09\]$", "countTotal": "^true$"},
    ),
    "crossref": (
        "/works",
        {"filter": "^from-index-date:2026-01-09T00,until-index-date:2026-01-09T06$", "cursor": r"^\*$"},
    ),
    "datacite": ("/dois", {"query": r"updated:\[2026-01-09T00:00:00Z TO ", r"page[cursor]": "^1$"}),
    "doaj": ("/api/search/articles/", {"pageSize": r"^\d+$"}),
    "europepmc": (
        "/search",
        {"query": r"UPDATE_DATE:\[2026-01-09 TO 2026-01-09\]", "cursorMark": r"^\*$", "resultType": "^core$"},
    ),
    "medrxiv": ("/details/medrxiv/2026-01-09/2026-01-09/0", {}),
    "openalex": ("/works", {"filter": "from_updated_date:2026-01-09", "cursor": r"^\*$"}),
    "pubmed": (
        "/esearch.fcgi",
        {
            "mindate": "^2026/01/09$",
            "maxdate": "^2026/01/09$",
            "datetype": "^mdat$",
            "retstart": "^0$",
            "db": "^pubmed$",
        },
    ),
    "zenodo": ("/api/records", {"q": r'updated:\["?2026-01-09T00:00:00"? TO ', "size": r"^\d+$"}),
}
"""The path and the parameters each provider documents for a window."""


@pytest.fixture(scope="module")
def providers() -> Iterator[Sandbox]:
    """A small corpus, so that a day of it is one page of most providers."""
    with running(Settings(works=240, days=3)) as sandbox:
        yield sandbox


@pytest.fixture
def checker(
    database_factory: DatabaseFactory, providers: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Patra:
    """`patra` without any database set up: checking a file needs none."""
    patra = Patra(database_factory.fresh("sqlite"), providers.url("crossref"), tmp_path, monkeypatch)
    monkeypatch.setenv("PATRA_CONTACT", "ops@example.org")
    for code in CODES:
        patra.reach(providers, code, monkeypatch)
    providers.clear_requests()
    return patra


def test_twelve_sources_are_shipped() -> None:
    assert set(CODES) == TWELVE


def checked(patra: Patra, code: str, *more: str) -> dict[str, Any]:
    """What `source check` says of a shipped source, made quick."""
    report: dict[str, Any] = patra("source", "check", str(patra.quick_file(code)), "--limit", "10000", *more)
    return report


def test_an_id_that_is_none_of_the_providers_is_refused_before_it_is_sent(checker: Patra, providers: Sandbox) -> None:
    ask = ("source", "check", str(checker.quick_file("pubmed")), "--operation", "UPDATE", "--send", "--ids")
    assert checker(*ask, "31452104,PMC31452104", exit_code=2)["error"]["code"] == "ID_INVALID"
    assert providers.requests("pubmed") == []


def test_a_check_shows_the_base_url_that_is_used_and_how_pages_end(checker: Patra, providers: Sandbox) -> None:
    report = checked(checker, "crossref", *DAY)
    (base_url,) = [one for one in report["settings"] if one["key"] == "http.base_url"]
    assert base_url["value"] == providers.url("crossref")
    assert base_url["origin"] == "PATRA_UPSTREAM_CROSSREF"
    assert report["requests"][0]["url"].startswith(base_url["value"])
    assert any(note.startswith("no hasMore") for note in report["degradations"])


@pytest.mark.parametrize("code", TIMED)
def test_the_first_request_is_the_one_the_provider_documents(checker: Patra, code: str) -> None:
    request = checked(checker, code, *DAY)["requests"][0]
    url = urlsplit(request["url"])
    path, parameters = DOCUMENTED[code]
    asked = parse_qs(url.query, keep_blank_values=True)

    assert unquote(url.path).startswith(f"/{code}{path}")
    for name, pattern in parameters.items():
        assert re.search(pattern, asked[name][0]), (name, asked)
    assert "ops@example.org" in request["headers"]["user-agent"]


@pytest.mark.parametrize("code", TIMED)
def test_every_record_of_a_page_is_mapped_to_the_truth(checker: Patra, providers: Sandbox, code: str) -> None:
    report = checked(checker, code, *DAY, "--send")
    page, truth = report["page"], {row["id"]: row for row in providers.truth(code, record=True)}

    assert page["received"] == len(page["records"]) + len(page["rejected"]) > 0
    for record in page["records"]:
        expected = truth[record["provider_id"]]
        assert expected["usable"]
        assert (record["updated_at"], record["record"]) == (expected["updated_at"], expected["record"])
    for entry in page["rejected"]:
        if entry["provider_id"] is not None:
            assert entry["reason_code"] == truth[entry["provider_id"]]["reason"]
            assert not truth[entry["provider_id"]]["usable"]
    if page["received"] == page["total"]:
        window = report["slice"]
        due = {row["id"] for row in providers.truth(code, from_=window["from"], to=window["to"]) if row["usable"]}
        assert due <= {record["provider_id"] for record in page["records"]}


@pytest.mark.parametrize("code", TIMED)
def test_unusable_records_are_rejected_for_the_right_reasons(checker: Patra, providers: Sandbox, code: str) -> None:
    days = [("--from", f"2026-01-{day:02d}", "--to", f"2026-01-{day + 1:02d}") for day in (8, 9, 10)]
    whole_days = ("--set", "window.step=P1D", "--send")
    rejected = [entry for day in days for entry in checked(checker, code, *day, *whole_days)["page"]["rejected"]]
    possible = {row["reason"] for row in providers.truth(code, record=True) if not row["usable"]}

    assert rejected
    assert {entry["reason_code"] for entry in rejected} <= possible


def test_semantic_scholar_is_asked_by_id(checker: Patra, providers: Sandbox) -> None:
    truth = providers.truth("semanticscholar", record=True)[:60]
    ids = ",".join([*(row["id"] for row in truth), "0" * 40])
    page = checked(checker, "semanticscholar", "--ids", ids, "--send")["page"]
    usable = {row["id"]: row["record"] for row in truth if row["usable"]}

    assert {record["provider_id"]: record["record"] for record in page["records"]} == usable
    assert {entry["reason_code"] for entry in page["rejected"]} == {"DETAIL_MISSING"}
    assert len(page["rejected"]) == len(truth) - len(usable) + 1
    (request,) = providers.requests("semanticscholar")
    assert (request["method"], request["path"]) == ("POST", "/semanticscholar/graph/v1/paper/batch")
    assert ids.split(",")[0] in request["body"]


def test_a_source_that_has_no_time_cannot_be_harvested(checker: Patra) -> None:
    refused = checker(
        "source", "check", str(checker.quick_file("semanticscholar")), "--operation", "HARVEST", exit_code=2
    )

    assert refused["error"]["code"] == "ENDPOINT_UNKNOWN"


def test_a_shipped_source_can_be_checked_before_there_is_a_database(checker: Patra) -> None:
    report = checker("source", "check", "crossref", *DAY)

    assert report["origin"] == "shipped crossref.yaml"
    assert {"key": "retry.max_attempts", "value": 5, "origin": "platform default"} in report["settings"]


def test_a_credential_is_masked_and_sent(checker: Patra, providers: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCBI_API_KEY", "s3cret-key")
    report = checked(checker, "pubmed", *DAY, "--send")

    assert "s3cret-key" not in str(report)
    assert "api_key=***" in report["requests"][0]["url"]
    assert {request["query"]["api_key"] for request in providers.requests("pubmed")} == {"s3cret-key"}


def test_a_query_reaches_the_provider_and_narrows_the_page(checker: Patra, providers: Sandbox) -> None:
    whole = checked(checker, "pubmed", *DAY, "--send")["page"]
    report = checked(checker, "pubmed", *DAY, "--send", "--query", "NOT pub_type:review AND tiab:the")
    term = parse_qs(urlsplit(report["requests"][0]["url"]).query)["term"]

    assert term == ['"the"[tiab] NOT "review"[pt]']
    assert 0 < report["page"]["received"] < whole["received"]
    assert providers.requests("pubmed")[-2]["query"]["term"] == term[0]


def test_a_wrong_query_is_refused_with_its_column(checker: Patra) -> None:
    refused = checker("source", "check", "pubmed", "--query", "tiab:heart AND nofield:x", exit_code=2)

    assert refused["error"]["code"] == "QUERY_INVALID"
    assert refused["error"]["message"].startswith("column 16: unknown field 'nofield'; known: ")
