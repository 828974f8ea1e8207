"""The run forms: what is stored beside a deployment so that its form offers what there is."""

from copy import deepcopy
from typing import Any


def form_schema(schema: dict[str, Any], codes: list[str]) -> dict[str, Any]:
    """The parameter schema, headed by what it is about, in which every `source` is one of these."""
    chosen = deepcopy(schema)
    for group in chosen.get("properties", {}).values():
        group["title"] = group.pop("description", group["title"]).rstrip(".")
    for definition in chosen.get("definitions", {}).values():
        source = definition.get("properties", {}).get("source")
        if source is not None:
            _text_of(source)["enum"] = sorted(codes)
    return chosen


def _text_of(field: dict[str, Any]) -> dict[str, Any]:
    """The part of a field that is text, where it may also be left out."""
    branches: list[dict[str, Any]] = field.get("anyOf", [field])
    return next(branch for branch in branches if branch.get("type") == "string")
