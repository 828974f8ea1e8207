"""One request to the sandbox's arXiv, and what is read from it."""

from dataclasses import dataclass
from functools import partial
from xml.etree import ElementTree as ET

import httpx

from deployments.sandbox.remote import Sandbox
from tests.sandbox import wire
from tests.sandbox.wire import CLIENT

SOURCE = "arxiv"
ATOM = "{http://www.w3.org/2005/Atom}"
ARXIV = "{http://arxiv.org/schemas/atom}"
OPENSEARCH = "{http://a9.com/-/spec/opensearch/1.1/}"
EVERYTHING = "lastUpdatedDate:[202601010000 TO 202601312359]"
PREFIX = "http://arxiv.org/abs/"


@dataclass(frozen=True)
class Feed:
    """A feed: its entries, and how many there are in all."""

    root: ET.Element
    entries: list[ET.Element]
    total: int


def get(sandbox: Sandbox, **asked: object) -> httpx.Response:
    """Ask `/api/query`."""
    params = {name: str(value) for name, value in asked.items()}
    return CLIENT.get(f"{sandbox.url(SOURCE)}/api/query", params=params, timeout=30)


def feed(sandbox: Sandbox, search: str = EVERYTHING, **asked: object) -> Feed:
    """A feed that must be one."""
    response = get(sandbox, search_query=search, **asked)
    assert response.status_code == 200, response.text
    return read_feed(response.text)


def read_feed(text: str) -> Feed:
    """The feed in a text."""
    root = ET.fromstring(text)
    return Feed(root, root.findall(f"{ATOM}entry"), int(root.findtext(f"{OPENSEARCH}totalResults", "0")))


def window(first: str, last: str, field: str = "lastUpdatedDate") -> str:
    """The search of an update window to the minute, both ends inclusive."""
    return f"{field}:[{first} TO {last}]"


def versioned(entry: ET.Element) -> str:
    """The id as the entry has it, with its version."""
    return entry.findtext(f"{ATOM}id", "").removeprefix(PREFIX)


def bare_ids(entries: list[ET.Element]) -> list[str]:
    """The ids without a version, of the entries that have one."""
    return [name.rpartition("v")[0] for entry in entries if (name := versioned(entry))]


true_ids = partial(wire.told_ids, SOURCE)
