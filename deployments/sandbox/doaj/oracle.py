"""The common record an article must become."""

from collections.abc import Mapping
from typing import Any

from deployments.sandbox.expected import bare_doi, bare_orcid, first, real_date, said, text, unique

MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
NUMBERS = {name: no for no, month in enumerate(MONTHS, start=1) for name in (month, month[:3])}


def common_record(body: Mapping[str, Any]) -> dict[str, Any]:
    """What a harvest must make of this body."""
    article = body["bibjson"]
    journal = article.get("journal") or {}
    dates = {"published": _published(article), "created": real_date(body.get("created_date"))}
    return said(
        {
            "title": text(article.get("title")),
            "authors": [author for one in article.get("author", ()) if (author := _author(one))],
            "dates": said(dates),
            "identifiers": said({"doi": _doi(article)}),
            "journal": said({"title": text(journal.get("title")), "issn": unique(journal.get("issns", ()))}),
            "abstract": text(article.get("abstract")),
        }
    )


def _published(article: Mapping[str, Any]) -> str:
    """Year and month, or the year alone when the month is none."""
    year = real_date(article.get("year"))
    month = str(article.get("month", "")).strip().lower()
    number = int(month) if month.isdecimal() else NUMBERS.get(month, 0)
    return (real_date(f"{year}-{number:02}") or year) if year else ""


def _author(author: Mapping[str, Any]) -> dict[str, str]:
    name = text(author.get("name"))
    return said({"name": name, "orcid": bare_orcid(author.get("orcid_id"))}) if name else {}


def _doi(article: Mapping[str, Any]) -> str:
    return first(bare_doi(one.get("id")) for one in article.get("identifier", ()) if one.get("type") == "doi")
