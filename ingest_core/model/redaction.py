"""Personal data stays in the record: whatever else shows a piece of one masks it."""

import re

_WORD_CHARS = 254
"""The longest e-mail address; a pattern without this bound takes quadratic time on a long word."""

_EMAIL = re.compile(
    rf"[A-Za-z0-9._%+-]{{1,{_WORD_CHARS}}}(?:@|%40)[A-Za-z0-9.-]{{1,{_WORD_CHARS}}}\.[A-Za-z]{{2,{_WORD_CHARS}}}"
)
_NUMBER = re.compile(
    r"(?<![\d.])\d{17}[\dXx](?!\d)"  # identity number
    r"|(?<!\d)\+?\d{1,3}[ -]\(?\d{2,4}\)?[ -]\d{3,4}[ -]?\d{3,4}(?!\d)"  # phone
)

MESSAGE_CHARS = 2000
_LAST_WORD = re.compile(rf'[^\s",]{{0,{_WORD_CHARS}}}$')


def redact(text: str) -> str:
    """The text with personal data masked and nothing a store would refuse."""
    if "@" in text or "%40" in text:  # the pattern tries every word at each of its letters
        text = _EMAIL.sub("***", text)
    return _NUMBER.sub("***", text).replace("\x00", "").encode("utf-8", "replace").decode()


def storable(message: str) -> str:
    """The message as every database keeps it: without NUL and halves of surrogate pairs, and not without end."""
    shown = message if len(message) <= MESSAGE_CHARS else message[: MESSAGE_CHARS - 1] + "…"
    return shown.replace("\x00", "").encode("utf-8", "replace").decode()


def excerpt(text: str, limit: int) -> str:
    """The beginning of a text, masked; the word the cut would go through is left out, since half of it is not known."""
    head = text[: limit * 2]
    if len(text) > len(head):
        head = head[: -_WORD_CHARS - 1] + _LAST_WORD.sub("", head[-_WORD_CHARS - 1 :])
    masked = redact(head)
    return masked if len(masked) <= limit and len(head) == len(text) else masked[: limit - 1] + "…"
