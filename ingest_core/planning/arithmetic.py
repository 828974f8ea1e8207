"""Sums that write themselves down, so that anybody can do them again."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from ingest_core.model.codes import TimeUnit
from ingest_core.model.instant import MILLISECOND, floor_to, floor_to_calendar, format_instant, unit_grid
from ingest_core.model.slice_codes import CalendarUnit
from ingest_core.registry.columns import iso_span

Value = datetime | timedelta | None

GIVEN = "GIVEN"


def _least(*values: Any) -> Any:
    return min(value for value in values if value is not None)


def _most(*values: Any) -> Any:
    return max(value for value in values if value is not None)


RULES: dict[str, Callable[..., Any]] = {
    "MINUS": lambda left, right: left - right,
    "MIN": _least,
    "MAX": _most,
    "FLOOR_UNIT": lambda moment, unit, zone: unit_grid(TimeUnit(unit), zone).floor(moment),
    "FLOOR_CALENDAR": lambda moment, unit: floor_to_calendar(moment, CalendarUnit(unit)),
    "FLOOR_MILLIS": lambda moment: floor_to(moment, MILLISECOND),
    "SAME": lambda moment: moment,
}
"""What a step may do; of several values, those that are not there do not count."""

_WRITTEN = {
    "MINUS": "{0} - {1}",
    "FLOOR_UNIT": "start of the {1} ({2}) that holds {0}",
    "FLOOR_CALENDAR": "start of the {1} that holds {0}",
    "FLOOR_MILLIS": "{0} in whole milliseconds",
    "SAME": "{0}",
}


@dataclass
class Arithmetic:
    """Named values and the steps that made them; a name may be set again."""

    values: dict[str, Value] = field(default_factory=dict)
    steps: list[dict[str, Any]] = field(default_factory=list)

    def given(self, name: str, value: Value, why: str) -> None:
        """Write down an input, also one that is not there."""
        self._note(name, GIVEN, (), value, why)

    def set(self, name: str, rule: str, *operands: str, why: str) -> datetime:
        """Do one step; an operand is a name, or a setting's own text."""
        value = RULES[rule](*(self.values.get(one) if one in self.values else one for one in operands))
        self._note(name, rule, operands, value, why)
        moment: datetime = value
        return moment

    def _note(self, name: str, rule: str, operands: tuple[str, ...], value: Value, why: str) -> None:
        self.values[name] = value
        self.steps.append({"step": name, "rule": rule, "of": list(operands), "value": shown(value), "why": why})

    def has(self, name: str) -> bool:
        """Whether the name stands for something."""
        return self.values.get(name) is not None


def shown(value: Value) -> str | None:
    """A value as trails keep it."""
    if isinstance(value, datetime):
        return format_instant(value)
    return None if value is None else iso_span(value)


def formula(step: dict[str, Any]) -> str:
    """A step as a person would write it."""
    operands = step["of"]
    if step["rule"] in ("MIN", "MAX"):
        return f"{step['rule'].lower()}({', '.join(operands)})" if len(operands) > 1 else operands[0]
    return _WRITTEN[step["rule"]].format(*operands) if step["rule"] in _WRITTEN else ""


def written(step: dict[str, Any]) -> str:
    """A step as one line: what, how, what it comes to, and why."""
    how = formula(step)
    return f"{step['step']} = {how + ' = ' if how else ''}{step['value'] or 'none'}: {step['why']}"
