"""The way to harvest arXiv that loses nothing."""

from xml.etree import ElementTree as ET

from deployments.sandbox.remote import Sandbox
from tests.sandbox.arxiv.client import ATOM, EVERYTHING, Feed, feed

MOST_PAGES = 200


class RefusedError(Exception):
    """arXiv answered with an entry about an error."""


def harvest(sandbox: Sandbox, search: str = EVERYTHING, size: int = 50) -> list[ET.Element]:
    """Every page of a past window; one that is empty before the total is reached is asked again."""
    entries: list[ET.Element] = []
    for _ in range(MOST_PAGES):
        page = feed(
            sandbox, search, start=len(entries), max_results=size, sortBy="lastUpdatedDate", sortOrder="ascending"
        )
        refuse_errors(page)
        entries += page.entries
        if len(entries) >= page.total:
            return entries
    raise AssertionError("the result does not end")


def refuse_errors(page: Feed) -> None:
    """RefusedError when the feed is about an error."""
    for entry in page.entries:
        if "/api/errors#" in entry.findtext(f"{ATOM}id", ""):
            raise RefusedError(entry.findtext(f"{ATOM}summary", ""))
