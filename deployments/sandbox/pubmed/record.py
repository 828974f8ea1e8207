"""What a harvest should make of a record, read from its XML by hand."""

import re
from collections.abc import Iterator
from datetime import date
from typing import Any
from xml.etree import ElementTree as ET

Element = ET.Element
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
ORCID = re.compile(r"(\d{4})-?(\d{4})-?(\d{4})-?(\d{3}[\dX])", re.IGNORECASE)


def parse(text: str) -> Element:
    """The record as a tree."""
    return ET.fromstring(text)  # noqa: S314 - the package's own records


def make_record(root: Element) -> dict[str, Any]:
    """The common record of an article or a book; a key with nothing to say is absent."""
    record = _book(root) if root.tag == "PubmedBookArticle" else _article(root)
    return {name: value for name, value in record.items() if value}


def date_parts(found: Element | None) -> list[str]:
    """Year, month and day as far as they are given, months as numbers; free text gives none."""
    texts = [text_of(found.find(name)) if found is not None else "" for name in ("Year", "Month", "Day")]
    year, month, day = texts[0], _month(texts[1]), texts[2].zfill(2) if texts[2] else ""
    given = [year] + ([month] + ([day] if day else []) if month else [])
    return given if year else []


def text_of(found: Element | None) -> str:
    """The text with that of inline markup, runs of white space made one."""
    return "" if found is None else " ".join("".join(found.itertext()).split())


def _article(root: Element) -> dict[str, Any]:
    article = root.find("MedlineCitation/Article")
    assert article is not None, "every citation has an Article"
    return {
        "title": text_of(article.find("ArticleTitle")),
        "authors": list(_authors(article.findall("AuthorList/Author"))),
        "dates": _dates(root, article.find("Journal/JournalIssue/PubDate")),
        "identifiers": _identifiers(root, "MedlineCitation/PMID", "PubmedData/ArticleIdList"),
        "journal": _given(title=text_of(article.find("Journal/Title")), issn=_issns(root)),
        "type": text_of(article.find("PublicationTypeList/PublicationType")),
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
        "title": text_of(chapter if chapter is not None else book.find("Book/BookTitle")),
        "authors": list(_authors(authors)),
        "dates": _dates(root, appeared if appeared is not None else book.find("Book/PubDate")),
        "identifiers": _identifiers(root, "BookDocument/PMID", "BookDocument/ArticleIdList"),
        "journal": _given(title=text_of(book.find("Book/BookTitle"))),
        "type": text_of(book.find("PublicationType")),
        "abstract": _abstract(book),
    }


def _authors(found: list[Element]) -> Iterator[dict[str, str]]:
    for author in found:
        given, family = text_of(author.find("ForeName")), text_of(author.find("LastName"))
        name = f"{given} {family}".strip() or text_of(author.find("CollectiveName"))
        if name:
            yield _given(name=name, orcid=_orcid(author))


def _orcid(author: Element) -> str:
    found = ORCID.search(text_of(author.find("Identifier[@Source='ORCID']")))
    return "-".join(found.groups()).upper() if found else ""


def _dates(root: Element, published: Element | None) -> dict[str, str]:
    created = root.find(".//History/PubMedPubDate[@PubStatus='entrez']")
    return _given(published=_written(published), created=_written(created))


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
    listed = text_of(root.find(f"{ids}/ArticleId[@IdType='doi']"))
    located = text_of(root.find("MedlineCitation/Article/ELocationID[@EIdType='doi'][@ValidYN='Y']"))
    return _given(
        pmid=text_of(root.find(pmid)),
        doi=(listed or located).lower(),
        pmcid=text_of(root.find(f"{ids}/ArticleId[@IdType='pmc']")),
        nct=text_of(root.find(trials)),
    )


def _issns(root: Element) -> list[str]:
    paths = ("MedlineCitation/Article/Journal/ISSN", "MedlineCitation/MedlineJournalInfo/ISSNLinking")
    return list(dict.fromkeys(issn for path in paths if (issn := text_of(root.find(path)))))


def _abstract(article: Element) -> str:
    return " ".join(text for part in article.findall("Abstract/AbstractText") if (text := text_of(part)))


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value}
