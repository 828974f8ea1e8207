"""esummary: a record in brief, without its abstract and without the day it was revised."""

from typing import Any

from deployments.sandbox.pubmed.record import Element, date_parts, parse, text_of

EMPTY = ("booktitle", "medium", "edition", "publisherlocation", "publishername", "srcdate", "reportnumber", "docdate")
STATUSES = {"MEDLINE": "PubMed - indexed for MEDLINE", "Publisher": "PubMed - as supplied by publisher"}
ID_NUMBERS = {"pubmed": 1, "doi": 3, "pii": 4, "pmcid": 5}
OTHER_ID = 8


def summarise(body: str) -> dict[str, Any]:
    """The summary of a record as efetch serves it."""
    root = parse(body)
    authors = _authors(root)
    title = text_of(root.find(".//ArticleTitle")) or text_of(root.find(".//BookTitle"))
    return {
        "uid": text_of(root.find(".//PMID")),
        "pubdate": " ".join(text_of(part) for part in _children(root, ".//PubDate")),
        "epubdate": " ".join(date_parts(root.find(".//ArticleDate"))),
        "source": text_of(root.find(".//ISOAbbreviation")),
        "authors": authors,
        "lastauthor": authors[-1]["name"] if authors else "",
        "title": title,
        "sorttitle": title.lower(),
        "volume": text_of(root.find(".//JournalIssue/Volume")),
        "issue": text_of(root.find(".//JournalIssue/Issue")),
        "pages": text_of(root.find(".//MedlinePgn")),
        "lang": [text_of(found) for found in root.iter("Language")],
        **_journal(root),
        "pubtype": [text_of(found) for found in root.iter("PublicationType")],
        "recordstatus": _status(root),
        "articleids": _ids(root),
        "history": _history(root),
        "references": [],
        "attributes": ["Has Abstract"] if root.find(".//Abstract") is not None else [],
        "doctype": "book" if root.tag == "PubmedBookArticle" else "citation",
        "elocationid": "".join(f"doi: {text_of(found)}" for found in root.findall(".//Article/ELocationID")),
        **dict.fromkeys(EMPTY, ""),
    }


def missing(uid: str) -> dict[str, str]:
    """What stands for an id that has no summary, in a 200."""
    return {"uid": uid, "error": "cannot get document summary"}


def _journal(root: Element) -> dict[str, str]:
    return {
        "nlmuniqueid": text_of(root.find(".//NlmUniqueID")),
        "issn": text_of(root.find(".//ISSNLinking")),
        "essn": text_of(root.find(".//Journal/ISSN[@IssnType='Electronic']")),
        "fulljournalname": text_of(root.find(".//Journal/Title")),
    }


def _authors(root: Element) -> list[dict[str, str]]:
    names = [_name(author) for author in _children(root, ".//AuthorList")]
    return [{"name": name, "authtype": "Author", "clusterid": ""} for name in names if name]


def _name(author: Element) -> str:
    own = f"{text_of(author.find('LastName'))} {text_of(author.find('Initials'))}".strip()
    return own or text_of(author.find("CollectiveName"))


def _status(root: Element) -> str:
    citation = root.find("MedlineCitation")
    return STATUSES.get(citation.get("Status", ""), "PubMed") if citation is not None else "PubMed"


def _ids(root: Element) -> list[dict[str, Any]]:
    kinds = [(each.get("IdType", ""), text_of(each)) for each in _children(root, ".//ArticleIdList")]
    return [{"idtype": kind, "idtypen": ID_NUMBERS.get(kind, OTHER_ID), "value": value} for kind, value in kinds]


def _children(root: Element, path: str) -> list[Element]:
    """What is within the first element of this path."""
    found = root.find(path)
    return [] if found is None else list(found)


def _history(root: Element) -> list[dict[str, str]]:
    days = root.iter("PubMedPubDate")
    return [{"pubstatus": day.get("PubStatus", ""), "date": f"{'/'.join(date_parts(day))} 00:00"} for day in days]
