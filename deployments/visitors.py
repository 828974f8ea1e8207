"""Who may talk to a server on this machine: its own pages and programs, not the pages of other sites.

A page of another site can make a browser send requests to 127.0.0.1, and by DNS rebinding (its own name resolves to
127.0.0.1 at the second lookup) it can read the answers too. Both are visible in the headers a page cannot choose:
`Host` has the page's own name after a rebinding, `Origin` has it in every request that changes something.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
_HTTP_PORT = 80
_ELSEWHERE = ("cross-site", "same-site")
"""Values of Sec-Fetch-Site for a page that is not this server's; another port of this machine is `same-site`."""


@dataclass(frozen=True)
class Refusal:
    """Why a request is not answered, and the status that says so."""

    status: int
    reason: str


@lru_cache(maxsize=16)
def own_hosts(address: str, port: int, others: tuple[str, ...] = ()) -> frozenset[str]:
    """The values of Host that mean this server: its address and this machine's names with the port, and others.

    An address is safe where a name is not: after a rebinding, Host still has the name of the other site.
    """
    names = {*LOOPBACK_NAMES, *_literal(address)}
    bare = names if port == _HTTP_PORT else set()  # clients leave this port out
    return frozenset({f"{name}:{port}" for name in names} | bare | {one.lower() for one in others})


def _literal(address: str) -> list[str]:
    """An IP address as Host has it; nothing for a name, which a server asked by a proxy may have here."""
    try:
        return [f"[{address}]" if ip_address(address).version == 6 else address]  # noqa: PLR2004 - IPv6
    except ValueError:
        return []


def own_origins(hosts: Iterable[str]) -> list[str]:
    """The origins of pages that these hosts serve, by either scheme: a proxy in front may speak TLS."""
    return [f"{scheme}://{host}" for host in sorted(hosts) for scheme in ("http", "https")]


def refusal_of(scope: Scope, hosts: Collection[str]) -> Refusal | None:
    """Why a request or a websocket is not for this server, or from a foreign page; none when it is answered.

    Law: whatever a page of another origin makes a browser send is refused, except to follow a link, which changes
    nothing and shows the other page nothing. Programs send no Origin and no Sec-Fetch-Site.
    """
    asked = [value.lower() for value in _values(scope, b"host")]
    if len(asked) != 1 or asked[0] not in hosts:
        shown = ", ".join(asked)[:100] or "none"
        return Refusal(400, f"Host {shown!r} is not this server's")
    origins = _values(scope, b"origin")
    if origins:
        foreign = [one for one in origins if one.lower() not in own_origins(hosts)]
        return Refusal(403, f"Origin {foreign[0][:100]!r} is not this server's") if foreign else None
    if _values(scope, b"sec-fetch-site")[:1] in [[one] for one in _ELSEWHERE] and not _follows_link(scope):
        return Refusal(403, "requests of other sites' pages are refused")
    return None


def _follows_link(scope: Scope) -> bool:
    """Whether a browser opens a page of ours because the user followed a link on another site."""
    return scope.get("method") in ("GET", "HEAD") and _values(scope, b"sec-fetch-mode") == ["navigate"]


def _values(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1").strip() for key, value in scope["headers"] if key.lower() == name]


class OwnVisitors:
    """An ASGI application that answers only its own machine's pages and programs, over HTTP and websockets."""

    def __init__(self, app: ASGIApp, others: Iterable[str], remedy: str, *, in_process: str | None = None) -> None:
        """`in_process` is the host by which the server's own process calls the application without a socket."""
        self._app = app
        self._others = tuple(others)
        self._remedy = remedy
        self._in_process = (in_process, None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse before the application sees anything."""
        # A request over the network has its socket's address and port as `server`, whatever its headers say.
        if scope["type"] not in ("http", "websocket") or scope["server"] == self._in_process:
            await self._app(scope, receive, send)
            return
        refusal = refusal_of(scope, own_hosts(*scope["server"], self._others))
        if refusal is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": refusal.reason})  # unaccepted: HTTP 403
        else:
            await PlainTextResponse(f"{refusal.reason}; {self._remedy}\n", refusal.status)(scope, receive, send)
