"""Harvesters that believe what is usual: each is wrong about OpenAlex in one way."""

from datetime import UTC, datetime
from itertools import pairwise

import httpx

from deployments.sandbox.remote import Sandbox
from tests.sandbox.openalex.client import MOST_PAGES, Work, get, page, window


def every_page_has_a_last_work(sandbox: Sandbox) -> list[str]:
    """Believes: where a cursor leads, there is a work."""
    last: list[str] = []
    cursor = "*"
    while cursor:
        body = page(sandbox, cursor=cursor, per_page=100)
        last.append(body["results"][-1]["id"])
        cursor = body["meta"]["next_cursor"]
    return last


def ask_until_refused(sandbox: Sandbox) -> list[Work]:
    """Believes: a cursor always leads on."""
    works: list[Work] = []
    cursor: object = "*"
    for _ in range(MOST_PAGES):
        body = page(sandbox, cursor=str(cursor), per_page=100)
        works += body["results"]
        cursor = body["meta"]["next_cursor"]
    return works


def page_by_number(sandbox: Sandbox, per_page: int, first: int = 1, **asked: object) -> list[Work]:
    """Believes: a result stands still while it is paged through, and has no end to its pages."""
    works: list[Work] = []
    for number in range(first, MOST_PAGES):
        found = page(sandbox, page=number, per_page=per_page, **asked)["results"]
        if not found:
            return works
        works += found
    raise AssertionError("the pages do not end")


def adjacent_windows(sandbox: Sandbox, bounds: list[str]) -> list[Work]:
    """Believes: the end of a window is not part of it."""
    works: list[Work] = []
    for first, last in pairwise(bounds):
        works += page_by_number(sandbox, 100, filter=window(first, last))
    return works


def newer_than(works: list[Work], moment: datetime) -> list[Work]:
    """Believes: every update time says its offset."""
    return [work for work in works if datetime.fromisoformat(work["updated_date"]) > moment]


def abstract(work: Work) -> str:
    """Believes: the words of the index are the abstract."""
    return " ".join(work["abstract_inverted_index"])


def journal(work: Work) -> str:
    """Believes: every work appeared somewhere."""
    title: str = work["primary_location"]["source"]["display_name"]
    return title


def reset_at(response: httpx.Response) -> datetime:
    """Believes: Reset is an instant."""
    return datetime.fromtimestamp(int(response.headers["x-ratelimit-reset"]), UTC)


def seconds_to_wait(response: httpx.Response) -> int:
    """Believes: Retry-After is worth waiting for."""
    return int(response.headers["retry-after"])


def search_title(sandbox: Sandbox, title: str) -> list[Work]:
    """Believes: a title can be searched as it is."""
    works: list[Work] = page(sandbox, filter=f"title.search:{title}")["results"]
    return works


def by_ids(sandbox: Sandbox, ids: list[str]) -> list[Work]:
    """Believes: any number of ids can be asked at once."""
    response = get(sandbox, filter=f"openalex:{'|'.join(ids)}", per_page=100)
    works: list[Work] = response.raise_for_status().json()["results"]
    return works
