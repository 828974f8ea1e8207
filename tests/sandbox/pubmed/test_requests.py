"""The documented requests work, and the E-utilities refuse as documented."""

import json

import pytest

from deployments.sandbox.remote import Sandbox
from tests.sandbox.pubmed import careful
from tests.sandbox.pubmed.client import changed, fetch, get, post, result, true_ids, true_records

WINDOW = changed("2026/01/09", "2026/01/09")


def test_esearch_gives_the_ids_of_a_window_of_days(sandbox: Sandbox) -> None:
    response = get(sandbox, "esearch", db="pubmed", retmode="json", term="all[sb]", retmax=1000, **WINDOW)

    found = response.json()["esearchresult"]
    assert response.headers["content-type"] == "application/json; charset=UTF-8"
    assert set(found["idlist"]) == true_ids(sandbox, "2026-01-09", "2026-01-10")
    assert found["count"] == found["retmax"] == str(len(found["idlist"]))
    assert list(found) == ["count", "retmax", "retstart", "idlist", "translationset", "querytranslation"]


def test_pages_are_asked_by_retstart(sandbox: Sandbox) -> None:
    first = result(sandbox, retmax=30, **WINDOW)
    second = result(sandbox, retmax=30, retstart=30, **WINDOW)

    assert (first["retstart"], second["retstart"]) == ("0", "30")
    assert first["count"] == second["count"]
    assert first["idlist"] + second["idlist"] == result(sandbox, retmax=60, **WINDOW)["idlist"]


def test_a_page_beyond_the_last_is_empty_and_keeps_the_count(sandbox: Sandbox) -> None:
    found = result(sandbox, retstart=5000)

    assert (found["count"], found["retmax"], found["idlist"]) == ("240", "0", [])


def test_twenty_ids_come_when_no_number_is_asked(sandbox: Sandbox) -> None:
    assert len(result(sandbox)["idlist"]) == 20


def test_a_retmax_of_0_only_counts(sandbox: Sandbox) -> None:
    found = result(sandbox, retmax=0)

    assert (found["count"], found["retmax"], found["idlist"]) == ("240", "0", [])


def test_a_posted_form_is_as_good_as_a_url(sandbox: Sandbox) -> None:
    asked = {"db": "pubmed", "retmode": "json", "term": "all[sb]", "retmax": 7, **WINDOW}

    assert post(sandbox, "esearch", **asked).json() == get(sandbox, "esearch", **asked).json()


def test_esearch_answers_xml_unless_json_is_asked(sandbox: Sandbox) -> None:
    response = get(sandbox, "esearch", db="pubmed", term="all[sb]")

    assert response.headers["content-type"] == "text/xml; charset=UTF-8"
    assert "<Count>240</Count><RetMax>20</RetMax><RetStart>0</RetStart><IdList>" in response.text


@pytest.mark.parametrize(
    ("term", "same_as"),
    [
        ("all[sb] AND 1:41000000[UID]", "all[sb]"),
        ("(all[sb]) AND 1:20000000[UID] OR 20000001:41000000[uid]", "all[sb]"),
        ("() AND yeast[tiab]", "yeast[Title/Abstract]"),
        ("yeast[tiab] cell fusion[tiab]", '"cell fusion"[tiab] AND yeast'),
        ("actin NOT (actin[tiab] NOT review[pt])", '(actin[tiab] AND "Review"[Publication Type])'),
        ("journal article[pt] OR review[pt]", 'review[pt] OR "Journal Article"[pt]'),
        ("2026/01/09:2026/01/09[mdat]", "all[sb] AND 2026/01/09[lr]"),
        ("fus2*", "fus2p[ti]"),
    ],
)
def test_terms_combine_fields_phrases_and_ranges(sandbox: Sandbox, term: str, same_as: str) -> None:
    found = result(sandbox, term=term, retmax=1000)["idlist"]

    assert found
    assert found == result(sandbox, term=same_as, retmax=1000)["idlist"]


def test_a_field_narrows_a_search(sandbox: Sandbox) -> None:
    yeast = {pmid for pmid, record in true_records(sandbox).items() if "yeast" in str(record).lower()}

    assert 0 < len(yeast & set(result(sandbox, term="yeast[tiab]", retmax=1000)["idlist"])) <= len(yeast)
    assert result(sandbox, term="yeast[tiab] AND tuberculosis[tiab]")["count"] == "0"


def test_a_search_that_finds_nothing_says_so(sandbox: Sandbox) -> None:
    found = result(sandbox, term="xyzzy[tiab]")

    assert (found["count"], found["idlist"]) == ("0", [])
    assert found["warninglist"]["outputmessages"] == ["No items found."]


def test_an_unknown_field_and_an_unknown_sort_are_only_remarked(sandbox: Sandbox) -> None:
    found = result(sandbox, term="yeast[nofield]", sort="colour")

    assert found["errorlist"]["fieldsnotfound"] == ["nofield"]
    assert found["warninglist"]["outputmessages"] == ["Unknown sort schema 'colour' ignored"]
    assert found["idlist"] == result(sandbox, term="yeast")["idlist"]


@pytest.mark.parametrize(("datetype", "inside"), [("edat", "2025"), ("pdat", "2021/03")])
def test_other_days_can_be_searched_by(sandbox: Sandbox, datetype: str, inside: str) -> None:
    found = result(sandbox, datetype=datetype, mindate=inside, maxdate=inside, retmax=1000)
    by_term = result(sandbox, term=f"{inside}:{inside}[{datetype}]", retmax=1000)

    assert int(found["count"]) > 50
    assert found["idlist"] == by_term["idlist"]


def test_efetch_serves_articles_and_books_with_their_document_type(sandbox: Sandbox) -> None:
    ids = result(sandbox, retmax=240)["idlist"]
    response = post(sandbox, "efetch", db="pubmed", retmode="xml", id=",".join(ids))

    assert response.headers["content-type"] == "text/xml; charset=UTF-8"
    assert response.text.startswith(
        '<?xml version="1.0" ?>\n<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle'
    )
    assert {record.tag for record in fetch(sandbox, ids)} == {"PubmedArticle", "PubmedBookArticle"}


def test_efetch_serves_in_the_order_asked_and_each_once(sandbox: Sandbox) -> None:
    ids = sorted(row["id"] for row in sandbox.truth("pubmed") if row["usable"])[:9]

    assert [careful.pmid(record) for record in fetch(sandbox, [*ids, ids[0]])] == ids


def test_an_id_nobody_has_is_left_out_and_a_set_may_be_empty(sandbox: Sandbox) -> None:
    response = get(sandbox, "efetch", db="pubmed", id="99999998")

    assert response.status_code == 200
    assert response.text.endswith("<PubmedArticleSet></PubmedArticleSet>")


@pytest.mark.parametrize("ids", ["", "0", "abc", ","])
def test_efetch_without_a_correct_id_is_a_400_in_xml(sandbox: Sandbox, ids: str) -> None:
    response = get(sandbox, "efetch", db="pubmed", id=ids)

    assert response.status_code == 400
    assert "<ERROR>ID list is empty! Possibly it has no correct IDs.</ERROR>" in response.text


def test_efetch_knows_no_history(sandbox: Sandbox) -> None:
    assert "Unable to obtain query #1" in get(sandbox, "efetch", db="pubmed", WebEnv="MCID_1", query_key=1).text


def test_esummary_gives_a_brief_of_each_record(sandbox: Sandbox) -> None:
    records = true_records(sandbox)
    ids = sorted(records)[:50]
    answer = get(sandbox, "esummary", db="pubmed", retmode="json", id=",".join(ids)).json()["result"]

    assert answer["uids"] == ids
    assert [answer[pmid]["title"] for pmid in ids] == [records[pmid].get("title", "") for pmid in ids]
    assert not any("revised" in key for pmid in ids for key in answer[pmid])


def test_esummary_without_ids_answers_a_list_in_a_200(sandbox: Sandbox) -> None:
    response = get(sandbox, "esummary", db="pubmed", retmode="json", id="")

    assert (response.status_code, response.json()["esummaryresult"]) == (200, ["Empty id list - nothing todo"])


def test_the_truth_says_what_each_record_becomes(sandbox: Sandbox) -> None:
    records = true_records(sandbox)
    text = json.dumps(list(records.values()))

    assert all(record["identifiers"]["pmid"] == pmid for pmid, record in records.items())
    assert not any(empty in text for empty in (": null", ': ""', ": []", ": {}"))
    assert any("RECOVERY Collaborative Group" in str(record.get("authors")) for record in records.values())


def test_the_truth_of_a_window_is_by_whole_days(sandbox: Sandbox) -> None:
    assert true_ids(sandbox, "2026-01-09T10:00:00Z", "2026-01-10T00:00:00Z") == set()
    assert true_ids(sandbox, "2026-01-09", "2026-01-09T00:00:01Z") == true_ids(sandbox, "2026-01-09", "2026-01-10")
