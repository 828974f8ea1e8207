"""One request, one whole answer, over real sockets."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ingest_core.execution.ports import AnswerLost, NotSent, Request
from ingest_core.execution.request import Caller, render_request
from ingest_core.gate.taxonomy import UpstreamError
from ingest_core.model.codes import AuthType, BodyFormat, ErrorLevel, HttpMethod
from ingest_core.model.errors import BadInput
from ingest_core.model.spec import AuthSpec
from ingest_core.settings import Settings
from ingest_core.transport.http import HttpUpstream
from tests.support.credentials import DEMO_NAMES
from tests.support.echo_server import (
    Certificate,
    EchoServer,
    Reply,
    Seen,
    echo_server,
    forward,
    make_certificate,
    redirect_to,
    reply_json,
    request_to,
)
from tests.support.hostile_server import hostile_server, saying
from tests.support.specs import compile_document, crossref_document, crossref_spec, span

CLOSED_PORT = "http://127.0.0.1:1"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("DEMO_KEY", "k3y-of-the-test")


@pytest.fixture
def server() -> Iterator[EchoServer]:
    with echo_server() as running:
        yield running


@pytest.fixture
def other() -> Iterator[EchoServer]:
    with echo_server() as running:
        yield running


@pytest.fixture
def upstream() -> Iterator[HttpUpstream]:
    sender = HttpUpstream("patra-test", credential_names=DEMO_NAMES, allow_private_addresses=True)
    yield sender
    sender.close()


# What an answer is.


def test_an_answer_comes_whole_with_status_headers_and_address(upstream: HttpUpstream, server: EchoServer) -> None:
    body = gzip.compress(b'{"items": []}')
    server.say("/works", Reply(201, body, {"Content-Encoding": "gzip", "X-Rate-Limit-Limit": "50"}))
    response = upstream.send(request_to(server.url, query={"q": "secret words"}))

    assert (response.status, response.body, response.headers["x-rate-limit-limit"]) == (201, b'{"items": []}', "50")
    assert response.url == f"{server.url}/works", "the query may hold more than evidence should"
    assert 0 < response.elapsed_seconds < 5


def test_a_status_that_is_no_success_is_an_answer(upstream: HttpUpstream, server: EchoServer) -> None:
    server.say("/works", Reply(503, b"busy"))

    assert (upstream.send(request_to(server.url)).status, len(server.seen)) == (503, 1)


def test_a_host_out_of_reach_means_not_sent(upstream: HttpUpstream) -> None:
    with pytest.raises(NotSent, match=r"http://127\.0\.0\.1:1: .*refused"):
        upstream.send(request_to(CLOSED_PORT))


BROKEN = {
    "cut": Reply(body=b'{"ite', cut=True),
    "garbled": Reply(body=b"no gzip", headers={"Content-Encoding": "gzip"}),
}


@pytest.mark.parametrize("reply", BROKEN.values(), ids=BROKEN)
def test_an_answer_that_is_not_whole_is_lost(upstream: HttpUpstream, server: EchoServer, reply: Reply) -> None:
    server.say("/works", reply)
    with pytest.raises(AnswerLost, match=server.url):
        upstream.send(request_to(server.url))


@pytest.mark.parametrize("size", [1000, 1001])
def test_a_body_is_bounded(upstream: HttpUpstream, server: EchoServer, size: int) -> None:
    server.say("/works", Reply(body=gzip.compress(b"x" * size), headers={"Content-Encoding": "gzip"}))
    if size <= 1000:
        assert len(upstream.send(request_to(server.url, max_body_bytes=1000)).body) == size
        return
    with pytest.raises(UpstreamError, match=r"larger than 1000 bytes \(http.max_body_bytes\)") as refused:
        upstream.send(request_to(server.url, max_body_bytes=1000))
    assert (refused.value.code, refused.value.level, refused.value.moved) == ("ANSWER_TOO_LARGE", ErrorLevel.L2, True)


def test_an_answer_that_takes_too_long_is_lost(upstream: HttpUpstream, server: EchoServer) -> None:
    def slow(_seen: Seen) -> Reply:
        server.wait()
        return Reply()

    server.answer = slow
    with pytest.raises(AnswerLost, match="timed out"):
        upstream.send(request_to(server.url, read_timeout_seconds=0.2))


def test_connecting_and_reading_have_limits_of_their_own() -> None:
    limits: list[dict[str, float]] = []

    def keep(request: httpx.Request) -> httpx.Response:
        limits.append(request.extensions["timeout"])
        return httpx.Response(200)

    upstream = HttpUpstream("patra-test", credential_names=DEMO_NAMES, transport=httpx.MockTransport(keep))
    upstream.send(request_to("https://api.example.org", connect_timeout_seconds=1.5, read_timeout_seconds=42.0))
    upstream.close()

    assert (limits[0]["connect"], limits[0]["read"]) == (1.5, 42.0)


# What is sent.


def test_a_form_and_a_json_body_are_written_as_asked(upstream: HttpUpstream, server: EchoServer) -> None:
    upstream.send(request_to(server.url, body={"id": "1,2", "q": "ü&="}, body_format=BodyFormat.FORM))
    upstream.send(request_to(server.url, body={"q": {"deep": ["ü", 1]}}, body_format=BodyFormat.JSON))
    form, document = server.seen

    assert (form.method, form.form) == ("POST", {"id": "1,2", "q": "ü&="})
    assert form.headers["content-type"] == "application/x-www-form-urlencoded"
    assert (document.json, document.headers["content-type"]) == ({"q": {"deep": ["ü", 1]}}, "application/json")


def test_we_say_who_we_are(server: EchoServer) -> None:
    upstream = HttpUpstream(Settings(contact="ops@example.org").user_agent, allow_private_addresses=True)
    upstream.send(request_to(server.url))
    upstream.close()

    assert server.seen[0].headers["user-agent"].startswith("patra-ingest/")
    assert server.seen[0].headers["user-agent"].endswith("(mailto:ops@example.org)")


def rendered(server: EchoServer, contact: str | None, **http: Any) -> Request:
    spec = crossref_spec(http={"base_url": server.url, "allow_plain_http": True, **http})
    return render_request(spec, span("00:00", "06:00"), "*", Caller("c-1", contact))


@pytest.mark.parametrize(
    ("contact", "agent", "mailto"),
    [("ops@example.org", "demo (ops@example.org)", "ops@example.org"), (None, "patra-test", None)],
)
def test_a_source_may_name_the_contact_which_is_left_out_where_there_is_none(
    upstream: HttpUpstream, server: EchoServer, contact: str | None, agent: str, mailto: str | None
) -> None:
    upstream.send(rendered(server, contact, user_agent="demo ({contact})", query={"mailto": "{contact}"}))
    seen = server.seen[0]

    assert (seen.headers["user-agent"], seen.query.get("mailto")) == (agent, mailto)
    assert seen.headers["x-ingest-correlation-id"] == "c-1"


# Redirects.


def test_no_redirect_is_followed_unless_the_source_allows_it(upstream: HttpUpstream, server: EchoServer) -> None:
    server.say("/works", redirect_to("/new"))

    assert upstream.send(request_to(server.url)).status == 302
    assert [one.path for one in server.seen] == ["/works"]


@pytest.mark.parametrize(("allowed", "status", "asked"), [(1, 307, 2), (2, 200, 3), (3, 200, 3)])
def test_as_many_redirects_are_followed_as_are_allowed(
    upstream: HttpUpstream, server: EchoServer, allowed: int, status: int, asked: int
) -> None:
    server.say("/works", redirect_to("/a?x=1"))
    server.say("/a", redirect_to(f"{server.url}/b", 307))
    auth = AuthSpec(type=AuthType.BEARER, credential_ref="env:DEMO_KEY")
    response = upstream.send(request_to(server.url, auth=auth, max_redirects=allowed))

    assert (response.status, len(server.seen)) == (status, asked)
    assert response.url == f"{server.url}{server.seen[-1].path}"
    assert {one.headers["authorization"] for one in server.seen} == {"Bearer k3y-of-the-test"}


def test_a_redirect_of_a_post_is_not_followed(upstream: HttpUpstream, server: EchoServer) -> None:
    server.say("/works", redirect_to("/new", 303))
    request = request_to(server.url, body={}, body_format=BodyFormat.FORM, max_redirects=3)

    assert (request.http.method, upstream.send(request).status) == (HttpMethod.POST, 303)
    assert len(server.seen) == 1


def test_a_redirect_to_another_host_is_refused_for_good(
    upstream: HttpUpstream, server: EchoServer, other: EchoServer
) -> None:
    server.say("/works", redirect_to(f"{other.url}/works?api_key=x"))
    with pytest.raises(UpstreamError) as refused:
        upstream.send(request_to(server.url, max_redirects=3))

    assert (refused.value.level, refused.value.code) == (ErrorLevel.L4, "REDIRECTED_ELSEWHERE")
    assert str(refused.value) == f"{server.url} redirects elsewhere, to {other.url}"
    assert (len(server.seen), other.seen) == (1, [])


def test_a_source_cannot_allow_more_than_three_redirects() -> None:
    assert compile_document(crossref_document(http={"max_redirects": 3})).http.max_redirects == 3
    with pytest.raises(BadInput, match="max_redirects"):
        compile_document(crossref_document(http={"max_redirects": 4}))


# Cookies.


def test_cookies_are_never_sent_back_nor_shown(upstream: HttpUpstream) -> None:
    cookies = b"".join(f"Set-Cookie: c{number}=v{number}; Path=/\r\n".encode() for number in range(1000))
    with hostile_server(
        saying(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n" + cookies + b"\r\n{}")
    ) as hostile:
        answers = [upstream.send(request_to(hostile.url)) for _ in range(3)]

    assert not any("set-cookie" in answer.headers or "cookie" in answer.headers for answer in answers)
    assert len(hostile.asked) == 3
    assert not any(b"cookie" in head.lower() for head in hostile.asked)


def test_a_redirect_that_sets_a_cookie_gets_none(upstream: HttpUpstream, server: EchoServer) -> None:
    server.say("/works", Reply(302, b"", {"Location": "/new", "Set-Cookie": "session=1; Path=/"}))
    upstream.send(request_to(server.url, max_redirects=1))

    assert [one.path for one in server.seen] == ["/works", "/new"]
    assert not any("cookie" in one.headers for one in server.seen)


# How connections are made.


def test_a_sources_proxy_is_used(upstream: HttpUpstream, server: EchoServer, other: EchoServer) -> None:
    server.say("/works", reply_json({"from": "the provider"}))
    other.answer = forward
    response = upstream.send(request_to(server.url, query={"q": "x"}, proxy=other.url))

    assert (response.body, other.seen[0].target) == (b'{"from": "the provider"}', f"{server.url}/works?q=x")
    assert server.seen[0].target == "/works?q=x"


def test_without_a_proxy_nothing_goes_through_one(
    upstream: HttpUpstream, server: EchoServer, other: EchoServer
) -> None:
    upstream.send(request_to(server.url, proxy=other.url))
    upstream.send(request_to(server.url))

    assert (len(other.seen), len(server.seen)) == (1, 1)


def test_a_token_is_asked_for_through_the_sources_proxy(
    upstream: HttpUpstream, server: EchoServer, other: EchoServer
) -> None:
    other.say("/token", reply_json({"access_token": "t0ken"}))
    auth = AuthSpec(
        type=AuthType.OAUTH2,
        credential_ref="env:DEMO_KEY",
        username_ref="env:DEMO_KEY",
        token_url=f"{server.url}/token",
    )
    upstream.send(request_to(server.url, auth=auth, proxy=other.url))

    assert ([one.path for one in other.seen], server.seen) == (["/token", "/works"], [])


def test_a_proxy_that_refuses_means_not_sent(upstream: HttpUpstream, other: EchoServer) -> None:
    other.answer = lambda _seen: Reply(407)
    with pytest.raises(NotSent, match=r"https://api\.example\.org: 407"):
        upstream.send(request_to("https://api.example.org", proxy=other.url))
    assert [(one.method, one.target) for one in other.seen] == [("CONNECT", "api.example.org:443")]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    made = make_certificate(tmp_path_factory.mktemp("tls"))
    if made is None:
        pytest.skip("no openssl binary to make a certificate with")
    return made


@pytest.fixture
def secure(certificate: Certificate) -> Iterator[EchoServer]:
    with echo_server(certificate) as running:
        yield running


def test_a_certificate_nobody_vouches_for_is_refused(upstream: HttpUpstream, secure: EchoServer) -> None:
    with pytest.raises(NotSent, match="CERTIFICATE_VERIFY_FAILED"):
        upstream.send(request_to(secure.url))
    assert secure.seen == []


def test_a_certificate_of_the_sources_own_bundle_is_trusted(
    upstream: HttpUpstream, secure: EchoServer, certificate: Certificate
) -> None:
    assert upstream.send(request_to(secure.url, ca_bundle=str(certificate.certificate))).status == 200
    with pytest.raises(NotSent, match="CERTIFICATE_VERIFY_FAILED"):
        upstream.send(request_to(secure.url))


def test_a_source_may_ask_not_to_check_certificates(upstream: HttpUpstream, secure: EchoServer) -> None:
    assert upstream.send(request_to(secure.url, verify_tls=False)).status == 200


def test_a_bundle_that_cannot_be_read_is_named(upstream: HttpUpstream, tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("")
    for name in ("missing.pem", "empty.pem"):
        with pytest.raises(BadInput, match=name) as refused:
            upstream.send(request_to("https://127.0.0.1:1", ca_bundle=str(tmp_path / name)))
        assert refused.value.code == "CA_BUNDLE_UNREADABLE"
