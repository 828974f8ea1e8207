"""Recognising tokens and links of a provider that only count: records that leave meanwhile shift what they skip."""

import re

LARGEST_POSITION = 10**9
"""A larger number is an id or a time, not a position in a result."""

_SECOND = re.compile(r"[?&](?:page|offset|start|skip)=[0-9]{1,9}(?:&|$)", re.IGNORECASE)
"""How a link to the second page names a position, where there is no link to the first to compare it with."""

_PARTS = re.compile(r"([?&=/#])")


def counts_positions(before: str | None, after: str | None) -> bool:
    """Whether the next place is the last one with a larger number in it, as in `?page=3` after `?page=2`."""
    if after is None or before == after:
        return False
    if before is None:
        return after.isdecimal() or _SECOND.search(after) is not None
    one, other = _PARTS.split(before), _PARTS.split(after)
    changed = [(a, b) for a, b in zip(one, other, strict=False) if a != b]
    return len(one) == len(other) and len(changed) == 1 and _counts_on(*changed[0])


def _counts_on(before: str, after: str) -> bool:
    if not all(text.isascii() and text.isdecimal() for text in (before, after)):
        return False
    return int(before) < int(after) <= LARGEST_POSITION
