"""The rate gate in the database: unreachable means no request."""

import math
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from ingest_core.gate.bucket import GateState, moved_back, rescaled, reserve_permit
from ingest_core.gate.feedback import Feedback
from ingest_core.gate.ports import GateDecision, Permit
from ingest_core.model.clock import CLOCK_SLACK
from ingest_core.model.codes import Operation
from ingest_core.model.partition import Partition
from ingest_core.model.spec import RateSpec
from ingest_core.registry.limits import rate_part
from ingest_core.registry.merge import merge_block
from ingest_core.registry.rows import Rows
from ingest_core.store.engine.database import Database
from ingest_core.store.engine.dialect import locked
from ingest_core.store.registry.sources import open_rows
from ingest_core.store.schema.tables import SOURCE_TABLES, ing_rate_gate

_RATE_TABLES = ("reg_provenance", "reg_prov_endpoint_def", "reg_prov_rate_limit_cfg")


class SqlRateGate:
    """A RateGate."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def acquire(self, key: str, rate: RateSpec, deadline: timedelta) -> Permit:
        """Reserve a permit; refused, and nothing reserved, if it could be used only after the deadline."""

        def work(connection: sa.Connection) -> Permit:
            state, now = self._locked_state(connection, key, rate)
            after, wait = reserve_permit(state, rate, now)
            if wait > deadline:
                return Permit(GateDecision.REJECT, wait)
            connection.execute(
                sa.update(ing_rate_gate)
                .where(ing_rate_gate.c.rate_key == key)
                .values(
                    tat=after.tat,
                    cooldown_until=after.cooldown_until,
                    rate_per_sec=rate.requests_per_second,
                    updated_at=self._database.now_sql(),
                )
            )
            return Permit.after(wait)

        return self._database.transact(work)

    def feedback(self, key: str, said: Feedback) -> None:
        """Take in what the provider said about the rate: no permit is granted before its pause is over."""
        if said.cool_down:
            self._cool_down(key, said.cool_down)

    def closed(self, key: str) -> bool:
        """Whether no permit is granted now."""
        with self._database.read() as connection:
            row = connection.execute(_state_query(key)).first()
            now = self._database.now(connection)
            return row is not None and state_of(row, now).cooldown_until > now

    def _cool_down(self, key: str, span: timedelta) -> None:

        def work(connection: sa.Connection) -> None:
            state, now = self._locked_state(connection, key)
            until = max(state.cooldown_until, now + span)
            connection.execute(
                sa.update(ing_rate_gate)
                .where(ing_rate_gate.c.rate_key == key)
                .values(tat=state.tat, cooldown_until=until, updated_at=self._database.now_sql())
            )

        self._database.transact(work)

    def _locked_state(
        self, connection: sa.Connection, key: str, rate: RateSpec | None = None
    ) -> tuple[GateState, datetime]:
        """The gate as it is, for who asks at a rate, and the time: the lock may have been waited for."""
        row = connection.execute(locked(_state_query(key))).first()
        now = self._database.now(connection)
        if row:
            state = state_of(row, now)
            return (state if rate is None else at_rate(connection, key, row.rate_per_sec, state, rate, now)), now
        connection.execute(sa.insert(ing_rate_gate).values(rate_key=key, tat=now, cooldown_until=now, updated_at=now))
        return GateState(now, now), now

    def live_rate(self, partition: Partition, planned: RateSpec) -> RateSpec:
        """The rate that holds today, whatever it was when the plan was made."""
        with self._database.read() as connection:
            rows = _rate_rows(connection, partition.provenance_code)
            now = self._database.now(connection)
        if not rows["reg_provenance"]:
            return planned
        merged = merge_block(rows, "rate_limit", partition.endpoint_name, partition.operation_code.value, now)
        return rate_part(merged)


def _state_query(key: str) -> sa.Select[Any]:
    table = ing_rate_gate
    columns = (table.c.tat, table.c.cooldown_until, table.c.updated_at, table.c.rate_per_sec)
    return sa.select(*columns).where(table.c.rate_key == key)


def at_rate(
    connection: sa.Connection, key: str, before: float | None, state: GateState, rate: RateSpec, now: datetime
) -> GateState:
    """The state for a request at this rate: permits granted at a rate that no longer holds are rescaled to it.

    Endpoints of a source may have rates of their own and share its key: permits granted at a rate that still holds are
    not rescaled, or those of the slower endpoint would be forgotten as soon as the faster one asks.
    """
    if before is None or state.tat <= now or math.isclose(before, rate.requests_per_second):
        return state
    in_force = [one.requests_per_second for one in rates_in_force(connection, source_of(key), now)]
    if any(math.isclose(before, one) for one in in_force):
        return state
    return rescaled(state, before, rate.requests_per_second, now)


def source_of(key: str) -> str:
    """The source whose rate a key is for."""
    return key.partition(":")[0]


def rates_in_force(connection: sa.Connection, source: str, now: datetime) -> list[RateSpec]:
    """Every rate at which a source may be asked now, by whichever of its endpoints and with or without credential."""
    rows = _rate_rows(connection, source)
    if not rows["reg_provenance"]:
        return []
    endpoints = sorted({row["endpoint_name"] for row in rows["reg_prov_endpoint_def"]})
    merged = [
        rate_part(merge_block(rows, "rate_limit", endpoint, operation.value, now))
        for endpoint in endpoints
        for operation in Operation
    ]
    return list(dict.fromkeys(rate.for_caller(known=known) for rate in merged for known in (False, True)))


def _rate_rows(connection: sa.Connection, source: str) -> Rows:
    return {name: open_rows(connection, SOURCE_TABLES[name], source) for name in _RATE_TABLES}


def state_of(row: sa.Row[Any], now: datetime) -> GateState:
    """What the row says; written by a clock that was ahead, it would keep everybody waiting until that time."""
    state, ahead = GateState(row.tat, row.cooldown_until), row.updated_at - now
    return moved_back(state, ahead) if ahead > CLOCK_SLACK else state
