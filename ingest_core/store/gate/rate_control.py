"""What an operator sees of the rate limiters, and does to them."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import sqlalchemy as sa

from ingest_core.gate.adaptation import with_operator
from ingest_core.gate.bucket import free_in
from ingest_core.gate.chain import ASKED, Gate
from ingest_core.gate.circuit import alive
from ingest_core.gate.ports import RateLimiter
from ingest_core.gate.state import CircuitState, GateState
from ingest_core.model.errors import BadInput
from ingest_core.model.instant import format_instant
from ingest_core.model.spec import RateSpec
from ingest_core.store.engine.database import Database
from ingest_core.store.engine.dialect import locked
from ingest_core.store.gate.closings import open_partitions, partitions_under
from ingest_core.store.gate.live_limits import limits_of
from ingest_core.store.gate.quotas import shown
from ingest_core.store.gate.rows import by_key, changes_between, kept, state_of, values_of
from ingest_core.store.registry.postponed import BY_PROVIDER, bring_forward
from ingest_core.store.schema.tables import ing_rate_gate

MOST_REASON_CHARS = 500
_MOST_KEYS = 50
Work = Callable[[GateState, datetime], GateState]


class SqlRateControl:
    """Lists rate limiters by key, sets and clears them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def entries(self) -> list[RateLimiter]:
        """Every rate limiter that was ever used, in order of its key."""
        with self._database.read() as connection:
            now = self._database.now(connection)
            rows = connection.execute(sa.select(ing_rate_gate).order_by(ing_rate_gate.c.rate_key)).all()
            return [_shown(connection, row, now) for row in rows]

    def entry(self, key: str) -> RateLimiter:
        """One of them; BadInput when there is none of that key."""
        with self._database.read() as connection:
            row = connection.execute(by_key(key)).first()
            if row is None:
                raise _unknown(connection, key)
            return _shown(connection, row, self._database.now(connection))

    def set_rate(self, key: str, rate: float, reason: str, by: str) -> RateLimiter:
        """Allow at most this many requests a second until the limiter is cleared."""
        note = {"by": by, "change": "set", "reason": _reason(key, reason), "rate": rate}
        self._database.transact(partial(self._change, key, note, lambda state, now: with_operator(state, rate, now)))
        return self.entry(key)

    def clear(self, key: str, reason: str, by: str) -> RateLimiter:
        """Open it now, at its configured rate; the tasks that wait for it are due.

        Permits that were given out are still used: the next burst may come on top of those, once.
        """
        note = {"by": by, "change": "clear", "reason": _reason(key, reason)}
        self._database.transact(partial(self._change, key, note, _cleared))
        return self.entry(key)

    def _change(self, key: str, note: dict[str, Any], work: Work, connection: sa.Connection) -> None:
        row = connection.execute(locked(by_key(key))).first()
        if row is None:
            raise _unknown(connection, key)
        now = self._database.now(connection)
        gate = _gate(connection, row, now)
        before = state_of(row, gate.rate, now)
        state = work(before, now)
        change = {"at": format_instant(now), **note, "open_at_before": _shown(connection, row, now).open_at}
        if note["change"] == "clear":
            open_partitions(connection, key, now)
            users = {one.provenance_code for one in partitions_under(connection, key)}
            sources = sorted({*users, key.partition(":")[0]})
            change["tasks_due"] = sum(bring_forward(connection, one, BY_PROVIDER, now) for one in sources)
        changes = [*changes_between(before, state, note["reason"], now), change]
        connection.execute(
            sa.update(ing_rate_gate)
            .where(ing_rate_gate.c.rate_key == key)
            .values(**values_of(state, now), last_changes=kept(row.last_changes, changes))
        )


def _cleared(state: GateState, now: datetime) -> GateState:
    """Open, full, and at the most it may have."""
    lifted = replace(alive(state, now), closed_until=None, closed_reason=None, operator_rate=None, stated_rate=None)
    return replace(
        lifted,
        tokens=max(state.tokens, 1.0),
        counted_at=now,
        rate_now=lifted.ceiling,
        rate_before=None,
        low_since=None,
        changed_at=now,
    )


def _reason(key: str, text: str) -> str:
    why = text.strip()
    if not why or len(why) > MOST_REASON_CHARS:
        raise BadInput(
            "REASON_MISSING", f"--reason needs 1 to {MOST_REASON_CHARS} characters", where=f"rate limiter {key!r}"
        )
    return why


def _shown(connection: sa.Connection, row: sa.Row[Any], now: datetime) -> RateLimiter:
    gate = _gate(connection, row, now)
    state = state_of(row, gate.rate, now)
    wait = free_in(state, gate.rate, now)
    return RateLimiter(
        key=row.rate_key,
        rate_now=row.rate_now,
        rate_configured=row.rate_per_sec,
        rate_stated=row.stated_rate,
        rate_set=row.operator_rate,
        concurrency_stated=row.stated_concurrency,
        open_at=now + wait if wait > timedelta(0) else None,
        closed_reason=_closed_reason(state, now),
        circuit=row.circuit_code,
        failures=row.failures,
        quota=shown(connection, gate, now),
        partitions=[str(one) for one in partitions_under(connection, row.rate_key)],
        last_changes=row.last_changes or [],
    )


def _closed_reason(state: GateState, now: datetime) -> str | None:
    if state.circuit != CircuitState.CLOSED:
        return "CIRCUIT"
    return state.closed_reason if state.closed_until is not None and state.closed_until > now else None


def _gate(connection: sa.Connection, row: sa.Row[Any], now: datetime) -> Gate:
    """The limiter with the settings that hold today for what uses it."""
    plain = RateSpec(requests_per_second=row.rate_per_sec or 1, burst=1)
    if f":{ASKED}:" in row.rate_key:
        return Gate(row.rate_key, plain)
    for partition in partitions_under(connection, row.rate_key):
        limits = limits_of(connection, partition, now)
        if limits is not None:
            rate = limits.provider if row.rate_key.count("/") == 0 else limits.own
            return Gate(row.rate_key, rate.model_copy(update={"requests_per_second": plain.requests_per_second}))
    return Gate(row.rate_key, plain)


def _unknown(connection: sa.Connection, key: str) -> BadInput:
    table = ing_rate_gate
    keys = list(connection.execute(sa.select(table.c.rate_key).order_by(table.c.rate_key).limit(_MOST_KEYS)).scalars())
    known = f"known: {', '.join(keys)}" if keys else "none was used yet: they appear with a source's first request"
    return BadInput("GATE_UNKNOWN", f"there is no rate limiter {key!r}", where="patra gate", remedy=known)
