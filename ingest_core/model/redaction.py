"""Personal data stays in the record: whatever else shows a piece of one masks it."""

import re

_PERSONAL = re.compile(
    r"[A-Za-z0-9._%+-]+(?:@|%40)[A-Za-z0-9.-]+\.[A-Za-z]{2,}"  # e-mail
    r"|(?<![\d.])\d{17}[\dXx](?!\d)"  # identity number
    r"|(?<!\d)\+?\d{1,3}[ -]\(?\d{2,4}\)?[ -]\d{3,4}[ -]?\d{3,4}(?!\d)"  # phone
)

_LAST_WORD = re.compile(r'[^\s",]{0,254}$')


def redact(text: str) -> str:
    """The text with personal data masked and nothing a store would refuse."""
    masked = _PERSONAL.sub("***", text).replace("\x00", "")
    return masked.encode("utf-8", "replace").decode()


def excerpt(text: str, limit: int) -> str:
    """The beginning of a text, masked; the word the cut would go through is left out, since half of it is not known."""
    head = text[: limit * 2]
    if len(text) > len(head):
        head = _LAST_WORD.sub("", head)
    masked = redact(head)
    return masked if len(masked) <= limit and len(head) == len(text) else masked[: limit - 1] + "…"
