"""The common record of a Crossref work, as somebody would write it for Crossref alone."""

from typing import Any

import orjson

Record = dict[str, Any]


def map_by_hand(body: bytes) -> list[Record]:
    """The common records of a page."""
    return [map_work(work) for work in orjson.loads(body)["message"]["items"]]


def map_work(work: Record) -> Record:
    """The common record of one Crossref work."""
    record: Record = {}
    title = _first(work.get("title"))
    if title:
        record["title"] = title
    authors = [author for one in work.get("author") or () if (author := _author(one))]
    if authors:
        record["authors"] = authors
    dates = _dates(work)
    if dates:
        record["dates"] = dates
    record["identifiers"] = {"doi": work["DOI"].strip().lower()}
    journal = _journal(work)
    if journal:
        record["journal"] = journal
    record["type"] = work["type"]
    abstract = (work.get("abstract") or "").strip()
    if abstract:
        record["abstract"] = abstract
    return record


def _first(texts: list[str] | None) -> str | None:
    return (texts[0].strip() or None) if texts else None


def _author(one: Record) -> Record | None:
    parts = [part for part in ((one.get("given") or "").strip(), (one.get("family") or "").strip()) if part]
    name = " ".join(parts) or (one.get("name") or "").strip()
    if not name:
        return None
    orcid = one.get("ORCID")
    return {"name": name, "orcid": orcid.rsplit("/", 1)[-1]} if orcid else {"name": name}


def _dates(work: Record) -> Record:
    dates = {}
    parts = work.get("issued", {}).get("date-parts", [[]])[0]
    if parts and parts[0]:
        dates["published"] = "-".join((f"{parts[0]:04d}", *(f"{part:02d}" for part in parts[1:3])))
    created = work.get("created", {}).get("date-time")
    if created:
        dates["created"] = created[:10]
    return dates


def _journal(work: Record) -> Record:
    journal: Record = {}
    title = _first(work.get("container-title"))
    if title:
        journal["title"] = title
    if work.get("ISSN"):
        journal["issn"] = list(dict.fromkeys(work["ISSN"]))
    return journal
