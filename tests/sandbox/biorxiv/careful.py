"""The way to harvest bioRxiv and medRxiv that loses nothing."""

from deployments.sandbox.remote import Sandbox
from tests.sandbox.biorxiv.client import DAYS, Preprint, answer

MOST_PAGES = 200


def harvest(sandbox: Sandbox, first: str = DAYS[0], last: str = DAYS[1], server: str = "biorxiv") -> list[Preprint]:
    """Every page of an interval of past days, stepping by what each says it holds."""
    preprints: list[Preprint] = []
    cursor = 0
    for _ in range(MOST_PAGES):
        body = answer(sandbox, first, last, cursor, server)
        message = body["messages"][0]
        if message["status"] == "no posts found":
            return preprints
        assert message["status"] == "ok", message
        preprints += body["collection"]
        cursor += int(message["count"])
        if cursor >= int(message["total"]):
            return preprints
    raise AssertionError("the interval does not end")
