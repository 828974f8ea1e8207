"""What a harvest must make of Crossref's works."""

from typing import Any

import pytest

from deployments.sandbox.crossref.expected import expected_record
from deployments.sandbox.remote import Sandbox

SAID = {"title", "authors", "dates", "identifiers", "journal", "type", "abstract"}


def test_a_work_becomes_the_common_record() -> None:
    work = {
        "DOI": "10.1002/(SICI)X.w7",
        "title": [" One ", "Two"],
        "author": [
            {"given": "Ada", "family": "Lovelace", "ORCID": "http://orcid.org/0000-0002-1825-0097"},
            {"family": "Plato"},
            {"name": "The Group"},
            {"affiliation": []},
        ],
        "issued": {"date-parts": [[2020, 1]]},
        "created": {"date-time": "2014-07-15T15:45:01Z"},
        "container-title": ["Journal", "J."],
        "ISSN": ["1679-849X", "1679-849X"],
        "type": "journal-article",
        "abstract": "<jats:p>Text</jats:p>\n",
    }

    assert expected_record(work) == {
        "title": "One",
        "authors": [
            {"name": "Ada Lovelace", "orcid": "0000-0002-1825-0097"},
            {"name": "Plato"},
            {"name": "The Group"},
        ],
        "dates": {"published": "2020-01", "created": "2014-07-15"},
        "identifiers": {"doi": "10.1002/(sici)x.w7"},
        "journal": {"title": "Journal", "issn": ["1679-849X"]},
        "type": "journal-article",
        "abstract": "<jats:p>Text</jats:p>",
    }


@pytest.mark.parametrize(
    ("parts", "published"),
    [([[2020]], "2020"), ([[998, 2, 3]], "0998-02-03"), ([[None]], None), ([[]], None), ([[2020, 13]], None)],
)
def test_only_a_real_date_is_a_date_of_publication(parts: list[list[Any]], published: str | None) -> None:
    record = expected_record({"DOI": "10.1/x", "issued": {"date-parts": parts}, "type": "book"})

    assert record.get("dates", {}).get("published") == published


def test_every_usable_work_has_a_record_that_says_something(sandbox: Sandbox) -> None:
    rows = sandbox.truth("crossref", record=True)
    usable = [row for row in rows if row["usable"]]

    assert {row["reason"] for row in rows if not row["usable"]} == {"UPDATED_AT_MISSING"}
    assert all(row["record"]["identifiers"]["doi"] == row["id"] for row in usable)
    assert all(set(row["record"]) <= SAID and all(row["record"].values()) for row in usable)


def test_the_truth_leaves_records_out_unless_asked(sandbox: Sandbox) -> None:
    assert all("record" not in row and "reason" not in row for row in sandbox.truth("crossref"))
