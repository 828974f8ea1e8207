"""A Prefect worker that ends in good order: what it started goes on to its end, and executors are asked to end soon."""

import asyncio
import os
import signal
import socket
import warnings
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any
from uuid import UUID

from anyio import TASK_STATUS_IGNORED
from anyio.abc import TaskStatus
from prefect.client.schemas.objects import FlowRun
from prefect.workers.process import ProcessJobConfiguration, ProcessWorker, ProcessWorkerResult

EXECUTOR = "executor"
LISTENS_AFTER = timedelta(seconds=5)
"""Seconds after which a flow run handles signals; before that, a signal would kill it."""
RUN_ENVIRONMENT = MappingProxyType(
    {
        "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30",  # a run that stops sending them is Crashed: deployments/automations
        "PREFECT_LOGGING_EXTRA_LOGGERS": "ingest_core",  # the library's warnings belong to the run's log
    }
)
"""What every flow run gets beside the worker's own environment; `prefect.yaml` has it for pools of other types."""
_LOOK_SECONDS = 1.0


class _Noted(TaskStatus[int]):
    """Passes on that a process started, and keeps its id."""

    def __init__(self, status: TaskStatus[int], processes: dict[UUID, int], run_id: UUID) -> None:
        self._status, self._processes, self._run_id = status, processes, run_id

    def started(self, value: Any = None) -> None:
        """The process of that id runs."""
        self._processes[self._run_id] = value
        self._status.started(value)


class FixedJobConfiguration(ProcessJobConfiguration):
    """A flow run's process: always this interpreter on Prefect's engine, in this worker's environment.

    A pool that was made by an earlier version, or changed in the UI, cannot let a flow run choose another command.
    """

    def prepare_for_flow_run(self, *arguments: Any, **options: Any) -> None:
        """Drop what would choose the code, whatever the pool's template lets through."""
        self.command, self.working_dir, self.env = None, None, dict(RUN_ENVIRONMENT)
        super().prepare_for_flow_run(*arguments, **options)


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it takes the place of Prefect's own, in this process only

    class DrainingWorker(ProcessWorker):
        """A process worker whose end waits for its flow runs: Prefect's own kills them."""

        def __init__(self, pool: str, name: str | None, limit: int | None) -> None:
            super().__init__(work_pool_name=pool, name=name or f"{socket.gethostname()}-{os.getpid()}", limit=limit)
            self.flow_runs = 0
            self._executors: dict[UUID, int] = {}

        job_configuration = FixedJobConfiguration

        async def run(
            self,
            flow_run: FlowRun,
            configuration: ProcessJobConfiguration,
            task_status: TaskStatus[int] | None = None,
        ) -> ProcessWorkerResult:
            """Work a flow run in a process of its own."""
            self.flow_runs += 1
            status: TaskStatus[int] = task_status or TASK_STATUS_IGNORED
            if configuration.labels.get("prefect.io/flow-name") == EXECUTOR:
                status = _Noted(status, self._executors, flow_run.id)
            try:
                return await super().run(flow_run, configuration, status)
            finally:
                self._executors.pop(flow_run.id, None)

        async def __aexit__(self, *_reason: Any) -> None:
            asking = asyncio.create_task(self._ask_executors())
            try:
                await super().__aexit__(None, None, None)  # given the reason, it would kill its processes
            finally:
                asking.cancel()

        async def _ask_executors(self) -> None:
            """Ask each executor once, when it listens, to finish its page and give back what it holds."""
            asked: set[UUID] = set()
            while True:
                for run_id, pid in [*self._executors.items()]:
                    if run_id not in asked and await self._listens(run_id):
                        asked.add(run_id)
                        with suppress(ProcessLookupError):
                            os.kill(pid, signal.SIGTERM)
                await asyncio.sleep(_LOOK_SECONDS)

        async def _listens(self, run_id: UUID) -> bool:
            try:
                state = (await self.client.read_flow_run(run_id)).state
            except Exception as error:
                self._logger.warning("flow run %s cannot be asked for: %s", run_id, error)
                return False
            return state is not None and state.is_running() and datetime.now(UTC) - state.timestamp > LISTENS_AFTER


async def work(worker: DrainingWorker, *, with_healthcheck: bool) -> None:
    """Work flow runs until a signal comes; the second one ends the worker at once."""
    loop = asyncio.get_running_loop()
    working = asyncio.ensure_future(worker.start(with_healthcheck=with_healthcheck))

    def end() -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
        working.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end)
    with suppress(asyncio.CancelledError):
        await working
