"""Which requests a server on this machine answers."""

import asyncio
from typing import Any

import httpx
import prefect.server.api.server as prefect_server
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect.server.api.clients import OrchestrationClient
from prefect.server.events.clients import PrefectServerEventsAPIClient
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from deployments.visitors import OwnVisitors, own_hosts, own_origins, refusal_of
from flows.up.server import IN_MEMORY_HOST

PORT = 4200
HOSTS = own_hosts("127.0.0.1", PORT, ("patra.example.org", "localhost:8080"))
OWN = "127.0.0.1:4200"
Headers = list[tuple[str, str]]


def _scope(headers: Headers, method: str = "POST", kind: str = "http") -> dict[str, Any]:
    return {
        "type": kind,
        "method": method,
        "path": "/",
        "server": ("127.0.0.1", PORT),
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers],
    }


def _status(headers: Headers, method: str = "POST") -> int | None:
    refusal = refusal_of(_scope(headers, method), HOSTS)
    return refusal.status if refusal else None


@pytest.mark.parametrize(
    "host", [OWN, "localhost:4200", "LocalHost:4200", "[::1]:4200", "patra.example.org", "localhost:8080"]
)
def test_own_and_configured_hosts_are_answered(host: str) -> None:
    assert _status([("Host", host)]) is None
    assert _status([("Host", host), ("Origin", f"http://{host}")]) is None


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:4200",
        "127.0.0.1",
        "127.0.0.1:4201",
        "localhost",
        "localhost.evil.example:4200",
        "127.0.0.1.evil.example:4200",
        "evil.example@127.0.0.1:4200",
        "127.0.0.1:4200.evil.example",
        "patra.example.org:4200",
        "0.0.0.0:4200",
        "",
    ],
)
def test_other_hosts_are_refused(host: str) -> None:
    assert _status([("Host", host)], "GET") == 400


def test_a_request_without_one_host_is_refused() -> None:
    assert _status([], "GET") == 400
    assert _status([("Host", OWN), ("Host", "evil.example")], "GET") == 400


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:9999", "http://127.0.0.1", "file://", f"ftp://{OWN}"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_pages_of_other_origins_are_refused(origin: str, method: str) -> None:
    assert _status([("Host", OWN), ("Origin", origin)], method) == 403


def test_one_foreign_origin_among_several_is_refused() -> None:
    assert _status([("Host", OWN), ("Origin", f"http://{OWN}"), ("Origin", "http://evil.example")]) == 403


def test_a_page_of_this_server_by_its_other_name_is_answered() -> None:
    other = [("Host", OWN), ("Origin", "http://localhost:4200"), ("Sec-Fetch-Site", "cross-site")]
    assert _status(other) is None


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_another_page_loads_without_an_origin_is_refused_but_a_link_is_followed(site: str) -> None:
    image = [("Host", OWN), ("Sec-Fetch-Site", site), ("Sec-Fetch-Mode", "no-cors")]
    link = [("Host", OWN), ("Sec-Fetch-Site", site), ("Sec-Fetch-Mode", "navigate")]
    assert _status(image, "GET") == 403
    assert _status(link, "GET") is None
    assert _status(link, "POST") == 403


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_own_pages_and_typed_addresses_are_answered(site: str) -> None:
    assert _status([("Host", OWN), ("Sec-Fetch-Site", site)], "GET") is None


@given(st.text(st.characters(codec="latin-1", exclude_characters="\r\n\0"), max_size=40), st.booleans())
def test_only_listed_values_pass(value: str, as_origin: bool) -> None:
    headers = [("Host", OWN), ("Origin", value)] if as_origin else [("Host", value)]
    known = own_origins(HOSTS) if as_origin else HOSTS
    assert (_status(headers) is None) == (value.strip().lower() in known)


def test_the_port_of_the_scheme_is_left_out() -> None:
    assert "localhost" in own_hosts("127.0.0.1", 80)
    assert "localhost" not in own_hosts("127.0.0.1", 443)
    assert "[fe80::1]:4200" in own_hosts("fe80::1", PORT)


async def _app(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        await send({"type": "lifespan.startup.complete"})
    elif scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
    else:
        await PlainTextResponse("answered")(scope, receive, send)


GUARDED = OwnVisitors(_app, (), "see the settings")


def _sent(scope: dict[str, Any], guarded: OwnVisitors = GUARDED) -> list[Message]:
    sent: list[Message] = []

    async def run() -> None:
        async def send(message: Message) -> None:
            sent.append(message)

        async def receive() -> Message:
            return {"type": "websocket.connect"}

        await guarded(scope, receive, send)

    asyncio.run(run())
    return sent


def test_a_refusal_says_why_and_what_to_do() -> None:
    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(GUARDED)
        async with httpx.AsyncClient(transport=transport, base_url="http://evil.example:4200") as client:
            return await client.get("/api/csrf-token")

    answer = asyncio.run(ask())
    assert answer.status_code == 400
    assert answer.text == "Host 'evil.example:4200' is not this server's; see the settings\n"


def test_prefects_own_services_reach_its_api_within_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Actions of automations call the API so: refused, no automation would do anything."""
    guarded = OwnVisitors(_app, (), "see the settings", in_process=IN_MEMORY_HOST)
    monkeypatch.setattr(prefect_server, "create_app", lambda: guarded)

    async def ask() -> list[int]:
        async with OrchestrationClient() as actions, PrefectServerEventsAPIClient() as events:
            return [(await client._http_client.get("/health")).status_code for client in (actions, events)]

    assert asyncio.run(ask()) == [200, 200]


def test_a_request_over_the_network_cannot_claim_to_come_from_within_the_process() -> None:
    guarded = OwnVisitors(_app, (), "see the settings", in_process=IN_MEMORY_HOST)
    for host in (IN_MEMORY_HOST, f"{IN_MEMORY_HOST}:{PORT}"):
        assert _sent(_scope([("Host", host)]), guarded)[0]["status"] == 400


def test_websockets_of_other_pages_are_closed_before_they_are_open() -> None:
    foreign = _sent(_scope([("Host", OWN), ("Origin", "http://evil.example")], kind="websocket"))
    rebound = _sent(_scope([("Host", "evil.example:4200")], kind="websocket"))
    assert [one["type"] for one in (*foreign, *rebound)] == ["websocket.close"] * 2
    own = [("Host", OWN), ("Origin", f"http://{OWN}")]
    assert _sent(_scope(own, kind="websocket")) == [{"type": "websocket.accept"}]
    assert _sent(_scope([("Host", OWN)], kind="websocket")) == [{"type": "websocket.accept"}]


def test_the_start_of_the_server_is_none_of_its_business() -> None:
    assert _sent({"type": "lifespan"}) == [{"type": "lifespan.startup.complete"}]
