"""The common record an article must become."""

from collections.abc import Mapping
from typing import Any

from deployments.sandbox.datacite.values import bare_doi, bare_orcid, filled, first, real_date, text_of

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
    return filled(
        {
            "title": text_of(article.get("title")),
            "authors": [author for one in article.get("author", ()) if (author := _author(one))],
            "dates": filled(dates),
            "identifiers": filled({"doi": _doi(article)}),
            "journal": filled({"title": text_of(journal.get("title")), "issn": _issns(journal)}),
            "abstract": text_of(article.get("abstract")),
        }
    )


def _published(article: Mapping[str, Any]) -> str | None:
    """Year and month, or the year alone when the month is none."""
    year = real_date(article.get("year"))
    month = str(article.get("month", "")).strip().lower()
    number = int(month) if month.isdecimal() else NUMBERS.get(month, 0)
    return (real_date(f"{year}-{number:02}") or year) if year else None


def _author(author: Mapping[str, Any]) -> dict[str, Any] | None:
    name = text_of(author.get("name"))
    return filled({"name": name, "orcid": bare_orcid(author.get("orcid_id"))}) if name else None


def _doi(article: Mapping[str, Any]) -> str | None:
    return first(bare_doi(one.get("id")) for one in article.get("identifier", ()) if one.get("type") == "doi")


def _issns(journal: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys(issn.strip() for issn in journal.get("issns", ())))
