"""One request, one whole answer, by httpx."""

import json
import logging
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote_plus

import httpx

from ingest_core.execution.ports import AnswerLost, CredentialMissing, NotSent, Request, Response
from ingest_core.gate.taxonomy import TOO_MANY_REQUESTS, UpstreamError
from ingest_core.model.codes import BodyFormat, HttpMethod
from ingest_core.model.errors import BadInput
from ingest_core.model.spec import AuthSpec, HttpSpec
from ingest_core.transport.auth import MASK, Authorizer, Grant, basic, forms_of, masked
from ingest_core.transport.credentials import SecretReader, Secrets
from ingest_core.transport.target import origin, shown, target_of, with_params

MAX_BODY_BYTES = 256 * 1024 * 1024
"""No page is larger than this; more is a broken answer."""

UNAUTHORIZED = 401
FIRST_SERVER_ERROR = 500
TOKEN_TIMEOUT_SECONDS = 30.0
_OWN_HEADERS = frozenset(
    {"host", "connection", "content-length", "accept-encoding", "x-ingest-correlation-id", "cookie"}
)
_NEVER_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.LocalProtocolError,
    httpx.UnsupportedProtocol,
)


for _teller in ("httpx", "httpcore"):  # they log whole URLs, and with them keys and addresses
    logging.getLogger(_teller).setLevel(logging.WARNING)


class HttpUpstream:
    """An Upstream; `base_url_for` names another host for a source, which may then be plain http."""

    def __init__(
        self,
        user_agent: str,
        base_url_for: Callable[[str], str | None] = lambda _source: None,
        transport: httpx.BaseTransport | None = None,
        secret_readers: Mapping[str, SecretReader] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._user_agent = user_agent
        self._base_url_for = base_url_for
        self._transport = transport
        self._lock = threading.Lock()
        self._clients: dict[tuple[str | None, bool, str | None], httpx.Client] = {}
        self._clock = clock
        self._authorizer = Authorizer(Secrets(secret_readers), self._fetch_token, clock)

    def close(self) -> None:
        """Give every connection back."""
        for client in self._clients.values():
            client.close()

    def knows(self, auth: AuthSpec) -> bool:
        """Whether requests will carry this credential."""
        return self._authorizer.knows(auth)

    def send(self, request: Request) -> Response:
        """One request, one answer; NotSent, AnswerLost or CredentialMissing otherwise, UpstreamError if led astray."""
        grant = self._authorizer.grant(request)
        response = self._send(request, grant)
        if response.status == UNAUTHORIZED and self._authorizer.forget(request.auth):
            response = self._send(request, self._authorizer.grant(request))
        return response

    def preview(self, request: Request) -> dict[str, Any]:
        """Method, URL, headers and body as they would be sent; a credential is masked."""
        grant = self._authorizer.preview(request.auth)
        sent = self._build(request, grant)
        headers = {name: value for name, value in sent.headers.items() if name.lower() not in _OWN_HEADERS}
        body = {**(request.body or {}), **grant.body}
        return {
            "method": sent.method,
            "url": str(shown(sent.url)).replace(quote_plus(MASK), MASK),
            "headers": headers,
            "body": body if request.http.body_format else None,
        }

    def _build(self, request: Request, grant: Grant) -> httpx.Request:
        url = target_of(request, self._base_url_for(request.source))
        return self._client(request.http).build_request(
            request.method,
            with_params(url, grant.query.items()),
            headers={**request.headers, **grant.headers},
            timeout=httpx.Timeout(request.http.read_timeout_seconds, connect=request.http.connect_timeout_seconds),
            **_content(request, grant),
        )

    def _send(self, request: Request, grant: Grant) -> Response:
        sent = self._build(request, grant)
        started = self._clock()
        untold = (*grant.secrets, *(forms_of(request.contact) if request.contact else ()))
        answer, body = self._exchange(request, sent, untold)
        headers = {name.lower(): value for name, value in answer.headers.items()}
        url = masked(str(shown(answer.request.url).copy_with(query=None)), untold)
        return Response(url, answer.status_code, headers, body, self._clock() - started, untold)

    def _exchange(
        self, request: Request, sent: httpx.Request, secrets: tuple[str, ...]
    ) -> tuple[httpx.Response, bytes]:
        """The answer, behind at most as many redirects as are allowed."""
        for _ in range(request.http.max_redirects):
            answer, body = self._once(request.http, sent, secrets)
            following = answer.next_request if request.http.method == HttpMethod.GET else None
            if following is None:
                return answer, body
            if origin(following.url) != origin(sent.url):
                message = f"{origin(sent.url)} redirects elsewhere, to {origin(following.url)}"
                raise UpstreamError("REDIRECTED_ELSEWHERE", message, moved=False)
            sent = following
        return self._once(request.http, sent, secrets)

    def _once(self, http: HttpSpec, sent: httpx.Request, secrets: tuple[str, ...]) -> tuple[httpx.Response, bytes]:
        try:
            answer = self._client(http).send(sent, stream=True)
            try:
                return answer, _bounded_body(answer)
            finally:
                answer.close()
        except _NEVER_SENT as error:
            raise NotSent(f"{origin(sent.url)}: {masked(_words(error), secrets)}") from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise AnswerLost(f"{origin(sent.url)}: {masked(_words(error), secrets)}") from error

    def _client(self, http: HttpSpec) -> httpx.Client:
        """The client of these connection settings; one pool for all that share them."""
        key = (http.proxy, http.verify_tls, http.ca_bundle)
        with self._lock:
            if key not in self._clients:
                self._clients[key] = httpx.Client(
                    headers={"User-Agent": self._user_agent},
                    follow_redirects=False,
                    proxy=http.proxy,
                    verify=_certificates(http),
                    transport=self._transport,
                    trust_env=True,
                )
            return self._clients[key]

    def _fetch_token(self, request: Request, client_id: str, secret: str) -> dict[str, Any]:
        """Client credentials, as RFC 6749 has them; a failure never falls back to asking anonymously."""
        auth, pair = request.auth, basic(quote_plus(client_id), quote_plus(secret))
        asked = self._client(request.http).build_request(
            HttpMethod.POST.value,
            auth.token_url or "",
            data={"grant_type": "client_credentials", **({"scope": auth.scope} if auth.scope else {})},
            headers={"Authorization": f"Basic {pair}", "Accept": "application/json"},
            timeout=TOKEN_TIMEOUT_SECONDS,
        )
        try:
            answer, body = self._once(request.http, asked, forms_of(secret, pair))
        except AnswerLost as error:  # the provider itself was not asked anything yet
            raise NotSent(str(error)) from error
        _raise_without_token(answer.status_code, auth)
        return _object_in(body)


def _content(request: Request, grant: Grant) -> dict[str, Any]:
    if request.http.body_format is None:
        return {}
    body = {**(request.body or {}), **grant.body}
    return {"data": body} if request.http.body_format == BodyFormat.FORM else {"json": body}


def _raise_without_token(status: int, auth: AuthSpec) -> None:
    """What the token's host means by a status that is no success: a passing fault is not a refusal."""
    if status == TOO_MANY_REQUESTS or status >= FIRST_SERVER_ERROR:
        raise NotSent(f"{auth.token_url} answered {status}: no token for now")
    if not httpx.codes.is_success(status):
        raise CredentialMissing(
            f"{auth.token_url} answered {status}: it refuses {auth.username_ref!r} with {auth.credential_ref!r}"
        )


def _object_in(body: bytes) -> dict[str, Any]:
    try:
        content = json.loads(body)
    except ValueError:
        content = None
    return content if isinstance(content, dict) else {}


def _certificates(http: HttpSpec) -> Any:
    if not http.verify_tls:
        return False
    if http.ca_bundle is None:
        return True
    try:
        return ssl.create_default_context(cafile=http.ca_bundle)
    except OSError as error:
        raise BadInput(
            "CA_BUNDLE_UNREADABLE",
            f"no certificates can be read from {http.ca_bundle!r}: {error.strerror or error}",
            where="http.ca_bundle",
            remedy="name a file of PEM certificates that this worker can read",
        ) from error


def _bounded_body(answer: httpx.Response) -> bytes:
    chunks = []
    size = 0
    for chunk in answer.iter_bytes():
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            raise httpx.ReadError(f"the answer is larger than {MAX_BODY_BYTES} bytes")
        chunks.append(chunk)
    return b"".join(chunks)


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
