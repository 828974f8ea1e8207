"""What a request to the shelf asks for."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deployments.sandbox.instant import read_ms
from deployments.sandbox.provider import Refused, Request
from deployments.sandbox.shelf.token import Token, read_token

LINKED = ("/token", "/url")
COUNTED = ("/offset", "/body", "/header", "/all", "/ids", "/time")
SIZE = 20
MOST = 100


@dataclass(frozen=True, slots=True)
class Asked:
    """A page of a result: of which window, from where on, how many at most, and by which token."""

    route: str
    from_ms: int | None
    to_ms: int | None
    place: int
    size: int
    token: Token | None = None
    filter: str | None = None

    @property
    def linked(self) -> bool:
        """Whether the answer says where the next page is."""
        return self.route in LINKED


def read_query(request: Request, page_base: int) -> Asked:
    """The page a request asks for; Refused where it cannot be read."""
    given = _given(request)
    route = "/path" if request.path.startswith("/path/") else request.path
    if route not in (*LINKED, *COUNTED, "/page", "/path"):
        raise Refused(f"no such route: {request.path}")
    try:
        size = min(int(given.get("size") or SIZE), MOST)
        token = read_token(given["token"]) if given.get("token") else None
        place = token.place if token else _place(route, given, size, page_base)
        first, last = (read_ms(given[end]) if given.get(end) else None for end in ("from", "to"))
    except ValueError as error:
        raise Refused(str(error)) from error
    filtered = route != "/all"
    return Asked(
        route, first if filtered else None, last if filtered else None, place, size, token, given.get("filter")
    )


def _place(route: str, given: Mapping[str, Any], size: int, page_base: int) -> int:
    if route == "/page":
        return (int(given.get("page") or page_base) - page_base) * size
    return 0 if route in (*LINKED, "/time") else int(given.get("offset") or 0)


def _given(request: Request) -> dict[str, Any]:
    """The parameters, wherever this route takes them from."""
    given: dict[str, Any] = dict(request.query)
    if request.path == "/body":
        given |= json.loads(request.body or b"{}")
    if request.path == "/header":
        given |= {name: request.headers[f"x-{name}"] for name in ("offset", "size") if f"x-{name}" in request.headers}
    if request.path.startswith("/path/"):
        given |= dict(zip(("from", "to", "offset"), request.path.split("/")[2:], strict=False))
    return given
