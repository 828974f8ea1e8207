"""The ASGI application: each provider under its path, the controls under `/_sandbox`."""

import time
from contextlib import suppress
from urllib.parse import parse_qsl

from starlette.types import Receive, Scope, Send

from deployments.sandbox.control import build_control
from deployments.sandbox.delivery import Delivery
from deployments.sandbox.faults import Kind, Rule
from deployments.sandbox.page import error_page, maintenance_page
from deployments.sandbox.provider import Refused, Reply, Request
from deployments.sandbox.rate import RateMeter
from deployments.sandbox.state import State

NO_PROVIDER = Reply(404, b"no such provider", {"content-type": "text/plain"})


class SandboxApp:
    """Answers as the providers do, unless the fault script says otherwise."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._control = build_control(state)
        self._delivery = Delivery(state.clock, state.closing)
        self._meters = {name: RateMeter() for name in state.providers}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        source = scope["path"].split("/")[1]
        if source == "_sandbox":
            await self._control(scope, receive, send)
        elif source in self._state.providers:
            await self._serve(source, scope, receive, send)
        else:
            await self._delivery.send(NO_PROVIDER, send)

    async def _serve(self, source: str, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.monotonic()
        request = read_request(scope, source, await _read_body(receive))
        rule = self._state.script.strike(scope["path"], request)
        if rule and rule.kind is Kind.LATENCY:
            await self._delivery.pause(rule.seconds)
        reply = self._reply(source, request, rule)
        entry = self._state.journal.append(self._state.clock.now_ms(), began, source, request, reply, rule)
        try:
            await self._delivery.deliver(reply, rule, scope, receive, send)
        finally:
            self._state.journal.end(entry)

    def _reply(self, source: str, request: Request, rule: Rule | None) -> Reply:
        if rule and rule.kind in {Kind.TOUCH, Kind.CHURN}:
            self._touch(source, request, rule)
        instead = _page(rule) if rule else None
        if instead is None:
            return self._work(source, request)
        if not (rule and rule.moves_scroll):
            return instead
        lost = self._work(source, request)
        return Reply(instead.status, instead.body, instead.headers, page=lost.page, scroll=lost.scroll)

    def _touch(self, source: str, request: Request, rule: Rule) -> None:
        """Let records at the front of the asked result leave it; with churn, as many arrive at its end."""
        present = self._state.present
        with suppress(Refused):
            asked = self._state.providers[source].asked(request)
            present.touch(asked[: rule.works])
            if rule.kind is Kind.CHURN and asked:
                present.arrive(rule.works, asked[-1].at_ms)

    def _work(self, source: str, request: Request) -> Reply:
        provider = self._state.providers[source]
        admitted = self._meters[source].admit(self._state.behaviour.rate_limit_per_second)
        return provider.answer(request) if admitted else provider.refuse()


async def _read_body(receive: Receive) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body


def read_request(scope: Scope, source: str, body: bytes = b"") -> Request:
    """The request as the provider sees it."""
    query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    return Request(
        method=scope["method"],
        path=scope["path"].removeprefix(f"/{source}"),
        query=dict(query),
        headers={name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]},
        body=body,
    )


def _page(rule: Rule) -> Reply | None:
    """What is sent instead of the provider's answer, if anything is."""
    if rule.kind is Kind.STATUS:
        return error_page(rule.status, rule.retry_after)
    return maintenance_page() if rule.kind is Kind.HTML else None
