"""Recognising tokens and links of a provider that only count: records that leave meanwhile shift what they skip."""

import re

LARGEST_POSITION = 10**9
"""A larger number is an id or a time, not a position in a result."""

_PARTS = re.compile(r"([?&=/#])")


def counts_positions(before: str | None, after: str | None) -> bool:
    """Whether the next place is the last one with a larger number in it, as in `?page=3` after `?page=2`."""
    if before is None or after is None or before == after:
        return False
    one, other = _PARTS.split(before), _PARTS.split(after)
    changed = [(a, b) for a, b in zip(one, other, strict=False) if a != b]
    return len(one) == len(other) and len(changed) == 1 and _counts_on(*changed[0])


def _counts_on(before: str, after: str) -> bool:
    if not all(text.isascii() and text.isdecimal() for text in (before, after)):
        return False
    return int(before) < int(after) <= LARGEST_POSITION
