"""The wording of the common record that every provider's truth shares."""

from xml.etree import ElementTree as ET

import pytest

from deployments.sandbox.expected import bare_doi, bare_orcid, first, inner_text, real_date, said, text, unique


def test_what_says_nothing_is_left_out() -> None:
    assert said({"a": "x", "b": "", "c": [], "d": {}, "e": None}) == {"a": "x"}
    assert first(["", "b", "c"]) == "b"
    assert first([]) == ""
    assert unique([" b", "a", None, "", "b"]) == ["b", "a"]


def test_text_is_trimmed_and_otherwise_untouched() -> None:
    assert text("\t a \n b\u00a0") == "a \n b"
    assert (text(None), text(7), text(["a"])) == ("", "", "")


def test_the_text_of_an_element_holds_that_of_its_markup() -> None:
    assert inner_text(ET.fromstring("<t> a\n <i>b<sub>2</sub></i> &amp; c<x/> </t>")) == "a b2 & c"
    assert inner_text(None) == ""


@pytest.mark.parametrize(
    ("given", "said_to_be"),
    [
        ("2024", "2024"),
        (2024, "2024"),
        ("2024-02", "2024-02"),
        ("2024-02-29T10:00:00+00:00", "2024-02-29"),
        ("2023-02-29", ""),
        ("2019-01/2020-02", ""),
        ("0000-00-00", ""),
        (None, ""),
    ],
)
def test_a_date_is_as_precise_as_it_is_given_and_real(given: object, said_to_be: str) -> None:
    assert real_date(given) == said_to_be


def test_identifiers_stand_alone() -> None:
    assert bare_doi(" HTTPS://dx.doi.org/10.1/Ab ") == bare_doi("doi:10.1/AB") == "10.1/ab"
    assert bare_orcid("http://orcid.org/0000-0002-1825-009X") == "0000-0002-1825-009X"
    assert bare_orcid("0000000121032683") == ""
