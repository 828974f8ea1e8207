"""Harvesters that believe what is usual: each is wrong about Europe PMC in one way."""

from collections.abc import Iterable
from datetime import date
from itertools import pairwise
from urllib.parse import quote

from deployments.sandbox.remote import Sandbox
from tests.sandbox.europepmc.client import EVERYTHING, MOST_PAGES, Record, days, get, page
from tests.sandbox.wire import CLIENT


class NeverEndsError(Exception):
    """The harvest would go on for ever."""


def go_on_while_there_is_a_mark(sandbox: Sandbox, size: int) -> list[Record]:
    """Believes: the last page has no mark."""
    records: list[Record] = []
    mark: str | None = "*"
    for _ in range(MOST_PAGES):
        if mark is None:
            return records
        body = page(sandbox, EVERYTHING, cursorMark=mark, pageSize=size)
        records += body["resultList"]["result"]
        mark = body.get("nextCursorMark")
    raise NeverEndsError


def every_page_has_a_mark(sandbox: Sandbox) -> str:
    """Believes: each page says how to go on."""
    mark: str = page(sandbox, EVERYTHING, pageSize=1000)["nextCursorMark"]
    return mark


def page_by_number(sandbox: Sandbox, size: int) -> list[Record]:
    """Believes: pages have numbers."""
    records: list[Record] = []
    for number in range(1, MOST_PAGES):
        found = page(sandbox, EVERYTHING, page=number, pageSize=size)["resultList"]["result"]
        if not found:
            return records
        records += found
    raise NeverEndsError


def errors_have_a_status(sandbox: Sandbox, **asked: object) -> list[Record]:
    """Believes: a 200 is a result, and a result without list is empty."""
    response = get(sandbox, EVERYTHING, **asked)
    records: list[Record] = response.raise_for_status().json().get("resultList", {}).get("result", [])
    return records


def pasted_mark(sandbox: Sandbox, size: int) -> int:
    """Believes: a mark can be pasted into a URL. How many pages went well."""
    mark = "*"
    url = f"{sandbox.url('europepmc')}/search?query={quote(EVERYTHING)}&format=json&pageSize={size}"
    for number in range(MOST_PAGES):
        body = CLIENT.get(f"{url}&cursorMark={mark}").json()
        if "errCode" in body or not body["resultList"]["result"]:
            return number
        mark = body["nextCursorMark"]
    raise NeverEndsError


def by_id(records: Iterable[Record]) -> dict[str, Record]:
    """Believes: an id names a record."""
    return {record["id"]: record for record in records if "id" in record}


def adjacent_windows(sandbox: Sandbox, bounds: list[str]) -> list[Record]:
    """Believes: the end of a window is not part of it."""
    records: list[Record] = []
    for first, last in pairwise(bounds):
        records += page(sandbox, days(first, last), pageSize=1000)["resultList"]["result"]
    return records


def revised_on(records: Iterable[Record]) -> list[date]:
    """Believes: every record says when it was revised."""
    return [date.fromisoformat(record["dateOfRevision"]) for record in records]


def open_access(records: Iterable[Record]) -> list[Record]:
    """Believes: a boolean is a boolean."""
    return [record for record in records if record["isOpenAccess"]]
