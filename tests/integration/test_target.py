"""Where requests go: to the source's host, or to the one named instead; a page cannot send us to a third."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from urllib.parse import unquote

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest_core.execution.ports import CredentialMissing, NotSent
from ingest_core.execution.request import Caller, render_request
from ingest_core.gate.taxonomy import UpstreamError
from ingest_core.model.codes import AuthLocation, AuthType, ErrorLevel, ParamLocation
from ingest_core.model.errors import BadInput
from ingest_core.model.spec import AuthSpec, ParamSpec
from ingest_core.settings import load_settings
from ingest_core.transport.http import HttpUpstream, redirected
from ingest_core.transport.target import origin, target_of
from tests.support.credentials import DEMO_NAMES
from tests.support.echo_server import NO_AUTH, EchoServer, echo_server, request_to
from tests.support.hostile_server import hostile_server, saying
from tests.support.small_source import compiled, problems_of, small_document, small_endpoint
from tests.support.specs import crossref_spec, span


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("DEMO_KEY", "k3y-of-the-test")


@pytest.fixture
def server() -> Iterator[EchoServer]:
    with echo_server() as running:
        yield running


@pytest.fixture
def upstream() -> Iterator[HttpUpstream]:
    sender = HttpUpstream("patra-test", credential_names=DEMO_NAMES, allow_private_addresses=True)
    yield sender
    sender.close()


@pytest.fixture
def mirrored(server: EchoServer) -> Iterator[HttpUpstream]:
    """An upstream that asks our server in place of the source's host, below a path."""
    settings = load_settings({"PATRA_UPSTREAM_DEMO": f"{server.url}/mirror/"})
    sender = HttpUpstream(settings.user_agent, settings.upstream_for, credential_names=DEMO_NAMES)
    yield sender
    sender.close()


def test_plain_http_is_refused_before_anything_is_sent(upstream: HttpUpstream, server: EchoServer) -> None:
    for ask in (upstream.send, upstream.preview):
        with pytest.raises(BadInput) as refused:
            ask(request_to(server.url, allow_plain_http=False))
        assert (refused.value.code, "PATRA_UPSTREAM_DEMO" in refused.value.remedy) == ("PLAIN_HTTP", True)
    assert server.seen == []


def test_a_host_named_instead_may_be_plain_http_and_keeps_its_path(mirrored: HttpUpstream, server: EchoServer) -> None:
    mirrored.send(request_to("https://api.example.org/v1", allow_plain_http=False, query={"q": "x"}))

    assert server.seen[0].target == "/mirror/works?q=x"


NEXT = {
    "the query alone": ("?cursor=2", "/v1/works?cursor=2"),
    "a sibling": ("more?cursor=2", "/v1/more?cursor=2"),
    "a path": ("/v1/works?cursor=2", "/v1/works?cursor=2"),
    "the whole": ("{url}/v1/works?cursor=2", "/v1/works?cursor=2"),
    "a user of theirs": ("http://me:pw@{host}/v1/works", "/v1/works"),
    "signs as they are": ("?c=%2F%e9+a%20b&c=&flag", "/v1/works?c=%2F%e9+a%20b&c=&flag"),
}


@pytest.mark.parametrize(("said", "asked"), NEXT.values(), ids=NEXT)
def test_the_next_page_is_asked_for_where_the_last_one_says(
    upstream: HttpUpstream, server: EchoServer, said: str, asked: str
) -> None:
    said = said.format(url=server.url, host=server.url.removeprefix("http://"))
    upstream.send(request_to(f"{server.url}/v1", next_url=said))

    assert (server.seen[0].target, "authorization" in server.seen[0].headers) == (asked, False)


def test_the_next_page_is_asked_for_with_the_credential(upstream: HttpUpstream, server: EchoServer) -> None:
    auth = AuthSpec(type=AuthType.API_KEY, credential_ref="env:DEMO_KEY", location=AuthLocation.QUERY, name="key")
    upstream.send(request_to(server.url, auth=auth, next_url="/works?c=%2F"))

    assert server.seen[0].target == "/works?c=%2F&key=k3y-of-the-test"


MIRRORED = {
    "the provider's own address": "https://api.example.org{folder}/works?cursor=2",
    "the provider's own path": "{folder}/works?cursor=2",
    "the mirror's address": "http://{host}/mirror/works?cursor=2",
    "the mirror's address with a user of theirs": "http://me:pw@{host}/mirror/works?cursor=2",
    "the mirror's path": "/mirror/works?cursor=2",
    "the query alone": "?cursor=2",
}


@pytest.mark.parametrize("said", MIRRORED.values(), ids=MIRRORED)
@pytest.mark.parametrize("folder", ["", "/v1", "/mirror"])
def test_the_next_page_of_a_mirror_is_at_the_mirror(
    mirrored: HttpUpstream, server: EchoServer, said: str, folder: str
) -> None:
    said = said.format(host=server.url.removeprefix("http://"), folder=folder)
    mirrored.send(request_to(f"https://api.example.org{folder}", next_url=said))

    assert server.seen[0].target == "/mirror/works?cursor=2"
    assert "authorization" not in server.seen[0].headers


ELSEWHERE = {
    "another port": "http://127.0.0.1:1/works",
    "another scheme": "https://{host}/works",
    "another host": "//evil.example.org/works",
    "a host that looks alike": "http://127.0.0.1.evil.example.org/works",
    "a user that looks like the host": "http://{host}@evil.example.org/works",
    "no web address": "file:///etc/passwd",
}


@pytest.mark.parametrize("said", ELSEWHERE.values(), ids=ELSEWHERE)
def test_a_next_page_at_another_host_is_refused_for_good(upstream: HttpUpstream, server: EchoServer, said: str) -> None:
    said = said.format(host=server.url.removeprefix("http://"))
    with pytest.raises(UpstreamError) as refused:
        upstream.send(request_to(server.url, next_url=said))

    assert (refused.value.level, refused.value.code) == (ErrorLevel.L4, "NEXT_URL_ELSEWHERE")
    assert str(refused.value).endswith(f", not at {server.url}")
    assert server.seen == []


class TestAllowedHosts:
    """The operator may name other hosts a link may lead to, in `pagination.next_hosts`."""

    def send(self, upstream: HttpUpstream, base: str, said: str, *hosts: str, auth: AuthSpec = NO_AUTH) -> None:
        upstream.send(replace(request_to(base, auth=auth, next_url=said), next_hosts=hosts))

    def test_a_host_that_is_named_is_asked_with_the_credential(
        self, upstream: HttpUpstream, server: EchoServer
    ) -> None:
        auth = AuthSpec(type=AuthType.BEARER, credential_ref="env:DEMO_KEY")
        with echo_server() as other:
            self.send(upstream, server.url, f"{other.url}/more?c=2", host_of(other), auth=auth)

        assert (server.seen, other.seen[0].target) == ([], "/more?c=2")
        assert other.seen[0].headers["authorization"] == "Bearer k3y-of-the-test"

    def test_a_user_within_the_link_is_left_out(self, upstream: HttpUpstream, server: EchoServer) -> None:
        with echo_server() as other:
            self.send(upstream, server.url, f"http://me:pw@{host_of(other)}/more", host_of(other))

        assert "authorization" not in other.seen[0].headers

    @pytest.mark.parametrize(
        "hosts", [("cdn.example.org",), ("127.0.0.1",), ("{host}0",), ("",)], ids=["other", "no port", "like", "none"]
    )
    def test_any_other_host_stays_refused(
        self, upstream: HttpUpstream, server: EchoServer, hosts: tuple[str, ...]
    ) -> None:
        with echo_server() as other, pytest.raises(UpstreamError, match="is said to be at") as refused:
            self.send(upstream, server.url, f"{other.url}/", *(one.format(host=host_of(other)) for one in hosts))

        assert (refused.value.code, other.seen) == ("NEXT_URL_ELSEWHERE", [])

    @pytest.mark.parametrize("said", ["http://cdn.example.org/2", "ftp://cdn.example.org/2"])
    def test_a_named_host_is_never_asked_less_safely_than_the_source(self, upstream: HttpUpstream, said: str) -> None:
        with pytest.raises(UpstreamError, match="not at https://api") as refused:
            self.send(upstream, "https://api.example.org", said, "cdn.example.org")

        assert refused.value.code == "NEXT_URL_ELSEWHERE"

    def test_https_is_safe_enough_and_letters_may_be_large(self) -> None:
        request = replace(
            request_to("https://api.example.org", next_url="https://CDN.example.org/2?c=%2F"),
            next_hosts=("cdn.Example.org",),
        )

        assert str(target_of(request, None)) == "https://cdn.example.org/2?c=%2F"


def host_of(server: EchoServer) -> str:
    """Host and port."""
    return server.url.removeprefix("http://")


def test_a_mirror_does_not_widen_where_the_next_page_may_be(mirrored: HttpUpstream, server: EchoServer) -> None:
    with pytest.raises(UpstreamError, match="said to be at https://evil"):
        mirrored.send(request_to("https://api.example.org/v1", next_url="https://evil.example.org/v1/works"))
    assert server.seen == []


def test_a_next_page_that_is_no_url_is_refused(upstream: HttpUpstream, server: EchoServer) -> None:
    with pytest.raises(UpstreamError) as refused:
        upstream.send(request_to(server.url, next_url="https://[api/\x00"))

    assert (refused.value.level, refused.value.code) == (ErrorLevel.L2, "NEXT_URL_INVALID")


LEADING_ELSEWHERE = ["@{other}/works", ":pw@{other}/works", ".evil.example/works", "2/works", ":1/works", "0"]
UNSAFE = [
    *LEADING_ELSEWHERE, "works", "", "//{other}/works", "\\\\evil", "/\\evil", "/a\\b", "/../admin", "/a/./b", "/a/..",
    "/a#b", "/a b", "/a\tb", "/a\nHost: evil", "/a\u200b", "https://{other}/works", "?a=b",
]  # fmt: skip
SAFE = ["/", "/works", "/v1/works/", "/a//b", "/users/@me", "/a.b/..c", "/a:b", "/works?format=json", "/w\u00f6rks"]


class TestPaths:
    """A path is appended to the base URL and can be nothing but a path."""

    @pytest.mark.parametrize("path", UNSAFE)
    def test_the_compiler_refuses_what_is_no_path(self, path: str) -> None:
        found = problems_of(small_document(endpoints=[small_endpoint(path=path.replace("{other}", "evil.example"))]))

        assert ("PATH_UNSAFE", "endpoints.works.path") in {(one.rule, one.key) for one in found}

    @pytest.mark.parametrize("path", SAFE)
    def test_the_compiler_takes_a_path(self, path: str) -> None:
        spec = compiled(small_document(endpoints=[small_endpoint(path=path)])).spec

        assert spec.http.path == path

    @pytest.mark.parametrize("path", LEADING_ELSEWHERE)
    def test_a_path_that_leads_elsewhere_is_refused_before_its_credential_is_sent(
        self, upstream: HttpUpstream, server: EchoServer, path: str
    ) -> None:
        """A plan that was compiled before such paths were refused holds one."""
        auth = AuthSpec(type=AuthType.BEARER, credential_ref="env:DEMO_KEY")
        with echo_server() as other:
            path = path.replace("{other}", host_of(other))
            with pytest.raises((BadInput, NotSent)) as refused:
                upstream.send(request_to(server.url, path, auth))

            assert isinstance(refused.value, BadInput), refused.value
            assert refused.value.code in ("PATH_ELSEWHERE", "URL_INVALID")
            assert (server.seen, other.seen) == ([], [])

    @given(value=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20))
    def test_no_value_changes_the_structure_of_a_path(self, value: str) -> None:
        place = ParamSpec(name="kind", location=ParamLocation.PATH, value="query", default=value)
        spec = crossref_spec(http={"path": "/list/{kind}/all"}, params=[place])
        if value in (".", ".."):
            with pytest.raises(BadInput, match="cannot be filled"):
                render_request(spec, span("00:00", "06:00"), "*", Caller("c-1"))
            return
        url = target_of(render_request(spec, span("00:00", "06:00"), "*", Caller("c-1")), None)

        assert origin(url) == origin(httpx.URL(spec.http.base_url))
        first, middle, last = url.raw_path.decode().split("?")[0].removeprefix("/").split("/")
        assert (first, unquote(middle), last) == ("list", value, "all")

    def test_values_that_only_together_are_a_step_up_are_refused(self) -> None:
        places = [ParamSpec(name=name, location=ParamLocation.PATH, value="query", default=".") for name in ("a", "b")]
        spec = crossref_spec(http={"path": "/list/{a}{b}/all"}, params=places)
        with pytest.raises(BadInput) as refused:
            render_request(spec, span("00:00", "06:00"), "*", Caller("c-1"))
        assert refused.value.code == "PATH_UNSAFE"


class TestReservedHeaders:
    """A source says nothing in headers that decide where a request goes or how it is read."""

    @pytest.mark.parametrize("name", ["Host", "hOST", "Content-Length", "Transfer-Encoding", "Accept-Encoding"])
    def test_the_compiler_refuses_them_everywhere(self, name: str) -> None:
        documents = [
            small_document(http={"base_url": "https://api.example.org", "headers": {name: "x"}}),
            small_document(
                params=[
                    {"name": "cursor", "value": "page_token"},
                    {"name": name, "value": "query", "location": "HEADER"},
                ]
            ),
            small_document(credential={"auth": "API_KEY", "ref": "env:DEMO_KEY", "name": name}),
        ]
        assert [[one.rule for one in problems_of(each)] for each in documents] == [["HEADER_RESERVED"]] * 3

    def test_a_credential_is_not_left_behind_in_silence(self, upstream: HttpUpstream, server: EchoServer) -> None:
        auth = AuthSpec(type=AuthType.API_KEY, credential_ref="env:DEMO_KEY", location=AuthLocation.HEADER, name="Host")
        with pytest.raises(CredentialMissing, match="that the system writes"):
            upstream.send(request_to(server.url, auth=auth))
        assert server.seen == []


BAD_REDIRECTS = {
    "javascript": "javascript:alert(1)",
    "data": "data:text/html,x",
    "file": "file:///etc/passwd",
    "a bad host": "http://[::1",
    "a bad IDNA host": "http://xn--a\u00e9/",
    "an IDNA label too long": "http://" + "\u00e4" * 70 + ".example/",
    "a bad port": "http://a:999999/",
    "no port": "http://a:b/",
    "junk": "http://%/\\\\",
    "too long": "/" + "x" * 70_000,
    "another scheme": "ftp://example.org/",
}


@pytest.mark.parametrize("location", BAD_REDIRECTS.values(), ids=BAD_REDIRECTS)
def test_a_redirect_that_leads_nowhere_is_an_error_of_its_request(upstream: HttpUpstream, location: str) -> None:
    head = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + location.encode() + b"\r\n\r\n"
    with hostile_server(saying(head)) as server, pytest.raises(UpstreamError) as refused:
        upstream.send(request_to(server.url, max_redirects=3))
    assert refused.value.code in ("REDIRECT_INVALID", "REDIRECTED_ELSEWHERE")
    assert refused.value.level != ErrorLevel.L1, "asking again leads there again"


@given(location=st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]), max_size=60))
def test_any_redirect_is_followed_here_or_refused(location: str) -> None:
    sent = httpx.Request("GET", "http://api.example.org/works")
    with suppress(UpstreamError):  # any other error would end the test
        following = redirected(sent, location)
        assert (origin(following.url), following.url.userinfo) == ("http://api.example.org", b"")
