"""A real server on the loopback that answers with raw bytes, as slowly and as long as a test wants."""

import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain, repeat

READ_BYTES = 65536
PAUSE_SECONDS = 0.02


@dataclass
class HostileServer:
    """Where it is, and the heads of the requests it read."""

    url: str
    asked: list[bytes] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)


Script = Callable[[bytes], Iterable[bytes]]
"""Gets a request, gives the pieces of the answer; the connection is closed behind the last one."""


def dripping(begin: bytes, forever: bytes, pause: float = PAUSE_SECONDS) -> Script:
    """Send the beginning at once, then one byte after the other for ever."""

    def answer(_request: bytes) -> Iterator[bytes]:
        for piece in chain([begin], (bytes([one]) for one in chain.from_iterable(repeat(forever)))):
            yield piece
            time.sleep(pause)

    return answer


def flooding(begin: bytes, forever: bytes) -> Script:
    """Send the beginning, then the same for ever, as fast as it is read."""
    return lambda _request: chain([begin], repeat(forever))


def saying(*pieces: bytes) -> Script:
    """Send these pieces."""
    return lambda _request: pieces


@contextmanager
def hostile_server(script: Script) -> Iterator[HostileServer]:
    """A server in threads, stopped when the block ends."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(PAUSE_SECONDS)
    server = HostileServer(f"http://127.0.0.1:{listener.getsockname()[1]}")
    thread = threading.Thread(target=_serve, args=(listener, server, script), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        thread.join(5)
        listener.close()


def _serve(listener: socket.socket, server: HostileServer, script: Script) -> None:
    while not server.closing.is_set():
        with suppress(TimeoutError):
            connection, _ = listener.accept()
            threading.Thread(target=_answer, args=(connection, server, script), daemon=True).start()


def _answer(connection: socket.socket, server: HostileServer, script: Script) -> None:
    with connection, suppress(OSError):
        connection.settimeout(5)
        while True:
            request = _read(connection)
            if not request:
                return
            server.asked.append(request)
            for piece in script(request):
                if server.closing.is_set():
                    return
                connection.sendall(piece)
            return


def _read(connection: socket.socket) -> bytes:
    """A request's head, and what came with it."""
    request = b""
    while b"\r\n\r\n" not in request:
        data = connection.recv(READ_BYTES)
        if not data:
            return b""
        request += data
    return request
