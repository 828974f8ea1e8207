"""No secret is told: not in evidence, errors, previews or addresses, even where the provider repeats it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from ingest_core.execution.evidence import request_digest, response_digest
from ingest_core.model.codes import AuthType, BodyFormat
from ingest_core.model.spec import AuthSpec
from ingest_core.settings import load_settings
from ingest_core.transport.auth import Authorizer, forms_of
from ingest_core.transport.credentials import Secrets
from ingest_core.transport.http import HttpUpstream
from tests.support.credentials import (
    DEMO_NAMES,
    KEY,
    KINDS,
    PAIR,
    TOKEN,
    failure,
    fetch,
    first_request,
    secrets_in,
    set_credentials,
    spec_with,
)
from tests.support.echo_server import EchoServer, Reply, Seen, echo_server, redirect_to, reply_json, request_to

BEARER = AuthSpec(type=AuthType.BEARER, credential_ref="env:DEMO_KEY")


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    set_credentials(monkeypatch)


@pytest.fixture
def server() -> Iterator[EchoServer]:
    with echo_server() as running:
        running.say("/token", reply_json({"access_token": TOKEN}))
        yield running


@pytest.fixture
def upstream() -> Iterator[HttpUpstream]:
    sender = HttpUpstream("patra-test", credential_names=DEMO_NAMES, allow_private_addresses=True)
    yield sender
    sender.close()


def echo_of(seen: Seen) -> dict[str, Any]:
    carried = {name: value for name, value in seen.headers.items() if name in ("authorization", "x-api-key")}
    return {"asked": seen.target[-80:], "carried": carried, "body": seen.body.decode()[-80:]}


def page_with_echo(seen: Seen) -> Reply:
    return reply_json({"echo": echo_of(seen), "message": {"items": [], "total-results": 0}})


@pytest.mark.parametrize("kind", KINDS)
def test_evidence_holds_no_secret_even_where_the_provider_repeats_it(
    upstream: HttpUpstream, server: EchoServer, kind: str
) -> None:
    server.answer = page_with_echo
    spec = spec_with(server, KINDS[kind])
    fetched = fetch(upstream, spec)
    evidence = json.dumps([request_digest(first_request(spec), fetched.response), response_digest(fetched)])

    assert secrets_in(fetched.response.body.decode()), "the provider did repeat it"
    assert secrets_in(evidence) == []
    assert "***" in evidence


ERRORS = {"a refusal": 403, "a bad request": 400, "a passing fault": 503, "a broken page": 200}


@pytest.mark.parametrize("status", ERRORS.values(), ids=ERRORS)
@pytest.mark.parametrize("kind", KINDS)
def test_an_error_holds_no_secret_even_where_the_provider_repeats_it(
    upstream: HttpUpstream, server: EchoServer, kind: str, status: int
) -> None:
    server.answer = lambda seen: Reply(
        status, f"no: {json.dumps(echo_of(seen)['carried'])} {seen.body.decode()}".encode()
    )
    if kind == "query":
        server.answer = lambda seen: Reply(status, f"no: {seen.query['api_key']} {seen.target[-30:]}".encode())
    error = failure(upstream, spec_with(server, KINDS[kind]))

    assert "***" in str(error)
    assert secrets_in(json.dumps(error.json())) == []


def test_a_response_shows_no_secret(upstream: HttpUpstream, server: EchoServer) -> None:
    response = upstream.send(request_to(server.url, auth=BEARER))

    assert KEY in response.secrets
    assert secrets_in(repr(response)) == []


def test_a_response_shows_no_secret_the_provider_repeats(upstream: HttpUpstream, server: EchoServer) -> None:
    server.answer = page_with_echo

    assert secrets_in(repr(upstream.send(request_to(server.url, auth=BEARER)))) == []


def test_a_secret_at_the_edge_of_an_excerpt_is_not_told_in_part(upstream: HttpUpstream, server: EchoServer) -> None:
    server.answer = lambda _seen: Reply(400, b"x" * 185 + b" " + KEY.encode() + b" was used")

    assert secrets_in(str(failure(upstream, spec_with(server, KINDS["bearer"])))) == []


def test_a_secret_is_known_in_every_way_it_may_be_written() -> None:
    written = forms_of('a b/c"&', "")

    assert {'a b/c"&', "a%20b%2Fc%22%26", "a+b%2Fc%22%26", "a%20b/c%22%26", "a b/c&quot;&amp;"} < set(written)
    assert {'a b\\/c"&', 'a b/c\\"&', 'a b/c\\\\\\"&'} < set(written)
    assert list(written) == sorted(written, key=lambda form: (-len(form), form)), "the longest first"
    assert "" not in written


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "oauth2"])
def test_what_is_added_to_a_request_is_not_shown(kind: str) -> None:
    auth = AuthSpec.model_validate({"credential_ref": "env:DEMO_KEY", **KINDS[kind]})
    body_format = BodyFormat.JSON if kind == "body" else None
    request = request_to("https://api.example.org", auth=auth, body_format=body_format)
    grant = Authorizer(Secrets(None, DEMO_NAMES), lambda *_: {}).grant(request)

    assert KEY in grant.secrets
    assert secrets_in(repr(grant)) == []


def test_the_address_an_answer_came_from_holds_no_secret(upstream: HttpUpstream, server: EchoServer) -> None:
    server.say("/works", redirect_to("/by/k3y%2Bof%2F%22the%22%3Dtest?key=1"))
    response = upstream.send(request_to(server.url, auth=BEARER, max_redirects=1))

    assert response.url == f"{server.url}/by/***"


def test_the_password_of_a_host_named_instead_is_not_shown(server: EchoServer) -> None:
    named = server.url.replace("http://", "http://me:pa55word@")
    settings = load_settings({"PATRA_UPSTREAM_DEMO": named})
    upstream = HttpUpstream(settings.user_agent, settings.upstream_for, credential_names=DEMO_NAMES)
    request = request_to("https://api.example.org")
    response, preview = upstream.send(request), upstream.preview(request)
    upstream.close()

    assert server.seen[0].headers["authorization"].startswith("Basic "), "it is used"
    assert (response.url, preview["url"]) == (f"{server.url}/works", f"{server.url}/works")


# Where the next page is, as the page says: it is written down.


def next_place(upstream: HttpUpstream, server: EchoServer, kind: str, said: str) -> str | None:
    server.say("/works", reply_json({"message": {"items": [], "total-results": 0}, "next": said}))
    paging = {"type": "URL", "next_token_path": None, "next_url_path": "$.next", "initial_token": None}
    return fetch(upstream, spec_with(server, KINDS[kind], pagination=paging)).page.next_token


def test_a_key_the_next_address_repeats_is_taken_out_of_it(upstream: HttpUpstream, server: EchoServer) -> None:
    said = "/works?api_key=k3y%2Bof%2F%22the%22%3Dtest&cursor=2"

    assert next_place(upstream, server, "query", said) == "/works?cursor=2"


@pytest.mark.parametrize("kind", ["bearer", "header"])
def test_a_secret_the_next_address_repeats_under_another_name_is_taken_out_of_it(
    upstream: HttpUpstream, server: EchoServer, kind: str
) -> None:
    said = "/works?access_token=k3y%2Bof%2F%22the%22%3Dtest&cursor=2"

    assert secrets_in(str(next_place(upstream, server, kind, said))) == []


# Looking at a request.


def preview_of(upstream: HttpUpstream, kind: str, **settings: Any) -> dict[str, Any]:
    auth = AuthSpec.model_validate({"credential_ref": "env:DEMO_KEY", **KINDS[kind], **settings})
    body_format = BodyFormat.JSON if kind == "body" else None
    return upstream.preview(request_to("https://api.example.org", auth=auth, query={"q": "x"}, body_format=body_format))


@pytest.mark.parametrize("kind", KINDS)
def test_a_preview_masks_the_credential(upstream: HttpUpstream, kind: str) -> None:
    shown = preview_of(upstream, kind)
    added = {
        "header": shown["headers"].get("x-api-key"),
        "query": shown["url"].removeprefix("https://api.example.org/works?q=x&api_key="),
        "body": (shown["body"] or {}).get("key"),
        "bearer": (shown["headers"].get("authorization") or "").removeprefix("Bearer "),
        "basic": (shown["headers"].get("authorization") or "").removeprefix("Basic "),
        "oauth2": (shown["headers"].get("authorization") or "").removeprefix("Bearer "),
    }

    assert added[kind] == "***"
    assert secrets_in(json.dumps(shown)) == []
    assert shown["method"] == ("POST" if kind == "body" else "GET")


@pytest.mark.parametrize(("reference", "there"), [("env:DEMO_KEY", True), ("env:DEMO_ABSENT", False)])
def test_a_preview_shows_an_optional_credential_only_where_it_is_there(
    upstream: HttpUpstream, reference: str, there: bool
) -> None:
    shown = preview_of(upstream, "query", optional=True, credential_ref=reference)

    assert ("api_key=***" in shown["url"]) == there


def test_a_preview_shows_no_cookie(upstream: HttpUpstream, server: EchoServer) -> None:
    server.say("/works", Reply(headers={"Set-Cookie": "session=s3ssion"}))
    request = request_to(server.url)
    upstream.send(request)

    assert "s3ssion" not in json.dumps(upstream.preview(request))


def test_the_mask_covers_every_secret_of_a_pair(upstream: HttpUpstream, server: EchoServer) -> None:
    auth = AuthSpec(type=AuthType.BASIC, credential_ref="env:DEMO_KEY", username_ref="env:DEMO_USER")
    response = upstream.send(request_to(server.url, auth=auth))

    assert response.clean(f"{KEY} of somebody is {PAIR}") == "*** of *** is ***"
