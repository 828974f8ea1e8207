"""Harvesters that believe what is usual: each is wrong about ClinicalTrials.gov in one way."""

from datetime import date
from itertools import pairwise

from deployments.sandbox.remote import Sandbox
from tests.sandbox.clinicaltrials.client import Study, get, page, updated, window

MOST_PAGES = 50


class NeverEndsError(Exception):
    """The harvest would go on for ever."""


def until_the_total_is_reached(sandbox: Sandbox, size: int) -> list[Study]:
    """Believes: every page states the total."""
    answer = page(sandbox, pageSize=size, countTotal="true")
    studies: list[Study] = answer["studies"]
    while len(studies) < answer["totalCount"]:
        answer = page(sandbox, pageSize=size, countTotal="true", pageToken=answer["nextPageToken"])
        studies += answer["studies"]
    return studies


def until_a_page_is_empty(sandbox: Sandbox, size: int) -> list[Study]:
    """Believes: every page has a token."""
    answer = page(sandbox, pageSize=size)
    studies: list[Study] = []
    while answer["studies"]:
        studies += answer["studies"]
        answer = page(sandbox, pageSize=size, pageToken=answer["nextPageToken"])
    return studies


def while_there_is_a_token(sandbox: Sandbox, size: int, **asked: object) -> list[Study]:
    """Believes: what comes last has no token."""
    studies: list[Study] = []
    following: dict[str, object] = {}
    for _ in range(MOST_PAGES):
        answer = page(sandbox, pageSize=size, **asked, **following)
        studies += answer["studies"]
        if "nextPageToken" not in answer:
            return studies
        following = {"pageToken": answer["nextPageToken"]}
    raise NeverEndsError


def until_a_page_is_short(sandbox: Sandbox, size: int) -> list[Study]:
    """Believes: a page has as many studies as were asked for, unless it is the last."""
    answer = page(sandbox, pageSize=size)
    studies: list[Study] = answer["studies"]
    while len(answer["studies"]) == size:
        answer = page(sandbox, pageSize=size, pageToken=answer["nextPageToken"])
        studies += answer["studies"]
    return studies


def adjacent_windows(sandbox: Sandbox, bounds: list[str]) -> list[Study]:
    """Believes: the end of a window is not part of it."""
    return [
        study
        for first, last in pairwise(bounds)
        for study in page(sandbox, filter_advanced=window(first, last), pageSize=1000)["studies"]
    ]


def days(studies: list[Study]) -> list[date]:
    """Believes: a date is a day."""
    return [date.fromisoformat(text) for study in studies if (text := updated(study))]


def update_dates(studies: list[Study]) -> list[str]:
    """Believes: every study says when it was updated."""
    return [study["protocolSection"]["statusModule"]["lastUpdatePostDateStruct"]["date"] for study in studies]


def only_what_is_needed(sandbox: Sandbox) -> list[Study]:
    """Believes: the date of the update comes whatever fields are asked for."""
    studies: list[Study] = page(sandbox, fields="NCTId,BriefTitle,OverallStatus", pageSize=1000)["studies"]
    return studies


def reason_of_refusal(sandbox: Sandbox, **asked: object) -> str:
    """Believes: an error is JSON, as the rest is."""
    return str(get(sandbox, **asked).json()["message"])


def next_page_of_a_changed_query(sandbox: Sandbox) -> list[Study]:
    """Believes: a token alone says which page comes next."""
    answer = page(sandbox, filter_advanced=window("2026-01-09", "2026-01-10"), pageSize=10)
    studies: list[Study] = page(sandbox, pageToken=answer["nextPageToken"])["studies"]
    return studies
