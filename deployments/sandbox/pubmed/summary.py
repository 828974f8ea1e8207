"""esummary: a record in brief, without its abstract and without the day it was revised."""

from typing import Any

from deployments.sandbox.expected import inner_text
from deployments.sandbox.pubmed.record import Element, date_parts, parse

EMPTY = ("booktitle", "medium", "edition", "publisherlocation", "publishername", "srcdate", "reportnumber", "docdate")
STATUSES = {"MEDLINE": "PubMed - indexed for MEDLINE", "Publisher": "PubMed - as supplied by publisher"}
ID_NUMBERS = {"pubmed": 1, "doi": 3, "pii": 4, "pmcid": 5}
OTHER_ID = 8


def summarise(body: str) -> dict[str, Any]:
    """The summary of a record as efetch serves it."""
    root = parse(body)
    authors = _authors(root)
    title = inner_text(root.find(".//ArticleTitle")) or inner_text(root.find(".//BookTitle"))
    return {
        "uid": inner_text(root.find(".//PMID")),
        "pubdate": " ".join(inner_text(part) for part in _children(root, ".//PubDate")),
        "epubdate": " ".join(date_parts(root.find(".//ArticleDate"))),
        "source": inner_text(root.find(".//ISOAbbreviation")),
        "authors": authors,
        "lastauthor": authors[-1]["name"] if authors else "",
        "title": title,
        "sorttitle": title.lower(),
        "volume": inner_text(root.find(".//JournalIssue/Volume")),
        "issue": inner_text(root.find(".//JournalIssue/Issue")),
        "pages": inner_text(root.find(".//MedlinePgn")),
        "lang": [inner_text(found) for found in root.iter("Language")],
        **_journal(root),
        "pubtype": [inner_text(found) for found in root.iter("PublicationType")],
        "recordstatus": _status(root),
        "articleids": _ids(root),
        "history": _history(root),
        "references": [],
        "attributes": ["Has Abstract"] if root.find(".//Abstract") is not None else [],
        "doctype": "book" if root.tag == "PubmedBookArticle" else "citation",
        "elocationid": "".join(f"doi: {inner_text(found)}" for found in root.findall(".//Article/ELocationID")),
        **dict.fromkeys(EMPTY, ""),
    }


def missing(uid: str) -> dict[str, str]:
    """What stands for an id that has no summary, in a 200."""
    return {"uid": uid, "error": "cannot get document summary"}


def _journal(root: Element) -> dict[str, str]:
    return {
        "nlmuniqueid": inner_text(root.find(".//NlmUniqueID")),
        "issn": inner_text(root.find(".//ISSNLinking")),
        "essn": inner_text(root.find(".//Journal/ISSN[@IssnType='Electronic']")),
        "fulljournalname": inner_text(root.find(".//Journal/Title")),
    }


def _authors(root: Element) -> list[dict[str, str]]:
    names = [_name(author) for author in _children(root, ".//AuthorList")]
    return [{"name": name, "authtype": "Author", "clusterid": ""} for name in names if name]


def _name(author: Element) -> str:
    own = f"{inner_text(author.find('LastName'))} {inner_text(author.find('Initials'))}".strip()
    return own or inner_text(author.find("CollectiveName"))


def _status(root: Element) -> str:
    citation = root.find("MedlineCitation")
    return STATUSES.get(citation.get("Status", ""), "PubMed") if citation is not None else "PubMed"


def _ids(root: Element) -> list[dict[str, Any]]:
    kinds = [(each.get("IdType", ""), inner_text(each)) for each in _children(root, ".//ArticleIdList")]
    return [{"idtype": kind, "idtypen": ID_NUMBERS.get(kind, OTHER_ID), "value": value} for kind, value in kinds]


def _children(root: Element, path: str) -> list[Element]:
    """What is within the first element of this path."""
    found = root.find(path)
    return [] if found is None else list(found)


def _history(root: Element) -> list[dict[str, str]]:
    days = root.iter("PubMedPubDate")
    return [{"pubstatus": day.get("PubStatus", ""), "date": f"{'/'.join(date_parts(day))} 00:00"} for day in days]
