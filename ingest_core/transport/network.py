"""Connections that keep to their exchange's limits, and lead to allowed addresses only."""

import ssl
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import httpcore
import httpx

from ingest_core.transport.addresses import public_addresses, resolve
from ingest_core.transport.exchange import DeadlineExceeded, HeadTooLong, underway

_WRITE_BYTES = 4096
"""A socket that can be written to takes this much at once, so each wait for it is a wait of ours."""

_PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}

_TimedOut = type[httpcore.TimeoutException]


class Network(httpcore.NetworkBackend):
    """Connects to the address that was checked: resolving the name again later could give another one."""

    def __init__(self, *, allow_private: bool) -> None:
        self._addresses: Callable[[str, int], list[str]] = resolve if allow_private else public_addresses
        self._sockets = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """A connection to the first of the host's addresses that answers; TLS still names the host."""
        try:
            addresses = self._addresses(host, port)
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error
        failed: Exception = httpcore.ConnectError(f"{host} has no address")
        for address in addresses:
            try:
                with _limited(timeout, httpcore.ConnectTimeout) as wait:
                    stream = self._sockets.connect_tcp(address, port, wait, local_address, socket_options or ())
                return Stream(stream)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failed = error
        raise failed

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.NetworkStream:
        """No source is at a socket of this machine."""
        raise httpcore.UnsupportedProtocol("a source cannot be at a UNIX socket")


class Stream(httpcore.NetworkStream):
    """A connection of which each wait ends by the deadline of the exchange under way."""

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """What has arrived, waiting for at least a byte."""
        with _limited(timeout, httpcore.ReadTimeout) as wait:
            data = self._stream.read(max_bytes, wait)
        exchange = underway()
        if exchange is not None:
            try:
                exchange.received(len(data))
            except HeadTooLong as error:
                raise httpcore.RemoteProtocolError(str(error)) from error
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send everything."""
        for start in range(0, len(buffer), _WRITE_BYTES):
            with _limited(timeout, httpcore.WriteTimeout) as wait:
                self._stream.write(buffer[start : start + _WRITE_BYTES], wait)

    def close(self) -> None:
        """Close the connection without waiting."""
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """The connection under TLS; the handshake as a whole has one timeout."""
        with _limited(timeout, httpcore.ConnectTimeout) as wait:
            return Stream(self._stream.start_tls(ssl_context, server_hostname, wait))

    def get_extra_info(self, info: str) -> Any:
        """What the connection tells of itself."""
        return self._stream.get_extra_info(info)


def touch(network: Network, place: httpx.URL, certificates: ssl.SSLContext, seconds: float) -> None:
    """Connect there, with TLS where the scheme says so, and hang up; nothing is sent."""
    stream = network.connect_tcp(place.host, place.port or _PORTS.get(place.scheme, 443), seconds)
    try:
        if place.scheme == "https":
            stream = stream.start_tls(certificates, place.host, seconds)
    finally:
        stream.close()


@contextmanager
def _limited(timeout: float | None, timed_out: _TimedOut) -> Iterator[float | None]:
    """How long to wait; a wait that the deadline ended says so."""
    exchange = underway()
    try:
        yield timeout if exchange is None else exchange.wait(timeout)
    except DeadlineExceeded as error:
        raise timed_out(str(error)) from error
    except httpcore.TimeoutException as error:
        if exchange is None:
            raise
        try:
            exchange.left()
        except DeadlineExceeded as over:
            raise timed_out(str(over)) from error
        raise
