"""Runs a sandbox: in this process, or in a thread of a test."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import cast

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from deployments.sandbox.app import SandboxApp
from deployments.sandbox.delivery import DROP
from deployments.sandbox.remote import Sandbox
from deployments.sandbox.settings import Settings
from deployments.sandbox.state import State, open_state
from deployments.visitors import OwnVisitors

START_SECONDS = 60
STOP_SECONDS = 10


class DroppableProtocol(H11Protocol):
    """HTTP whose connection the application may close without an answer."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Hand the application the means to hang up."""
        super().connection_made(transport)
        app = cast("ASGIApp", self.app)

        async def droppable(scope: Scope, receive: Receive, send: Send) -> None:
            scope["extensions"] = {DROP: transport.close}
            await app(scope, receive, send)

        self.app = droppable


class SandboxServer(uvicorn.Server):
    """Says when it listens, and ends its sleeping faults when it is told to stop."""

    def __init__(self, config: uvicorn.Config, state: State, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._state = state
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say so."""
        await super().startup(sockets)
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Wake what sleeps, then stop."""
        self._state.closing.set()
        await super().shutdown(sockets)


def build_server(settings: Settings, on_ready: Callable[[], None]) -> SandboxServer:
    """A server over a fresh sandbox, not yet listening."""
    state = open_state(settings)
    config = uvicorn.Config(
        OwnVisitors(SandboxApp(state), settings.allowed_hosts, "other hosts: --allow-host"),
        http=DroppableProtocol,
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=2,
    )
    return SandboxServer(config, state, on_ready)


def bind(settings: Settings) -> socket.socket:
    """A socket on the asked port, or on a free one when it is 0."""
    # Named as TCP, or asyncio leaves Nagle on and each small answer takes 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError:
        listener.close()
        raise
    return listener


def base_url(listener: socket.socket) -> str:
    """Where the socket is reached."""
    host, port = listener.getsockname()[:2]
    return f"http://{host}:{port}"


@contextlib.contextmanager
def running(settings: Settings | None = None) -> Iterator[Sandbox]:
    """A sandbox in a thread, stopped when the block ends."""
    asked = settings or Settings()
    ready = threading.Event()
    server = build_server(asked, ready.set)
    listener = bind(asked)
    url = base_url(listener)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="sandbox", daemon=True)
    thread.start()
    try:
        if not ready.wait(START_SECONDS):
            raise TimeoutError(f"sandbox: not listening at {url} after {START_SECONDS} s")
        with Sandbox(url) as sandbox:
            yield sandbox
    finally:
        server.should_exit = True
        thread.join(STOP_SECONDS)
