"""A runner as bootstrap wires it, on test stores."""

from threading import Event

from ingest_core.execution.ports import Upstream
from ingest_core.execution.run_task import TaskRunner
from ingest_core.store.queue.work_control import SqlWorkControl
from tests.support.stores import Stores


def runner_of(stores: Stores, upstream: Upstream, stop: Event | None = None) -> TaskRunner:
    """Runs tasks of these stores against that upstream."""
    return TaskRunner(
        stores.queue,
        stores.ledger,
        stores.cursors,
        SqlWorkControl(stores.database),
        stores.gate,
        upstream,
        stores.database,
        stop or Event(),
    )
