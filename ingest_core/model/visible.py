"""Text from providers, files and people, made safe to show: characters that act or hide become escapes.

A terminal obeys control characters, a bidirectional override reverses what is read, a line break forges a log line, and
an invisible character hides a difference. Everything that is shown, logged or stored as a message goes through here.
Payloads and exports stay as received.
"""

import re

_ACTING = (
    r"\x00-\x1f\x7f-\x9f"  # C0, DEL and C1: terminal sequences begin with ESC or CSI
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks and overrides of the writing direction
    r"\u2028\u2029"  # line and paragraph separators
    r"\u200b\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"  # invisible, and of no language
    r"\ud800-\udfff"  # halves of surrogate pairs, which cannot be written
)
"""The joiners U+200C and U+200D are not among them: Persian, Indic scripts and emoji are written with them."""

_ONE_LINE = re.compile(f"[{_ACTING}]")
_LINES = re.compile(rf"(?!\n)[{_ACTING}]")
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def visible(text: str) -> str:
    """The text on one line, with an escape such as `\\x1b` or `\\u202e` for each character that acts or hides."""
    return _ONE_LINE.sub(_escape, text)


def visible_lines(text: str) -> str:
    """The same for a text of several lines: its line feeds stay."""
    return _LINES.sub(_escape, text)


def visible_json(document: str) -> str:
    """A JSON document with JSON's own escapes for these characters: it means the same."""
    return _LINES.sub(_json_escape, document)


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    code = ord(char)
    if code <= 0xFF:  # noqa: PLR2004 - the last code of two hexadecimal digits
        return _SHORT.get(char, f"\\x{code:02x}")
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - and of four


def _json_escape(match: re.Match[str]) -> str:
    units = match.group().encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
