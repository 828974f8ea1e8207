"""The controls under `/_sandbox`: truth, request log, faults, clock and behaviour."""

import dataclasses
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from deployments.sandbox.faults import read_script
from deployments.sandbox.instant import read_ms, write_micros
from deployments.sandbox.provider import Provider, Truth
from deployments.sandbox.settings import Behaviour, ScrollMode
from deployments.sandbox.state import State
from deployments.sandbox.ways import Ways

_JSON = "application/json"
Action = Callable[[State, Request, Any], object]


def build_control(state: State) -> Starlette:
    """The control application of one sandbox."""
    routes = [
        Route(f"/_sandbox/{name}", _endpoint(state, action), methods=[method])
        for name, method, action in (
            ("health", "GET", _health),
            ("truth", "GET", _truth),
            ("requests", "GET", _requests),
            ("requests", "DELETE", _clear_requests),
            ("faults", "GET", _faults),
            ("faults", "POST", _set_faults),
            ("clock", "POST", _move_clock),
            ("config", "POST", _configure),
            ("scrolls/expire", "POST", _expire_scrolls),
        )
    ]
    return Starlette(routes=routes)


def _endpoint(state: State, action: Action) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        body = await request.body()
        if body and request.headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
            # A form of another site's page can send any body, but not this type without asking first.
            wrong = {"error": f"the body must be sent as Content-Type: {_JSON}"}
            return Response(orjson.dumps(wrong), status_code=415, media_type=_JSON)
        try:
            result, status = action(state, request, orjson.loads(body) if body else None), 200
        except (ValueError, TypeError, KeyError) as error:
            result, status = {"error": str(error)}, 400
        return Response(orjson.dumps(result), status_code=status, media_type=_JSON)

    return serve


def _health(state: State, request: Request, body: Any) -> object:
    return {"status": "ok"}


def _truth(state: State, request: Request, body: Any) -> object:
    asked = request.query_params
    rows = _provider(state, asked.get("source")).truth(_instant(asked.get("from")), _instant(asked.get("to")))
    return [_write_truth(row, whole=asked.get("record") == "true") for row in rows]


def _write_truth(row: Truth, *, whole: bool) -> dict[str, object]:
    return {
        "id": row.id,
        "updated_at": write_micros(row.updated_at_ms),
        "usable": row.usable,
        "version": row.version,
        **({"reason": row.reason, "record": row.record() if row.record else None} if whole else {}),
    }


def _requests(state: State, request: Request, body: Any) -> object:
    return state.journal.entries(request.query_params.get("source"))


def _clear_requests(state: State, request: Request, body: Any) -> object:
    state.journal.clear()
    return []


def _faults(state: State, request: Request, body: Any) -> object:
    return [dataclasses.asdict(rule) for rule in state.script.rules]


def _set_faults(state: State, request: Request, body: Any) -> object:
    state.script.rules = read_script(body)
    return _faults(state, request, body)


def _move_clock(state: State, request: Request, body: Any) -> object:
    now = body["now"]
    state.clock.move(None if now is None else read_ms(now))
    return {"now": write_micros(state.clock.now_ms()), "frozen": now is not None}


def _configure(state: State, request: Request, body: Any) -> object:
    ways = {"shelf": Ways(**body["shelf"])} if "shelf" in body else {}
    changed = dataclasses.replace(state.behaviour, **{**body, **ways})
    checked = dataclasses.replace(changed, scroll=ScrollMode(changed.scroll))
    for setting in dataclasses.fields(Behaviour):
        setattr(state.behaviour, setting.name, getattr(checked, setting.name))
    return dataclasses.asdict(state.behaviour)


def _expire_scrolls(state: State, request: Request, body: Any) -> object:
    return {"expired": sum(provider.expire_scrolls() for provider in state.providers.values())}


def _provider(state: State, source: str | None) -> Provider:
    provider = state.providers.get(source or "")
    if provider is None:
        raise ValueError(f"source {source!r} is not simulated; one of {', '.join(state.providers)}")
    return provider


def _instant(text: str | None) -> int | None:
    return read_ms(text) if text else None
