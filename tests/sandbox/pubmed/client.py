"""One request to the sandbox's E-utilities, and what is read from it."""

from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree as ET

import httpx

from deployments.sandbox.remote import Sandbox

Element = ET.Element


def get(sandbox: Sandbox, utility: str, **asked: object) -> httpx.Response:
    """Ask a utility by GET."""
    # Without verify=False each call would load the certificates that plain http does not need.
    return httpx.get(_url(sandbox, utility), params=_texts(asked), timeout=10, trust_env=False, verify=False)


def post(sandbox: Sandbox, utility: str, **asked: object) -> httpx.Response:
    """Ask a utility by a posted form."""
    return httpx.post(_url(sandbox, utility), data=_texts(asked), timeout=10, trust_env=False, verify=False)


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


def true_ids(sandbox: Sandbox, from_: str | None = None, to: str | None = None) -> set[str]:
    """The PMIDs that are really there."""
    return {row["id"] for row in sandbox.truth("pubmed", from_=from_, to=to)}


def true_records(sandbox: Sandbox) -> dict[str, dict[str, Any]]:
    """The usable records as they should be mapped, by PMID."""
    return {row["id"]: row["record"] for row in sandbox.truth("pubmed", record=True) if row["usable"]}


def _url(sandbox: Sandbox, utility: str) -> str:
    return f"{sandbox.url('pubmed')}/{utility}.fcgi"


def _texts(asked: dict[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in asked.items()}
