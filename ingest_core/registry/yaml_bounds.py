"""Limits on a YAML document, checked on its parse events before a node or a value is built.

An alias costs what its anchor costs: the limits hold for the document written out without aliases. So no document
that passes can grow, whatever its aliases and merge keys are, and none contains itself. The parser is a loop; only
building nodes and values recurses, and that happens after the depth is known.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import yaml

MAX_BYTES = 1_000_000
MAX_DEPTH = 50
MAX_NODES = 10_000
"""The largest shipped file has 668 nodes."""
MAX_TEXT_CHARS = 10_000
"""One value: a URL, header or statement made of it stays within the limits of those that take it."""
MAX_NUMBER_CHARS = 100
"""Reading a number takes time that grows with the square of its digits."""


class TooLarge(ValueError):
    """A document beyond a limit; `line` is where it passes it."""

    def __init__(self, message: str, line: int, remedy: str = "write a smaller, flatter file") -> None:
        super().__init__(message)
        self.line = line
        self.remedy = remedy


@dataclass
class _Weight:
    """What a node costs when every alias in it is written out."""

    anchor: str | None
    nodes: int = 1
    chars: int = 0
    height: int = 1

    def hold(self, child: "_Weight") -> None:
        self.nodes += child.nodes
        self.chars += child.chars
        self.height = max(self.height, 1 + child.height)


def check_events(events: Iterable[yaml.Event]) -> None:
    """TooLarge for a document beyond the limits; reads no further than the event that passes one."""
    anchors: dict[str, _Weight] = {}
    whole = _Weight(None)
    open_nodes: list[_Weight] = []
    for event in events:
        line = event.start_mark.line + 1 if event.start_mark else 0
        if isinstance(event, yaml.CollectionStartEvent):
            open_nodes.append(_Weight(event.anchor))
            _check(whole, len(open_nodes), line)
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            done = open_nodes.pop()
            own = _Weight(None)  # what it holds was counted when it was read
        elif isinstance(event, yaml.ScalarEvent):
            if len(event.value) > MAX_TEXT_CHARS:
                raise TooLarge(f"a value has more than {MAX_TEXT_CHARS:,} characters", line)
            own = done = _Weight(event.anchor, chars=len(event.value))
        elif isinstance(event, yaml.AliasEvent):
            if any(node.anchor == event.anchor for node in open_nodes):
                raise TooLarge(f"the alias *{event.anchor} stands inside what it names", line, "name another block")
            named = anchors.get(event.anchor or "", _Weight(None))  # an unknown one is the composer's to refuse
            own = done = _Weight(None, named.nodes, named.chars, named.height)
        else:
            continue
        whole.hold(own)
        _check(whole, len(open_nodes) + done.height, line)
        if done.anchor:
            anchors[done.anchor] = done
        if open_nodes:
            open_nodes[-1].hold(done)


def _check(whole: _Weight, depth: int, line: int) -> None:
    if depth > MAX_DEPTH:
        raise TooLarge(f"it is nested deeper than {MAX_DEPTH} levels", line)
    if whole.nodes > MAX_NODES:
        raise TooLarge(f"it has more than {MAX_NODES:,} values, aliases written out", line)
    if whole.chars > MAX_BYTES:
        raise TooLarge(f"it has more than {MAX_BYTES:,} characters, aliases written out", line)
