"""What is known of a plan's sizes, in words: numbers only where they are not invented."""

from typing import Any

from ingest_core.model.naming import counted
from ingest_core.model.slice_codes import EstimateMethod
from ingest_core.planning.estimate import GUESSES

NOT_KNOWN = "not known"


def sized(slices: int, sizes: dict[str, Any]) -> str:
    """The plan in a line: `3 slices, about 300 records in 3 requests`, or that the sizes are guesses, and why."""
    what, failed = counted(slices, "slice"), failure(slices, sizes)
    if failed:
        return f"{what}; {failed}"
    unknown = _supposed(sizes)
    if unknown:
        return f"{what} of unknown size" if unknown == slices else f"{what}, {unknown:,} of them of unknown size"
    records, requests = counted(sizes["estimated_records"], "record"), counted(sizes["expected_requests"], "request")
    return f"{what}, about {records} in {requests}"


def failure(slices: int, sizes: dict[str, Any]) -> str | None:
    """Why the sizes are guesses, if the provider was asked for them and did not give them."""
    failed, guessed = sizes.get("failure"), _number(sizes, *GUESSES)
    if not failed or not guessed:
        return None
    what = "gave no size" if failed["reached"] else "was not reached"
    guesses = f"{guessed:,} of {slices:,} sizes {'is a guess' if guessed == 1 else 'are guesses'}"
    return f"the provider {what}, so {'the sizes are guesses' if guessed == slices else guesses}"


def in_numbers(sizes: dict[str, Any]) -> bool:
    """Whether records and requests can be told: no slice is only supposed to hold a page."""
    return bool(sizes.get("smallest")) and not _supposed(sizes)


def known_by(sizes: dict[str, Any]) -> str:
    """How the sizes are known: `3 by COUNT, 1 by SHARE`."""
    return ", ".join(f"{number:,} by {method}" for method, number in sizes["methods"].items())


def shown_records(one: dict[str, Any]) -> str:
    """The size of a slice; none that is only supposed."""
    return NOT_KNOWN if one["method"] == EstimateMethod.CONSTANT else f"{one['records']:,}"


def _supposed(sizes: dict[str, Any]) -> int:
    return _number(sizes, EstimateMethod.CONSTANT)


def _number(sizes: dict[str, Any], *methods: EstimateMethod) -> int:
    return sum(sizes.get("methods", {}).get(method.value, 0) for method in methods)
