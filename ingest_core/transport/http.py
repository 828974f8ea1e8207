"""One request, one whole answer, by httpx."""

import json
import logging
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote_plus

import httpcore
import httpx

from ingest_core.execution.ports import AnswerLost, CredentialMissing, NotSent, Request, Response
from ingest_core.gate.taxonomy import TOO_MANY_REQUESTS, UpstreamError
from ingest_core.model.codes import BodyFormat, HttpMethod
from ingest_core.model.credential_names import SHIPPED_NAMES, CredentialNames
from ingest_core.model.spec import AuthSpec, HttpSpec
from ingest_core.registry.params import RESERVED_HEADERS
from ingest_core.transport.addresses import SETTING as ADDRESS_SETTING
from ingest_core.transport.addresses import PrivateAddress, is_private_literal
from ingest_core.transport.auth import MASK, Authorizer, Grant, basic, forms_of, masked
from ingest_core.transport.body import ACCEPTED_CODINGS, BodyBroken, BodyRefused, read_body
from ingest_core.transport.certificates import trusting
from ingest_core.transport.credentials import SecretReader, Secrets
from ingest_core.transport.exchange import exchange
from ingest_core.transport.network import Network, touch
from ingest_core.transport.target import origin, refuse_elsewhere, shown, target_of, with_params
from ingest_core.transport.wire import Wire, bounded_head, environment_proxy, with_user

UNAUTHORIZED = 401
FIRST_SERVER_ERROR = 500
TOKEN_TIMEOUT_SECONDS = 30.0
TOKEN_BYTES = 64 * 1024
ERROR_BODY_BYTES = 1_000_000
"""The largest body of an answer that is no success; a larger one is left out, and the status alone counts."""

DEADLINE = "http.deadline"
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
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
_WireKey = tuple[str | None, bool, str | None, bool]


for _teller in ("httpx", "httpcore"):  # they log whole URLs, and with them keys and addresses
    logging.getLogger(_teller).setLevel(logging.WARNING)


@dataclass(frozen=True)
class Hop:
    """One request of an exchange: the first one, or one that a redirect leads to."""

    sent: httpx.Request
    redirects: int
    """How many redirects may still be followed."""
    secrets: tuple[str, ...] = field(repr=False)
    """Texts that are masked in messages and in the response."""
    started: float

    def after(self, answer: httpx.Response) -> "Hop | None":
        """The hop that a redirect leads to; None where the answer is none, or may not be followed."""
        location = answer.headers.get("location") if answer.status_code in _REDIRECTS else None
        if location is None or not self.redirects:
            return None
        return replace(self, sent=redirected(self.sent, location), redirects=self.redirects - 1)

    def response(self, answer: httpx.Response, body: bytes, now: float) -> Response:
        """The answer as the rest of the program reads it."""
        headers = {name.lower(): value for name, value in answer.headers.items() if name.lower() != "set-cookie"}
        url = masked(str(shown(answer.request.url).copy_with(query=None)), self.secrets)
        return Response(url, answer.status_code, headers, body, now - self.started, self.secrets)


class HttpUpstream:
    """An Upstream; `base_url_for` names another host for a source, which may be plain http at a private address."""

    def __init__(
        self,
        user_agent: str,
        base_url_for: Callable[[str], str | None] = lambda _source: None,
        transport: httpx.BaseTransport | None = None,
        secret_readers: Mapping[str, SecretReader] | None = None,
        clock: Callable[[], float] = time.monotonic,
        credential_names: CredentialNames = SHIPPED_NAMES,
        *,
        allow_private_addresses: bool = False,
    ) -> None:
        self._user_agent = user_agent
        self._base_url_for = base_url_for
        self._transport = transport
        self._allow_private = allow_private_addresses
        self._lock = threading.Lock()
        self._wires: dict[_WireKey, httpx.BaseTransport] = {}
        self._clock = clock
        self._secrets = Secrets(secret_readers, credential_names)
        self._authorizer = Authorizer(self._secrets, self._fetch_token, clock)

    def close(self) -> None:
        """Give every connection back."""
        for wire in self._wires.values():
            wire.close()

    def knows(self, auth: AuthSpec) -> bool:
        """Whether requests will carry this credential."""
        return self._authorizer.knows(auth)

    def why_missing(self, reference: str) -> str | None:
        """Why the secret of that reference cannot be read; none if it can."""
        try:
            self._secrets.read(reference)
        except (CredentialMissing, NotSent) as error:
            return str(error)
        return None

    def reach(self, source: str, http: HttpSpec, seconds: float) -> None:
        """Connect to where the source is asked, or to the proxy on the way, and hang up; NotSent says why not."""
        mirror = self._base_url_for(source)
        url = httpx.URL(mirror or http.base_url)
        proxy = http.proxy or environment_proxy(url)
        by_operator = http.proxy is None if proxy else mirror is not None
        place = httpx.URL(proxy) if proxy else url
        network = Network(allow_private=self._allow_private or by_operator)
        try:
            with exchange(seconds, "the limit of a connection"):
                touch(network, place, _certificates(http), seconds)
        except (OSError, httpcore.TimeoutException, httpcore.NetworkError, PrivateAddress) as error:
            raise NotSent(f"{origin(shown(place))}: {_words(error)}") from error

    def send(self, request: Request) -> Response:
        """One request, one answer; NotSent, AnswerLost or CredentialMissing otherwise, UpstreamError if led astray.

        Token requests, redirects and the second try with a new token have one deadline together.
        """
        with exchange(request.http.deadline_seconds, DEADLINE):
            hop, renewed = self._first_hop(request), False
            while True:
                wire, limit = self._wire_to(request, hop.sent.url), request.http.max_body_bytes
                answer, body = _answer(wire, hop.sent, hop.secrets, limit, "http.max_body_bytes")
                following = hop.after(answer)
                if following is not None:
                    hop = following
                elif answer.status_code == UNAUTHORIZED and not renewed and self._authorizer.forget(request.auth):
                    hop, renewed = self._first_hop(request), True
                else:
                    return hop.response(answer, body, self._clock())

    def _first_hop(self, request: Request) -> "Hop":
        """The request with its credential, ready to be sent."""
        grant = self._authorizer.grant(request)
        sent = with_user(self._build(request, grant))
        secrets = (*grant.secrets, *(forms_of(request.contact) if request.contact else ()))
        redirects = request.http.max_redirects if request.http.method == HttpMethod.GET else 0
        return Hop(sent, redirects, secrets, self._clock())

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
        read = request.http.read_timeout_seconds
        timeouts = {"connect": request.http.connect_timeout_seconds, "read": read, "write": read, "pool": read}
        headers = {name: value for name, value in request.headers.items() if name.lower() not in RESERVED_HEADERS}
        return self._request(
            request.method,
            with_params(url, grant.query.items()),
            {**headers, **grant.headers},
            timeouts,
            **_content(request, grant),
        )

    def _request(
        self, method: str, url: httpx.URL, headers: Mapping[str, str], timeouts: dict[str, float], **content: Any
    ) -> httpx.Request:
        always = {"Accept": "*/*", "Accept-Encoding": ACCEPTED_CODINGS, "User-Agent": self._user_agent}
        named = httpx.Headers(always)
        named.update(headers)
        return httpx.Request(method, url, headers=named, extensions={"timeout": timeouts}, **content)

    def _wire_to(self, request: Request, url: httpx.URL) -> httpx.BaseTransport:
        """The connections for a URL, compared right before sending with where this source may be asked."""
        mirror = self._base_url_for(request.source)
        refuse_elsewhere(request, url, mirror)
        named = mirror is not None and origin(url) == origin(httpx.URL(mirror))
        return self._wire(request.http, url, named_by_operator=named)

    def _wire(self, http: HttpSpec, url: httpx.URL, *, named_by_operator: bool) -> httpx.BaseTransport:
        """The connections of these settings; those that may lead to private addresses are kept apart."""
        if self._transport is not None:
            return self._transport
        proxy = http.proxy or environment_proxy(url)
        allowed = self._allow_private or named_by_operator
        if proxy is not None:
            if not allowed and is_private_literal(url.host):  # a name is resolved by the proxy
                raise _private(PrivateAddress(f"{url.host} is not at a public address ({ADDRESS_SETTING})"))
            allowed = self._allow_private or http.proxy is None  # the environment's proxy is the operator's
        key = (proxy, http.verify_tls, http.ca_bundle, allowed)
        with self._lock:
            if key not in self._wires:
                self._wires[key] = Wire(_certificates(http), proxy, allow_private=allowed)
            return self._wires[key]

    def _fetch_token(self, request: Request, client_id: str, secret: str) -> dict[str, Any]:
        """Client credentials, as RFC 6749 has them; a failure never falls back to asking anonymously."""
        auth, pair = request.auth, basic(quote_plus(client_id), quote_plus(secret))
        url = httpx.URL(auth.token_url or "")
        asked = self._request(
            HttpMethod.POST.value,
            url,
            {"Authorization": f"Basic {pair}", "Accept": "application/json"},
            dict.fromkeys(("connect", "read", "write", "pool"), TOKEN_TIMEOUT_SECONDS),
            data={"grant_type": "client_credentials", **({"scope": auth.scope} if auth.scope else {})},
        )
        wire = self._wire(request.http, url, named_by_operator=False)
        try:
            with exchange(TOKEN_TIMEOUT_SECONDS, "the limit of a token request"):
                answer, body = _answer(
                    wire, asked, forms_of(secret, pair), TOKEN_BYTES, "the limit of a token's answer"
                )
        except AnswerLost as error:  # the provider itself was not asked anything yet
            raise NotSent(str(error)) from error
        except UpstreamError as error:
            if error.code != "PRIVATE_ADDRESS":
                raise CredentialMissing(f"{auth.token_url} gave no token: {error}") from error
            raise
        _raise_without_token(answer.status_code, auth)
        return _object_in(body)


def _answer(
    wire: httpx.BaseTransport, sent: httpx.Request, secrets: tuple[str, ...], limit: int, setting: str
) -> tuple[httpx.Response, bytes]:
    """The answer of one request, and its body, within the limits of the exchange under way."""
    try:
        with bounded_head():
            answer = wire.handle_request(sent)
        answer.request = sent
        try:
            return answer, _body(answer, limit, setting)
        finally:
            answer.close()
    except PrivateAddress as error:
        raise _private(error) from error
    except _NEVER_SENT as error:
        raise NotSent(f"{origin(sent.url)}: {masked(_words(error), secrets)}") from error
    except (httpx.TransportError, BodyBroken) as error:
        raise AnswerLost(f"{origin(sent.url)}: {masked(_words(error), secrets)}") from error


def _body(answer: httpx.Response, limit: int, setting: str) -> bytes:
    """The body; of an answer that is no success, nothing where it is refused: its status counts."""
    limit = limit if answer.is_success else min(limit, ERROR_BODY_BYTES)
    try:
        return read_body(answer, limit, setting)
    except BodyRefused as error:
        if not answer.is_success:
            return b""
        raise UpstreamError(error.code, str(error), moved=True, status=answer.status_code) from error


def _private(error: PrivateAddress) -> UpstreamError:
    return UpstreamError("PRIVATE_ADDRESS", str(error), moved=False)


def redirected(sent: httpx.Request, location: str) -> httpx.Request:
    """The same request at its new place, which must be at the same host."""
    try:
        url = shown(sent.url.join(location))
        place, is_web = origin(url), url.scheme in ("http", "https") and bool(url.host)
    except (httpx.InvalidURL, ValueError) as error:
        message = f"{origin(sent.url)} redirects to an address that is no URL"
        raise UpstreamError("REDIRECT_INVALID", message, moved=False) from error
    if not is_web:
        raise UpstreamError("REDIRECT_INVALID", f"{origin(sent.url)} redirects to no web address", moved=False)
    if place != origin(sent.url):
        message = f"{origin(sent.url)} redirects elsewhere, to {place}"
        raise UpstreamError("REDIRECTED_ELSEWHERE", message, moved=False)
    return httpx.Request(sent.method, url, headers=sent.headers, extensions=sent.extensions)


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
    except (ValueError, RecursionError):
        content = None
    return content if isinstance(content, dict) else {}


def _certificates(http: HttpSpec) -> ssl.SSLContext:
    if not http.verify_tls or http.ca_bundle is None:
        return httpx.create_ssl_context(verify=http.verify_tls)
    return trusting(http.ca_bundle)


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
