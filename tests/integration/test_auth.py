"""What each kind of credential adds to a request, seen by a real server."""

import base64
from collections.abc import Iterator
from datetime import timedelta

import pytest

from ingest_core.execution.fetch import Fetcher
from ingest_core.execution.ports import CredentialMissing, NotSent, Request
from ingest_core.execution.request import Caller, render_request
from ingest_core.gate.chain import Gate
from ingest_core.gate.ports import Asker, GateDecision, Permit
from ingest_core.gate.taxonomy import UpstreamError
from ingest_core.inspection.local_gate import LocalGate
from ingest_core.model.codes import AuthLocation, AuthType, BodyFormat, ErrorLevel
from ingest_core.model.spec import AuthSpec
from ingest_core.transport.auth import DEFAULT_TOKEN_SECONDS, EXPIRY_MARGIN_SECONDS
from ingest_core.transport.http import HttpUpstream
from tests.support.credentials import DEMO_NAMES
from tests.support.echo_server import EchoServer, Reply, Seen, echo_server, reply_json, request_to
from tests.support.specs import crossref_spec, span

KEY = "k3y-of-the-test"
PAGE = b'{"message": {"items": [], "total-results": 0}}'


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("DEMO_KEY", KEY)
    monkeypatch.setenv("DEMO_USER", "somebody")
    monkeypatch.delenv("DEMO_ABSENT", raising=False)


@pytest.fixture
def server() -> Iterator[EchoServer]:
    with echo_server() as running:
        yield running


class ManualClock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def upstream(clock: ManualClock) -> Iterator[HttpUpstream]:
    sender = HttpUpstream("patra-test", credential_names=DEMO_NAMES, clock=clock, allow_private_addresses=True)
    yield sender
    sender.close()


def auth_of(kind: AuthType, reference: str | None = "env:DEMO_KEY", **settings: object) -> AuthSpec:
    return AuthSpec.model_validate({"type": kind, "credential_ref": reference, **settings})


def api_key(location: AuthLocation, name: str, *, optional: bool = False, ref: str = "env:DEMO_KEY") -> AuthSpec:
    return auth_of(AuthType.API_KEY, ref, location=location, name=name, optional=optional)


def asked_with(upstream: HttpUpstream, server: EchoServer, request: Request) -> Seen:
    upstream.send(request)
    return server.seen[-1]


def test_without_authentication_nothing_is_added(upstream: HttpUpstream, server: EchoServer) -> None:
    seen = asked_with(upstream, server, request_to(server.url, query={"rows": "2"}))

    assert (seen.method, seen.target, seen.body) == ("GET", "/works?rows=2", b"")
    assert not {"authorization", "cookie"} & seen.headers.keys()


def test_an_api_key_goes_in_the_header_that_is_named(upstream: HttpUpstream, server: EchoServer) -> None:
    auth = api_key(AuthLocation.HEADER, "X-Api-Key")
    seen = asked_with(upstream, server, request_to(server.url, auth=auth))

    assert (seen.headers["x-api-key"], seen.target) == (KEY, "/works")


def test_an_api_key_goes_in_the_query_beside_the_parameters(upstream: HttpUpstream, server: EchoServer) -> None:
    auth = api_key(AuthLocation.QUERY, "api_key")
    seen = asked_with(upstream, server, request_to(server.url, auth=auth, query={"q": "a&b=c"}))

    assert seen.query == {"q": "a&b=c", "api_key": KEY}


@pytest.mark.parametrize("body_format", list(BodyFormat))
def test_an_api_key_goes_in_the_body_beside_the_fields(
    upstream: HttpUpstream, server: EchoServer, body_format: BodyFormat
) -> None:
    auth = api_key(AuthLocation.BODY, "key")
    seen = asked_with(upstream, server, request_to(server.url, auth=auth, body={"id": "1,2"}, body_format=body_format))

    fields = seen.form if body_format == BodyFormat.FORM else seen.json
    assert (fields, seen.target) == ({"id": "1,2", "key": KEY}, "/works")


def test_a_credential_that_belongs_in_a_body_is_never_left_out_of_a_get(
    upstream: HttpUpstream, server: EchoServer
) -> None:
    with pytest.raises(CredentialMissing, match=r"env:DEMO_KEY.*a GET has none"):
        upstream.send(request_to(server.url, auth=api_key(AuthLocation.BODY, "key")))
    assert server.seen == []


def test_a_bearer_token_is_sent(upstream: HttpUpstream, server: EchoServer) -> None:
    seen = asked_with(upstream, server, request_to(server.url, auth=auth_of(AuthType.BEARER)))

    assert seen.headers["authorization"] == f"Bearer {KEY}"


def test_user_and_password_are_sent_as_basic(
    upstream: HttpUpstream, server: EchoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEMO_KEY", "pä:ss")
    auth = auth_of(AuthType.BASIC, username_ref="env:DEMO_USER")
    kind, _, pair = (
        asked_with(upstream, server, request_to(server.url, auth=auth)).headers["authorization"].partition(" ")
    )

    assert (kind, base64.b64decode(pair).decode()) == ("Basic", "somebody:pä:ss")


def test_half_a_pair_is_no_credential(upstream: HttpUpstream, server: EchoServer) -> None:
    auth = auth_of(AuthType.BASIC, username_ref="env:DEMO_ABSENT")
    with pytest.raises(CredentialMissing, match="env:DEMO_ABSENT"):
        upstream.send(request_to(server.url, auth=auth))
    assert server.seen == []


# A credential that may be absent.


@pytest.mark.parametrize("value", [None, "", "\n"], ids=["unset", "empty", "a line break"])
def test_an_optional_credential_that_is_absent_means_asking_anonymously(
    upstream: HttpUpstream, server: EchoServer, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    if value is not None:
        monkeypatch.setenv("DEMO_ABSENT", value)
    auth = api_key(AuthLocation.QUERY, "api_key", optional=True, ref="env:DEMO_ABSENT")
    seen = asked_with(upstream, server, request_to(server.url, auth=auth))

    assert (seen.query, upstream.knows(auth)) == ({}, False)


def test_an_optional_credential_that_is_there_is_sent(upstream: HttpUpstream, server: EchoServer) -> None:
    auth = api_key(AuthLocation.QUERY, "api_key", optional=True)
    seen = asked_with(upstream, server, request_to(server.url, auth=auth))

    assert (seen.query, upstream.knows(auth)) == ({"api_key": KEY}, True)


def test_nobody_is_known_without_authentication(upstream: HttpUpstream) -> None:
    assert not upstream.knows(auth_of(AuthType.NONE, None))
    assert upstream.knows(auth_of(AuthType.BEARER))


class RecordingGate(LocalGate):
    """A gate that keeps the rates it was asked for and lets everybody through."""

    def __init__(self) -> None:
        super().__init__()
        self.rates: list[float] = []

    def acquire(self, gate: Gate, asker: Asker, deadline: timedelta) -> Permit:
        """No wait."""
        self.rates.append(gate.rate.requests_per_second)
        return Permit(GateDecision.ALLOW)


def fetch(upstream: HttpUpstream, base_url: str, auth: AuthSpec, gate: LocalGate | None = None) -> None:
    """One page of a source that asks with this credential."""
    spec = crossref_spec(
        http={"base_url": base_url, "allow_plain_http": True},
        rate={"requests_per_second": 3.0, "with_credential_per_second": 10.0},
        retry={"max_attempts": 2, "initial_seconds": 0.0, "max_seconds": 0.0, "jitter": 0.0},
        auth=auth.model_dump(mode="json"),
    )
    request = render_request(spec, span("00:00", "06:00"), "*", Caller("c"))
    Fetcher(spec, gate or RecordingGate(), upstream).fetch(request)


@pytest.mark.parametrize(("reference", "rate"), [("env:DEMO_ABSENT", 3.0), ("env:DEMO_KEY", 10.0)])
def test_who_is_known_by_a_credential_may_ask_faster(
    upstream: HttpUpstream, server: EchoServer, reference: str, rate: float
) -> None:
    server.say("/works", Reply(body=PAGE))
    gate = RecordingGate()
    fetch(upstream, server.url, api_key(AuthLocation.QUERY, "api_key", optional=True, ref=reference), gate)

    assert gate.rates == [rate]


# OAuth2, client credentials.

GRANTED = {"access_token": "t0ken-1", "token_type": "Bearer", "expires_in": 3600}
AGAIN = {**GRANTED, "access_token": "t0ken-2"}


def oauth2(server: EchoServer, *, scope: str | None = None, optional: bool = False) -> AuthSpec:
    return AuthSpec(
        type=AuthType.OAUTH2,
        credential_ref="env:DEMO_KEY",
        username_ref="env:DEMO_USER",
        token_url=f"{server.url}/token",
        scope=scope,
        optional=optional,
    )


def test_a_token_is_asked_for_with_the_clients_id_and_secret(
    upstream: HttpUpstream, server: EchoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEMO_KEY", "s+cret/1")
    server.say("/token", reply_json(GRANTED))
    seen = asked_with(upstream, server, request_to(server.url, auth=oauth2(server, scope="read write")))

    asked = server.at("/token")[0]
    pair = base64.b64decode(asked.headers["authorization"].removeprefix("Basic ")).decode()
    assert (asked.method, pair) == ("POST", "somebody:s%2Bcret%2F1"), "each is form-encoded first (RFC 6749, 2.3.1)"
    assert asked.form == {"grant_type": "client_credentials", "scope": "read write"}
    assert seen.headers["authorization"] == "Bearer t0ken-1"


def test_without_a_scope_none_is_sent(upstream: HttpUpstream, server: EchoServer) -> None:
    server.say("/token", reply_json(GRANTED))
    upstream.send(request_to(server.url, auth=oauth2(server)))

    assert server.at("/token")[0].form == {"grant_type": "client_credentials"}


def test_a_token_serves_until_a_minute_before_it_expires(
    upstream: HttpUpstream, server: EchoServer, clock: ManualClock
) -> None:
    server.say("/token", reply_json(GRANTED), reply_json(AGAIN))
    request = request_to(server.url, auth=oauth2(server))
    upstream.send(request)
    clock.now = 3600 - EXPIRY_MARGIN_SECONDS - 1
    assert asked_with(upstream, server, request).headers["authorization"] == "Bearer t0ken-1"
    clock.now += 1
    assert asked_with(upstream, server, request).headers["authorization"] == "Bearer t0ken-2"

    assert len(server.at("/token")) == 2


@pytest.mark.parametrize(
    ("stated", "served"),
    [(40, 20.0), ("3600", 3540.0), (None, DEFAULT_TOKEN_SECONDS - 60), ("soon", 240.0), (float("nan"), 240.0)],
    ids=str,
)
def test_a_lifetime_that_is_short_or_not_said_is_made_the_best_of(
    upstream: HttpUpstream, server: EchoServer, clock: ManualClock, stated: object, served: float
) -> None:
    server.say("/token", reply_json({**GRANTED, "expires_in": stated}))
    request = request_to(server.url, auth=oauth2(server))
    upstream.send(request)
    clock.now = served - 1
    upstream.send(request)
    assert len(server.at("/token")) == 1
    clock.now = served
    upstream.send(request)
    assert len(server.at("/token")) == 2


def test_sources_with_different_scopes_have_their_own_tokens(upstream: HttpUpstream, server: EchoServer) -> None:
    server.say("/token", reply_json(GRANTED), reply_json(AGAIN))
    tokens = [
        asked_with(upstream, server, request_to(server.url, auth=oauth2(server, scope=scope))).headers["authorization"]
        for scope in ("a", "b", "a")
    ]

    assert tokens == ["Bearer t0ken-1", "Bearer t0ken-2", "Bearer t0ken-1"]


def test_a_token_the_provider_refuses_is_renewed_once(upstream: HttpUpstream, server: EchoServer) -> None:
    server.say("/token", reply_json(GRANTED), reply_json(AGAIN))
    server.say("/works", Reply(401), Reply(200))
    response = upstream.send(request_to(server.url, auth=oauth2(server)))

    assert response.status == 200
    assert [one.headers["authorization"] for one in server.at("/works")] == ["Bearer t0ken-1", "Bearer t0ken-2"]


def test_a_provider_that_refuses_every_token_is_not_asked_for_ever(upstream: HttpUpstream, server: EchoServer) -> None:
    server.say("/token", reply_json(GRANTED))
    server.say("/works", Reply(401))
    with pytest.raises(UpstreamError) as failed:
        fetch(upstream, server.url, oauth2(server))

    assert (failed.value.level, failed.value.code) == (ErrorLevel.L4, "HTTP_401")
    assert (len(server.at("/works")), len(server.at("/token"))) == (2, 2)


def test_a_refused_key_that_is_no_token_is_not_sent_again(upstream: HttpUpstream, server: EchoServer) -> None:
    server.say("/works", Reply(401))

    assert upstream.send(request_to(server.url, auth=auth_of(AuthType.BEARER))).status == 401
    assert len(server.seen) == 1


REFUSALS = {
    "refused": reply_json({"error": "invalid_client", "error_description": KEY}, 401),
    "a bad request": reply_json({"error": "invalid_scope"}, 400),
    "no token": reply_json({"token_type": "Bearer"}),
    "an empty token": reply_json({"access_token": ""}),
    "no object": reply_json(["t0ken"]),
    "no JSON": Reply(body=b"<html>"),
    "redirected": Reply(302, b"", {"Location": "/works"}),
}


@pytest.mark.parametrize("reply", REFUSALS.values(), ids=REFUSALS)
@pytest.mark.parametrize("optional", [False, True], ids=["required", "optional"])
def test_without_a_token_nobody_asks_anonymously(
    upstream: HttpUpstream, server: EchoServer, reply: Reply, optional: bool
) -> None:
    server.say("/token", reply)
    with pytest.raises(UpstreamError) as failed:
        fetch(upstream, server.url, oauth2(server, optional=optional))

    assert (failed.value.level, failed.value.code) == (ErrorLevel.L4, "CREDENTIAL_MISSING")
    assert f"{server.url}/token" in str(failed.value)
    assert KEY not in str(failed.value)
    assert (server.at("/works"), len(server.at("/token"))) == ([], 1)


PASSING = {"busy": Reply(503), "too many": Reply(429), "cut": Reply(cut=True)}


@pytest.mark.parametrize("reply", PASSING.values(), ids=PASSING)
def test_a_tokens_host_that_fails_for_a_moment_is_asked_again(
    upstream: HttpUpstream, server: EchoServer, reply: Reply
) -> None:
    server.say("/token", reply, reply, reply_json(GRANTED))
    server.say("/works", Reply(body=PAGE))
    with pytest.raises(NotSent):  # so that even a scroll is asked again
        upstream.send(request_to(server.url, auth=oauth2(server)))
    fetch(upstream, server.url, oauth2(server))

    assert [one.path for one in server.seen] == ["/token", "/token", "/token", "/works"]


def test_a_tokens_host_out_of_reach_means_not_sent(upstream: HttpUpstream, server: EchoServer) -> None:
    auth = oauth2(server).model_copy(update={"token_url": "http://127.0.0.1:1/token"})
    with pytest.raises(NotSent, match=r"127\.0\.0\.1:1"):
        upstream.send(request_to(server.url, auth=auth))
    assert server.seen == []
