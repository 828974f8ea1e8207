"""The documented requests to DataCite work, and what is wrong is answered as DataCite answers it."""

import pytest

from deployments.sandbox.instant import read_ms
from deployments.sandbox.logic import span_of
from deployments.sandbox.lucene.query import LuceneError, Operator, read_lucene
from deployments.sandbox.remote import Sandbox
from tests.sandbox.datacite.client import ask, careful, ids
from tests.sandbox.wire import fetch, page

WINDOW = "updated:[2026-01-09T00:00:00Z TO 2026-01-09T23:59:59Z]"


def test_a_first_page_of_a_window_has_the_documented_envelope(sandbox: Sandbox) -> None:
    reply = page(ask(sandbox, query=WINDOW, cursor=1, size=10))

    assert set(reply) == {"data", "meta", "links"}
    assert reply["meta"]["total"] == len(sandbox.truth("datacite", from_="2026-01-09", to="2026-01-10"))
    assert "page" not in reply["meta"]
    assert len(reply["data"]) == 10
    assert {doi["type"] for doi in reply["data"]} == {"dois"}
    assert all(doi["id"] == doi["attributes"]["doi"] == doi["id"].lower() for doi in reply["data"])
    assert reply["links"]["next"].startswith(f"{sandbox.url('datacite')}/dois?page%5Bcursor%5D=")


def test_the_next_page_forgets_sort_and_mailto_and_keeps_the_query(sandbox: Sandbox) -> None:
    reply = page(ask(sandbox, query=WINDOW, cursor=1, size=10, sort="-updated", mailto="me@example.org"))
    following = page(fetch(reply["links"]["next"]))

    assert "mailto" not in reply["links"]["next"]
    assert "sort" not in reply["links"]["next"]
    assert following["meta"]["total"] == reply["meta"]["total"]
    assert not set(ids(following["data"])) & set(ids(reply["data"]))


def test_a_page_by_number_says_which_it_is_and_is_the_newest_first(sandbox: Sandbox) -> None:
    reply = page(ask(sandbox, size=25, number=2))
    times = [doi["attributes"].get("updated") for doi in reply["data"]]
    dated = [time for time in times if time and time.startswith("2026")]

    assert (reply["meta"]["page"], reply["meta"]["totalPages"]) == (2, 10)
    assert dated == sorted(dated, reverse=True)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("types.resourceTypeGeneral:Dataset", True),
        ("types.resourceTypeGeneral:dataset", False),
        ('titles.title:"malaria agent"', True),
        ('titles.title:"agent malaria"', False),
        ("no.such.field:x", False),
        ('titles.title:"malaria" AND NOT types.resourceTypeGeneral:Dataset', False),
        ("(types.resourceTypeGeneral:Text OR types.resourceTypeGeneral:Image) AND titles.title:hominids", False),
        (f"{WINDOW} AND types.resourceTypeGeneral:Software", True),
        ("titles.title:(malaria OR hominids)", True),
    ],
)
def test_queries_find_what_lucene_would(sandbox: Sandbox, query: str, found: bool) -> None:
    assert bool(careful(sandbox, query=query)) is found


def test_a_type_and_its_opposite_make_the_whole(sandbox: Sandbox) -> None:
    datasets = careful(sandbox, query=f"{WINDOW} AND types.resourceTypeGeneral:Dataset")
    others = careful(sandbox, query=f"{WINDOW} NOT types.resourceTypeGeneral:Dataset")

    assert set(datasets) | set(others) == set(careful(sandbox, query=WINDOW))
    assert not set(datasets) & set(others)


def test_size_zero_counts_and_a_bad_number_is_zero(sandbox: Sandbox) -> None:
    for size in ("0", "many"):
        reply = page(ask(sandbox, size=size))
        assert (reply["data"], reply["meta"]["total"]) == ([], 240)
        assert "next" not in reply["links"]


@pytest.mark.parametrize(
    ("parameters", "title"),
    [
        ({"query": "updated:[yesterday TO today]"}, "failed to parse date field [yesterday]"),
        ({"query": "((("}, "Failed to parse query"),
        ({"size": "-1"}, "[size] parameter cannot be negative"),
        ({"cursor": "YWJj"}, "search_after has 1 value(s) but sort has 2."),
    ],
)
def test_what_the_search_engine_refuses_is_a_400(sandbox: Sandbox, parameters: dict[str, str], title: str) -> None:
    refused = ask(sandbox, **parameters)

    assert refused.status_code == 400
    assert refused.json()["errors"]["title"].startswith(title)


def test_one_doi_is_found_in_any_case_and_an_unknown_one_is_a_404(sandbox: Sandbox) -> None:
    known = page(ask(sandbox, size=1))["data"][0]
    base = f"{sandbox.url('datacite')}/dois"
    unknown = fetch(f"{base}/10.1/none")

    assert fetch(f"{base}/{known['id'].upper()}").json()["data"] == known
    assert unknown.status_code == 404
    assert unknown.json()["errors"] == [{"status": "404", "title": "The resource you are looking for doesn't exist."}]


def test_every_record_of_the_truth_says_only_what_it_knows(sandbox: Sandbox) -> None:
    def leaves(value: object) -> list[object]:
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return [value, *(leaf for one in inner for leaf in leaves(one))]

    rows = sandbox.truth("datacite", record=True)
    assert len(rows) == 240
    assert not [leaf for row in rows for leaf in leaves(row["record"]) if leaf in (None, "", [], {})]


def test_the_truth_of_a_recorded_doi_is_as_read_by_hand(sandbox: Sandbox) -> None:
    rows = [row["record"] for row in sandbox.truth("datacite", record=True)]
    doi = next(row for row in rows if row.get("title") == "BPI Challenge 2012")

    assert doi["authors"] == [{"name": "Boudewijn van Dongen", "orcid": "0000-0002-3978-6464"}]
    assert doi["dates"] == {"published": "2012-04-23", "created": "2012-04-24"}
    assert doi["identifiers"]["doi"].startswith("10.4121/uuid:3926db30-f712-4394-aebc-75976070e91f.w")
    assert doi["abstract"] == "Event log of a loan application process"
    assert doi["type"] == "Dataset"
    assert "journal" not in doi


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("[2026-01-09 TO 2026-01-10]", "2026-01-09", "2026-01-11"),
        ("[2026-01-09 TO 2026-01-10}", "2026-01-09", "2026-01-10"),
        ("{2026-01-09T10:00:00Z TO 2026-01-09T11:00Z]", "2026-01-09T10:00:01", "2026-01-09T11:01"),
        ('["2026-01-09T10:00:00.250Z" TO "2026"]', "2026-01-09T10:00:00.250", "2027-01-01"),
        (r"[2026-01-09T10\:00\:00+02:00 TO *]", "2026-01-09T08:00", None),
    ],
)
def test_a_bound_names_a_unit_and_brackets_say_whether_it_is_in(text: str, first: str, last: str | None) -> None:
    span = span_of(read_lucene(f"updated:{text}", Operator.AND), "updated")

    assert span.from_ms == read_ms(first)
    assert span.to_ms == (read_ms(last) if last else None)


@pytest.mark.parametrize("text", ['"open', "a AND", "(a", "a)", "field:", "[a TO b", "a:[2026-13-01 TO *]", "(" * 500])
def test_what_is_no_lucene_is_refused(text: str) -> None:
    with pytest.raises(LuceneError):
        read_lucene(text, Operator.AND)
