"""Rate limiters in the database: unreachable means no request."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import sqlalchemy as sa

from ingest_core.gate.adaptation import holds_planning
from ingest_core.gate.bucket import Grant, expected_permits, given_back, opens_in, take
from ingest_core.gate.chain import Gate, Limits
from ingest_core.gate.feedback import Feedback, after_answer
from ingest_core.gate.ports import Asker, GateDecision, Horizon, Permit
from ingest_core.gate.quota import QuotaUse
from ingest_core.gate.state import CircuitState, CloseReason, GateState
from ingest_core.model.partition import Partition
from ingest_core.model.spec import RateSpec
from ingest_core.store.engine.database import Database
from ingest_core.store.engine.dialect import insert_new, locked
from ingest_core.store.gate.bundles import Bundles
from ingest_core.store.gate.closings import close_partitions, note_use, open_partitions
from ingest_core.store.gate.live_limits import limits_of
from ingest_core.store.gate.quotas import count, uses_now
from ingest_core.store.gate.rows import by_key, changes_between, kept, state_of, values_of
from ingest_core.store.schema.tables import ing_rate_gate

HEALTH_SECONDS = 5.0
"""How often a limiter that is well is told so: an increase and the count of attempts ask when it last was."""

LOW_HEALTH_SECONDS = 1.0
"""How often it is told so while its rate is decreased."""

CLAIMS_PASS_BY = timedelta(seconds=5)
"""A limiter that is closed for longer has its partitions passed by when tasks are claimed."""

HALF_OPEN_WAIT = timedelta(seconds=5)
"""How soon to ask again while one request tries whether the provider answers."""


class SqlRateGate:
    """A RateGate."""

    def __init__(
        self,
        database: Database,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._database = database
        self._clock = clock
        self._chance = chance
        self._bundles = Bundles(clock)
        self._told_well: dict[str, float] = {}
        self._news: dict[str, float] = {}
        self._stated: dict[str, tuple[float | None, int | None]] = {}
        self._used: set[tuple[str, Partition]] = set()

    def limits(self, partition: Partition, planned: RateSpec) -> Limits:
        """The rates that hold today for a partition's requests, whatever they were when its plan was made."""
        with self._database.read() as connection:
            found = limits_of(connection, partition, self._database.now(connection))
        return found or Limits(planned, planned)

    def acquire(self, gate: Gate, asker: Asker, deadline: timedelta) -> Permit:
        """A permit within the deadline; refused, and nothing taken, if it would come later or the limiter is closed."""
        ready = self._bundles.take(gate)
        if ready is not None:
            return ready
        asked = _Asked(gate, asker, deadline, self._bundles.wanted(gate), self._bundles.unused(gate.key))
        permit, spares = self._database.transact(partial(self._acquire, asked))
        if asker.partition is not None:
            self._used.add((gate.key, asker.partition))
        self._bundles.keep(gate, asker, permit, spares)
        return permit

    def feedback(self, gate: Gate, asker: Asker, said: Feedback) -> None:
        """What the provider said about the rate: the limiter adapts, closes or opens for all workers."""
        stated = (said.stated_rate, said.concurrency)
        news = stated != (None, None) and self._stated.get(gate.key) != stated
        if not (said.matters or news or self._health_is_due(gate.key)):
            return
        if said.matters:
            self._bundles.drop(gate.key)
        self._database.transact(partial(self._hear, gate, asker, said))
        self._stated[gate.key] = stated
        self._told_well[gate.key] = self._clock()

    def closed(self, gate: Gate) -> timedelta:
        """How long the limiter stays closed; zero when it is open."""
        with self._database.read() as connection:
            row = connection.execute(by_key(gate.key)).first()
            now = self._database.now(connection)
            return opens_in(state_of(row, gate.rate, now), now) if row else timedelta(0)

    def succeeded_since(self, gate: Gate, moment: datetime) -> bool:
        """Whether the provider has answered well since then, to anybody."""
        success_at = sa.select(ing_rate_gate.c.success_at).where(ing_rate_gate.c.rate_key == gate.key)
        with self._database.read() as connection:
            last: datetime | None = connection.execute(success_at).scalar()
        return last is not None and last > moment

    def estimate(self, gate: Gate, horizon: timedelta, priority: int = 5) -> Horizon:
        """What the limiter can be expected to give until the horizon."""
        with self._database.read() as connection:
            row = connection.execute(by_key(gate.key)).first()
            now = self._database.now(connection)
            state = state_of(row, gate.rate, now) if row else GateState.fresh(gate.rate, now)
            uses = uses_now(connection, gate, priority, now)
        left = min((use.left(gate.rate, priority) for use in uses), default=None)
        return Horizon(
            expected_permits(state, gate.rate, now, horizon),
            state.rate_now,
            opens_in(state, now),
            state.stated_concurrency,
            left,
            holds_planning(state, now),
        )

    def give_back(self) -> None:
        """Return permits that were taken ahead and will not be used."""
        for gate, asker, number in self._bundles.rest():
            self._database.transact(partial(self._return, gate, asker, number))

    def _acquire(self, asked: "_Asked", connection: sa.Connection) -> tuple[Permit, list[timedelta]]:
        gate, asker = asked.gate, asked.asker
        row, now = self._locked(connection, gate)
        self._note_use(connection, gate, asker)
        before = state_of(row, gate.rate, now)
        state = given_back(before, gate.rate, asked.unused)
        spent = self._refused_by_quota(connection, gate, asker, state, now)
        if spent is not None:
            return self._close_for_quota(connection, gate, asker, (row, before, state), spent, now), []
        state, grant = take(state, gate.rate, now, asker.lapse, asked.wanted)
        self._write(connection, row, before, state, "no refusals for a cool-down", now)
        if gate.rate.quota_cost and (grant.instants or asked.unused):
            count(connection, gate, asker, (len(grant.instants) - asked.unused) * gate.rate.quota_cost, now)
        if grant.probes and asker.lapse > CLAIMS_PASS_BY:
            close_partitions(connection, gate.key, now + asker.lapse, now)
        return _permit(grant, state, asked, now), [instant - now for instant in grant.instants[1:]]

    def _refused_by_quota(
        self, connection: sa.Connection, gate: Gate, asker: Asker, state: GateState, now: datetime
    ) -> QuotaUse | None:
        """The window of a quota that leaves nothing for this asker; none where there is room."""
        if not gate.rate.quota_cost or (state.closed_until is not None and state.closed_until > now):
            return None
        uses = uses_now(connection, gate, asker.priority, now)
        short = [use for use in uses if use.left(gate.rate, asker.priority) < gate.rate.quota_cost]
        return max(short, key=lambda use: use.window.end, default=None)

    def _close_for_quota(
        self,
        connection: sa.Connection,
        gate: Gate,
        asker: Asker,
        known: tuple[sa.Row[Any], GateState, GateState],
        spent: QuotaUse,
        now: datetime,
    ) -> Permit:
        """A spent window closes the limiter for all; one that others have reserved, this partition alone."""
        row, before, state = known
        until = spent.window.end
        if spent.spent:
            state = state.closed(until, CloseReason.QUOTA)
            close_partitions(connection, gate.key, until, now)
        elif asker.partition is not None:
            close_partitions(connection, gate.key, until, now, only=asker.partition)
        self._write(connection, row, before, state, f"{spent.used} of {spent.window.limit} units are used", now)
        return Permit(GateDecision.REJECT, until - now, CloseReason.QUOTA, until, state.rate_now, gate.rate.burst)

    def _hear(self, gate: Gate, asker: Asker, said: Feedback, connection: sa.Connection) -> None:
        row, now = self._locked(connection, gate)
        before = state_of(row, gate.rate, now)
        state = after_answer(before, gate.rate, said, now, self._chance())
        self._write(connection, row, before, state, said.words, now)
        shut = opens_in(state, now)
        if shut > CLAIMS_PASS_BY:
            close_partitions(connection, gate.key, now + shut, now)
        elif opens_in(before, now) > CLAIMS_PASS_BY:
            open_partitions(connection, gate.key, now)

    def _return(self, gate: Gate, asker: Asker, number: int, connection: sa.Connection) -> None:
        row, now = self._locked(connection, gate)
        before = state_of(row, gate.rate, now)
        self._write(connection, row, before, given_back(before, gate.rate, number), "", now)
        if gate.rate.quota_cost:
            count(connection, gate, asker, -number * gate.rate.quota_cost, now)

    def _locked(self, connection: sa.Connection, gate: Gate) -> tuple[sa.Row[Any], datetime]:
        """The limiter's row, locked, and the time after that: the lock may have been waited for."""
        row = connection.execute(locked(by_key(gate.key))).first()
        if row is None:
            now = self._database.now(connection)
            fresh = values_of(GateState.fresh(gate.rate, now), now)
            insert = insert_new(self._database.dialect_name, ing_rate_gate, "rate_key")
            connection.execute(insert.values(rate_key=gate.key, tat=now, cooldown_until=now, **fresh))
            row = connection.execute(locked(by_key(gate.key))).one()
        return row, self._database.now(connection)

    def _write(
        self, connection: sa.Connection, row: sa.Row[Any], before: GateState, state: GateState, why: str, now: datetime
    ) -> None:
        changes = changes_between(before, state, why, now)
        noted = {"last_changes": kept(row.last_changes, changes)} if changes else {}
        table = ing_rate_gate
        connection.execute(
            sa.update(table).where(table.c.rate_key == row.rate_key).values(**values_of(state, now), **noted)
        )
        self._news[row.rate_key] = _health_is_news_after(state)

    def _note_use(self, connection: sa.Connection, gate: Gate, asker: Asker) -> None:
        if asker.partition is not None and (gate.key, asker.partition) not in self._used:
            note_use(connection, gate.key, asker.partition)

    def _health_is_due(self, key: str) -> bool:
        """Whether an answer that is well is news to the limiter."""
        since = self._clock() - self._told_well.get(key, float("-inf"))
        return since >= self._news.get(key, HEALTH_SECONDS)


def _health_is_news_after(state: GateState) -> float:
    """Seconds after which an answer that is well is news: at once where failures are counted, soon at a low rate."""
    if state.failures or state.circuit != CircuitState.CLOSED:
        return 0.0
    return LOW_HEALTH_SECONDS if state.rate_now < state.ceiling else HEALTH_SECONDS


@dataclass(frozen=True)
class _Asked:
    """One call of `acquire`."""

    gate: Gate
    asker: Asker
    deadline: timedelta
    wanted: int
    unused: int
    """Permits taken earlier that come back."""


def _permit(grant: Grant, state: GateState, asked: _Asked, now: datetime) -> Permit:
    """The grant as the asker reads it."""
    told = Permit(
        GateDecision.ALLOW,
        closed=grant.closed,
        closed_until=now + grant.wait if grant.closed else None,
        rate_now=state.rate_now,
        burst=asked.gate.rate.burst,
        decreases=state.decreases,
        failures=state.failures,
        probes=grant.probes,
    )
    if grant.instants:
        wait = max(grant.instants[0] - now, timedelta(0))
        return replace(told, decision=GateDecision.WAIT if wait else GateDecision.ALLOW, wait=wait)
    tried = state.circuit == CircuitState.HALF_OPEN and grant.closed == CloseReason.CIRCUIT
    wait = min(grant.wait, HALF_OPEN_WAIT) if tried else grant.wait
    for_long = grant.closed is not None and wait > CLAIMS_PASS_BY
    refused = for_long or wait > asked.deadline
    return replace(told, decision=GateDecision.REJECT if refused else GateDecision.LATER, wait=wait)
