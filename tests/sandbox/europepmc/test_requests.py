"""Europe PMC's `/search` as it was recorded and is documented."""

import xml.etree.ElementTree as ET

import pytest

from deployments.sandbox.europepmc.expected import expected_record
from deployments.sandbox.remote import Sandbox
from tests.sandbox.europepmc.client import EVERYTHING, days, get, harvest, page, true_ids
from tests.sandbox.wire import CLIENT

SAID = {"title", "authors", "dates", "identifiers", "journal", "type", "abstract"}
DAY = days("2026-01-09", "2026-01-09")


def test_a_page_of_a_window_has_the_recorded_envelope(sandbox: Sandbox) -> None:
    body = page(sandbox, DAY, resultType="core", pageSize=3, cursorMark="*")

    assert list(body) == ["version", "hitCount", "nextCursorMark", "nextPageUrl", "request", "resultList"]
    assert body["hitCount"] == len(true_ids(sandbox, "2026-01-09", "2026-01-10"))
    assert body["request"] == {
        "queryString": DAY,
        "resultType": "core",
        "cursorMark": "*",
        "pageSize": 3,
        "sort": "",
        "synonym": False,
    }
    assert len(body["resultList"]["result"]) == 3


def test_a_next_page_continues_where_the_first_ended(sandbox: Sandbox) -> None:
    first = page(sandbox, DAY, pageSize=10)
    second = page(sandbox, DAY, pageSize=10, cursorMark=first["nextCursorMark"])
    both = page(sandbox, DAY, pageSize=20)["resultList"]["result"]

    assert first["resultList"]["result"] + second["resultList"]["result"] == both


def test_a_long_query_can_be_posted_as_a_form(sandbox: Sandbox) -> None:
    form = {"query": DAY, "format": "json", "resultType": "core", "pageSize": "1000"}
    response = CLIENT.post(f"{sandbox.url('europepmc')}/searchPOST", data=form)

    assert response.json() == get(sandbox, DAY, resultType="core", pageSize=1000).json()


def test_each_result_type_tells_its_own(sandbox: Sandbox) -> None:
    told = {kind: harvest(sandbox, kind=kind)["MED/30000000"] for kind in ("idlist", "lite", "core")}

    assert set(told["idlist"]) == {"id", "source", "pmid"}
    assert {"journalTitle", "pubType", "journalIssn", "firstIndexDate"} <= set(told["lite"])
    assert not {"dateOfRevision", "authorList", "journalInfo"} & set(told["lite"])
    assert {"dateOfRevision", "authorList", "journalInfo", "dateOfCreation"} <= set(told["core"])


def test_xml_tells_the_same_records(sandbox: Sandbox) -> None:
    root = ET.fromstring(get(sandbox, DAY, format="xml", pageSize=1000).text)

    assert root.tag == "responseWrapper"
    assert len(root.findall("resultList/result")) == int(root.findtext("hitCount", "0")) > 0


BOTH = days("2026-01-09", "2026-01-10")
QUERIES = [
    ("UPDATE_DATE:2026-01-09 OR UPDATE_DATE:2026-01-10", lambda r: True),
    (f"SRC:MED AND {BOTH}", lambda r: r["source"] == "MED"),
    (f"{BOTH} NOT SRC:MED", lambda r: r["source"] != "MED"),
    (f"(SRC:PPR OR src:pat) AND ({BOTH})", lambda r: r["source"] in {"PPR", "PAT"}),
    (f'TITLE:"cancer" {BOTH}', lambda r: "cancer" in r.get("title", "").lower()),
    (f'AUTH:"Haas-Kogan DA" AND {BOTH}', lambda r: "Haas-Kogan DA" in r.get("authorString", "")),
    (f"{BOTH} AND FIRST_IDATE:[* TO 2020-12-31]", lambda r: r.get("firstIndexDate", "9") <= "2020-12-31"),
    (f"{BOTH} AND NOT (SRC:MED OR SRC:PMC)", lambda r: r["source"] not in {"MED", "PMC"}),
    (f"{BOTH} AND EXT_ID:30000028", lambda r: r.get("id") == "30000028"),
]


@pytest.mark.parametrize(("query", "fits"), QUERIES, ids=[query for query, _ in QUERIES])
def test_the_query_language_is_understood(sandbox: Sandbox, query: str, fits: object) -> None:
    assert callable(fits)
    expected = {name for name, record in harvest(sandbox, BOTH).items() if fits(record)}

    assert expected
    assert set(harvest(sandbox, query)) == expected


def test_a_window_with_one_open_end_is_a_window(sandbox: Sandbox) -> None:
    assert set(harvest(sandbox, days("2026-01-10", "*"))) == true_ids(sandbox, "2026-01-10")
    assert set(harvest(sandbox, days("*", "2026-01-09"))) == true_ids(sandbox, to="2026-01-10")


@pytest.mark.parametrize(
    "asked",
    [
        {"query": ""},
        {"query": "(SRC:MED"},
        {"query": "SRC:MED)"},
        {"query": "AND SRC:MED"},
        {"query": "UPDATE_DATE:[2026-02-30 TO 2026-03-01]"},
        {"query": "UPDATE_DATE:[yesterday TO today]"},
        {"query": 'TITLE:"open'},
        {"query": EVERYTHING, "pageSize": "1001"},
        {"query": EVERYTHING, "pageSize": "many"},
        {"query": EVERYTHING, "cursorMark": "AoE/nonsense"},
        {"query": EVERYTHING, "resultType": "full"},
        {"query": EVERYTHING, "sort": "CITED desc"},
    ],
    ids=str,
)
def test_an_error_is_a_200_with_a_code(sandbox: Sandbox, asked: dict[str, str]) -> None:
    response = get(sandbox, **asked)

    assert response.status_code == 200
    assert list(response.json()) == ["version", "errCode", "errMsg"]
    assert get(sandbox, **asked, format="xml").text.startswith("<errorBean>")


def test_another_path_is_not_found(sandbox: Sandbox) -> None:
    assert CLIENT.get(f"{sandbox.url('europepmc')}/fields").status_code == 404
    assert CLIENT.post(f"{sandbox.url('europepmc')}/search").status_code == 404


def test_a_rate_limit_is_held_with_a_page_of_html(sandbox: Sandbox) -> None:
    sandbox.configure(rate_limit_per_second=2)
    answers = [get(sandbox, DAY, pageSize=1) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[2].headers["content-type"] == "text/html"


def test_every_usable_record_says_something(sandbox: Sandbox) -> None:
    records = [row["record"] for row in sandbox.truth("europepmc", record=True) if row["usable"]]

    assert all(set(record) <= SAID and all(record.values()) for record in records)
    assert set().union(*records) == SAID


def test_a_truth_is_told_by_the_day(sandbox: Sandbox) -> None:
    assert true_ids(sandbox, "2026-01-09T12:00:00", "2026-01-10T12:00:00") == true_ids(sandbox, "2026-01-10")


def test_a_record_becomes_the_common_record() -> None:
    record = {
        "id": "1",
        "source": "MED",
        "pmid": "1",
        "pmcid": "PMC2",
        "doi": "10.1/A",
        "title": "T. ",
        "authorString": "Lovelace A.",
        "authorList": {
            "author": [
                {
                    "fullName": "Lovelace A",
                    "firstName": "Ada",
                    "lastName": "Lovelace",
                    "authorId": {"type": "ORCID", "value": "0000-0002-1825-0097"},
                },
                {"collectiveName": "The Group"},
                {"fullName": "Anon A"},
                {"initials": "X"},
            ]
        },
        "journalInfo": {"journal": {"title": "J", "issn": "0140-6736", "essn": "1474-547X"}},
        "pubYear": "2025",
        "firstPublicationDate": "2025-12-01",
        "dateOfCreation": "2024-12-21",
        "pubTypeList": {"pubType": ["Journal Article", "Review"]},
        "abstractText": "<h4>A</h4> b",
    }

    assert expected_record(record) == {
        "title": "T.",
        "authors": [
            {"name": "Ada Lovelace", "orcid": "0000-0002-1825-0097"},
            {"name": "The Group"},
            {"name": "Anon A"},
        ],
        "dates": {"published": "2025-12-01", "created": "2024-12-21"},
        "identifiers": {"doi": "10.1/a", "pmid": "1", "pmcid": "PMC2"},
        "journal": {"title": "J", "issn": ["0140-6736", "1474-547X"]},
        "type": "Journal Article",
        "abstract": "<h4>A</h4> b",
    }
