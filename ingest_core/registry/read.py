"""Reading a source file: every mistake is named with file, line, place, value and expectation."""

from datetime import timedelta
from typing import Any

import yaml
from pydantic import ValidationError

from ingest_core.model.errors import BadInput
from ingest_core.registry.source_file import SourceFile

_SHOWN_VALUE_CHARS = 60
_MAX_DEPTH = 50
_Fast: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where libyaml is there


class _Loader(_Fast):  # type: ignore[misc]
    """YAML as JSON knows it: a date is a text, and there are no sets and binaries."""


_TIMESTAMP = "tag:yaml.org,2002:timestamp"
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIMESTAMP]
    for first, resolvers in _Fast.yaml_implicit_resolvers.items()
}
for _kind in ("timestamp", "binary", "set", "omap", "pairs"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_kind}", _Loader.construct_undefined)


def read_source(text: str, name: str) -> SourceFile:
    """The source a YAML text describes; `name` is what messages call the file."""
    node, document = _compose(text, name)
    _refuse_repeated_keys(node, name, visited=set())
    try:
        return SourceFile.model_validate(document)
    except ValidationError as error:
        lines = [_explain(problem, node, name) for problem in error.errors(include_url=False)]
        raise BadInput(
            "SOURCE_INVALID",
            "\n".join(lines) if len(lines) > 1 else lines[0],
            remedy="correct the file and apply it again",
        ) from error


def _not_yaml(error: Exception, name: str) -> BadInput:
    return BadInput("SOURCE_NOT_YAML", f"not YAML: {error}", where=name, remedy="correct the file's YAML")


def _compose(text: str, name: str) -> tuple[yaml.MappingNode, Any]:
    """The document's nodes, which know their lines, and its values."""
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if not isinstance(node, yaml.MappingNode):
            raise BadInput(
                "SOURCE_NOT_A_MAPPING",
                "the document must be a mapping with a `source` block",
                where=name,
                remedy="begin with `source:`, as the shipped sources do, or with patra source new",
            )
        return node, loader.construct_document(node)
    except (yaml.YAMLError, ValueError) as error:
        raise _not_yaml(error, name) from error
    except RecursionError as error:
        raise _not_yaml(ValueError("it is nested too deep"), name) from error
    finally:
        loader.dispose()


def _refuse_repeated_keys(node: yaml.Node, name: str, visited: set[int], depth: int = 0) -> None:
    if id(node) in visited:  # an alias, perhaps of what it stands in
        return
    if depth > _MAX_DEPTH:
        raise _not_yaml(ValueError("it is nested too deep"), name)
    visited.add(id(node))
    children: list[yaml.Node] = []
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen:
                raise BadInput(
                    "SOURCE_KEY_TWICE",
                    f"key {key.value!r} stands twice",
                    where=_place(name, key),
                    remedy="keep one of them",
                )
            seen.add(key.value)
            children.append(value)
    elif isinstance(node, yaml.SequenceNode):
        children = node.value
    elif "\x00" in node.value:
        raise _not_yaml(ValueError("it holds a NUL, which no database keeps"), _place(name, node))
    for child in children:
        _refuse_repeated_keys(child, name, visited, depth + 1)


def _explain(problem: Any, root: yaml.Node, name: str) -> str:
    path = _path(root, problem["loc"])
    node = _find(root, problem["loc"])
    as_written = isinstance(node, yaml.ScalarNode) and isinstance(problem["input"], timedelta)
    value = repr(node.value if as_written else problem["input"])
    if len(value) > _SHOWN_VALUE_CHARS:
        value = value[: _SHOWN_VALUE_CHARS - 1] + "…"
    unsaid = problem["type"] == "missing" or "credential" in problem["loc"]  # it may be a secret in the wrong place
    got = "" if unsaid else f" (got {value})"
    return f"{_place(name, node)}: {path}: {problem['msg']}{got}"


def _path(node: yaml.Node, location: tuple[int | str, ...]) -> str:
    """The place as the file spells it: a lone block has no index."""
    shown = []
    for part in location:
        if isinstance(part, int) and not isinstance(node, yaml.SequenceNode):
            continue
        shown.append(str(part))
        node = _find(node, (part,))
    return ".".join(shown)


def _find(node: yaml.Node, path: tuple[int | str, ...]) -> yaml.Node:
    """The deepest node on the path that exists; a lone block may stand for a list of one."""
    for part in path:
        if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
        elif isinstance(node, yaml.MappingNode) and isinstance(part, str):
            found = [value for key, value in node.value if key.value == part]
            if not found:
                return node
            node = found[0]
    return node


def _place(name: str, node: yaml.Node) -> str:
    return f"{name}:{node.start_mark.line + 1}"
