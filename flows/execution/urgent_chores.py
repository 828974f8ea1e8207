"""The chores that cannot wait for the next housekeeping run: an executor does them every minute."""

import contextvars
from threading import Event, Thread
from types import TracebackType
from typing import Self

from prefect import get_run_logger

from flows.chores import CHORES
from flows.parameters import HousekeepingPart
from flows.process.application import open_app
from ingest_core.bootstrap import App

EVERY_SECONDS = 60.0
"""The time between two rounds of one executor; several executors do them side by side, which is safe."""

URGENT = (HousekeepingPart.SERVE_RESLICES, HousekeepingPart.RELAY_OUTBOX)
"""Without these, a slice that is too large and a message would wait. Executors requeue expired leases in any case."""

_END_SECONDS = 10.0


class UrgentChores:
    """Does the urgent chores while it is entered; one that fails is logged, and housekeeping reports it."""

    def __init__(self) -> None:
        self._logger = get_run_logger()
        self._over = Event()
        self._app: App | None = None
        context = contextvars.copy_context()
        self.keeper = Thread(target=context.run, args=(self._keep,), name="urgent chores", daemon=True)

    def __enter__(self) -> Self:
        self.keeper.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if app := self._app:
            app.relay.stop.set()
        self.keeper.join(_END_SECONDS)

    def _keep(self) -> None:
        while not self._over.wait(EVERY_SECONDS):
            try:
                with open_app() as app:
                    self._app = app
                    self._do(app)
            except Exception as error:
                self._logger.warning("the urgent chores were not done: %s", error)
            finally:
                self._app = None

    def _do(self, app: App) -> None:
        for part in URGENT:
            if self._over.is_set():
                return
            try:
                said = CHORES[part](app)
            except Exception as error:
                self._logger.warning("%s: %s", part, error)
            else:
                if said:
                    self._logger.info("%s: %s", part, said)
