"""One request, one whole answer, by httpx."""

import time
from collections.abc import Callable

import httpx

from ingest_core.execution.ports import AnswerLost, NotSent, Request, Response
from ingest_core.model.errors import BadInput

MAX_BODY_BYTES = 256 * 1024 * 1024
"""No page is larger than this; more is a broken answer."""


class HttpUpstream:
    """An Upstream; `base_url_for` names another host for a source, which may then be plain http."""

    def __init__(
        self,
        user_agent: str,
        base_url_for: Callable[[str], str | None] = lambda _source: None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._base_url_for = base_url_for
        self._client = httpx.Client(
            headers={"User-Agent": user_agent}, follow_redirects=False, transport=transport, trust_env=True
        )

    def close(self) -> None:
        """Give every connection back."""
        self._client.close()

    def send(self, request: Request) -> Response:
        """One request, one answer; NotSent or AnswerLost otherwise."""
        url = self._url(request)
        timeout = httpx.Timeout(request.read_timeout_seconds, connect=request.connect_timeout_seconds)
        started = time.monotonic()
        try:
            with self._client.stream(
                request.method,
                url,
                params=httpx.QueryParams(tuple(request.query)),
                headers=request.headers,
                timeout=timeout,
            ) as answer:
                body = _bounded_body(answer)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol) as error:
            raise NotSent(f"{_origin(url)}: {_words(error)}") from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise AnswerLost(f"{_origin(url)}: {_words(error)}") from error
        headers = {name.lower(): value for name, value in answer.headers.items()}
        return Response(url, answer.status_code, headers, body, time.monotonic() - started)

    def _url(self, request: Request) -> str:
        override = self._base_url_for(request.source)
        base = override or request.base_url
        if base.startswith("http://") and not (override or request.allow_plain_http):
            raise BadInput(
                "PLAIN_HTTP",
                f"{base!r} is not https",
                where=f"source {request.source!r}",
                remedy=f"use https, set http.allow_plain_http, or PATRA_UPSTREAM_{request.source.upper()}",
            )
        return base.rstrip("/") + request.path


def _bounded_body(answer: httpx.Response) -> bytes:
    chunks = []
    size = 0
    for chunk in answer.iter_bytes():
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            raise httpx.ReadError(f"the answer is larger than {MAX_BODY_BYTES} bytes")
        chunks.append(chunk)
    return b"".join(chunks)


def _origin(url: str) -> str:
    parsed = httpx.URL(url)
    return f"{parsed.scheme}://{parsed.netloc.decode()}"


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
