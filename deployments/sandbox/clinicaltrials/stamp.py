"""Dates as studies and their filters write them: a day, a month or a year."""

import re

from deployments.sandbox.instant import unit_of

FORM = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?", re.ASCII)


def read_stamp(text: str) -> tuple[int, int] | None:
    """First instant of the unit named, and the first after it; None when it is no date."""
    found = FORM.fullmatch(text)
    if found is None:
        return None
    year, *rest = (int(part) for part in found.groups() if part is not None)
    try:
        return unit_of(year, *(part or 1 for part in rest))
    except (ValueError, OverflowError):
        return None
