"""The shelf's numbers: a numeric field that some records lack, and the `filter` that asks for a range of it."""

import re

from deployments.sandbox.corpus import Version
from deployments.sandbox.provider import Refused
from deployments.sandbox.ways import Ways

_FILTER = re.compile(r"(?P<no>all NOT )?(?:number:\[(?P<low>\d+|\*) TO (?P<high>\d+|\*)\]|_exists_:number)")


def number_of(version: Version, ways: Ways) -> int | None:
    """The record's number; none for every n-th record if the switch says so."""
    return None if ways.unnumbered_every and version.work % ways.unnumbered_every == 0 else version.work


def filtered(versions: list[Version], text: str | None, ways: Ways) -> list[Version]:
    """The records that `number:[2 TO 5]`, `_exists_:number` or `all NOT ..` asks for; all of them without a filter."""
    if not text:
        return versions
    asked = _FILTER.fullmatch(text)
    if asked is None:
        raise Refused(f"no such filter: {text}")
    low, high = (None if asked[end] in (None, "*") else int(asked[end]) for end in ("low", "high"))

    def within(version: Version) -> bool:
        number = number_of(version, ways)
        return number is not None and (low is None or low <= number) and (high is None or number <= high)

    return [version for version in versions if within(version) != bool(asked["no"])]
