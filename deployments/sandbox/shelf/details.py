"""The second phase: whole records for ids, some of which never come, and some of which spoil their batch."""

from deployments.sandbox.corpus import Version
from deployments.sandbox.provider import Refused
from deployments.sandbox.shelf.result import key_of
from deployments.sandbox.ways import Ways


def bad(work: int, ways: Ways) -> bool:
    """Whether an id is refused, and its batch with it."""
    return bool(ways.bad_every) and work % ways.bad_every == 1


def lost(work: int, ways: Ways) -> bool:
    """Whether an id is listed although its record is gone."""
    return bool(ways.lost_every) and work % ways.lost_every == 2  # noqa: PLR2004 - any other than `bad` will do


def whole(ids: list[str], there: list[Version], ways: Ways) -> list[Version]:
    """The records of these ids; Refused if one of them is bad."""
    asked = [version for version in there if key_of(version) in set(ids)]
    refused = [key_of(version) for version in asked if bad(version.work, ways)]
    if refused:
        raise Refused(f"not a valid id: {refused[0]}")
    came = [version for version in asked if not lost(version.work, ways)]
    others = (one for one in there if key_of(one) not in set(ids) and not (bad(one.work, ways) or lost(one.work, ways)))
    return [*came, *([next(others)] if ways.uninvited else [])]
