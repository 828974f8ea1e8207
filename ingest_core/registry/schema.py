"""The JSON Schema of the source file, written from its models: editors complete and check by it."""

import json
from typing import Any

from ingest_core.registry.source_file import SourceFile

_BLOCKS_OR_ONE = ("http", "credential", "pagination", "window", "slicing", "retry", "rate_limit", "batching")


def source_schema() -> dict[str, Any]:
    """The schema; a lone block may stand for a list of one."""
    schema = SourceFile.model_json_schema(by_alias=True)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "Patra source file"
    for name in _BLOCKS_OR_ONE:
        many = schema["properties"][name]
        schema["properties"][name] = {"anyOf": [many["items"], {"type": "array", "items": many["items"]}]}
    response = schema["$defs"]["ResponseBlock"]["properties"]
    for name in ("errors", "empty"):
        predicate = {"$ref": "#/$defs/Predicate"}
        response[name] = {"anyOf": [predicate, {"type": "array", "items": predicate}, {"type": "null"}]}
    functions = schema["$defs"]["Param"]["properties"]["as"]
    schema["$defs"]["Param"]["properties"]["as"] = {"anyOf": [{"type": "string"}, *functions["anyOf"]]}
    for properties in (schema["properties"], schema["$defs"]["Endpoint"]["properties"]):
        _close(properties["mapping"])
    return schema


def _close(free: dict[str, Any]) -> None:
    """An object whose names must fit their pattern."""
    for one in (free, *free.get("anyOf", [])):
        if "patternProperties" in one:
            one["additionalProperties"] = False


def schema_text() -> str:
    """The schema as the file beside the sources holds it."""
    return json.dumps(source_schema(), indent=2, sort_keys=True) + "\n"
