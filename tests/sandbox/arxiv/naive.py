"""Harvesters that believe what is usual: each is wrong about arXiv in one way."""

from itertools import pairwise
from xml.etree import ElementTree as ET

import httpx

from deployments.sandbox.remote import Sandbox
from tests.sandbox.arxiv.client import ATOM, EVERYTHING, Feed, feed, read_feed, versioned, window

MOST_PAGES = 60


def every_entry_is_a_paper(sandbox: Sandbox, search: str) -> list[str]:
    """Believes: what is in a 200 is what was asked for."""
    return [entry.findtext(f"{ATOM}title", "") for entry in feed(sandbox, search).entries]


def every_answer_is_a_feed(response: httpx.Response) -> Feed:
    """Believes: the answer is XML."""
    return read_feed(response.text)


def until_a_page_is_empty(sandbox: Sandbox, size: int) -> list[ET.Element]:
    """Believes: an empty page is behind the last."""
    entries: list[ET.Element] = []
    for number in range(MOST_PAGES):
        found = feed(sandbox, start=number * size, max_results=size).entries
        if not found:
            break
        entries += found
    return entries


def step_by_what_was_asked(sandbox: Sandbox, size: int) -> list[ET.Element]:
    """Believes: a page has as many entries as were asked for."""
    entries: list[ET.Element] = []
    start, total = 0, 1
    while start < total:
        page = feed(sandbox, start=start, max_results=size)
        entries, start, total = entries + page.entries, start + size, page.total
    return entries


def by_id(entries: list[ET.Element]) -> dict[str, ET.Element]:
    """Believes: the id is the key of a paper."""
    return {versioned(entry): entry for entry in entries}


def last_part_of_the_id(entry: ET.Element) -> str:
    """Believes: an id has no slash in it."""
    return versioned(entry).rpartition("/")[2].rpartition("v")[0]


def titles(entries: list[ET.Element]) -> list[str]:
    """Believes: a title is one line of text."""
    return [entry.findtext(f"{ATOM}title", "") for entry in entries]


def every_id(page: Feed) -> list[str]:
    """Believes: only papers have ids."""
    return [element.text or "" for element in page.root.iter(f"{ATOM}id")]


def published_anywhere(text: str) -> int:
    """Believes: a tag in the text is an element."""
    return text.count("<published>")


def author_texts(entry: ET.Element) -> list[str]:
    """Believes: an author is a name."""
    return [" ".join("".join(author.itertext()).split()) for author in entry.iter(f"{ATOM}author")]


def adjacent_windows(sandbox: Sandbox, bounds: list[str]) -> list[ET.Element]:
    """Believes: the end of a window is not part of it."""
    return [
        entry
        for first, last in pairwise(bounds)
        for entry in feed(sandbox, window(first, last), max_results=2000).entries
    ]


def page_by_offset(sandbox: Sandbox, size: int) -> list[ET.Element]:
    """Believes: a result stands still while it is paged through."""
    entries: list[ET.Element] = []
    start, total = 0, 1
    while start < total:
        page = feed(sandbox, EVERYTHING, start=start, max_results=size, sortBy="lastUpdatedDate", sortOrder="ascending")
        entries, start, total = entries + page.entries, start + len(page.entries), page.total
    return entries


def update_times(entries: list[ET.Element]) -> list[str]:
    """Believes: every paper says when it was updated."""
    return [entry.find(f"{ATOM}updated").text.strip() for entry in entries]  # type: ignore[union-attr]
