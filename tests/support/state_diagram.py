"""The state machines as the life cycle page draws them."""

from collections.abc import Iterator
from enum import StrEnum

from ingest_core.model.states import MACHINES


def final(machine: type[StrEnum]) -> frozenset[StrEnum]:
    """The states that nothing follows."""
    steps = MACHINES[machine]
    return frozenset(step.after for step in steps) - {step.before for step in steps if step.before}


def diagram(machine: type[StrEnum]) -> str:
    """The life of one kind, as Mermaid draws it."""
    return "\n".join(("stateDiagram-v2", *_lines(machine)))


def _lines(machine: type[StrEnum]) -> Iterator[str]:
    for step in MACHINES[machine]:
        yield f"    {step.before or '[*]'} --> {step.after}: {step.why}"
    for state in machine:
        if state in final(machine):
            yield f"    {state} --> [*]"
