"""Requests to the sandbox's Semantic Scholar, and the way to read it that loses nothing."""

from typing import Any

import httpx

from deployments.sandbox.remote import Sandbox
from tests.sandbox.wire import CLIENT

Paper = dict[str, Any]
BATCH = 500
MOST_PAGES = 20
FIELDS = (
    "title,abstract,venue,year,publicationDate,publicationTypes,externalIds,authors,journal,publicationVenue,corpusId"
)


def post(sandbox: Sandbox, ids: list[str], fields: str | None = FIELDS) -> httpx.Response:
    """Ask for papers by id."""
    url = f"{sandbox.url('semanticscholar')}/graph/v1/paper/batch"
    parameters = {"fields": fields} if fields else {}
    return CLIENT.post(url, params=parameters, json={"ids": ids})


def bulk(sandbox: Sandbox, **asked: str) -> httpx.Response:
    """Ask for a page of a search; without a query for everything."""
    url = f"{sandbox.url('semanticscholar')}/graph/v1/paper/search/bulk"
    return CLIENT.get(url, params={"query": "", **asked})


def fetch(sandbox: Sandbox, ids: list[str]) -> dict[str, Paper | None]:
    """The papers by the ids asked for; None where there is no such paper."""
    found: dict[str, Paper | None] = {}
    for at in range(0, len(ids), BATCH):
        asked = ids[at : at + BATCH]
        response = post(sandbox, asked)
        if response.status_code == 400 and response.json() == {"error": "No valid paper ids given"}:
            found |= dict.fromkeys(asked)
        else:
            found |= dict(zip(asked, response.raise_for_status().json(), strict=True))
    return found


def list_ids(sandbox: Sandbox) -> list[str]:
    """Every paperId, until a page has no token."""
    ids: list[str] = []
    asked: dict[str, str] = {}
    for _ in range(MOST_PAGES):
        body = bulk(sandbox, **asked).json()
        ids += [paper["paperId"] for paper in body["data"]]
        if body["token"] is None:
            return ids
        asked = {"token": body["token"]}
    raise AssertionError("the search does not end")


def true_ids(sandbox: Sandbox, *, usable: bool | None = None) -> set[str]:
    """The ids that are really there."""
    return {row["id"] for row in sandbox.truth("semanticscholar") if usable in {None, row["usable"]}}
