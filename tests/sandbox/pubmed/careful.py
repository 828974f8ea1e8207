"""The way to harvest PubMed that loses nothing: what the naive ways are compared with."""

import json
from collections.abc import Iterator
from typing import Any

import httpx

from deployments.sandbox.remote import Sandbox
from tests.sandbox.pubmed.client import Element, changed, fetch, post

REACHABLE = 9999
HIGHEST_PMID = 99_999_999
MOST_TRIES = 5
BATCH = 200


class LostAnswerError(Exception):
    """An answer that did not come, or says no."""


def harvest(sandbox: Sandbox, first: str, last: str) -> dict[str, Element | None]:
    """The records of a window by PMID; None for one that is listed and not served."""
    return harvest_ids(sandbox, listed(sandbox, first, last))


def harvest_ids(sandbox: Sandbox, ids: list[str]) -> dict[str, Element | None]:
    """The records of these ids by PMID; None for one that is not served."""
    found: dict[str, Element | None] = dict.fromkeys(ids)
    for start in range(0, len(ids), BATCH):
        for record in fetch(sandbox, ids[start : start + BATCH]):
            found[pmid(record)] = record
    return found


def listed(sandbox: Sandbox, first: str, last: str, reach: int = REACHABLE) -> list[str]:
    """The ids of a window, split by number until each part is within reach."""
    return [pmid for part in _parts(sandbox, first, last, reach, 1, HIGHEST_PMID) for pmid in part]


def search(sandbox: Sandbox, **asked: object) -> dict[str, Any]:
    """One search, tried again when its answer is lost or says no."""
    for _ in range(MOST_TRIES):
        try:
            return _search(sandbox, **asked)
        except LostAnswerError:
            continue
    raise AssertionError("no search came to its end")


def pmid(record: Element) -> str:
    """The record's own number."""
    return record.findtext("MedlineCitation/PMID") or record.findtext("BookDocument/PMID") or ""


def updated_at(record: Element) -> str | None:
    """The day of change, if the record has one."""
    revised = record.find("MedlineCitation/DateRevised")
    revised = record.find("BookDocument/DateRevised") if revised is None else revised
    if revised is None:
        return None
    return "-".join(revised.findtext(part) or "" for part in ("Year", "Month", "Day"))


def reason(record: Element | None) -> str | None:
    """Why the record cannot be used, if so."""
    if record is None:
        return "DETAIL_MISSING"
    return None if updated_at(record) else "UPDATED_AT_MISSING"


def _parts(sandbox: Sandbox, first: str, last: str, reach: int, lowest: int, highest: int) -> Iterator[list[str]]:
    term = f"all[sb] AND {lowest}:{highest}[UID]"
    # One page for the whole part: a result may move between two.
    answer = search(sandbox, term=term, retmax=reach, **changed(first, last))
    if int(answer["count"]) <= reach:
        yield answer["idlist"]
        return
    middle = (lowest + highest) // 2
    yield from _parts(sandbox, first, last, reach, lowest, middle)
    yield from _parts(sandbox, first, last, reach, middle + 1, highest)


def _search(sandbox: Sandbox, **asked: object) -> dict[str, Any]:
    try:
        response = post(sandbox, "esearch", db="pubmed", retmode="json", **asked).raise_for_status()
        # Errors hold raw line breaks.
        answer: dict[str, Any] = json.loads(response.text, strict=False)["esearchresult"]
    except (httpx.HTTPError, ValueError, KeyError) as error:
        raise LostAnswerError from error
    if "ERROR" in answer:
        raise LostAnswerError(answer["ERROR"])
    return answer
