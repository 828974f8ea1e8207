"""Where a request goes: to the source's host, to the one named instead, or where the operator lets a next page be."""

from collections.abc import Iterable
from urllib.parse import urlencode

import httpx

from ingest_core.execution.ports import Request
from ingest_core.gate.taxonomy import UpstreamError
from ingest_core.model.errors import BadInput


def target_of(request: Request, mirror: str | None) -> httpx.URL:
    """The URL to ask; a mirror stands for the source's base URL, and may be plain http."""
    base = (mirror or request.http.base_url).rstrip("/")
    if base.startswith("http://") and not (mirror or request.http.allow_plain_http):
        raise BadInput(
            "PLAIN_HTTP",
            f"{base!r} is not https",
            where=f"source {request.source!r}",
            remedy=f"use https, set http.allow_plain_http, or PATRA_UPSTREAM_{request.source.upper()}",
        )
    if request.next_url is None:
        return with_params(_at(base, request.path), request.query)
    return _next_page(request, request.next_url, httpx.URL(base))


def refuse_elsewhere(request: Request, url: httpx.URL, mirror: str | None) -> None:
    """BadInput unless the URL has the base URL's (or mirror's) scheme, host and port, or is an allowed next page.

    However the URL came about, no credential is sent to another origin.
    """
    here = httpx.URL(mirror or request.http.base_url)
    if origin(url) == origin(here) or (request.next_url is not None and _allowed(request, url, here)):
        return
    raise BadInput(
        "PATH_ELSEWHERE",
        f"the path {request.path!r} leads to {origin(url)}, not to {origin(here)}",
        where=f"source {request.source!r}",
        remedy="begin the path with one /",
    )


def _at(base: str, path: str) -> httpx.URL:
    try:
        return httpx.URL(base + path)
    except (httpx.InvalidURL, ValueError) as error:
        message = f"{base + path!r} is no URL: {error}"
        raise BadInput("URL_INVALID", message, remedy="correct http.base_url or the path") from error


def with_params(url: httpx.URL, params: Iterable[tuple[str, str]]) -> httpx.URL:
    """The URL with more parameters; those it has stay as they were written."""
    more = urlencode(list(params)).encode()
    return url.copy_with(query=b"&".join(filter(None, (url.query, more)))) if more else url


def origin(url: httpx.URL) -> str:
    """Scheme, host and port, without a user."""
    return f"{url.scheme}://{url.netloc.decode()}"


def shown(url: httpx.URL) -> httpx.URL:
    """The URL without a user and a password."""
    return url.copy_with(userinfo=b"")


def _next_page(request: Request, said: str, here: httpx.URL) -> httpx.URL:
    """Where the last page says the next one is; it must not lead our credentials elsewhere."""
    own = httpx.URL(request.http.base_url)
    try:
        following = httpx.URL(request.http.base_url.rstrip("/") + request.path).join(said)
    except (httpx.InvalidURL, ValueError) as error:
        message = f"the address of the next page is no URL: {error}"
        raise UpstreamError("NEXT_URL_INVALID", message, moved=False) from error
    if origin(following) == origin(own):
        following = _at_mirror(following, own, here)
    if origin(following) == origin(here):
        return following.copy_with(userinfo=here.userinfo)
    if _allowed(request, following, here):
        return shown(following)
    message = f"the next page is said to be at {origin(following)}, not at {origin(here)}"
    raise UpstreamError("NEXT_URL_ELSEWHERE", message, moved=False)


def _allowed(request: Request, url: httpx.URL, here: httpx.URL) -> bool:
    """Whether the source's file names the host; no connection gets less safe by it, and no other port is meant."""
    hosts = {host.lower() for host in request.next_hosts}
    named = url.host.lower() in hosts if url.port is None else f"{url.host}:{url.port}".lower() in hosts
    return named and (url.scheme == "https" or (url.scheme == "http" and here.scheme == "http"))


def _at_mirror(url: httpx.URL, own: httpx.URL, mirror: httpx.URL) -> httpx.URL:
    """A mirror may repeat the provider's own addresses: they mean the mirror."""
    path, folder, stands_for = url.raw_path, _folder(mirror), _folder(own)
    if not (folder and _within(path, folder)) and _within(path, stands_for):
        path = folder + path.removeprefix(stands_for)
    return mirror.copy_with(raw_path=path)


def _folder(url: httpx.URL) -> bytes:
    return url.raw_path.rstrip(b"/")


def _within(path: bytes, folder: bytes) -> bool:
    return path.startswith(folder) and path[len(folder) : len(folder) + 1] in (b"", b"/", b"?")
