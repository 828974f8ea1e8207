"""Authorising a request: what each kind of credential adds to it, right before it is sent."""

import base64
import html
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any
from urllib.parse import quote, quote_plus

from ingest_core.execution.ports import AnswerLost, CredentialMissing, NotSent, Request
from ingest_core.model.codes import AuthLocation, AuthType
from ingest_core.model.header import is_header_text
from ingest_core.model.spec import AuthSpec
from ingest_core.registry.params import RESERVED_HEADERS
from ingest_core.transport.credentials import Secrets
from ingest_core.transport.installed import installed

HOOK_GROUP = "patra.signing_hooks"
EXPIRY_MARGIN_SECONDS = 60
TOKEN_WAIT_SECONDS = 30.0
MASK = "***"
DEFAULT_TOKEN_SECONDS = 300.0
SHORTEST_MASKED = 6
"""What goes along with a secret, a user or a hook's header, is masked too unless it is this short, such as `v1`."""


@dataclass(frozen=True)
class Grant:
    """What a credential adds to a request; `secrets`, in every way they are written, must appear nowhere else."""

    headers: dict[str, str] = field(default_factory=dict, repr=False)
    query: dict[str, str] = field(default_factory=dict, repr=False)
    body: dict[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)


ANONYMOUS = Grant()

SigningHook = Callable[[Request, Callable[[str], str]], Mapping[str, str]]
"""Gets the request and a way to read secrets; gives the headers to add."""

TokenSource = Callable[[Request, str, str], dict[str, Any]]
"""Asks the token URL of a request's source with client id and secret; the answer's JSON."""


def installed_hooks() -> frozenset[str]:
    """The signing hooks there are."""
    return frozenset(entry.name for entry in installed(HOOK_GROUP))


class Authorizer:
    """Turns references into what a request carries; tokens are kept until shortly before they expire."""

    def __init__(self, secrets: Secrets, fetch_token: TokenSource, clock: Callable[[], float] = time.monotonic) -> None:
        self._secrets = secrets
        self._fetch_token = fetch_token
        self._clock = clock
        self._tokens: dict[AuthSpec, tuple[str, float]] = {}
        self._locks: dict[AuthSpec, Lock] = {}

    def knows(self, auth: AuthSpec) -> bool:
        """Whether a request will carry a credential; False where that is not known: the slower rate is the safe one."""
        try:
            return self._carries(auth)
        except (CredentialMissing, NotSent):
            return False

    def grant(self, request: Request) -> Grant:
        """What to add; CredentialMissing when the secret is not there and is not optional."""
        auth = request.auth
        if not self._carries(auth):
            return ANONYMOUS
        grants: dict[AuthType, Callable[[AuthSpec, Request], Grant]] = {
            AuthType.API_KEY: self._api_key,
            AuthType.BEARER: self._bearer,
            AuthType.BASIC: self._basic,
            AuthType.OAUTH2: self._oauth2,
            AuthType.CUSTOM: self._custom,
        }
        return _sendable(grants[auth.type](auth, request), request)

    def _carries(self, auth: AuthSpec) -> bool:
        if auth.type == AuthType.NONE:
            return False
        return not auth.optional or self._secrets.find(auth.credential_ref) is not None

    def preview(self, auth: AuthSpec) -> Grant:
        """What would be added, masked; nothing is read but whether an optional secret is there."""
        if not self.knows(auth):
            return ANONYMOUS
        if auth.type != AuthType.API_KEY:
            kind = {AuthType.BASIC: "Basic", AuthType.CUSTOM: f"signed by {auth.signing_hook}"}.get(auth.type, "Bearer")
            return Grant(headers={"Authorization": f"{kind} {MASK}"})
        place = {str(auth.name): MASK}
        if auth.location == AuthLocation.QUERY:
            return Grant(query=place)
        return Grant(body=place) if auth.location == AuthLocation.BODY else Grant(headers=place)

    def forget(self, auth: AuthSpec) -> bool:
        """Drop a token the provider refused; True when there was one, so that asking again makes sense."""
        return self._tokens.pop(auth, None) is not None

    def _api_key(self, auth: AuthSpec, _request: Request) -> Grant:
        assert auth.name is not None
        assert auth.credential_ref is not None
        secret = self._secrets.read(auth.credential_ref)
        place, secrets = {auth.name: secret}, forms_of(secret)
        if auth.location == AuthLocation.QUERY:
            return Grant(query=place, secrets=secrets)
        if auth.location == AuthLocation.BODY:
            return Grant(body=place, secrets=secrets)
        return Grant(headers=place, secrets=secrets)

    def _bearer(self, auth: AuthSpec, _request: Request) -> Grant:
        assert auth.credential_ref is not None
        return _bearing(self._secrets.read(auth.credential_ref))

    def _basic(self, auth: AuthSpec, _request: Request) -> Grant:
        user, password = self._pair(auth)
        encoded = basic(user, password)
        return Grant(headers={"Authorization": f"Basic {encoded}"}, secrets=forms_of(password, encoded, *_long(user)))

    def _oauth2(self, auth: AuthSpec, request: Request) -> Grant:
        lock = self._locks.setdefault(auth, Lock())  # of this credential alone: a slow token URL delays no other source
        if not lock.acquire(timeout=TOKEN_WAIT_SECONDS):  # a provider may drop a token when it gives another
            raise NotSent(f"another request has waited for a token of {auth.token_url} for {TOKEN_WAIT_SECONDS:g} s")
        try:
            token, until = self._tokens.get(auth, ("", -math.inf))
            if self._clock() >= until:
                token, until = self._new_token(auth, request)
                self._tokens[auth] = (token, until)
        finally:
            lock.release()
        return _bearing(token)

    def _new_token(self, auth: AuthSpec, request: Request) -> tuple[str, float]:
        answer = self._fetch_token(request, *self._pair(auth))
        token = answer.get("access_token")
        if not isinstance(token, str) or not token:
            raise CredentialMissing(f"{auth.token_url} gave no access_token; check the client's id and secret")
        seconds = _lifetime(answer.get("expires_in"))
        return token, self._clock() + max(seconds - EXPIRY_MARGIN_SECONDS, seconds / 2)

    def _pair(self, auth: AuthSpec) -> tuple[str, str]:
        assert auth.credential_ref is not None
        assert auth.username_ref is not None
        return self._secrets.read(auth.username_ref), self._secrets.read(auth.credential_ref)

    def _custom(self, auth: AuthSpec, request: Request) -> Grant:
        read: list[str] = []

        def secret(reference: str) -> str:
            read.append(self._secrets.read(reference))
            return read[-1]

        try:
            headers = _only_text(_hook(auth.signing_hook or "")(request, secret))
        except (CredentialMissing, NotSent, AnswerLost):
            raise
        except Exception as error:
            # Others' code: what it raises may hold the secret it was given, so only the kind is shown.
            raise CredentialMissing(f"the signing hook {auth.signing_hook!r} failed: {type(error).__name__}") from None
        return Grant(headers=headers, secrets=forms_of(*read, *_long(*headers.values())))


def forms_of(*secrets: str) -> tuple[str, ...]:
    """Secrets in every way an answer may repeat them; the longest first, so that none is left in pieces."""
    forms = {form for secret in secrets if secret for form in _written(secret)}
    return tuple(sorted(forms, key=lambda form: (-len(form), form)))


def masked(text: str, secrets: tuple[str, ...]) -> str:
    """The text without the secrets."""
    for secret in secrets:
        text = text.replace(secret, MASK)
    return text


def basic(user: str, password: str) -> str:
    """User and password as Basic authentication writes them."""
    return base64.b64encode(f"{user}:{password}".encode()).decode()


def _long(*values: str) -> list[str]:
    return [value for value in values if len(value) >= SHORTEST_MASKED]


def _written(secret: str) -> Iterator[str]:
    yield from (secret, html.escape(secret), secret.replace("/", "\\/"))
    yield from (quote(secret, safe=""), quote(secret), quote_plus(secret))
    for within in (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]):
        yield from (within, json.dumps(within)[1:-1], repr(within)[1:-1])  # JSON, and as text in more of it


def _bearing(token: str) -> Grant:
    return Grant(headers={"Authorization": f"Bearer {token}"}, secrets=forms_of(token))


def _lifetime(stated: Any) -> float:
    try:
        seconds = float(stated)
    except (TypeError, ValueError, OverflowError):
        return DEFAULT_TOKEN_SECONDS
    return seconds if math.isfinite(seconds) else DEFAULT_TOKEN_SECONDS


def _sendable(grant: Grant, request: Request) -> Grant:
    """The grant, if the request can carry it: a request without it would be sent as another user."""
    reference = request.auth.credential_ref or request.auth.signing_hook
    if grant.body and request.http.body_format is None:
        raise CredentialMissing(f"the credential {reference!r} belongs in a body, and a GET has none")
    if RESERVED_HEADERS & {name.lower() for name in grant.headers}:
        raise CredentialMissing(f"the credential {reference!r} cannot stand in a header that the system writes")
    for value in grant.headers.values():
        if not is_header_text(value):
            raise CredentialMissing(
                f"the credential {reference!r} cannot stand in a header: it holds a line break, a space at an end or a"
                " letter that is not ASCII; set it without"
            )
    return grant


def _only_text(headers: Mapping[str, str]) -> dict[str, str]:
    if not all(isinstance(part, str) for pair in dict(headers).items() for part in pair):
        raise TypeError("a signing hook gives names and values of headers as text")
    return dict(headers)


def _hook(name: str) -> SigningHook:
    found = [entry for entry in installed(HOOK_GROUP) if entry.name == name]
    if not found:
        raise CredentialMissing(f"no signing hook {name!r} is installed (entry points of group {HOOK_GROUP})")
    hook: SigningHook = found[0].load()
    return hook
