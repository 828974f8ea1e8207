"""Which addresses are asked: public ones, unless the operator named the host or allows all."""

import socket
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest_core.execution.ports import AnswerLost, NotSent
from ingest_core.gate.taxonomy import UpstreamError
from ingest_core.model.codes import AuthType, ErrorLevel
from ingest_core.model.errors import BadInput
from ingest_core.model.spec import AuthSpec
from ingest_core.settings import load_settings
from ingest_core.transport.addresses import is_private_literal, is_public
from ingest_core.transport.http import HttpUpstream
from tests.support.credentials import DEMO_NAMES
from tests.support.echo_server import EchoServer, echo_server, forward, make_certificate, request_to

PRIVATE = [
    "127.0.0.1", "127.255.0.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254",
    "100.64.0.1", "192.0.2.1", "198.18.0.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
    "::", "::1", "fe80::1", "fe80::1%lo", "fc00::1", "fd12:3456::1", "ff02::1", "2001:db8::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "2002:7f00:1::", "2002:a9fe:a9fe::1",
    "64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::7f00:1", "::127.0.0.1", "::ffff:0:127.0.0.1", "fec0::1",
]  # fmt: skip
PUBLIC = ["8.8.8.8", "93.184.216.34", "172.32.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_that_is_not_of_the_public_internet(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_an_address_of_the_public_internet(address: str) -> None:
    assert is_public(address)


@given(st.ip_addresses(v=4))
def test_an_ipv6_address_is_no_way_around_an_ipv4_one(address: Any) -> None:
    for written in (f"::ffff:{address}", f"64:ff9b::{address}"):
        assert not is_public(written) or is_public(str(address))


@pytest.mark.parametrize(
    ("host", "private"),
    [
        ("localhost", True),
        ("LOCALHOST.", True),
        ("a.localhost", True),
        ("127.0.0.1", True),
        ("::1", True),
        ("127.1", True),
        ("0x7f000001", True),
        ("2130706433", True),
        ("0177.0.0.1", True),
        ("134744072", False),
        ("é.example.org", False),
        ("api.example.org", False),
        ("8.8.8.8", False),
        ("localhost.example.org", False),
    ],
)
def test_a_host_that_is_written_as_a_private_address(host: str, private: bool) -> None:
    assert is_private_literal(host) is private


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
def upstream() -> Iterator[HttpUpstream]:
    sender = HttpUpstream("patra-test", credential_names=DEMO_NAMES)
    yield sender
    sender.close()


class Names:
    """A resolver that answers as told; an answer may differ each time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self._real = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", self.resolve)

    def resolve(self, host: str, port: int, *more: Any, **named: Any) -> list[Any]:
        """The next answer for a name; an address is itself."""
        if not host.endswith(".example.org"):
            return list(self._real(host, port, *more, **named))
        self.asked.append(host)
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]


def refusal(upstream: HttpUpstream, base_url: str, **settings: Any) -> UpstreamError:
    with pytest.raises(UpstreamError) as refused:
        upstream.send(request_to(base_url, **settings))
    assert (refused.value.code, refused.value.level, refused.value.moved) == ("PRIVATE_ADDRESS", ErrorLevel.L4, False)
    return refused.value


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]"])
def test_a_source_file_cannot_lead_to_this_machine(upstream: HttpUpstream, server: EchoServer, host: str) -> None:
    error = refusal(upstream, server.url.replace("127.0.0.1", host))

    assert "PATRA_ALLOW_PRIVATE_ADDRESSES" in str(error)
    assert server.seen == []


def test_a_name_that_resolves_to_a_private_address_is_refused(
    upstream: HttpUpstream, server: EchoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    Names(monkeypatch, ["127.0.0.1"])

    assert "rebind.example.org, at 127.0.0.1," in str(
        refusal(upstream, server.url.replace("127.0.0.1", "rebind.example.org"))
    )
    assert server.seen == []


def test_the_address_that_was_checked_is_the_one_that_is_asked(
    upstream: HttpUpstream, server: EchoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that is public when it is checked, and this machine when it is resolved again, leads nowhere."""
    names = Names(monkeypatch, ["192.0.2.7"], ["127.0.0.1"])
    monkeypatch.setattr("ingest_core.transport.addresses.is_public", lambda address: address == "192.0.2.7")
    with pytest.raises((NotSent, AnswerLost)):
        upstream.send(request_to(server.url.replace("127.0.0.1", "rebind.example.org"), connect_timeout_seconds=0.1))

    assert (names.asked, server.seen) == (["rebind.example.org"], [])


def test_of_several_addresses_only_the_public_ones_are_asked(
    upstream: HttpUpstream, server: EchoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    Names(monkeypatch, ["127.0.0.1", "192.0.2.7"])
    monkeypatch.setattr("ingest_core.transport.addresses.is_public", lambda address: address == "192.0.2.7")
    with pytest.raises(NotSent):
        upstream.send(request_to(server.url.replace("127.0.0.1", "both.example.org"), connect_timeout_seconds=0.1))

    assert server.seen == []


def test_the_next_address_is_tried_where_one_does_not_answer(
    server: EchoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    Names(monkeypatch, ["127.0.0.9", "127.0.0.1"])
    upstream = HttpUpstream("patra-test", allow_private_addresses=True)

    assert upstream.send(request_to(server.url.replace("127.0.0.1", "two.example.org"))).status == 200
    upstream.close()


def test_tls_still_checks_the_name(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = make_certificate(tmp_path)
    if certificate is None:
        pytest.skip("no openssl binary to make a certificate with")
    Names(monkeypatch, ["127.0.0.1"])
    upstream = HttpUpstream("patra-test", allow_private_addresses=True)
    with echo_server(certificate) as secure:
        bundle = str(certificate.certificate)
        assert upstream.send(request_to(secure.url, ca_bundle=bundle)).status == 200
        with pytest.raises(NotSent, match=r"not valid for 'other\.example\.org'"):
            upstream.send(request_to(secure.url.replace("127.0.0.1", "other.example.org"), ca_bundle=bundle))
    upstream.close()


def test_a_host_the_operator_named_is_asked_and_no_other(server: EchoServer) -> None:
    """A connection that was allowed for one source is not there for another."""
    settings = load_settings({"PATRA_UPSTREAM_DEMO": server.url})
    upstream = HttpUpstream(settings.user_agent, settings.upstream_for)
    upstream.send(request_to("https://api.example.org"))
    unnamed = HttpUpstream(settings.user_agent)
    unnamed._wires = upstream._wires
    refusal(unnamed, server.url)
    upstream.close()

    assert len(server.seen) == 1


def test_a_next_page_at_a_private_host_is_refused_though_a_mirror_is_named(server: EchoServer) -> None:
    settings = load_settings({"PATRA_UPSTREAM_DEMO": server.url})
    upstream = HttpUpstream(settings.user_agent, settings.upstream_for)
    with echo_server() as other:
        host = other.url.removeprefix("http://")
        request = replace(request_to("https://api.example.org", next_url=f"{other.url}/2"), next_hosts=(host,))
        with pytest.raises(UpstreamError) as refused:
            upstream.send(request)
        assert (refused.value.code, other.seen) == ("PRIVATE_ADDRESS", [])
    upstream.close()


def test_a_token_url_at_a_private_host_is_refused(upstream: HttpUpstream, server: EchoServer) -> None:
    auth = AuthSpec(
        type=AuthType.OAUTH2,
        credential_ref="env:DEMO_KEY",
        username_ref="env:DEMO_KEY",
        token_url=f"{server.url}/token",
    )
    with pytest.raises(UpstreamError) as refused:
        upstream.send(request_to("https://api.example.org", auth=auth))
    assert (refused.value.code, server.seen) == ("PRIVATE_ADDRESS", [])


class TestProxies:
    """A source's proxy is as little trusted as its host; the environment's is the operator's."""

    def test_a_sources_proxy_at_a_private_address_is_refused(self, upstream: HttpUpstream, server: EchoServer) -> None:
        refusal(upstream, "https://api.example.org", proxy=server.url)
        assert server.seen == []

    def test_the_environments_proxy_may_be_private(
        self, upstream: HttpUpstream, server: EchoServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HTTP_PROXY", server.url)
        upstream.send(request_to("http://api.example.org"))

        assert server.seen[0].target == "http://api.example.org/works"

    def test_through_a_proxy_a_private_address_is_refused_by_its_spelling(
        self, upstream: HttpUpstream, server: EchoServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HTTP_PROXY", server.url)
        for host in ("169.254.169.254", "localhost", "[::1]"):
            refusal(upstream, f"http://{host}")
        assert server.seen == []

    def test_hosts_without_a_proxy_are_asked_directly(
        self, server: EchoServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        upstream = HttpUpstream("patra-test", allow_private_addresses=True)
        with echo_server() as proxy:
            proxy.answer = forward
            monkeypatch.setenv("HTTP_PROXY", proxy.url.removeprefix("http://"))
            upstream.send(request_to(server.url))
            monkeypatch.setenv("NO_PROXY", "example.org,127.0.0.1")
            upstream.send(request_to(server.url))
        upstream.close()

        assert (len(proxy.seen), len(server.seen)) == (1, 2)

    @pytest.mark.parametrize("proxy", ["ftp://127.0.0.1:1", "http://", "http://[::1", "socks9://a"])
    def test_a_proxy_that_is_none_is_named(self, upstream: HttpUpstream, proxy: str) -> None:
        with pytest.raises(BadInput) as refused:
            upstream.send(request_to("https://api.example.org", proxy=proxy))
        assert refused.value.code == "PROXY_INVALID"


@pytest.mark.parametrize(("value", "allowed"), [("1", True), ("0", False), ("", False)])
def test_the_setting(value: str, allowed: bool) -> None:
    assert load_settings({"PATRA_ALLOW_PRIVATE_ADDRESSES": value}).allow_private_addresses is allowed
