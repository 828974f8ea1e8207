"""One request, one whole answer, by httpx."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from ingest_core.execution.ports import AnswerLost, CredentialMissing, NotSent, Request, Response
from ingest_core.model.codes import BodyFormat, HttpMethod
from ingest_core.model.errors import BadInput
from ingest_core.model.spec import AuthSpec, HttpSpec
from ingest_core.transport.auth import Authorizer, Grant
from ingest_core.transport.credentials import SecretReader, Secrets

MAX_BODY_BYTES = 256 * 1024 * 1024
"""No page is larger than this; more is a broken answer."""

UNAUTHORIZED = 401
TOKEN_TIMEOUT_SECONDS = 30.0
_OWN_HEADERS = frozenset({"host", "connection", "content-length", "accept-encoding", "x-ingest-correlation-id"})


class HttpUpstream:
    """An Upstream; `base_url_for` names another host for a source, which may then be plain http."""

    def __init__(
        self,
        user_agent: str,
        base_url_for: Callable[[str], str | None] = lambda _source: None,
        transport: httpx.BaseTransport | None = None,
        secret_readers: Mapping[str, SecretReader] | None = None,
    ) -> None:
        self._user_agent = user_agent
        self._base_url_for = base_url_for
        self._transport = transport
        self._clients: dict[tuple[str | None, bool, str | None], httpx.Client] = {}
        self._authorizer = Authorizer(Secrets(secret_readers), self._fetch_token)

    def close(self) -> None:
        """Give every connection back."""
        for client in self._clients.values():
            client.close()

    def knows(self, auth: AuthSpec) -> bool:
        """Whether requests will carry this credential."""
        return self._authorizer.knows(auth)

    def send(self, request: Request) -> Response:
        """One request, one answer; NotSent, AnswerLost or CredentialMissing otherwise."""
        grant = self._authorizer.grant(request)
        response = self._send(request, grant)
        if response.status == UNAUTHORIZED and self._authorizer.forget(request.auth):
            response = self._send(request, self._authorizer.grant(request))
        return response

    def preview(self, request: Request) -> dict[str, Any]:
        """Method, URL, headers and body as they would be sent; a credential is masked."""
        sent = self._build(request, self._authorizer.preview(request.auth))
        headers = {name: value for name, value in sent.headers.items() if name.lower() not in _OWN_HEADERS}
        body = {**(request.body or {}), **self._authorizer.preview(request.auth).body}
        return {
            "method": sent.method,
            "url": str(sent.url),
            "headers": headers,
            "body": body if request.http.body_format else None,
        }

    def _build(self, request: Request, grant: Grant) -> httpx.Request:
        url, query = self._target(request)
        return self._client(request.http).build_request(
            request.method,
            url,
            params=httpx.QueryParams((*query, *grant.query.items())) if query or grant.query else None,
            headers={**request.headers, **grant.headers},
            timeout=httpx.Timeout(request.http.read_timeout_seconds, connect=request.http.connect_timeout_seconds),
            **_content(request, grant),
        )

    def _send(self, request: Request, grant: Grant) -> Response:
        sent = self._build(request, grant)
        started = time.monotonic()
        answer, body = self._exchange(request, sent)
        headers = {name.lower(): value for name, value in answer.headers.items()}
        shown = str(answer.request.url.copy_with(query=None))
        return Response(shown, answer.status_code, headers, body, time.monotonic() - started, grant.secrets)

    def _exchange(self, request: Request, sent: httpx.Request) -> tuple[httpx.Response, bytes]:
        """The answer, behind at most as many redirects as are allowed."""
        for _ in range(request.http.max_redirects):
            answer, body = self._once(request.http, sent)
            following = answer.next_request if request.http.method == HttpMethod.GET else None
            if following is None:
                return answer, body
            if _origin(following.url) != _origin(sent.url):
                raise NotSent(f"{_origin(sent.url)}: redirected elsewhere, to {_origin(following.url)}")
            sent = following
        return self._once(request.http, sent)

    def _once(self, http: HttpSpec, sent: httpx.Request) -> tuple[httpx.Response, bytes]:
        try:
            answer = self._client(http).send(sent, stream=True)
            try:
                return answer, _bounded_body(answer)
            finally:
                answer.close()
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol) as error:
            raise NotSent(f"{_origin(sent.url)}: {_words(error)}") from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise AnswerLost(f"{_origin(sent.url)}: {_words(error)}") from error

    def _client(self, http: HttpSpec) -> httpx.Client:
        """The client of these connection settings; one pool for all that share them."""
        key = (http.proxy, http.verify_tls, http.ca_bundle)
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

    def _target(self, request: Request) -> tuple[str, list[tuple[str, str]]]:
        override = self._base_url_for(request.source)
        base = (override or request.http.base_url).rstrip("/")
        if base.startswith("http://") and not (override or request.http.allow_plain_http):
            raise BadInput(
                "PLAIN_HTTP",
                f"{base!r} is not https",
                where=f"source {request.source!r}",
                remedy=f"use https, set http.allow_plain_http, or PATRA_UPSTREAM_{request.source.upper()}",
            )
        if request.next_url is None:
            return base + request.path, request.query
        # A page's answer says where the next one is; it must not lead our credentials elsewhere.
        following = httpx.URL(base + request.path).join(request.next_url)
        if _origin(following) != _origin(httpx.URL(base)):
            raise NotSent(f"the next page is said to be at {_origin(following)}, not at {_origin(httpx.URL(base))}")
        return str(following.copy_with(query=None)), list(following.params.multi_items())

    def _fetch_token(self, auth: AuthSpec, client_id: str, secret: str) -> dict[str, Any]:
        """Client credentials, as RFC 6749 has them; a failure never falls back to asking anonymously."""
        form = {"grant_type": "client_credentials", **({"scope": auth.scope} if auth.scope else {})}
        with httpx.Client(transport=self._transport, timeout=TOKEN_TIMEOUT_SECONDS) as client:
            try:
                answer = client.post(auth.token_url or "", data=form, auth=(client_id, secret))
            except httpx.TransportError as error:
                raise NotSent(f"{auth.token_url}: {_words(error)}") from error
        if not answer.is_success:
            raise CredentialMissing(f"{auth.token_url} answered {answer.status_code}: the credential was refused")
        try:
            content = answer.json()
        except ValueError:
            content = None
        return content if isinstance(content, dict) else {}


def _content(request: Request, grant: Grant) -> dict[str, Any]:
    if request.http.body_format is None:
        return {}
    body = {**(request.body or {}), **grant.body}
    return {"data": body} if request.http.body_format == BodyFormat.FORM else {"json": body}


def _certificates(http: HttpSpec) -> Any:
    if not http.verify_tls:
        return False
    if http.ca_bundle is None:
        return True
    import ssl  # noqa: PLC0415 - only where a bundle is named

    return ssl.create_default_context(cafile=http.ca_bundle)


def _bounded_body(answer: httpx.Response) -> bytes:
    chunks = []
    size = 0
    for chunk in answer.iter_bytes():
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            raise httpx.ReadError(f"the answer is larger than {MAX_BODY_BYTES} bytes")
        chunks.append(chunk)
    return b"".join(chunks)


def _origin(url: httpx.URL) -> str:
    return f"{url.scheme}://{url.netloc.decode()}"


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
