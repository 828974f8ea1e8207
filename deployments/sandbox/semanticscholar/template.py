"""The papers the corpus is made of, in Semantic Scholar's shape."""

import gzip
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

Paper = dict[str, Any]


@cache
def load_templates() -> tuple[Paper, ...]:
    """The papers, always in the same order."""
    packed = (files(__package__) / "records.jsonl.gz").read_bytes()
    return tuple(orjson.loads(line) for line in gzip.decompress(packed).splitlines())
