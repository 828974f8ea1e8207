"""Ways to harvest that look right, and each of which breaks on DataCite in one way."""

from datetime import datetime
from itertools import pairwise

import httpx

from deployments.sandbox.remote import Sandbox
from tests.sandbox.datacite.client import Doi, ask, window
from tests.sandbox.wire import fetch, page

MOST_PAGES = 14


class NeverEndsError(Exception):
    """The harvest would go on for ever."""


def count_the_cursor(sandbox: Sandbox, size: int) -> list[Doi]:
    """Believes: after cursor 1 comes cursor 2."""
    dois: list[Doi] = []
    for number in range(1, MOST_PAGES):
        found = page(ask(sandbox, cursor=number, size=size))["data"]
        if not found:
            return dois
        dois += found
    raise NeverEndsError


def count_the_pages(sandbox: Sandbox, size: int, first: int) -> list[Doi]:
    """Believes: beyond the last page there is an empty one."""
    dois: list[Doi] = []
    for number in range(first, MOST_PAGES):
        found = page(ask(sandbox, number=number, size=size))["data"]
        if not found:
            return dois
        dois += found
    raise NeverEndsError


def follow_the_pages(sandbox: Sandbox, size: int) -> list[Doi]:
    """Believes: without a cursor, `next` leads through everything."""
    dois: list[Doi] = []
    reply = page(ask(sandbox, number=1, size=size))
    for _ in range(MOST_PAGES):
        dois += reply["data"]
        if "next" not in reply["links"]:
            return dois
        reply = page(fetch(reply["links"]["next"]))
    raise NeverEndsError


def newest_first_until(sandbox: Sandbox, since: str, size: int) -> list[Doi]:
    """Believes: sorted by update time, the first DOI before `since` is the end."""
    dois: list[Doi] = []
    reply = page(ask(sandbox, cursor=1, size=size, sort="-updated"))
    for _ in range(MOST_PAGES):
        for doi in reply["data"]:
            if (doi["attributes"].get("updated") or since) < since:
                return dois
            dois.append(doi)
        if "next" not in reply["links"]:
            return dois
        reply = page(fetch(reply["links"]["next"]))
    raise NeverEndsError


def one_large_page(sandbox: Sandbox, size: int) -> list[Doi]:
    """Believes: a page is as large as asked."""
    dois: list[Doi] = page(ask(sandbox, size=size))["data"]
    return dois


def adjacent_windows(sandbox: Sandbox, bounds: list[str]) -> list[Doi]:
    """Believes: the end of a window is not part of it."""
    dois: list[Doi] = []
    for first, last in pairwise(bounds):
        dois += page(ask(sandbox, query=window(first, last), size=1000))["data"]
    return dois


def update_times(dois: list[Doi]) -> list[datetime]:
    """Believes: every DOI says when it was updated."""
    return [datetime.fromisoformat(doi["attributes"]["updated"]) for doi in dois]


def every_page_has_data(sandbox: Sandbox, size: int) -> str:
    """Believes: where `next` leads there is something."""
    reply = page(ask(sandbox, cursor=1, size=size))
    last: str = reply["data"][-1]["id"]
    while "next" in reply["links"]:
        reply = page(fetch(reply["links"]["next"]))
        last = reply["data"][-1]["id"]
    return last


def first_error(response: httpx.Response) -> str:
    """Believes: `errors` is a list, as JSON:API has it."""
    title: str = response.json()["errors"][0]["title"]
    return title


def orcids(dois: list[Doi]) -> list[str]:
    """Believes: the first name identifier of a creator is an ORCID's address."""
    creators = [creator for doi in dois for creator in doi["attributes"]["creators"] if creator.get("nameIdentifiers")]
    return [creator["nameIdentifiers"][0]["nameIdentifier"].removeprefix("https://orcid.org/") for creator in creators]
