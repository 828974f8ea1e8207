"""The folder a control room lives in: one at a time, with the sandbox's files apart from real ones."""

import fcntl
import json
import os
import shlex
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from deployments.sandbox.settings import Settings as SandboxSettings
from ingest_core.model.errors import BadInput, Refused
from ingest_core.settings import Settings

LOOPBACK = "127.0.0.1"
WORKS = 50_000
PAST = timedelta(days=14)
FUTURE = timedelta(days=30)
"""A sandbox has records of two weeks, and new ones for a month: about 1,100 a day."""
_SQLITE, _FILE = "sqlite:///", "file:"
_SANDBOX_CONTACT = "sandbox@example.org"
"""The simulated OpenAlex requires a contact, like the real one."""


@dataclass(frozen=True)
class Home:
    """The files of a control room and the settings of its flows; all paths are absolute."""

    folder: Path
    settings: Settings
    sandbox: bool

    @property
    def logs(self) -> Path:
        """Where each process writes what it has to say."""
        return self.folder / "logs"

    @property
    def variables(self) -> dict[str, str]:
        """What flows and commands read from the environment."""
        publisher = self.settings.publisher
        named = {
            "PATRA_HOME": str(self.folder),
            "PATRA_DATABASE_URL": _absolute(self.settings.effective_database_url, _SQLITE),
        }
        # Empty, not left out: the processes inherit what is set outside.
        target = {"PATRA_PUBLISHER": _absolute(publisher, _FILE) if publisher else ""}
        contact = {"PATRA_CONTACT": self.settings.contact or _SANDBOX_CONTACT} if self.sandbox else {}
        return named | contact | (target if publisher or self.sandbox else {})


def room_home(settings: Settings, *, sandbox: bool) -> Home:
    """The settings' home; a sandbox has a folder and a database of its own below it, and no publisher."""
    if not sandbox:
        folder = settings.home.absolute()
        return Home(folder, replace(settings, home=folder), sandbox)
    folder = (settings.home / "sandbox").absolute()
    return Home(folder, replace(settings, home=folder, database_url=None, publisher=None), sandbox)


def _absolute(value: str, scheme: str) -> str:
    """A file's place that holds from any folder; anything else as it is."""
    path = value.removeprefix(scheme)
    return value if path == value else f"{scheme}{Path(path).absolute()}"


@contextmanager
def held(home: Home) -> Iterator[None]:
    """The folder for this process alone; Refused while another holds it."""
    home.logs.mkdir(parents=True, exist_ok=True)
    with (home.folder / "up.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.seek(0)
            raise Refused(
                "ALREADY_UP",
                f"patra up runs here already, as process {lock.read().strip() or 'unknown'}",
                where=str(home.folder),
                remedy="end it first, or set PATRA_HOME to another folder and name another --port",
            ) from error
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def refuse_taken_port(port: int) -> None:
    """BadInput when the port is in use."""
    if free_port(port) != port:
        raise BadInput(
            "PORT_IN_USE",
            f"port {port} is in use",
            where="patra up",
            remedy=f"end what listens there, or name another: patra up --port {port + 10}",
        )


def free_port(wanted: int) -> int:
    """The port, or 0 (any port) where it is in use."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, wanted))
        except OSError:
            return 0
    return wanted


def sandbox_settings(home: Home, now: datetime) -> SandboxSettings:
    """The corpus of this home: the same at every start, until its last record has arrived."""
    file = home.folder / "corpus.json"
    until = datetime.fromisoformat(json.loads(file.read_text())["until"]) if file.exists() else now
    if until <= now + timedelta(days=1):
        until = datetime(now.year, now.month, now.day, tzinfo=UTC) + FUTURE
        file.write_text(json.dumps({"until": until.isoformat()}))
    return SandboxSettings(works=WORKS, until=until, days=(PAST + FUTURE).days)


def write_environment(home: Home, variables: Mapping[str, str]) -> Path:
    """A file by which another shell sees the same database and server."""
    file = home.folder / "environment"
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in variables.items()]
    file.touch(mode=0o600)  # a database's URL may hold a password
    file.write_text("".join(lines), encoding="utf-8")
    return file
