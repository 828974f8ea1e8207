"""`patra up` as a test runs it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.settings import PREFECT_API_URL, temporary_settings

from tests.support.prefect import bare_environment, free_port

START_SECONDS = 300
END_SECONDS = 120


class Up:
    """`patra up` in a terminal of its own, which can be started again in the same folder."""

    def __init__(self, folder: Path, home: str = "home") -> None:
        self.folder = folder
        self.home = home
        self.port = free_port()
        self.process: subprocess.Popen[str] | None = None
        self.room: dict[str, Any] = {}

    def begin(self, *arguments: str, port: int | None = None, home: str | None = None) -> "subprocess.Popen[str]":
        """The command, begun."""
        with (self.folder / "up.log").open("a") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "flows.cli", "up", "--json", "--port", str(port or self.port), *arguments],
                env={**bare_environment(), "PATRA_HOME": home or self.home},
                cwd=self.folder,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )

    def start(self) -> None:
        """Begin it and wait for what it says of itself."""
        self.process = self.begin()
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, (self.folder / "up.log").read_text()
        self.room = json.loads(line)

    @contextmanager
    def client(self) -> Iterator[SyncPrefectClient]:
        """Prefect's own client, which brings what the server asks of those who change something."""
        with temporary_settings({PREFECT_API_URL: self.room["api"]}), get_client(sync_client=True) as client:
            yield client

    def refused(self, **other: Any) -> tuple[int, dict[str, Any]]:
        """The exit code and the error of another one."""
        printed, _ = (second := self.begin(**other)).communicate(timeout=START_SECONDS)
        return second.returncode, json.loads(printed)["error"]

    def end(self, number: signal.Signals, *, group: bool) -> int:
        """Send the signal as a terminal does, to the group, or to the process alone; the exit code."""
        assert self.process
        (os.killpg if group else os.kill)(self.process.pid, number)
        self.process.communicate(timeout=END_SECONDS)
        return self.process.returncode

    def left(self) -> list[str]:
        """The processes that live in our folder."""
        return [_command(one) for one in self._processes()]

    def _processes(self) -> list[Path]:
        mark = f"PATRA_HOME={self.folder}".encode()
        return [one for one in Path("/proc").glob("[0-9]*") if mark in _environment_of(one)]

    def kill(self) -> None:
        """Leave nothing behind, whatever failed."""
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        for one in self._processes():
            with suppress(ProcessLookupError):
                os.kill(int(one.name), signal.SIGKILL)


def _environment_of(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""


def _command(process: Path) -> str:
    try:
        return f"{process.name}: {(process / 'cmdline').read_bytes().replace(bytes(1), b' ').decode()}"
    except OSError:
        return ""
