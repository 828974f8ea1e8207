"""A server on the loopback that gives each source the hostile answer it is named for."""

import socket
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from tests.support.hostile_answers import Send, redirect

REQUEST_BYTES = 65_536
CLIENT_SECONDS = 30.0
ELSEWHERE = redirect("/again").send
"""The answer at a place that only a redirect leads to."""


@dataclass
class HostileProvider:
    """Answers by the first part of the path; counts what it was asked."""

    answers: Mapping[str, Send]
    listener: socket.socket
    asked: Counter[str] = field(default_factory=Counter)

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def serve(self) -> None:
        """Take connections until the listener is closed."""
        while True:
            try:
                line, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve_one, args=(line,), daemon=True).start()

    def _serve_one(self, line: socket.socket) -> None:
        with line, suppress(OSError):  # the client may leave at any moment
            line.settimeout(CLIENT_SECONDS)
            target = _head(line).split(b" ", 2)[1].decode("ascii")
            name = target.lstrip("/").partition("?")[0].partition("/")[0]
            self.asked[name] += 1
            self.answers.get(name, ELSEWHERE)(line, target)
            with suppress(OSError):
                line.shutdown(socket.SHUT_WR)


def _head(line: socket.socket) -> bytes:
    head = b""
    while b"\r\n\r\n" not in head and len(head) < REQUEST_BYTES:
        got = line.recv(REQUEST_BYTES)
        if not got:
            raise ConnectionAbortedError
        head += got
    return head


@contextmanager
def hostile_provider(answers: Mapping[str, Send]) -> Iterator[HostileProvider]:
    """The server while it runs."""
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listener:
        server = HostileProvider(answers, listener)
        thread = threading.Thread(target=server.serve, daemon=True)
        thread.start()
        yield server
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
    thread.join(5)
