"""Harvesters that believe what is usual: each is wrong about Semantic Scholar in one way."""

import httpx

from deployments.sandbox.remote import Sandbox
from tests.sandbox.semanticscholar.client import MOST_PAGES, Paper, bulk, post


def every_entry_is_a_paper(response: httpx.Response) -> list[str]:
    """Believes: what was asked for is there, and the answer is a list."""
    return [paper["paperId"] for paper in response.json()]


def drop_the_nulls(sandbox: Sandbox, ids: list[str]) -> dict[str, str]:
    """Believes: the answers stand in the order of the ids, without gaps."""
    papers = [paper for paper in post(sandbox, ids).json() if paper]
    return {asked: paper["paperId"] for asked, paper in zip(ids, papers, strict=False)}


def by_answered_id(sandbox: Sandbox, ids: list[str]) -> list[Paper]:
    """Believes: a paper answers to the id it was asked by."""
    papers = {paper["paperId"]: paper for paper in post(sandbox, ids).json() if paper}
    return [papers[asked] for asked in ids]


def wait_as_told(response: httpx.Response) -> int:
    """Believes: a 429 says how long to wait."""
    return int(response.headers["retry-after"])


def go_on_until_the_total(sandbox: Sandbox) -> list[Paper]:
    """Believes: the total is the number of papers."""
    papers: list[Paper] = []
    token, total = "", 1
    for _ in range(MOST_PAGES):
        if len(papers) >= total:
            return papers
        body = bulk(sandbox, **({"token": token} if token else {})).json()
        papers += body["data"]
        token, total = body["token"], body["total"]
    raise AssertionError("the search does not end")


def published_on(papers: list[Paper]) -> list[int]:
    """Believes: every paper says the day of its publication."""
    return [int(paper["publicationDate"][:4]) for paper in papers]
