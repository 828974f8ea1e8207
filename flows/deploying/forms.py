"""The run forms: what is stored beside a deployment so that its form offers what there is."""

from collections.abc import Collection
from copy import deepcopy
from typing import Any


def form_schema(schema: dict[str, Any], codes: list[str], given: Collection[str] = ()) -> dict[str, Any]:
    """The parameter schema, headed by what it is about, in which every `source` is one of these.

    What is given by the deployment is not required: where anything is, Quick run asks with a form instead of running.
    """
    chosen = deepcopy(schema)
    chosen["required"] = [name for name in chosen.get("required", []) if name not in given]
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
