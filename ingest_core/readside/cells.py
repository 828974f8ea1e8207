"""Values as text: what JSON lines and tables hold."""

import json
from datetime import datetime
from typing import Any

import orjson

from ingest_core.model.instant import format_instant


def json_bytes(value: Any) -> bytes:
    """The value as JSON on one line, times in the usual form."""
    try:
        return orjson.dumps(value, default=_plain, option=orjson.OPT_PASSTHROUGH_DATETIME)
    except TypeError:  # a number beyond 64 bits
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain).encode()


def _plain(value: Any) -> str:
    if isinstance(value, datetime):
        return format_instant(value)
    raise TypeError(f"{type(value).__name__} has no JSON")


def cell(value: Any) -> str | None:
    """A value in a table: text and times as they are, everything else as JSON."""
    if value is None or isinstance(value, str):
        return value
    return format_instant(value) if isinstance(value, datetime) else json_bytes(value).decode()


def one_line(payload: str) -> bytes:
    """JSON as received on one line: a line's end in it can only stand between values, where a space means the same."""
    return payload.replace("\r", " ").replace("\n", " ").encode()
