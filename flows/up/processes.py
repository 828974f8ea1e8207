"""Processes of a control room: each in a session of its own, with its output in a file, and ended with all below it."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Event

_PDEATHSIG = 1
_CHILD_SUBREAPER = 36
_LOOK_SECONDS = 0.2
KILL_SECONDS = 10
_LIBC = ctypes.CDLL(None)


class Child:
    """A process we started."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        log: Path,
        orphaned: signal.Signals = signal.SIGKILL,
    ) -> None:
        self.name, self.log = name, log
        with log.open("w") as output:
            # In a session of its own, so that Ctrl-C reaches us alone, who know in which order to end.
            self._process = subprocess.Popen(
                [sys.executable, "-m", *command],
                env=dict(environment),
                cwd=log.parent,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=partial(_when_orphaned, orphaned),  # noqa: PLW1509 - it calls nothing but the system
            )

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    def end(self, seconds: float, hurry: Event) -> bool:
        """Ask it to end and give it time, unless there is none; whether it ended."""
        self._signal(signal.SIGTERM, self._process.pid)
        return self._ended(seconds, hurry)

    def end_below(self, seconds: float, hurry: Event) -> bool:
        """Ask what it started to end; whether it then ended itself."""
        self._signal(signal.SIGTERM, *descendants(self._process.pid))
        return self._ended(seconds, hurry)

    def kill(self) -> None:
        """End it and all below it at once."""
        if self.alive:
            self._signal(signal.SIGSTOP, self._process.pid)  # it starts nothing more while we look
            self._signal(signal.SIGKILL, *descendants(self._process.pid), self._process.pid)
        self._process.wait(KILL_SECONDS)

    def _ended(self, seconds: float, hurry: Event) -> bool:
        wait_until(lambda: not self.alive or hurry.is_set(), seconds)
        return not self.alive

    @staticmethod
    def _signal(number: signal.Signals, *pids: int) -> None:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, number)


def _when_orphaned(number: signal.Signals) -> None:
    """Let the system send this process a signal when the one that started it is killed; only Linux can."""
    if sys.platform == "linux":
        _LIBC.prctl(_PDEATHSIG, number)


def adopt_orphans() -> None:
    """Let what our processes started stay below us when they die before it; only Linux can."""
    if sys.platform == "linux":
        _LIBC.prctl(_CHILD_SUBREAPER, 1)


def end_orphans() -> None:
    """End whatever is still below us at once."""
    for pid in descendants(os.getpid()):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def descendants(pid: int) -> list[int]:
    """Every process below this one."""
    listed = subprocess.run(["ps", "-axo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout  # noqa: S607
    children: dict[int, list[int]] = {}
    for line in listed.splitlines():
        child, parent = map(int, line.split())
        children.setdefault(parent, []).append(child)
    found, waiting = [], [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def wait_until(ready: Callable[[], bool], seconds: float) -> bool:
    """Whether the condition came true in time."""
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            return False
        time.sleep(_LOOK_SECONDS)
    return True
