"""One request to the sandbox's E-utilities, and what is read from it."""

from collections.abc import Sequence
from functools import partial
from typing import Any
from xml.etree import ElementTree as ET

import httpx

from deployments.sandbox.remote import Sandbox
from tests.sandbox import wire
from tests.sandbox.wire import CLIENT

Element = ET.Element


def get(sandbox: Sandbox, utility: str, **asked: object) -> httpx.Response:
    """Ask a utility by GET."""
    return CLIENT.get(_url(sandbox, utility), params=_texts(asked))


def post(sandbox: Sandbox, utility: str, **asked: object) -> httpx.Response:
    """Ask a utility by a posted form."""
    return CLIENT.post(_url(sandbox, utility), data=_texts(asked))


def result(sandbox: Sandbox, **asked: object) -> dict[str, Any]:
    """The `esearchresult` of a search that must be fine."""
    response = get(sandbox, "esearch", **{"db": "pubmed", "retmode": "json", "term": "all[sb]", **asked})
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()["esearchresult"]
    return found


def changed(first: str, last: str) -> dict[str, str]:
    """The parameters of a window of days of change, both ends inclusive."""
    return {"datetype": "mdat", "mindate": first, "maxdate": last}


def fetch(sandbox: Sandbox, ids: Sequence[str]) -> list[Element]:
    """The records of these ids, articles and books."""
    response = post(sandbox, "efetch", db="pubmed", retmode="xml", id=",".join(ids))
    assert response.status_code == 200, response.text
    return list(ET.fromstring(response.content))


true_ids = partial(wire.true_ids, "pubmed")


true_records = partial(wire.true_records, "pubmed")


def _url(sandbox: Sandbox, utility: str) -> str:
    return f"{sandbox.url('pubmed')}/{utility}.fcgi"


def _texts(asked: dict[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in asked.items()}
