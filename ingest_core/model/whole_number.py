"""Whole numbers that people write: ASCII digits, and no more of them than the databases keep."""

LARGEST_ID = 2**63 - 1
LARGEST_COUNT = 2**31 - 1

_MOST_DIGITS = len(str(LARGEST_ID))


def whole_number(text: str, largest: int = LARGEST_ID) -> int | None:
    """The number, or none for a text that is not one or is larger; the length is checked before it is read."""
    if len(text) > _MOST_DIGITS or not (text.isascii() and text.isdecimal()):
        return None
    number = int(text)
    return number if number <= largest else None
