"""A private Prefect: a server that can be restarted, workers that can be killed, and its API as a test speaks to it."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

ROOT = Path(__file__).resolve().parents[2]
POOL = "patra"
FINAL_STATES = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}
START_SECONDS = 240
END_SECONDS = 180
STOP_SECONDS = 30
ENGINES = {"prefect.engine", "prefect.flow_engine"}
BUSY = {httpx.codes.SERVICE_UNAVAILABLE, httpx.codes.TOO_MANY_REQUESTS}

Row = dict[str, Any]


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(ready: Callable[[], bool], seconds: float, what: str, every: float = 0.5) -> None:
    """Wait for a condition; fail when it takes longer."""
    deadline = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < deadline, f"{what} took longer than {seconds} s"
        time.sleep(every)


def bare_environment() -> dict[str, str]:
    """This process's environment without what would lead to another Prefect."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}


class Process:
    """A process in a group of its own, with its output in a file."""

    def __init__(self, command: list[str], environment: Mapping[str, str], log: Path) -> None:
        self.log = log
        with log.open("a") as output:
            self._process = subprocess.Popen(
                command,
                env=dict(environment),
                cwd=ROOT,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The process's id, which is its group's too."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        """Send the process alone a signal."""
        self._process.send_signal(number)

    def wait(self, seconds: float) -> int:
        """Its exit code, once it has ended by itself."""
        return self._process.wait(seconds)

    def kill(self) -> None:
        """End it and its children at once, as a machine does that loses power."""
        for pid in (*self.children(), self.pid):
            _kill(pid)
        self._process.wait(STOP_SECONDS)

    def stop(self) -> None:
        """End it and its children in order; whatever does not end is killed."""
        children = self.children()
        if self.alive:
            os.killpg(self.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_SECONDS)
        for pid in (*children, *self.children()):
            _kill(pid)
        if self.alive:
            self.kill()

    def children(self) -> list[int]:
        """All processes below it."""
        return [pid for child in _children_of(self.pid) for pid in (child, *_descendants(child))]

    def flow_processes(self) -> list[int]:
        """The processes in which flow runs are worked."""
        return [pid for pid in self.children() if ENGINES & set(_command_line(pid).split())]


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _children_of(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(number) for number in task.read_text().split()]
        except OSError:
            continue
    return found


def _descendants(pid: int) -> list[int]:
    return [one for child in _children_of(pid) for one in (child, *_descendants(child))]


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


class ControlRoom:
    """A server on a port and in a folder of its own; everything it started ends with it."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.ui = f"http://127.0.0.1:{self.port}"
        self.api_url = f"{self.ui}/api"
        self.environment = {
            **bare_environment(),
            "PREFECT_HOME": str(folder / "prefect"),
            "PREFECT_API_URL": self.api_url,
            "PREFECT_SERVER_UI_API_URL": self.api_url,
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "PREFECT_WORKER_QUERY_SECONDS": "1",
            "PREFECT_WORKER_HEARTBEAT_SECONDS": "5",
            "DO_NOT_TRACK": "1",
            **(environment or {}),
        }
        self.server: Process | None = None
        self.workers: list[Process] = []
        self._client = httpx.Client(base_url=self.api_url, trust_env=False, timeout=60)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in (*self.workers, self.server):
            if process and process.alive:
                process.kill()  # in good order it would take half a minute, for a folder that is thrown away
        self._client.close()

    def start(self) -> None:
        """Start the server on its port and wait until it answers."""
        address = ["--host", "127.0.0.1", "--port", str(self.port)]
        log = self.folder / "server.log"
        self.server = Process([sys.executable, "-m", "flows.up.server", *address], self.environment, log)
        until(self.answers, START_SECONDS, f"the Prefect server ({log})")

    def restart(self) -> None:
        """End the server at once and start it again: what it kept in memory is gone."""
        assert self.server
        self.server.kill()
        self.start()

    def answers(self, api_url: str | None = None) -> bool:
        """Whether the server is there, or the one at another address."""
        try:
            return httpx.get(f"{api_url or self.api_url}/health", trust_env=False).status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    def worker(self, name: str = "worker", *, limit: int | None = None, **environment: str) -> Process:
        """A worker of the pool, which may also be given settings of its own."""
        return self._work([_prefect(), "worker", "start"], name, limit, environment)

    def patra_worker(self, name: str = "worker", *, limit: int | None = None, **environment: str) -> Process:
        """The same, by our own command, which ends in good order."""
        return self._work([sys.executable, "-m", "flows.cli", "worker"], name, limit, environment)

    def _work(self, command: list[str], name: str, limit: int | None, environment: Mapping[str, str]) -> Process:
        bound = ["--limit", str(limit)] if limit else []
        command = [*command, "--pool", POOL, "--name", name, *bound]
        worker = Process(command, {**self.environment, **environment}, self.folder / f"{name}.log")
        self.workers.append(worker)
        return worker

    def deploy(self) -> None:
        """The pool and the deployments of the checkout, of which none runs by itself."""
        self.command("work-pool", "create", POOL, "--type", "process")
        self.command("deploy", "--all", "--no-prompt")
        for deployment in self.ask("POST", "/deployments/filter", {}):
            self.ask("PATCH", f"/deployments/{deployment['id']}", {"paused": True})
        for run in self.ask("POST", "/flow_runs/filter", {}):
            self.ask("DELETE", f"/flow_runs/{run['id']}")

    def command(self, *arguments: str) -> str:
        """What `prefect` prints."""
        return self._printed([_prefect(), *arguments])

    def patra(self, *arguments: str) -> str:
        """What `patra` prints, here in front of this server."""
        return self._printed([sys.executable, "-m", "flows.cli", *arguments])

    def _printed(self, command: list[str]) -> str:
        done = subprocess.run(
            command, env=self.environment, cwd=ROOT, capture_output=True, text=True, check=False, timeout=END_SECONDS
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """What the API answers; a busy server is asked again, and one that does not answer if that can do no harm."""
        deadline, harmless = time.monotonic() + START_SECONDS, method == "GET" or path.endswith("/filter")
        while True:
            try:
                answer = self._client.request(method, path, json=body)
                if answer.status_code not in BUSY or time.monotonic() > deadline:
                    break
            except httpx.TransportError:
                if not harmless or time.monotonic() > deadline:
                    raise
            time.sleep(0.5)
        assert answer.is_success, f"{method} {path} -> {answer.status_code}: {answer.text}"
        return answer.json() if answer.content else None

    def begin(self, deployment: str, parameters: Row | None = None) -> str:
        """Start a run of a deployment such as `planner/planner`; its id."""
        found = self.ask("GET", f"/deployments/name/{deployment}")
        body = {"parameters": {"parameters": parameters or {}}, "state": {"type": "SCHEDULED"}}
        return str(self.ask("POST", f"/deployments/{found['id']}/create_flow_run", body)["id"])

    def run(self, deployment: str, parameters: Row | None = None, seconds: float = END_SECONDS) -> Row:
        """A finished run of a deployment."""
        return self.ended(self.begin(deployment, parameters), seconds=seconds)

    def flow_run(self, run_id: str) -> Row:
        """A flow run as the server knows it."""
        run: Row = self.ask("GET", f"/flow_runs/{run_id}")
        return run

    def state(self, run_id: str) -> str:
        """The kind of state a flow run is in."""
        return str(self.flow_run(run_id)["state_type"])

    def ended(self, run_id: str, runs: int = 1, seconds: float = END_SECONDS) -> Row:
        """The flow run once it has ended, for the so manyth time."""

        def over() -> bool:
            run = self.flow_run(run_id)
            return run["run_count"] >= runs and run["state_type"] in FINAL_STATES

        until(over, seconds, f"flow run {run_id}")
        return self.flow_run(run_id)

    def retry(self, run_id: str, runs: int = 2) -> Row:
        """The same flow run, run once more as the Retry button does."""
        self.command("flow-run", "retry", run_id)
        return self.ended(run_id, runs)

    def cancel(self, run_id: str) -> None:
        """Ask for the end of a flow run, as the Cancel button does."""
        self.ask("POST", f"/flow_runs/{run_id}/set_state", {"state": {"type": "CANCELLING", "name": "Cancelling"}})

    def task_runs(self, run_id: str) -> list[Row]:
        """The task runs of a flow run."""
        body = {"flow_runs": {"id": {"any_": [run_id]}}, "limit": 200}
        found: list[Row] = self.ask("POST", "/task_runs/filter", body)
        return found

    def artifacts(self, run_id: str) -> list[Row]:
        """What a flow run shows on its Artifacts tab."""
        body = {"artifacts": {"flow_run_id": {"any_": [run_id]}}}
        found: list[Row] = self.ask("POST", "/artifacts/filter", body)
        return found

    def logs(self, run_id: str) -> list[Row]:
        """The log lines of a flow run, oldest first."""
        body = {"logs": {"flow_run_id": {"any_": [run_id]}}, "sort": "TIMESTAMP_ASC", "limit": 200}
        found: list[Row] = self.ask("POST", "/logs/filter", body)
        return found

    def limits(self) -> dict[str, Row]:
        """The global concurrency limits by name."""
        return {row["name"]: row for row in self.ask("POST", "/v2/concurrency_limits/filter", {"limit": 200})}


def _prefect() -> str:
    return str(Path(sys.executable).with_name("prefect"))
