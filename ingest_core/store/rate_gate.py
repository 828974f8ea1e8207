"""The rate gate in the database: unreachable means no request."""

from datetime import timedelta

import sqlalchemy as sa

from ingest_core.gate.bucket import GateState, take_turn
from ingest_core.gate.feedback import Feedback
from ingest_core.gate.ports import GateDecision, Permit
from ingest_core.model.spec import RateSpec
from ingest_core.model.work import Partition
from ingest_core.registry.limits import rate_part
from ingest_core.registry.merge import merge_block
from ingest_core.store.database import Database
from ingest_core.store.dialect import locked
from ingest_core.store.registry_store import open_rows
from ingest_core.store.tables import SOURCE_TABLES, ing_rate_gate

_RATE_TABLES = ("reg_provenance", "reg_prov_endpoint_def", "reg_prov_rate_limit_cfg")


class SqlRateGate:
    """A RateGate."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def acquire(self, key: str, rate: RateSpec, deadline: timedelta) -> Permit:
        """Take a turn; refused, and nothing taken, if it would come after the deadline."""

        def work(connection: sa.Connection) -> Permit:
            state = self._locked_state(connection, key)
            after, wait = take_turn(state, rate, self._database.now(connection))
            if wait > deadline:
                return Permit(GateDecision.REJECT, wait)
            connection.execute(
                sa.update(ing_rate_gate)
                .where(ing_rate_gate.c.rate_key == key)
                .values(tat=after.tat, updated_at=self._database.now_sql())
            )
            return Permit.after(wait)

        return self._database.transact(work)

    def feedback(self, key: str, said: Feedback) -> None:
        """What the provider said of our haste: nobody asks before it wants to be asked again."""
        if said.cool_down:
            self._cool_down(key, said.cool_down)

    def closed(self, key: str) -> bool:
        """Whether nobody may ask just now."""
        until = sa.select(ing_rate_gate.c.cooldown_until).where(ing_rate_gate.c.rate_key == key)
        with self._database.read() as connection:
            moment = connection.execute(until).scalar()
            return moment is not None and moment > self._database.now(connection)

    def _cool_down(self, key: str, span: timedelta) -> None:

        def work(connection: sa.Connection) -> None:
            state = self._locked_state(connection, key)
            until = max(state.cooldown_until, self._database.now(connection) + span)
            connection.execute(
                sa.update(ing_rate_gate)
                .where(ing_rate_gate.c.rate_key == key)
                .values(cooldown_until=until, updated_at=self._database.now_sql())
            )

        self._database.transact(work)

    def _locked_state(self, connection: sa.Connection, key: str) -> GateState:
        query = sa.select(ing_rate_gate.c.tat, ing_rate_gate.c.cooldown_until).where(ing_rate_gate.c.rate_key == key)
        row = connection.execute(locked(query)).first()
        if row:
            return GateState(row.tat, row.cooldown_until)
        now = self._database.now(connection)
        connection.execute(sa.insert(ing_rate_gate).values(rate_key=key, tat=now, cooldown_until=now, updated_at=now))
        return GateState(now, now)

    def live_rate(self, partition: Partition, planned: RateSpec) -> RateSpec:
        """The rate that holds today, whatever it was when the plan was made."""
        with self._database.read() as connection:
            rows = {
                name: open_rows(connection, SOURCE_TABLES[name], partition.provenance_code) for name in _RATE_TABLES
            }
            now = self._database.now(connection)
        if not rows["reg_provenance"]:
            return planned
        merged = merge_block(rows, "rate_limit", partition.endpoint_name, partition.operation_code.value, now)
        return rate_part(merged)
