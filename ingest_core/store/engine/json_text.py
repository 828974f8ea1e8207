"""JSON of our own columns, as text and back."""

import json
from typing import Any

import orjson

from ingest_core.model.numbers import holds_long_number


def dump_json(value: Any) -> str:
    """The text of a value."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # a number beyond 64 bits
        return json.dumps(value, ensure_ascii=False)


def load_json(text: str | bytes) -> Any:
    """The value of a text, its long numbers whole."""
    data = text.encode() if isinstance(text, str) else text
    return json.loads(data) if holds_long_number(data) else orjson.loads(data)
