"""The run forms: what is stored beside a deployment so that its form offers what there is."""

from collections.abc import Collection, Mapping
from copy import deepcopy
from typing import Any

_FORM = "parameters"


def form_schema(
    schema: dict[str, Any], codes: list[str], given: Mapping[str, Any], fields: Collection[str] | None = None
) -> dict[str, Any]:
    """The parameter schema, headed by what it is about, in which every `source` is one of these.

    What is given by the deployment is not required: where anything is, Quick run asks with a form instead of running.
    With `fields`, the form shows these alone, and the rest is as the deployment gives it.
    """
    chosen = deepcopy(schema)
    chosen["required"] = [name for name in chosen.get("required", []) if name not in given]
    for group in chosen.get("properties", {}).values():
        group["title"] = group.pop("description", group["title"]).rstrip(".")
    for definition in chosen.get("definitions", {}).values():
        source = definition.get("properties", {}).get("source")
        if source is not None:
            _text_of(source)["enum"] = sorted(codes)
            if fields is not None:
                _show_only(definition, fields, given.get(_FORM, {}))
    return chosen


def _show_only(form: dict[str, Any], fields: Collection[str], given: Mapping[str, Any]) -> None:
    """Take the other fields away; a value that is given stays allowed, which no property shows in the form."""
    form["properties"] = {name: field for name, field in form["properties"].items() if name in fields}
    form["required"] = [name for name in form.get("required", []) if name in fields]
    form["patternProperties"] = {f"^{name}$": {"enum": [value]} for name, value in given.items() if name not in fields}


def _text_of(field: dict[str, Any]) -> dict[str, Any]:
    """The part of a field that is text, where it may also be left out."""
    branches: list[dict[str, Any]] = field.get("anyOf", [field])
    return next(branch for branch in branches if branch.get("type") == "string")
