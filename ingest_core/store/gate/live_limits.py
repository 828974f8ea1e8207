"""The rates that the Registry allows today, read again now and then."""

import time
from collections.abc import Callable, Iterable
from datetime import datetime

import sqlalchemy as sa

from ingest_core.gate.chain import Limits
from ingest_core.model.codes import GateScope, Operation
from ingest_core.model.partition import Partition
from ingest_core.model.spec import RateSpec
from ingest_core.registry.limits import rate_part
from ingest_core.registry.merge import merge_block
from ingest_core.registry.rows import Rows
from ingest_core.store.engine.database import Database
from ingest_core.store.registry.sources import open_rows
from ingest_core.store.schema.tables import SOURCE_TABLES

FRESH_SECONDS = 1.0
"""Seconds after which a rate that changed in the Registry is noticed."""

_RATE_TABLES = ("reg_provenance", "reg_prov_endpoint_def", "reg_prov_rate_limit_cfg")
_SHARES = SOURCE_TABLES["reg_prov_rate_limit_cfg"]


class LiveLimits:
    """Today's limits of each partition."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._clock = clock
        self._known: dict[Partition, tuple[float, Limits | None]] = {}

    def of(self, partition: Partition, planned: RateSpec) -> Limits:
        """The partition's rate and its provider's; as planned where the source is gone."""
        read_at, limits = self._known.get(partition, (float("-inf"), None))
        if self._clock() - read_at > FRESH_SECONDS:
            with self._database.read() as connection:
                limits = limits_of(connection, partition, self._database.now(connection))
            self._known[partition] = (self._clock(), limits)
        return limits or Limits(planned, planned)


def limits_of(connection: sa.Connection, partition: Partition, now: datetime) -> Limits | None:
    """The limits that hold now; none where the source is gone."""
    rows = _rate_rows(connection, partition.provenance_code)
    if not rows["reg_provenance"]:
        return None
    own = _rate(rows, partition.endpoint_name, partition.operation_code, now)
    alike = [rate for rate in _rates(rows, now, own.scope, partition) if rate.scope == own.scope]
    provider = _fastest([own, *alike])
    if own.share is None:
        return Limits(own, provider)
    others = (_shared_rate(connection, source, own.share, now) for source in _sharing(connection, own.share))
    slowest = min(filter(None, others), key=lambda rate: rate.requests_per_second, default=provider)
    return Limits(own, slowest)


def rates_of(connection: sa.Connection, source: str, now: datetime) -> list[RateSpec]:
    """Every rate that holds for anything of a source."""
    rows = _rate_rows(connection, source)
    return _rates(rows, now) if rows["reg_provenance"] else []


def _rates(
    rows: Rows, now: datetime, scope: GateScope = GateScope.SOURCE, partition: Partition | None = None
) -> list[RateSpec]:
    """The rates of all operations, of all endpoints or, for a limiter of one endpoint, of that one."""
    names = {row["endpoint_name"] for row in rows["reg_prov_endpoint_def"]}
    if scope == GateScope.ENDPOINT and partition is not None:
        names &= {partition.endpoint_name}
    return [_rate(rows, name, operation, now) for name in sorted(names) for operation in Operation]


def _rate(rows: Rows, endpoint: str, operation: Operation, now: datetime) -> RateSpec:
    return rate_part(merge_block(rows, "rate_limit", endpoint, operation.value, now))


def _fastest(rates: Iterable[RateSpec]) -> RateSpec:
    """The fastest rate, with and without a credential: what the limiter of all of them allows."""
    found = list(rates)
    fastest = max(found, key=lambda rate: rate.requests_per_second)
    known = [rate.with_credential_per_second for rate in found if rate.with_credential_per_second is not None]
    return fastest.model_copy(update={"with_credential_per_second": max(known)}) if known else fastest


def _sharing(connection: sa.Connection, share: str) -> list[str]:
    query = sa.select(_SHARES.c.provenance_code).where(_SHARES.c.share_name == share, _SHARES.c.closed_at.is_(None))
    return sorted(set(connection.execute(query).scalars()))


def _shared_rate(connection: sa.Connection, source: str, share: str, now: datetime) -> RateSpec | None:
    """The fastest rate of a source under a shared limiter."""
    rates = [rate for rate in rates_of(connection, source, now) if rate.share == share]
    return _fastest(rates) if rates else None


def _rate_rows(connection: sa.Connection, source: str) -> Rows:
    return {name: open_rows(connection, SOURCE_TABLES[name], source) for name in _RATE_TABLES}
