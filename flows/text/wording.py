"""Counts and times as people read them."""

_SHORT_NAMES = 120
"""A name that is longer is of no use in a list."""


def spelled(seconds: int) -> str:
    """A length of time: `1 h 20 min`."""
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    parts = [f"{hours:,} h" if hours else "", f"{minutes} min" if minutes else "", f"{rest} s" if rest else ""]
    return " ".join(filter(None, parts)) or "less than a second"


def shortened(text: str) -> str:
    """The text, or its beginning."""
    return text if len(text) <= _SHORT_NAMES else f"{text[: _SHORT_NAMES - 1]}…"
