"""One request to the sandbox's bioRxiv or medRxiv, and what is read from it."""

from typing import Any

import httpx

from deployments.sandbox.remote import Sandbox
from tests.sandbox import wire
from tests.sandbox.wire import CLIENT

Preprint = dict[str, Any]
DAYS = ("2026-01-09", "2026-01-10")


def get(sandbox: Sandbox, path: str, server: str = "biorxiv") -> httpx.Response:
    """Ask below `/details/{server}`."""
    return CLIENT.get(f"{sandbox.url(server)}/details/{server}/{path}")


def answer(sandbox: Sandbox, first: str, last: str, cursor: object, server: str = "biorxiv") -> dict[str, Any]:
    """One page of an interval, whatever it holds."""
    return wire.page(get(sandbox, f"{first}/{last}/{cursor}", server))


def key(preprint: Preprint) -> str | None:
    """The DOI and the version, if it has both."""
    return f"{preprint['doi']}v{preprint['version']}" if preprint["doi"] and preprint["version"] else None


def keys(preprints: list[Preprint]) -> list[str]:
    """The keys of the preprints that have one."""
    return [found for preprint in preprints if (found := key(preprint))]


def true_ids(sandbox: Sandbox, from_: str | None = None, to: str | None = None, server: str = "biorxiv") -> list[str]:
    """The keys that can be found out, in order."""
    return sorted(wire.told_ids(server, sandbox, from_, to))
