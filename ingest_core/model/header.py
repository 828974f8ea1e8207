"""What an HTTP header can hold."""

import re

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")


def is_header_name(text: str) -> bool:
    """Whether the text is a token, as RFC 9110 has it."""
    return _NAME.fullmatch(text) is not None


def is_header_text(text: str) -> bool:
    """Whether the text can stand in a header: printable ASCII on one line, without spaces at its ends."""
    return text.isascii() and text.isprintable() and text == text.strip()
