"""Harvesters that believe what is usual: each is wrong about Crossref in one way."""

import time
from collections.abc import Iterable
from datetime import datetime
from itertools import pairwise

import httpx

from deployments.sandbox.remote import Sandbox
from tests.sandbox.client import Work, ask, get, message, window

MOST_PAGES = 50


class NeverEndsError(Exception):
    """The harvest would go on for ever."""


def stop_when_the_cursor_repeats(sandbox: Sandbox, rows: int) -> list[Work]:
    """Believes: an unchanged cursor means there is no more."""
    works: list[Work] = []
    cursor, following = "", "*"
    while cursor != following:
        cursor = following
        page = message(sandbox, cursor=cursor, rows=rows)
        works += page["items"]
        following = page["next-cursor"]
    return works


def ask_the_same_page_again(sandbox: Sandbox, rows: int) -> list[Work]:
    """Believes: a request whose answer was lost can be sent again."""
    works: list[Work] = []
    cursor = "*"
    for _ in range(MOST_PAGES):
        try:
            response = ask(sandbox, {"cursor": cursor, "rows": rows}, timeout_seconds=0.2)
            page = response.raise_for_status().json()["message"]
        except httpx.HTTPError:
            continue
        if not page["items"]:
            return works
        works += page["items"]
        cursor = page["next-cursor"]
    raise NeverEndsError


def go_on_while_there_is_a_cursor(sandbox: Sandbox, rows: int) -> list[Work]:
    """Believes: the last page has no cursor."""
    works: list[Work] = []
    cursor: str | None = "*"
    for _ in range(MOST_PAGES):
        if cursor is None:
            return works
        page = message(sandbox, cursor=cursor, rows=rows)
        works += page["items"]
        cursor = page.get("next-cursor")
    raise NeverEndsError


def adjacent_windows(sandbox: Sandbox, bounds: list[str]) -> list[Work]:
    """Believes: the end of a window is not part of it."""
    works: list[Work] = []
    for first, last in pairwise(bounds):
        works += message(sandbox, filter=window(first, last), rows=1000)["items"]
    return works


def exact_window(sandbox: Sandbox, first: str, last: str) -> list[Work]:
    """Believes: a bound to the second is kept to the second."""
    works: list[Work] = message(sandbox, filter=window(first, last), rows=1000)["items"]
    return works


def update_times(works: Iterable[Work]) -> list[datetime]:
    """Believes: every work says when it was indexed."""
    return [datetime.fromisoformat(work["indexed"]["date-time"]) for work in works]


def only_what_is_needed(sandbox: Sandbox) -> list[Work]:
    """Believes: the index time comes whatever is selected."""
    works: list[Work] = message(sandbox, select="DOI,title", rows=1000)["items"]
    return works


def every_200_is_json(sandbox: Sandbox) -> list[Work]:
    """Believes: a 200 holds a page."""
    response = get(sandbox, cursor="*")
    response.raise_for_status()
    works: list[Work] = response.json()["message"]["items"]
    return works


def wait_as_told(response: httpx.Response) -> int:
    """Believes: a 429 says how long to wait."""
    return int(response.headers["retry-after"])


def message_is_an_object(response: httpx.Response) -> list[Work]:
    """Believes: `message` is an object whatever the status."""
    works: list[Work] = response.json()["message"]["items"]
    return works


def pause_between_pages(sandbox: Sandbox, rows: int, seconds: float) -> list[Work]:
    """Believes: a scroll waits as long as one likes."""
    works: list[Work] = []
    cursor = "*"
    for _ in range(MOST_PAGES):
        page = message(sandbox, cursor=cursor, rows=rows)
        if not page["items"]:
            return works
        works += page["items"]
        cursor = page["next-cursor"]
        time.sleep(seconds)
    raise NeverEndsError


def page_by_offset(sandbox: Sandbox, rows: int, **parameters: object) -> list[Work]:
    """Believes: a result stands still while it is paged through."""
    works: list[Work] = []
    for number in range(MOST_PAGES):
        found = message(sandbox, offset=number * rows, rows=rows, **parameters)["items"]
        if not found:
            return works
        works += found
    raise NeverEndsError


def by_spelling(works: Iterable[Work]) -> dict[str, Work]:
    """Believes: a DOI is always spelled the same."""
    return {work["DOI"]: work for work in works}
