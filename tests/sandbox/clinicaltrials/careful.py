"""The way to harvest ClinicalTrials.gov that loses nothing."""

from deployments.sandbox.remote import Sandbox
from tests.sandbox.clinicaltrials.client import Study, page

MOST_PAGES = 200


def harvest(sandbox: Sandbox, **asked: object) -> list[Study]:
    """Every page, until one is empty or has no token."""
    studies: list[Study] = []
    following: dict[str, object] = {}
    for _ in range(MOST_PAGES):
        answer = page(sandbox, **asked, **following)
        studies += answer["studies"]
        if not answer["studies"] or "nextPageToken" not in answer:
            return studies
        following = {"pageToken": answer["nextPageToken"]}
    raise AssertionError("the result does not end")
