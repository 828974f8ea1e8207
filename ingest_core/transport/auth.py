"""Authorising a request: what each kind of credential adds to it, right before it is sent."""

import base64
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any

from ingest_core.execution.ports import AnswerLost, CredentialMissing, NotSent, Request
from ingest_core.model.codes import AuthLocation, AuthType
from ingest_core.model.spec import AuthSpec
from ingest_core.transport.credentials import Secrets

HOOK_GROUP = "patra.signing_hooks"
EXPIRY_MARGIN_SECONDS = 60
MASK = "***"
DEFAULT_TOKEN_SECONDS = 300


@dataclass(frozen=True)
class Grant:
    """What a credential adds to a request; `secrets` must appear nowhere else."""

    headers: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    body: dict[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = field(default=(), repr=False)


ANONYMOUS = Grant()

SigningHook = Callable[[Request, Callable[[str], str]], Mapping[str, str]]
"""Gets the request and a way to read secrets; gives the headers to add."""

TokenSource = Callable[[AuthSpec, str, str], dict[str, Any]]
"""Asks a token URL with client id and secret; the answer's JSON."""


def installed_hooks() -> frozenset[str]:
    """The signing hooks there are."""
    return frozenset(entry.name for entry in entry_points(group=HOOK_GROUP))


class Authorizer:
    """Turns references into what a request carries; tokens are kept until shortly before they expire."""

    def __init__(self, secrets: Secrets, fetch_token: TokenSource, clock: Callable[[], float] = time.monotonic) -> None:
        self._secrets = secrets
        self._fetch_token = fetch_token
        self._clock = clock
        self._tokens: dict[AuthSpec, tuple[str, float]] = {}

    def knows(self, auth: AuthSpec) -> bool:
        """Whether a request will carry a credential."""
        if auth.type == AuthType.NONE:
            return False
        return not auth.optional or self._secrets.find(auth.credential_ref) is not None

    def grant(self, request: Request) -> Grant:
        """What to add; CredentialMissing when the secret is not there and is not optional."""
        auth = request.auth
        if not self.knows(auth):
            return ANONYMOUS
        grants: dict[AuthType, Callable[[AuthSpec, Request], Grant]] = {
            AuthType.API_KEY: self._api_key,
            AuthType.BEARER: self._bearer,
            AuthType.BASIC: self._basic,
            AuthType.OAUTH2: self._oauth2,
            AuthType.CUSTOM: self._custom,
        }
        return grants[auth.type](auth, request)

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
        place = {auth.name: secret}
        if auth.location == AuthLocation.QUERY:
            return Grant(query=place, secrets=(secret,))
        if auth.location == AuthLocation.BODY:
            return Grant(body=place, secrets=(secret,))
        return Grant(headers=place, secrets=(secret,))

    def _bearer(self, auth: AuthSpec, _request: Request) -> Grant:
        assert auth.credential_ref is not None
        return _bearing(self._secrets.read(auth.credential_ref))

    def _basic(self, auth: AuthSpec, _request: Request) -> Grant:
        assert auth.credential_ref is not None
        assert auth.username_ref is not None
        password = self._secrets.read(auth.credential_ref)
        pair = f"{self._secrets.read(auth.username_ref)}:{password}"
        encoded = base64.b64encode(pair.encode()).decode()
        return Grant(headers={"Authorization": f"Basic {encoded}"}, secrets=(password, encoded))

    def _oauth2(self, auth: AuthSpec, _request: Request) -> Grant:
        token, until = self._tokens.get(auth, ("", 0.0))
        if self._clock() >= until:
            token, until = self._new_token(auth)
            self._tokens[auth] = (token, until)
        return _bearing(token)

    def _new_token(self, auth: AuthSpec) -> tuple[str, float]:
        assert auth.credential_ref is not None
        assert auth.username_ref is not None
        client, secret = self._secrets.read(auth.username_ref), self._secrets.read(auth.credential_ref)
        answer = self._fetch_token(auth, client, secret)
        token = answer.get("access_token")
        if not isinstance(token, str) or not token:
            raise CredentialMissing(f"{auth.token_url} gave no access_token; check the client's id and secret")
        lifetime = answer.get("expires_in", DEFAULT_TOKEN_SECONDS)
        seconds = float(lifetime) if isinstance(lifetime, int | float | str) else float(DEFAULT_TOKEN_SECONDS)
        return token, self._clock() + max(seconds - EXPIRY_MARGIN_SECONDS, seconds / 2)

    def _custom(self, auth: AuthSpec, request: Request) -> Grant:
        read: list[str] = []

        def secret(reference: str) -> str:
            read.append(self._secrets.read(reference))
            return read[-1]

        hook = _hook(auth.signing_hook or "")
        try:
            headers = dict(hook(request, secret))
        except (CredentialMissing, NotSent, AnswerLost):
            raise
        except Exception as error:
            raise CredentialMissing(f"the signing hook {auth.signing_hook!r} failed: {type(error).__name__}") from error
        return Grant(headers=headers, secrets=(*read, *headers.values()))


def _bearing(token: str) -> Grant:
    return Grant(headers={"Authorization": f"Bearer {token}"}, secrets=(token,))


def _hook(name: str) -> SigningHook:
    found = [entry for entry in entry_points(group=HOOK_GROUP) if entry.name == name]
    if not found:
        raise CredentialMissing(f"no signing hook {name!r} is installed (entry points of group {HOOK_GROUP})")
    hook: SigningHook = found[0].load()
    return hook
