"""Reading a source file: every mistake is named with file, line, place, value and expectation."""

import math
from datetime import timedelta
from typing import Any

import yaml
from pydantic import ValidationError

from ingest_core.model.errors import BadInput
from ingest_core.registry.source_file import SourceFile
from ingest_core.registry.yaml_bounds import MAX_BYTES, MAX_NUMBER_CHARS, TooLarge, check_events

_SHOWN_VALUE_CHARS = 60
_SHOWN_MISTAKES = 50
_Fast: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where libyaml is there


class _Loader(_Fast):  # type: ignore[misc]
    """YAML as JSON knows it: a date is a text, numbers are short, and there are no sets and binaries."""

    def construct_yaml_int(self, node: yaml.ScalarNode) -> Any:
        return super().construct_yaml_int(_short(node))

    def construct_yaml_float(self, node: yaml.ScalarNode) -> Any:
        number = super().construct_yaml_float(_short(node))
        if not math.isfinite(number):  # JSON, and so the database, has none
            raise ValueError(f"line {node.start_mark.line + 1}: {node.value} is not a finite number")
        return number


def _short(node: yaml.ScalarNode) -> yaml.ScalarNode:
    if len(node.value) > MAX_NUMBER_CHARS:
        raise ValueError(f"line {node.start_mark.line + 1}: a number has more than {MAX_NUMBER_CHARS} characters")
    return node


_TIMESTAMP = "tag:yaml.org,2002:timestamp"
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIMESTAMP]
    for first, resolvers in _Fast.yaml_implicit_resolvers.items()
}
_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)
_Loader.add_constructor("tag:yaml.org,2002:float", _Loader.construct_yaml_float)
for _kind in ("timestamp", "binary", "set", "omap", "pairs"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_kind}", _Loader.construct_undefined)


def read_source(text: str, name: str) -> SourceFile:
    """The source a YAML text describes; `name` is what messages call the file."""
    _refuse_too_large(text, name)
    node, document = _compose(text, name)
    _refuse_repeated_keys(node, name, visited=set())
    try:
        return SourceFile.model_validate(document)
    except ValidationError as error:
        problems = error.errors(include_url=False)
        lines = [_explain(problem, node, name) for problem in problems[:_SHOWN_MISTAKES]]
        if len(problems) > _SHOWN_MISTAKES:
            lines.append(f"{name}: and {len(problems) - _SHOWN_MISTAKES} more mistakes")
        raise BadInput(
            "SOURCE_INVALID",
            "\n".join(lines) if len(lines) > 1 else lines[0],
            remedy="correct the file and apply it again",
        ) from error


def _not_yaml(error: Exception, name: str) -> BadInput:
    return BadInput("SOURCE_NOT_YAML", f"not YAML: {error}", where=name, remedy="correct the file's YAML")


def _refuse_too_large(text: str, name: str) -> None:
    """Refuse a text whose nodes or values would take too much memory, time or stack to build."""
    try:
        size = len(text.encode())
        if size > MAX_BYTES:
            raise TooLarge(f"it has {size:,} bytes; at most {MAX_BYTES:,} are read", 1)
        check_events(yaml.parse(text, Loader=_Loader))
    except TooLarge as error:
        raise BadInput("SOURCE_TOO_LARGE", str(error), where=f"{name}:{error.line}", remedy=error.remedy) from error
    except (yaml.YAMLError, ValueError) as error:
        raise _not_yaml(error, name) from error


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
    finally:
        loader.dispose()


def _refuse_repeated_keys(node: yaml.Node, name: str, visited: set[int]) -> None:
    if id(node) in visited:  # an alias
        return
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
        _refuse_repeated_keys(child, name, visited)


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
