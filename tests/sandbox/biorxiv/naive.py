"""Harvesters that believe what is usual: each is wrong about bioRxiv and medRxiv in one way."""

from datetime import date
from itertools import pairwise

from deployments.sandbox.remote import Sandbox
from tests.sandbox.biorxiv.client import DAYS, Preprint, answer

MOST_PAGES = 50


def step_by(sandbox: Sandbox, step: int, server: str) -> list[Preprint]:
    """Believes: a page has as many preprints as a document once said."""
    preprints: list[Preprint] = []
    for page in range(MOST_PAGES):
        body = answer(sandbox, *DAYS, page * step, server)
        if body["messages"][0]["status"] != "ok":
            break
        preprints += body["collection"]
    return preprints


def pages_to_ask(sandbox: Sandbox) -> range:
    """Believes: a count is a number."""
    message = answer(sandbox, *DAYS, 0)["messages"][0]
    return range(0, message["total"], message["count"])


def until_the_collection_is_empty(sandbox: Sandbox, first: str, last: str) -> list[Preprint]:
    """Believes: every page has a collection and says how many are in it."""
    preprints: list[Preprint] = []
    cursor = 0
    for _ in range(MOST_PAGES):
        body = answer(sandbox, first, last, cursor)
        cursor += body["messages"][0]["count"]
        preprints += body["collection"]
    return preprints


def read_collection(sandbox: Sandbox, first: str, last: str) -> list[Preprint]:
    """Believes: where nothing is found there is an empty list."""
    found: list[Preprint] = answer(sandbox, first, last, 0)["collection"]
    return found


def next_cursor(sandbox: Sandbox, cursor: int) -> int:
    """Believes: the cursor is a number on every page."""
    message = answer(sandbox, *DAYS, cursor)["messages"][0]
    return int.__add__(message["cursor"], message["count"])


def by_doi(preprints: list[Preprint]) -> dict[str, Preprint]:
    """Believes: a DOI is the key of a preprint."""
    return {preprint["doi"]: preprint for preprint in preprints}


def adjacent_windows(sandbox: Sandbox, bounds: list[str]) -> list[Preprint]:
    """Believes: the end of an interval is not part of it."""
    preprints: list[Preprint] = []
    for first, last in pairwise(bounds):
        cursor, total = 0, 1
        while cursor < total:
            body = answer(sandbox, first, last, cursor)
            preprints += body["collection"]
            cursor, total = cursor + body["messages"][0]["count"], int(body["messages"][0]["total"])
    return preprints


def update_days(preprints: list[Preprint]) -> list[date]:
    """Believes: every preprint has a date, and it is one."""
    return [date.fromisoformat(preprint["date"]) for preprint in preprints]


def authors(preprint: Preprint) -> list[str]:
    """Believes: what is between semicolons is a name."""
    found: list[str] = preprint["authors"].split("; ")
    return found
