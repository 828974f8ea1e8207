"""What a harvest should make of a record, read from its XML by hand."""

import re
from collections.abc import Iterator
from datetime import date
from typing import Any
from xml.etree import ElementTree as ET

from deployments.sandbox.expected import bare_doi, inner_text, said, unique

Element = ET.Element
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
ORCID = re.compile(r"(\d{4})-?(\d{4})-?(\d{4})-?(\d{3}[\dX])", re.IGNORECASE)


def parse(text: str) -> Element:
    """The record as a tree."""
    return ET.fromstring(text)  # noqa: S314 - the package's own records


def make_record(root: Element) -> dict[str, Any]:
    """The common record of an article or a book; a key with nothing to say is absent."""
    return said(_book(root) if root.tag == "PubmedBookArticle" else _article(root))


def date_parts(found: Element | None) -> list[str]:
    """Year, month and day as far as they are given, months as numbers; free text gives none."""
    texts = [inner_text(found.find(name)) if found is not None else "" for name in ("Year", "Month", "Day")]
    year, month, day = texts[0], _month(texts[1]), texts[2].zfill(2) if texts[2] else ""
    given = [year] + ([month] + ([day] if day else []) if month else [])
    return given if year else []


def _article(root: Element) -> dict[str, Any]:
    article = root.find("MedlineCitation/Article")
    assert article is not None, "every citation has an Article"
    return {
        "title": inner_text(article.find("ArticleTitle")),
        "authors": list(_authors(article.findall("AuthorList/Author"))),
        "dates": _dates(root, article.find("Journal/JournalIssue/PubDate")),
        "identifiers": _identifiers(root, "MedlineCitation/PMID", "PubmedData/ArticleIdList"),
        "journal": said({"title": inner_text(article.find("Journal/Title")), "issn": _issns(root)}),
        "type": inner_text(article.find("PublicationTypeList/PublicationType")),
        "abstract": _abstract(article),
    }


def _book(root: Element) -> dict[str, Any]:
    book = root.find("BookDocument")
    assert book is not None, "every book has a BookDocument"
    chapter = book.find("ArticleTitle")
    authors = book.findall("AuthorList[@Type='authors']/Author") or book.findall(
        "Book/AuthorList[@Type='authors']/Author"
    )
    appeared = book.find("ContributionDate")
    return {
        "title": inner_text(chapter if chapter is not None else book.find("Book/BookTitle")),
        "authors": list(_authors(authors)),
        "dates": _dates(root, appeared if appeared is not None else book.find("Book/PubDate")),
        "identifiers": _identifiers(root, "BookDocument/PMID", "BookDocument/ArticleIdList"),
        "journal": said({"title": inner_text(book.find("Book/BookTitle"))}),
        "type": inner_text(book.find("PublicationType")),
        "abstract": _abstract(book),
    }


def _authors(found: list[Element]) -> Iterator[dict[str, str]]:
    for author in found:
        given, family = inner_text(author.find("ForeName")), inner_text(author.find("LastName"))
        name = f"{given} {family}".strip() or inner_text(author.find("CollectiveName"))
        if name:
            yield said({"name": name, "orcid": _orcid(author)})


def _orcid(author: Element) -> str:
    found = ORCID.search(inner_text(author.find("Identifier[@Source='ORCID']")))
    return "-".join(found.groups()).upper() if found else ""


def _dates(root: Element, published: Element | None) -> dict[str, str]:
    created = root.find(".//History/PubMedPubDate[@PubStatus='entrez']")
    return said({"published": _written(published), "created": _written(created)})


def _written(found: Element | None) -> str:
    parts = date_parts(found)
    try:
        date.fromisoformat("-".join(parts + ["01"] * (3 - len(parts))))
    except ValueError:
        return ""
    return "-".join(parts)


def _month(text: str) -> str:
    if text.isdecimal():
        return text.zfill(2)
    name = text[:3].lower()
    return f"{MONTHS.index(name) + 1:02d}" if name in MONTHS else ""


def _identifiers(root: Element, pmid: str, ids: str) -> dict[str, str]:
    trials = ".//DataBank[DataBankName='ClinicalTrials.gov']/AccessionNumberList/AccessionNumber"
    listed = inner_text(root.find(f"{ids}/ArticleId[@IdType='doi']"))
    located = inner_text(root.find("MedlineCitation/Article/ELocationID[@EIdType='doi'][@ValidYN='Y']"))
    return said(
        {
            "pmid": inner_text(root.find(pmid)),
            "doi": bare_doi(listed or located),
            "pmcid": inner_text(root.find(f"{ids}/ArticleId[@IdType='pmc']")),
            "nct": inner_text(root.find(trials)),
        }
    )


def _issns(root: Element) -> list[str]:
    paths = ("MedlineCitation/Article/Journal/ISSN", "MedlineCitation/MedlineJournalInfo/ISSNLinking")
    return unique(inner_text(root.find(path)) for path in paths)


def _abstract(article: Element) -> str:
    return " ".join(text for part in article.findall("Abstract/AbstractText") if (text := inner_text(part)))
