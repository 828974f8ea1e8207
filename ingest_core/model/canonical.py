"""One way to write a value, so that equal meanings have equal hashes.

Keys sorted, no insignificant space, text as UTF-8, numbers as given; instants in their one spelling.
A hash is the SHA-256 of that text, in hex.
"""

import hashlib
import json
from datetime import datetime, timedelta
from typing import Any

from ingest_core.model.instant import format_instant


def canonical_json(value: Any) -> str:
    """The canonical text of a JSON-like value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain)


def hash_of(*parts: Any) -> str:
    """SHA-256 over the canonical text of the parts, in order."""
    return hash_text(canonical_json(list(parts)))


def hash_text(text: str) -> str:
    """SHA-256 of a text, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return format_instant(value)
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    raise TypeError(f"{type(value).__name__} has no canonical form")
