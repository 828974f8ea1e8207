"""One request to the sandbox's ClinicalTrials.gov, and what is read from it."""

from functools import partial
from typing import Any

import httpx

from deployments.sandbox.remote import Sandbox
from tests.sandbox import wire
from tests.sandbox.wire import CLIENT

SOURCE = "clinicaltrials"
Study = dict[str, Any]


def get(sandbox: Sandbox, **asked: object) -> httpx.Response:
    """Ask `/studies`; `_` in a parameter's name stands for a dot."""
    return at(sandbox, "/studies", {name.replace("_", "."): str(value) for name, value in asked.items()})


def at(sandbox: Sandbox, path: str, params: dict[str, str] | None = None) -> httpx.Response:
    """Ask for what is below `/api/v2`."""
    return CLIENT.get(f"{sandbox.url(SOURCE)}/api/v2{path}", params=params)


def page(sandbox: Sandbox, **asked: object) -> dict[str, Any]:
    """A page that must be fine."""
    return wire.page(get(sandbox, **asked))


def window(first: str, last: str) -> str:
    """The filter of an update window, both ends inclusive."""
    return f"AREA[LastUpdatePostDate]RANGE[{first},{last}]"


def updated(study: Study) -> str | None:
    """The date of the last update as the study gives it, if it does."""
    date: str | None = study["protocolSection"]["statusModule"].get("lastUpdatePostDateStruct", {}).get("date")
    return date


def nct_ids(studies: list[Study]) -> list[str]:
    """The NCT numbers of the studies that have one."""
    numbers = [study["protocolSection"]["identificationModule"].get("nctId") for study in studies]
    return [number for number in numbers if number]


true_ids = partial(wire.told_ids, SOURCE)
