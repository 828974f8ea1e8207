"""A rate limiter's row as its state, and back."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from ingest_core.gate.state import CircuitState, CloseReason, GateState
from ingest_core.model.clock import CLOCK_SLACK
from ingest_core.model.instant import format_instant
from ingest_core.model.spec import RateSpec
from ingest_core.store.schema.tables import ing_rate_gate

MOST_CHANGES = 20
"""Changes kept with a rate limiter, newest last."""

_COLUMNS = {"configured": "rate_per_sec", "circuit": "circuit_code"}
_FIELDS = tuple(GateState.__dataclass_fields__)


def by_key(key: str) -> sa.Select[Any]:
    """The row of one limiter."""
    return sa.select(ing_rate_gate).where(ing_rate_gate.c.rate_key == key)


def state_of(row: sa.Row[Any], rate: RateSpec, now: datetime) -> GateState:
    """What the row says; written by a clock that was ahead, it would keep all workers waiting until that time."""
    if row.counted_at is None:  # brought up from an older schema: only its closing is known
        fresh = GateState.fresh(rate, now).__dict__
        state = GateState(**{**fresh, "closed_until": row.closed_until, "closed_reason": _reason(row)})
    else:
        values = {name: getattr(row, _COLUMNS.get(name, name)) for name in _FIELDS}
        values |= {"closed_reason": _reason(row), "failed_by": tuple(row.failed_by or ())}
        state = GateState(**{**values, "circuit": CircuitState(row.circuit_code)})
    ahead = row.updated_at - now
    return state.shifted(ahead) if ahead > CLOCK_SLACK else state


def values_of(state: GateState, now: datetime) -> dict[str, Any]:
    """The state as the row keeps it."""
    values = {_COLUMNS.get(name, name): getattr(state, name) for name in _FIELDS}
    codes = {"circuit_code": state.circuit.value, "closed_reason": state.closed_reason and state.closed_reason.value}
    return {**values, **codes, "failed_by": list(state.failed_by) or None, "updated_at": now}


def changes_between(before: GateState, after: GateState, why: str, now: datetime) -> list[dict[str, Any]]:
    """What is worth remembering of a change: the rate, the circuit, a closing; with the reason."""
    found: list[dict[str, Any]] = []
    if after.rate_now != before.rate_now:
        rose = after.rate_now > before.rate_now
        found.append({"change": "increase" if rose else "decrease", "from": before.rate_now, "to": after.rate_now})
    if after.circuit != before.circuit:
        found.append({"change": f"circuit {after.circuit}", "until": _instant(after.circuit_until)})
    if after.closed_until != before.closed_until and after.closed_until and after.closed_until > now:
        reason = after.closed_reason.value if after.closed_reason else None
        found.append({"change": "closed", "until": _instant(after.closed_until), "cause": reason})
    return [{"at": format_instant(now), "by": "patra", **one, "reason": why} for one in found]


def kept(changes: list[dict[str, Any]] | None, new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The newest changes, the oldest first."""
    return [*(changes or []), *new][-MOST_CHANGES:]


def _reason(row: sa.Row[Any]) -> CloseReason | None:
    return CloseReason(row.closed_reason) if row.closed_reason else None


def _instant(moment: datetime | None) -> str | None:
    return format_instant(moment) if moment else None
