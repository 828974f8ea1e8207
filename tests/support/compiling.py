"""The compiler as most tests call it: by source, endpoint and operation, without a trigger's query or overrides."""

from datetime import datetime

from ingest_core.model.codes import Operation
from ingest_core.model.spec import SpecSnapshot
from ingest_core.registry.compile import CompileRequest, compile_source
from ingest_core.registry.rows import Rows


def compile_spec(rows: Rows, source: str, endpoint: str, operation: Operation, now: datetime) -> SpecSnapshot:
    """The snapshot of this source, endpoint and operation as of `now`."""
    return compile_source(rows, CompileRequest(source, endpoint, operation), now).spec
