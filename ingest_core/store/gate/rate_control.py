"""What an operator sees of the rate limiters, and does to them."""

from datetime import datetime, timedelta
from functools import partial
from typing import Any

import sqlalchemy as sa

from ingest_core.gate.bucket import reserve_permit
from ingest_core.gate.ports import RateLimiter
from ingest_core.model.errors import BadInput
from ingest_core.model.instant import format_instant
from ingest_core.model.spec import RateSpec
from ingest_core.store.engine.database import Database
from ingest_core.store.engine.dialect import locked
from ingest_core.store.gate.rate_gate import at_rate, rates_in_force, source_of, state_of
from ingest_core.store.registry.postponed import BY_PROVIDER, bring_forward
from ingest_core.store.schema.tables import ing_rate_gate

MOST_CHANGES = 20
"""Changes kept with a rate limiter, newest last."""

MOST_REASON_CHARS = 500
_MOST_KEYS = 50


class SqlRateControl:
    """Lists rate limiters by key, and clears them."""

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
            row = connection.execute(_by_key(key)).first()
            if row is None:
                raise _unknown(connection, key)
            return _shown(connection, row, self._database.now(connection))

    def clear(self, key: str, reason: str, by: str) -> RateLimiter:
        """Open it now: no cool-down and no permits ahead; the source's tasks that wait for it are due.

        Permits already granted are still used: the next burst may come on top of those, once.
        """
        why = reason.strip()
        if not why or len(why) > MOST_REASON_CHARS:
            raise BadInput(
                "REASON_MISSING", f"--reason needs 1 to {MOST_REASON_CHARS} characters", where=f"rate limiter {key!r}"
            )
        self._database.transact(partial(self._clear, key, why, by))
        return self.entry(key)

    def _clear(self, key: str, reason: str, by: str, connection: sa.Connection) -> None:
        row = connection.execute(locked(_by_key(key))).first()
        if row is None:
            raise _unknown(connection, key)
        now = self._database.now(connection)
        tasks = bring_forward(connection, source_of(key), BY_PROVIDER, now)
        change = {
            "at": format_instant(now),
            "by": by,
            "change": "clear",
            "reason": reason,
            "open_at_before": _shown(connection, row, now).open_at,
            "tasks_due": tasks,
        }
        connection.execute(
            sa.update(ing_rate_gate)
            .where(ing_rate_gate.c.rate_key == key)
            .values(
                tat=now,
                cooldown_until=now,
                updated_at=now,
                last_changes=[*(row.last_changes or []), change][-MOST_CHANGES:],
            )
        )


def _by_key(key: str) -> sa.Select[Any]:
    return sa.select(ing_rate_gate).where(ing_rate_gate.c.rate_key == key)


def _shown(connection: sa.Connection, row: sa.Row[Any], now: datetime) -> RateLimiter:
    fastest = _fastest(rates_in_force(connection, source_of(row.rate_key), now), row)
    asked = fastest or RateSpec(requests_per_second=row.rate_per_sec or 1, burst=1)
    state = at_rate(connection, row.rate_key, row.rate_per_sec, state_of(row, now), asked, now)
    _, wait = reserve_permit(state, asked, now)
    return RateLimiter(
        key=row.rate_key,
        rate_now=row.rate_per_sec,
        rate_configured=fastest.requests_per_second if fastest else None,
        open_at=now + wait if wait > timedelta(0) else None,
        daily_quota=fastest.daily_quota if fastest else None,
        last_changes=row.last_changes or [],
    )


def _fastest(rates: list[RateSpec], row: sa.Row[Any]) -> RateSpec | None:
    """The fastest rate in force for the key; a plan that asked for its own rate has no other."""
    if row.rate_key.startswith(f"{source_of(row.rate_key)}:asked:"):
        return None
    return max(rates, key=lambda rate: rate.requests_per_second, default=None)


def _unknown(connection: sa.Connection, key: str) -> BadInput:
    table = ing_rate_gate
    keys = list(connection.execute(sa.select(table.c.rate_key).order_by(table.c.rate_key).limit(_MOST_KEYS)).scalars())
    known = f"known: {', '.join(keys)}" if keys else "none was used yet: they appear with a source's first request"
    return BadInput("GATE_UNKNOWN", f"there is no rate limiter {key!r}", where="patra gate", remedy=known)
