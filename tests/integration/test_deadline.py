"""Every exchange ends: no answer, however slow or long, holds a request beyond its deadline."""

import socket
import threading
import time
from collections.abc import Callable, Iterator

import httpcore
import pytest
from httpcore._backends.sync import SyncStream

from ingest_core.execution.fetch import Fetcher
from ingest_core.execution.ports import AnswerLost, NotSent
from ingest_core.execution.request import Caller, render_request
from ingest_core.gate.taxonomy import UpstreamError
from ingest_core.inspection.probe import UpstreamProbe
from ingest_core.model.codes import AuthType, ErrorLevel
from ingest_core.model.spec import AuthSpec
from ingest_core.outbox.ports import MessageRefused, PublisherUnavailable
from ingest_core.planning.estimate import SizeUnknown
from ingest_core.transport import webhook
from ingest_core.transport.exchange import MAX_HEAD_BYTES, exchange
from ingest_core.transport.http import HttpUpstream
from ingest_core.transport.network import Stream
from ingest_core.transport.webhook import WebhookPublisher
from tests.support.credentials import DEMO_NAMES
from tests.support.echo_server import request_to
from tests.support.hostile_server import Script, dripping, flooding, hostile_server, saying
from tests.support.outbox import message
from tests.support.specs import crossref_spec, span
from tests.support.upstream import ScriptedGate

DEADLINE = 0.2
SLACK = 1.5
"""How late an end may be noticed on a busy machine, in seconds; a missing deadline takes far longer."""

HEAD = b"HTTP/1.1 200 OK\r\n"
ENDLESS_BODY = b"Content-Type: application/json\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
TIMEOUT_MESSAGE = r"no complete answer within 0\.2 s \(http\.deadline\)"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("DEMO_KEY", "k3y-of-the-test")


@pytest.fixture
def upstream() -> Iterator[HttpUpstream]:
    sender = HttpUpstream("patra-test", credential_names=DEMO_NAMES, allow_private_addresses=True)
    with pytest.raises(NotSent):
        sender.send(request_to("http://127.0.0.1:1"))  # certificates are read with the first request
    yield sender
    sender.close()


def seconds_of(work: Callable[[], object]) -> float:
    started = time.monotonic()
    work()
    return time.monotonic() - started


def one_mebibyte_of(line: bytes) -> bytes:
    return line * (2**20 // len(line))


def silent(_request: bytes) -> Iterator[bytes]:
    time.sleep(DEADLINE + SLACK)
    yield b""


SLOW: dict[str, Script] = {
    "nothing": silent,
    "the status line": dripping(b"", b"HTTP/1.1 200 OK"),
    "a header": dripping(HEAD + b"X-Long: ", b"x"),
    "headers": dripping(HEAD, b"X-A: b\r\n"),
    "100 Continue": dripping(b"", b"HTTP/1.1 100 Continue\r\n\r\n", pause=0.001),
    "103 Early Hints": dripping(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", pause=0.001),
    "a body until the end of the connection": dripping(HEAD + ENDLESS_BODY, b" "),
    "a body of stated length": dripping(HEAD + b"Content-Length: 1000\r\n\r\n", b" "),
    "a chunked body": dripping(HEAD + CHUNKED, b"1\r\nx\r\n"),
    "the size of a chunk": dripping(HEAD + CHUNKED, b"0"),
    "trailers": dripping(HEAD + CHUNKED + b"0\r\n", b"X-A: b\r\n"),
    "a gzip body": dripping(HEAD + b"Content-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x10\0\0\0\0\0\xff", b"c"),
    "an error's body": dripping(b"HTTP/1.1 503 Busy\r\nContent-Length: 1000\r\n\r\n", b" "),
    "an error's chunked body": dripping(b"HTTP/1.1 400 Bad Request\r\n" + CHUNKED, b"1\r\nx\r\n"),
}


@pytest.mark.parametrize("script", SLOW.values(), ids=SLOW)
def test_an_answer_that_arrives_byte_by_byte_is_lost_at_the_deadline(upstream: HttpUpstream, script: Script) -> None:
    def ask() -> None:
        with pytest.raises(AnswerLost, match=TIMEOUT_MESSAGE):
            upstream.send(request_to(server.url, deadline_seconds=DEADLINE))

    with hostile_server(script) as server:
        assert DEADLINE <= seconds_of(ask) < DEADLINE + SLACK


ENDLESS: dict[str, tuple[Script, str]] = {
    "100 Continue": (flooding(b"", one_mebibyte_of(b"HTTP/1.1 100 Continue\r\n\r\n")), f"{MAX_HEAD_BYTES} bytes"),
    "103 Early Hints": (flooding(b"", one_mebibyte_of(b"HTTP/1.1 103 E\r\nA: b\r\n\r\n")), f"{MAX_HEAD_BYTES} bytes"),
    "a header": (flooding(HEAD + b"X-Long: ", b"x" * 65536), "http"),
    "headers": (flooding(HEAD, one_mebibyte_of(b"X-A: b\r\n")), "http"),
}


@pytest.mark.parametrize(("script", "words"), ENDLESS.values(), ids=ENDLESS)
def test_a_head_without_end_is_lost_long_before_the_deadline(
    upstream: HttpUpstream, script: Script, words: str
) -> None:
    def ask() -> None:
        with pytest.raises(AnswerLost, match=words):
            upstream.send(request_to(server.url, deadline_seconds=60.0))

    with hostile_server(script) as server:
        assert seconds_of(ask) < 10


def test_a_few_interim_answers_are_passed_over(upstream: HttpUpstream) -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\n" + b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 10
    with hostile_server(saying(interim, HEAD + b"Content-Length: 2\r\n\r\n{}")) as server:
        assert upstream.send(request_to(server.url)).body == b"{}"


def test_a_large_body_is_not_taken_for_a_head(upstream: HttpUpstream) -> None:
    size = 3 * MAX_HEAD_BYTES
    with hostile_server(saying(HEAD + f"Content-Length: {size}\r\n\r\n".encode(), b"x" * size)) as server:
        assert len(upstream.send(request_to(server.url)).body) == size


def test_redirects_have_one_deadline_together(upstream: HttpUpstream) -> None:
    def slow_redirect(_request: bytes) -> Iterator[bytes]:
        time.sleep(0.1)
        yield b"HTTP/1.1 302 Found\r\nLocation: /more\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

    def ask() -> None:
        with pytest.raises(AnswerLost, match=TIMEOUT_MESSAGE):
            upstream.send(request_to(server.url, max_redirects=3, deadline_seconds=DEADLINE))

    with hostile_server(slow_redirect) as server:
        assert seconds_of(ask) < DEADLINE + SLACK
        assert len(server.asked) in (2, 3), "each of four redirects alone would be in time"


def test_a_token_request_has_the_deadline_of_its_request_and_nothing_else_is_sent(upstream: HttpUpstream) -> None:
    with hostile_server(SLOW["a chunked body"]) as server:
        auth = AuthSpec(
            type=AuthType.OAUTH2,
            credential_ref="env:DEMO_KEY",
            username_ref="env:DEMO_KEY",
            token_url=f"{server.url}/token",
        )

        def ask() -> None:
            with pytest.raises(NotSent, match=TIMEOUT_MESSAGE):
                upstream.send(request_to(server.url, auth=auth, deadline_seconds=DEADLINE))

        assert seconds_of(ask) < DEADLINE + SLACK
        assert [one.split(b" ")[1] for one in server.asked] == [b"/token"]


def test_a_proxy_has_the_deadline_too(upstream: HttpUpstream) -> None:
    with hostile_server(SLOW["headers"]) as proxy:
        for base in ("https://api.example.org", "http://api.example.org"):
            with pytest.raises(AnswerLost, match=TIMEOUT_MESSAGE):
                upstream.send(request_to(base, proxy=proxy.url, deadline_seconds=DEADLINE))


def test_a_server_that_reads_slowly_cannot_hold_a_request_while_it_is_sent() -> None:
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    done = threading.Event()

    def read_slowly() -> None:
        while not done.wait(0.02):
            theirs.recv(4096)

    def write() -> None:
        with exchange(DEADLINE, "http.deadline"), pytest.raises(httpcore.WriteTimeout, match=TIMEOUT_MESSAGE):
            Stream(SyncStream(ours)).write(b"x" * 10_000_000, timeout=60)

    reader = threading.Thread(target=read_slowly, daemon=True)
    reader.start()
    with ours, theirs:
        assert seconds_of(write) < DEADLINE + SLACK
        done.set()
        reader.join()


def test_a_block_inside_another_cannot_extend_its_deadline() -> None:
    with exchange(0.5, "outer"), exchange(60, "inner") as inner:
        assert inner.left() <= 0.5
    with exchange(60, "outer"), exchange(0.5, "inner") as inner:
        assert inner.left() <= 0.5


def test_a_lost_answer_is_a_passing_fault_that_may_have_moved_the_provider(upstream: HttpUpstream) -> None:
    with hostile_server(SLOW["a chunked body"]) as server:
        spec = crossref_spec(
            http={"base_url": server.url, "allow_plain_http": True, "deadline_seconds": DEADLINE},
            retry={"max_attempts": 1},
        )
        request = render_request(spec, span("00:00", "06:00"), "*", Caller("c-1"))
        with pytest.raises(UpstreamError, match=TIMEOUT_MESSAGE) as lost:
            Fetcher(spec, ScriptedGate(), upstream).fetch(request)

        assert (lost.value.code, lost.value.level, lost.value.moved) == ("ANSWER_LOST", ErrorLevel.L1, True)


@pytest.mark.parametrize("script", [SLOW["headers"], SLOW["a chunked body"], SLOW["100 Continue"]])
def test_a_probe_ends_and_gives_no_size(upstream: HttpUpstream, script: Script) -> None:
    with hostile_server(script) as server:
        spec = crossref_spec(http={"base_url": server.url, "allow_plain_http": True, "deadline_seconds": DEADLINE})

        def ask() -> None:
            with pytest.raises(SizeUnknown, match=TIMEOUT_MESSAGE):
                UpstreamProbe(ScriptedGate(), upstream).ask(spec, span("00:00", "06:00"))

        assert seconds_of(ask) < DEADLINE + SLACK


class TestWebhook:
    """A receiver has ten seconds in all; here it has less."""

    @pytest.fixture(autouse=True)
    def _short(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(webhook, "DEADLINE_SECONDS", DEADLINE)

    def publish(self, script: Script) -> None:
        with hostile_server(script) as server:
            publisher = WebhookPublisher(f"{server.url}/hook", "s3cret-of-the-hook", "patra-test")
            try:
                publisher.publish([message("a")])
            finally:
                publisher.close()

    @pytest.mark.parametrize("case", ["nothing", "headers", "100 Continue"])
    def test_a_head_that_does_not_come_is_tried_again_later(self, case: str) -> None:
        def send() -> None:
            with pytest.raises(PublisherUnavailable, match=r"within 0\.2 s"):
                self.publish(SLOW[case])

        assert seconds_of(send) < DEADLINE + 2 * SLACK

    def test_ten_seconds_are_the_limit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.undo()
        assert webhook.DEADLINE_SECONDS == 10

    def test_the_body_of_a_success_is_not_waited_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(webhook, "DEADLINE_SECONDS", 5.0)
        assert seconds_of(lambda: self.publish(SLOW["a chunked body"])) < SLACK

    def test_a_refusal_counts_though_its_body_does_not_end(self) -> None:
        def send() -> None:
            with pytest.raises(MessageRefused, match="answered 400: x"):
                self.publish(SLOW["an error's chunked body"])

        assert seconds_of(send) < DEADLINE + 2 * SLACK
