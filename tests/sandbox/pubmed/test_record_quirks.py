"""What real records hold that a naive reading takes for something else."""

import re

import pytest

from deployments.sandbox.remote import Sandbox
from tests.sandbox.pubmed import careful, naive
from tests.sandbox.pubmed.client import Element, fetch, post, true_records

FIRST, LAST = "2026/01/09", "2026/01/10"


@pytest.fixture
def records(sandbox: Sandbox) -> dict[str, Element]:
    """The usable records as they are served."""
    return {pmid: found for pmid, found in careful.harvest(sandbox, FIRST, LAST).items() if found is not None}


def having(sandbox: Sandbox, records: dict[str, Element], title: str) -> tuple[Element, dict[str, object]]:
    """A record of this title as served, and as it should be mapped."""
    true = next(record for record in true_records(sandbox).values() if record.get("title") == title)
    return records[str(true["identifiers"]["pmid"])], true


def test_taking_only_articles_loses_the_books(sandbox: Sandbox, records: dict[str, Element]) -> None:
    naively = naive.articles_only(sandbox, sorted(records))

    books = {pmid for pmid, record in records.items() if record.tag == "PubmedBookArticle"}
    assert books
    assert set(records) - set(naively) == books


def test_taking_every_record_for_dated_crashes(sandbox: Sandbox, records: dict[str, Element]) -> None:
    with pytest.raises(AttributeError, match="findtext"):
        naive.days_of_change(records.values())

    undated = {pmid for pmid, record in records.items() if careful.updated_at(record) is None}
    reasons = {row["id"]: row["reason"] for row in sandbox.truth("pubmed", record=True)}
    assert undated == {pmid for pmid, reason in reasons.items() if reason == "UPDATED_AT_MISSING"}
    assert 0.02 < len(undated) / len(records) < 0.09


def test_a_loose_path_takes_cited_papers_for_records(records: dict[str, Element]) -> None:
    naively = naive.any_pmid(records.values())

    assert len(naively) > len(records)
    assert {careful.pmid(record) for record in records.values()} == set(records)


def test_a_loose_path_takes_a_cited_papers_doi(sandbox: Sandbox, records: dict[str, Element]) -> None:
    record, true = having(sandbox, records, "Only what it cites has a DOI.")

    assert naive.any_doi(record) == "10.1016/S0140-6736(99)00001-1"
    assert "doi" not in str(true["identifiers"])


def test_an_electronic_location_may_be_the_only_doi_or_an_invalid_one(
    sandbox: Sandbox, records: dict[str, Element]
) -> None:
    only, true_only = having(sandbox, records, "A DOI that is only an electronic location.")
    _, true_invalid = having(sandbox, records, "A DOI marked invalid.")

    assert naive.any_doi(only) is None
    assert "10.5555/eloc.9" in str(true_only["identifiers"])
    assert "doi" not in str(true_invalid["identifiers"])


def test_a_version_is_no_part_of_the_number(sandbox: Sandbox, records: dict[str, Element]) -> None:
    record, true = having(sandbox, records, "Third version of a living review.")

    assert naive.with_version(record).endswith(".3")
    assert careful.pmid(record) == dict(true["identifiers"])["pmid"]  # type: ignore[call-overload]


def test_markup_cuts_a_title_short(sandbox: Sandbox, records: dict[str, Element]) -> None:
    record, _ = having(
        sandbox, records, "Effect of α-tocopherol on Ca2+/K+ exchange: a nested study (p < 0.05 & n > 30)."
    )

    assert naive.plain_title(record) == "Effect of α-tocopherol on Ca"


def test_a_structured_abstract_has_several_texts(sandbox: Sandbox, records: dict[str, Element]) -> None:
    record, true = having(sandbox, records, "A structured abstract with an empty part.")

    assert naive.first_abstract(record) == "First."
    assert true["abstract"] == "First. Third."


def test_a_group_is_no_person(sandbox: Sandbox, records: dict[str, Element]) -> None:
    record, true = having(sandbox, records, "A trial by a group.")
    with pytest.raises(AttributeError, match="text"):
        naive.persons(record)

    assert true["authors"] == [{"name": "A R Okafor"}, {"name": "RECOVERY Collaborative Group"}]


def test_an_orcid_is_spelled_in_many_ways(sandbox: Sandbox, records: dict[str, Element]) -> None:
    record, true = having(sandbox, records, "ORCID in six spellings.")
    carefully = [author["orcid"] for author in true["authors"]]  # type: ignore[attr-defined]

    assert len({len(orcid) for orcid in naive.orcids(record)}) > 3
    assert all(re.fullmatch(r"\d{4}-\d{4}-\d{4}-\d{3}[\dX]", orcid) for orcid in carefully)


@pytest.mark.parametrize(
    ("title", "dates"),
    [
        ("Seasonal variation in attendance at two clinics.", None),
        ("A letter from the editors.", None),
        ("A day that was none.", None),
        ("Winter notes on Escherichia coli O157:H7 & its stx2 gene.", "2004"),
        ("Numbers for months.", "2019-07-05"),
        ("Names for months.", "2017-12-24"),
    ],
)
def test_a_publication_date_comes_in_many_forms(
    sandbox: Sandbox, records: dict[str, Element], title: str, dates: str | None
) -> None:
    record, true = having(sandbox, records, title)
    with pytest.raises(ValueError, match=r"does not match format|out of range"):
        naive.published(record)

    assert dict(true["dates"]).get("published") == dates  # type: ignore[call-overload]


def test_a_document_type_is_no_attack(sandbox: Sandbox) -> None:
    ids = careful.listed(sandbox, FIRST, LAST)
    with pytest.raises(naive.ForbiddenError):
        naive.no_document_types(post(sandbox, "efetch", db="pubmed", id=",".join(ids)).text)

    assert fetch(sandbox, ids)
