"""One request to the sandbox's bioRxiv or medRxiv, and what is read from it."""

from typing import Any

import httpx

from deployments.sandbox.remote import Sandbox

Preprint = dict[str, Any]
DAYS = ("2026-01-09", "2026-01-10")


def get(sandbox: Sandbox, path: str, server: str = "biorxiv") -> httpx.Response:
    """Ask below `/details/{server}`."""
    return httpx.get(f"{sandbox.url(server)}/details/{server}/{path}", timeout=10, trust_env=False, verify=False)


def answer(sandbox: Sandbox, first: str, last: str, cursor: object, server: str = "biorxiv") -> dict[str, Any]:
    """One page of an interval, whatever it holds."""
    response = get(sandbox, f"{first}/{last}/{cursor}", server)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def key(preprint: Preprint) -> str | None:
    """The DOI and the version, if it has both."""
    return f"{preprint['doi']}v{preprint['version']}" if preprint["doi"] and preprint["version"] else None


def keys(preprints: list[Preprint]) -> list[str]:
    """The keys of the preprints that have one."""
    return [found for preprint in preprints if (found := key(preprint))]


def true_ids(sandbox: Sandbox, from_: str | None = None, to: str | None = None, server: str = "biorxiv") -> list[str]:
    """The keys that can be found out, in order."""
    rows = sandbox.truth(server, from_=from_, to=to, record=True)
    return sorted(row["id"] for row in rows if row["reason"] != "ID_MISSING")
