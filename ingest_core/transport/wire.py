"""HTTP without a memory: connections are kept, but no cookies, redirects or passwords."""

import importlib.util
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from ssl import SSLContext
from typing import cast
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

from ingest_core.model.errors import BadInput
from ingest_core.transport.auth import basic
from ingest_core.transport.exchange import underway
from ingest_core.transport.network import Network
from ingest_core.transport.target import shown

MAX_CONNECTIONS = 100
MAX_IDLE_CONNECTIONS = 20
IDLE_SECONDS = 5.0

_PROXIES = ("http", "https")
_SOCKS = ("socks5", "socks5h")


class Wire(httpx.BaseTransport):
    """Sends requests through one pool of connections, of which every wait keeps to the exchange under way.

    It is used without httpx's client, which would keep cookies and read the target of every redirect.
    """

    def __init__(self, certificates: SSLContext, proxy: str | None = None, *, allow_private: bool) -> None:
        self._pool = httpcore.ConnectionPool(
            ssl_context=certificates,
            proxy=_proxy(proxy) if proxy else None,
            max_connections=MAX_CONNECTIONS,
            max_keepalive_connections=MAX_IDLE_CONNECTIONS,
            keepalive_expiry=IDLE_SECONDS,
            network_backend=Network(allow_private=allow_private),
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The answer, of which the body has not been read; errors are httpx's."""
        url = httpcore.URL(
            scheme=request.url.raw_scheme,
            host=request.url.raw_host,
            port=request.url.port,
            target=request.url.raw_path,
        )
        sent = httpcore.Request(
            request.method,
            url,
            headers=request.headers.raw,
            content=cast("Iterable[bytes]", request.stream),
            extensions=request.extensions,
        )
        with _errors_of_httpx():
            answer = self._pool.handle_request(sent)
        return httpx.Response(answer.status, headers=answer.headers, stream=_Body(answer), request=request)

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()


@contextmanager
def bounded_head() -> Iterator[None]:
    """Within it a request is sent: the head of its answer, and interim answers before it, are bounded."""
    current = underway()
    if current is None:
        raise AssertionError("a request is sent outside an exchange: it would have no deadline")
    current.head_begins()
    try:
        yield
    finally:
        current.head_ends()


def with_user(request: httpx.Request) -> httpx.Request:
    """The request without a user in its URL: user and password go into its header."""
    if request.url.userinfo:
        request.headers["Authorization"] = f"Basic {basic(request.url.username, request.url.password)}"
        request.url = shown(request.url)
    return request


class _Body(httpx.SyncByteStream):
    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        with _errors_of_httpx():
            yield from cast("Iterable[bytes]", self._answer.stream)

    def close(self) -> None:
        self._answer.close()


@contextmanager
def _errors_of_httpx() -> Iterator[None]:
    """The two libraries give an error the same name."""
    try:
        yield
    except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError) as error:
        raise getattr(httpx, type(error).__name__, httpx.TransportError)(str(error)) from error
    except (httpcore.ProxyError, httpcore.UnsupportedProtocol) as error:
        raise getattr(httpx, type(error).__name__)(str(error)) from error


def environment_proxy(url: httpx.URL) -> str | None:
    """The proxy that the environment names for a URL (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY)."""
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(url.netloc.decode("ascii")):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _proxy(url: str) -> httpcore.Proxy:
    """The proxy of a URL; BadInput where it is none, without its password."""
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, ValueError):
        parsed = httpx.URL("")
    socks = parsed.scheme in _SOCKS and importlib.util.find_spec("socksio") is not None
    if not (parsed.host and (socks or parsed.scheme in _PROXIES)):
        raise BadInput(
            "PROXY_INVALID",
            "the proxy is no http or https URL",
            where="http.proxy or HTTPS_PROXY",
            remedy="name it as http://HOST:PORT",
        )
    address = httpcore.URL(
        scheme=parsed.raw_scheme, host=parsed.raw_host, port=parsed.port, target=parsed.raw_path or b"/"
    )
    user = (parsed.username.encode(), parsed.password.encode()) if parsed.userinfo else None
    return httpcore.Proxy(address, auth=user)
