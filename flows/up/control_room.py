"""A control room in the foreground: a private Prefect server, a worker, a sandbox to harvest, and all deployments."""

import http.client
import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import Event
from types import MappingProxyType
from typing import Any

from deployments.sandbox.providers import PROVIDERS
from deployments.visitors import own_hosts, own_origins
from flows.process.application import open_app
from flows.process.environment import environment
from flows.up.home import (
    LOOPBACK,
    Home,
    free_port,
    held,
    refuse_taken_port,
    room_home,
    sandbox_settings,
    write_environment,
)
from flows.up.lacks import say_missing_at_once, say_missing_blocks
from flows.up.processes import Child, adopt_orphans, end_orphans, wait_until
from ingest_core.bootstrap import App, upgrade_database
from ingest_core.model.errors import PatraError
from ingest_core.settings import load_settings

START_SECONDS = 180
DRAIN_SECONDS = 60
END_SECONDS = 10
_WATCH_SECONDS = 0.5

RUNS_KEPT = timedelta(days=30)
"""How long Prefect's server keeps flow runs that have ended, with their logs and artifacts."""
EVENTS_KEPT = timedelta(days=7)
HEARTBEATS_KEPT = timedelta(days=1)
_STRANGER = "patra.invalid"
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})

Say = Callable[[str], None]


@dataclass(frozen=True)
class UpOptions:
    """Options of a control room."""

    port: int
    sandbox: bool

    @property
    def ui(self) -> str:
        """Where a person goes."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def api(self) -> str:
        """Where programs go."""
        return f"{self.ui}/api"


class Stopped(BaseException):
    """The user asked to stop."""


class UpFailed(PatraError):
    """A process of the control room does not run."""


def run_up(options: UpOptions, say: Say, show: Callable[[dict[str, Any]], None]) -> None:
    """Start a control room, show where it is, and keep it until a signal comes; then leave nothing running."""
    home = room_home(load_settings(), sandbox=options.sandbox)
    with held(home), _stopped_by_signals() as hurry, suppress(Stopped):
        refuse_taken_port(options.port)  # before anything is started: nothing has to be ended then
        _run(home, options, say, show, hurry)


def _run(home: Home, options: UpOptions, say: Say, show: Callable[[dict[str, Any]], None], hurry: Event) -> None:
    with _processes(say, hurry) as children:
        show(_open_room(home, options, say, children))
        _watch(children)


@contextmanager
def _stopped_by_signals() -> Iterator[Event]:
    """The first signal raises Stopped; those after it say that there is a hurry."""
    hurry, asked = Event(), Event()

    def stop(_number: int, _frame: object) -> None:
        if asked.is_set():
            hurry.set()
            return
        asked.set()
        raise Stopped

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield hurry
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _processes(say: Say, hurry: Event) -> Iterator[dict[str, Child]]:
    """The control room's processes by name; however this ends, they end too, the worker before what it needs."""
    children: dict[str, Child] = {}
    adopt_orphans()
    with ExitStack() as ending:
        ending.callback(end_orphans)
        for name in ("server", "sandbox", "worker"):
            ending.callback(_end, name, children, say, hurry)
        try:
            yield children
        except BaseException:
            say("stopping; press Ctrl-C again to stop everything at once")
            raise


def _end(name: str, children: dict[str, Child], say: Say, hurry: Event) -> None:
    child = children.get(name)
    if child is None:
        return
    patience = DRAIN_SECONDS if name == "worker" else END_SECONDS
    if child.alive and not child.end(patience, hurry):
        say(f"the {name} takes too long: what it still works on is ended")
        child.end_below(END_SECONDS, hurry)
    child.kill()


def _open_room(home: Home, options: UpOptions, say: Say, children: dict[str, Child]) -> dict[str, Any]:
    """Start everything, each when what it needs is there; where it all is."""
    upgrade_database(home.settings)
    missing = [] if home.sandbox else say_missing_at_once(home.settings, say)
    variables, sandbox = home.variables, None
    if home.sandbox:
        say("starting the sandbox")
        sandbox = _start_sandbox(home, options.port + 1, children)
        variables |= {f"PATRA_UPSTREAM_{code.upper()}": f"{sandbox}/{code}" for code in PROVIDERS}
    with environment(variables | _prefect_settings(home, options)):
        say("starting a Prefect server")
        _start_server(home, options.port, children)
        say("deploying")
        with open_app() as app:
            deployed, database = _deploy(app), app.database.shown_url
            missing += [] if home.sandbox else say_missing_blocks(app, say)
        say("starting a worker")
        _start_worker(home, children)
    return {
        "ui": options.ui,
        "api": options.api,
        "sandbox": sandbox,
        "home": str(home.folder),
        "database": database,
        "logs": str(home.logs),
        "environment": str(write_environment(home, variables | {"PREFECT_API_URL": options.api})),
        "deployed": deployed,
        "missing": [one.json() for one in missing],
    }


def _prefect_settings(home: Home, options: UpOptions) -> dict[str, str]:
    """Prefect settings for this control room: reached from this machine alone, without telemetry."""
    hosts = own_hosts(LOOPBACK, options.port, home.settings.up_allowed_hosts)
    return {
        "PREFECT_HOME": str(home.folder / "prefect"),
        "PREFECT_API_URL": options.api,
        "PREFECT_SERVER_UI_API_URL": options.api,
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        "PREFECT_SERVER_CSRF_PROTECTION_ENABLED": "true",
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": ",".join(own_origins(hosts)),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs,orphans",
        "PREFECT_SERVER_SERVICES_DB_VACUUM_RETENTION_PERIOD": str(_seconds(RUNS_KEPT)),
        "PREFECT_SERVER_EVENTS_RETENTION_PERIOD": f"P{EVENTS_KEPT.days}D",
        "PREFECT_SERVER_SERVICES_DB_VACUUM_EVENT_RETENTION_OVERRIDES": json.dumps(
            {"prefect.flow-run.heartbeat": _seconds(HEARTBEATS_KEPT)}
        ),
        "PREFECT_LOGGING_TO_API_BATCH_INTERVAL": "5",
        "PREFECT_WORKER_QUERY_SECONDS": "2",
        "DO_NOT_TRACK": "1",
    }


def _seconds(age: timedelta) -> int:
    return int(age.total_seconds())


def _start_sandbox(home: Home, port: int, children: dict[str, Child]) -> str:
    """The simulated providers' address: the port, or another where that is taken."""
    corpus = sandbox_settings(home, datetime.now(UTC))
    command = ["deployments.sandbox", "--quiet", "--port", str(free_port(port)), "--works", str(corpus.works)]
    command += ["--until", corpus.until.isoformat(), "--days", str(corpus.days)]
    command += [part for host in home.settings.up_allowed_hosts for part in ("--allow-host", host)]
    child = children["sandbox"] = Child("sandbox", command, os.environ, home.logs / "sandbox.log")
    _wait_for(child, lambda: child.log.read_text(encoding="utf-8").endswith("\n"))
    return child.log.read_text(encoding="utf-8").strip()


def _start_server(home: Home, port: int, children: dict[str, Child]) -> None:
    command = ["flows.up.server", "--host", LOOPBACK, "--port", str(port)]
    child = children["server"] = Child("server", command, os.environ, home.logs / "server.log")
    _wait_for(child, lambda: _status(port) == http.HTTPStatus.OK)
    if _status(port, {"Host": _STRANGER}) != http.HTTPStatus.BAD_REQUEST:
        raise _failed(child, f"answers requests to host {_STRANGER}, so pages of other sites could use it")


def _start_worker(home: Home, children: dict[str, Child]) -> None:
    """A worker that has asked for work: until then every deployment is shown as not ready."""
    from flows.up.runs import is_ready  # noqa: PLC0415 - Prefect reads its settings when it is loaded

    command = ["flows.cli", "worker", "--name", "patra-up"]
    log = home.logs / "worker.log"
    child = children["worker"] = Child("worker", command, os.environ, log, orphaned=signal.SIGTERM)
    _wait_for(child, is_ready)


def _status(port: int, headers: Mapping[str, str] = _NO_HEADERS) -> int | None:
    """What the server answers to a look at its health; none when it does not answer."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=5)
    try:
        connection.request("GET", "/api/health", headers=dict(headers))
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def _wait_for(child: Child, ready: Callable[[], bool]) -> None:
    if not wait_until(lambda: not child.alive or ready(), START_SECONDS) or not child.alive:
        state = "is not ready after" if child.alive else "ended within"
        raise _failed(child, f"{state} {START_SECONDS} s")


def _deploy(app: App) -> dict[str, Any]:
    """Deploy, delete runs scheduled while the server was down, and start an executor at once."""
    # Prefect reads its settings when it is loaded: the environment must be set by then.
    from flows.deploying.deploy import DeployOptions, deploy  # noqa: PLC0415
    from flows.up.runs import begin_executor, drop_missed_runs  # noqa: PLC0415

    report = deploy(app, DeployOptions())
    drop_missed_runs()
    begin_executor()
    return report.json()


def _watch(children: dict[str, Child]) -> None:
    """Until a signal comes; UpFailed when one of them ends by itself."""
    while True:
        for child in children.values():
            if not child.alive:
                raise _failed(child, "ended by itself")
        time.sleep(_WATCH_SECONDS)


def _failed(child: Child, what: str) -> UpFailed:
    return UpFailed("UP_FAILED", f"the {child.name} {what}", where="patra up", remedy=f"its log: {child.log}")
