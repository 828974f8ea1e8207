"""Harvesters that believe what is usual: each is wrong about PubMed in one way."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree as ET

import httpx

from deployments.sandbox.remote import Sandbox
from tests.sandbox.pubmed.client import Element, changed, fetch, get, result

MOST_PAGES = 50


class NeverEndsError(Exception):
    """The harvest would go on for ever."""


class ForbiddenError(Exception):
    """A document type was taken for an attack."""


def page_to_the_count(sandbox: Sandbox, rows: int, **asked: object) -> list[str]:
    """Believes: every result of `count` can be reached, and an answer without ids is the end."""
    ids: list[str] = []
    for number in range(MOST_PAGES):
        response = get(sandbox, "esearch", db="pubmed", retmode="json", retstart=number * rows, retmax=rows, **asked)
        page = response.text.partition('"idlist":[')[2].partition("]")[0]
        if not page:
            return ids
        ids += page.replace('"', "").split(",")
    raise NeverEndsError


def all_at_once(sandbox: Sandbox, **asked: object) -> list[str]:
    """Believes: `retmax` as large as `count` brings everything."""
    count = result(sandbox, retmax=0, **asked)["count"]
    ids: list[str] = result(sandbox, retmax=count, **asked)["idlist"]
    return ids


def page_while_full(sandbox: Sandbox, rows: int, **asked: object) -> list[str]:
    """Believes: a result stands still while it is paged through."""
    ids: list[str] = []
    for number in range(MOST_PAGES):
        page = result(sandbox, retstart=number * rows, retmax=rows, **asked)["idlist"]
        ids += page
        if len(page) < rows:
            return ids
    raise NeverEndsError


def stop_at_the_count(count: Any) -> bool:
    """Believes: a count is a number."""
    return bool(count <= 0)


def adjacent_windows(sandbox: Sandbox, bounds: Sequence[str]) -> list[str]:
    """Believes: the end of a window is not part of it."""
    pages = [result(sandbox, retmax=9999, **changed(first, last))["idlist"] for first, last in pairwise(bounds)]
    return [pmid for page in pages for pmid in page]


def window_from(sandbox: Sandbox, first: str) -> list[str]:
    """Believes: a window may be open at its end."""
    ids: list[str] = result(sandbox, retmax=9999, datetype="mdat", mindate=first)["idlist"]
    return ids


def ids_of(response: httpx.Response) -> list[str]:
    """Believes: a 200 holds a result."""
    ids: list[str] = response.json()["esearchresult"]["idlist"]
    return ids


def fetch_by_url(sandbox: Sandbox, ids: Sequence[str]) -> httpx.Response:
    """Believes: a URL may be as long as one likes."""
    return get(sandbox, "efetch", db="pubmed", retmode="xml", id=",".join(ids)).raise_for_status()


def by_position(sandbox: Sandbox, ids: Sequence[str]) -> dict[str, Element]:
    """Believes: one record comes for every id, in the order asked."""
    return dict(zip(ids, fetch(sandbox, ids), strict=False))


def articles_only(sandbox: Sandbox, ids: Sequence[str]) -> list[str]:
    """Believes: every record is an article."""
    return [
        found.findtext("MedlineCitation/PMID") or "" for found in fetch(sandbox, ids) if found.tag == "PubmedArticle"
    ]


def any_pmid(records: Iterable[Element]) -> list[str]:
    """Believes: every PMID in a record is the record's own."""
    return [found.text or "" for record in records for found in record.iter("PMID")]


def any_doi(record: Element) -> str | None:
    """Believes: a DOI anywhere in a record is the record's own."""
    return record.findtext(".//ArticleId[@IdType='doi']")


def with_version(record: Element) -> str:
    """Believes: a version belongs to the number."""
    found = next(record.iter("PMID"))
    return f"{found.text}.{found.get('Version')}"


def plain_title(record: Element) -> str | None:
    """Believes: a title has no markup."""
    return record.findtext(".//ArticleTitle")


def first_abstract(record: Element) -> str | None:
    """Believes: an abstract is one text."""
    return record.findtext(".//AbstractText")


def persons(record: Element) -> list[str]:
    """Believes: every author is a person with a first name."""
    return [f"{found.find('ForeName').text}" for found in record.iter("Author")]  # type: ignore[union-attr]


def orcids(record: Element) -> list[str]:
    """Believes: an ORCID is written one way."""
    return [found.text or "" for found in record.iter("Identifier") if found.get("Source") == "ORCID"]


def published(record: Element) -> datetime:
    """Believes: a publication date is a year, the name of a month, and a day."""
    parts = [record.findtext(f".//PubDate/{part}", "") for part in ("Year", "Month", "Day")]
    return datetime.strptime(" ".join(parts), "%Y %b %d")  # noqa: DTZ007 - only the form matters


def days_of_change(records: Iterable[Element]) -> list[str]:
    """Believes: every record says when it was revised."""
    return [record.find(".//DateRevised").findtext("Year", "") for record in records]  # type: ignore[union-attr]


def no_document_types(text: str) -> Element:
    """Believes: a document type is an attack."""
    if "<!DOCTYPE" in text:
        raise ForbiddenError
    return ET.fromstring(text)


def summaries(sandbox: Sandbox, ids: Sequence[str]) -> list[str]:
    """Believes: every id has a summary with a title."""
    answer = get(sandbox, "esummary", db="pubmed", retmode="json", id=",".join(ids)).json()
    return [answer["result"][pmid]["title"] for pmid in ids]
