"""The papers the corpus is made of, in Semantic Scholar's shape."""

from typing import Any

from deployments.sandbox.recording import Recording

Paper = dict[str, Any]


TEMPLATES = Recording(__package__, "records.jsonl.gz", Paper)
