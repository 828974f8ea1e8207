"""Credentials as the Registry has them today: a plan keeps its meaning, not its keys."""

import time
from collections.abc import Callable
from datetime import datetime

import sqlalchemy as sa

from ingest_core.model.codes import Operation
from ingest_core.model.spec import AuthSpec, SpecSnapshot
from ingest_core.registry.connection import auth_part
from ingest_core.registry.merge import merge_block
from ingest_core.registry.problems import Findings
from ingest_core.registry.rows import Rows
from ingest_core.store.registry.sources import open_rows
from ingest_core.store.schema.tables import SOURCE_TABLES

FRESH_SECONDS = 10.0
"""Seconds after which a changed credential is noticed."""

_TABLES = ("reg_provenance", "reg_prov_endpoint_def", "reg_prov_credential")


class LiveCredentials:
    """Today's credentials, read again now and then."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: dict[str, tuple[float, Rows]] = {}

    def of(self, connection: sa.Connection, spec: SpecSnapshot, now: datetime) -> SpecSnapshot:
        """The snapshot with today's references; as it was where its source is gone, or would not compile."""
        rows = self._rows(connection, spec.provenance_code)
        if not rows["reg_provenance"]:
            return spec
        changes: dict[str, object] = {}
        auth = _live(rows, spec.endpoint_name, spec.operation_code, spec.auth, now)
        if auth != spec.auth:
            changes["auth"] = auth
        if spec.detail is not None and spec.detail.auth is not None:
            own = _live(rows, spec.detail.endpoint_name, spec.operation_code, spec.detail.auth, now)
            if own != spec.detail.auth:
                changes["detail"] = spec.detail.model_copy(update={"auth": own})
        return spec.model_copy(update=changes) if changes else spec

    def _rows(self, connection: sa.Connection, source: str) -> Rows:
        read_at, rows = self._known.get(source, (float("-inf"), {}))
        if self._clock() - read_at > FRESH_SECONDS:
            rows = {name: open_rows(connection, SOURCE_TABLES[name], source) for name in _TABLES}
            self._known[source] = (self._clock(), rows)
        return rows


def _live(rows: Rows, endpoint: str, operation: Operation, planned: AuthSpec, now: datetime) -> AuthSpec:
    definition = next((row for row in rows["reg_prov_endpoint_def"] if row["endpoint_name"] == endpoint), None)
    if definition is None:
        return planned
    found = Findings("")
    block = merge_block(rows, "credential", endpoint, operation.value, now)
    # Hooks and allowed names are checked when a request is sent.
    auth = auth_part(block, definition, hooks=None, allowed=None, found=found)
    return planned if found.problems else auth
