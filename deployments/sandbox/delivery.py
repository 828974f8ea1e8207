"""How a reply goes over the wire: whole, cut, late or not at all."""

import asyncio
from collections.abc import Awaitable

from starlette.types import Receive, Scope, Send

from deployments.sandbox.clock import SandboxClock
from deployments.sandbox.faults import Kind, Rule
from deployments.sandbox.instant import write_http
from deployments.sandbox.provider import Reply

DROP = "sandbox.drop"
MOST_MESSAGES = 1000


class Delivery:
    """Sends replies, stamped with the sandbox's time."""

    def __init__(self, clock: SandboxClock, closing: asyncio.Event) -> None:
        self._clock = clock
        self._closing = closing

    async def deliver(self, reply: Reply, rule: Rule | None, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the reply the way the fault says."""
        if rule and rule.kind is Kind.CUT:
            await self.send(reply, send, cut=True)
        elif rule and rule.kind in {Kind.TIMEOUT, Kind.DROP}:
            await self.pause(rule.seconds, _disconnected(receive))
            scope["extensions"][DROP]()
            await _disconnected(receive)
        else:
            await self.send(reply, send)

    async def send(self, reply: Reply, send: Send, *, cut: bool = False) -> None:
        """Send the reply; cut, the connection ends in the middle of its body."""
        stamped = {"date": write_http(self._clock.now_ms()), **reply.headers, "content-length": str(len(reply.body))}
        headers = [(name.encode(), value.encode("latin-1")) for name, value in stamped.items()]
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        body = reply.body[: len(reply.body) // 2] if cut else reply.body
        # A body left open makes the server close the connection short of the content length.
        await send({"type": "http.response.body", "body": body, "more_body": cut})

    async def pause(self, seconds: float, ended: Awaitable[None] | None = None) -> None:
        """Sleep, but no longer than the sandbox runs or the client waits."""
        waits: list[asyncio.Future[object]] = [asyncio.ensure_future(self._closing.wait())]
        if ended is not None:
            waits.append(asyncio.ensure_future(ended))
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()


async def _disconnected(receive: Receive) -> None:
    """Return when the client is gone."""
    for _ in range(MOST_MESSAGES):
        if (await receive())["type"] == "http.disconnect":
            return
