"""Keeping a lease while its task is worked, whatever the worker waits for."""

import logging
from contextvars import copy_context
from threading import Event, Thread
from types import TracebackType
from typing import Self

from ingest_core.execution.ports import TaskQueue
from ingest_core.model.errors import LeaseLost
from ingest_core.model.lease import Lease

log = logging.getLogger(__name__)

RENEWALS_PER_TTL = 3


class LeaseKeeper:
    """Renews a lease in the background; `check` tells whether it was lost meanwhile, be it by a cancel."""

    def __init__(self, queue: TaskQueue, lease: Lease) -> None:
        self._queue = queue
        self._lease = lease
        self._done = Event()
        self._lost: LeaseLost | None = None
        keep = (self._keep,)  # in the context it was made in: what it logs is of that run
        self._thread = Thread(target=copy_context().run, args=keep, name=f"lease of task {lease.task_id}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()

    def check(self) -> None:
        """Raise LeaseLost once it is known to be lost."""
        if self._lost is not None:
            raise self._lost

    def _keep(self) -> None:
        while not self._done.wait(self._lease.ttl_seconds / RENEWALS_PER_TTL):
            try:
                self._queue.renew(self._lease)
            except LeaseLost as lost:
                self._lost = lost
                return
            except Exception as error:
                log.warning("task %s: its lease could not be renewed: %s", self._lease.task_id, error)
