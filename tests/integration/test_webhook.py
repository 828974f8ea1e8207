"""Messages by HTTP: signed, whole, and what each answer means."""

import hashlib
import hmac
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from ingest_core.model.message import delivery_key
from ingest_core.outbox.ports import MessageRefused, PublisherUnavailable
from ingest_core.transport import webhook
from ingest_core.transport.webhook import WebhookPublisher
from tests.support.echo_server import EchoServer, Reply, echo_server, redirect_to
from tests.support.outbox import message

SECRET = "s3cret-of-the-hook"
NOW = 1_767_225_600.9
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "outbox.md"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")


@pytest.fixture
def server() -> Iterator[EchoServer]:
    with echo_server() as running:
        yield running


@pytest.fixture
def publisher(server: EchoServer) -> Iterator[WebhookPublisher]:
    sender = WebhookPublisher(f"{server.url}/hook/t0ken", SECRET, "patra-test", clock=lambda: NOW)
    yield sender
    sender.close()


def test_messages_are_posted_together_as_json(publisher: WebhookPublisher, server: EchoServer) -> None:
    messages = [message("a", 1), message("b", 2)]
    publisher.publish(messages)
    (seen,) = server.seen
    assert (seen.method, seen.path) == ("POST", "/hook/t0ken")
    assert seen.headers["content-type"] == "application/json"
    assert seen.headers["user-agent"] == "patra-test"
    assert seen.json == {"messages": [one.json() for one in messages]}


def test_the_signature_covers_the_time_and_the_body(publisher: WebhookPublisher, server: EchoServer) -> None:
    publisher.publish([message("a")])
    (seen,) = server.seen
    assert seen.headers["x-patra-timestamp"] == "1767225600"
    expected = hmac.new(SECRET.encode(), b"1767225600." + seen.body, hashlib.sha256).hexdigest()
    assert seen.headers["x-patra-signature"] == f"sha256={expected}"


def test_sending_again_has_the_same_key(publisher: WebhookPublisher, server: EchoServer) -> None:
    messages = [message("a", 1), message("b", 2)]
    publisher.publish(messages)
    publisher.publish(messages)
    publisher.publish(messages[:1])
    keys = [seen.headers["idempotency-key"] for seen in server.seen]
    assert keys == [delivery_key(messages), delivery_key(messages), messages[0].dedup_key]
    assert [seen.headers["x-patra-delivery"] for seen in server.seen] == keys


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_any_success_is_taken_as_safe(publisher: WebhookPublisher, server: EchoServer, status: int) -> None:
    server.answer = lambda _seen: Reply(status, b"")
    publisher.publish([message("a")])


@pytest.mark.parametrize("status", [400, 409, 413, 415, 422])
def test_what_is_wrong_with_the_messages_is_a_refusal(
    publisher: WebhookPublisher, server: EchoServer, status: int
) -> None:
    server.answer = lambda _seen: Reply(status, b"title is missing")
    with pytest.raises(MessageRefused, match=f"answered {status}: title is missing"):
        publisher.publish([message("a")])


@pytest.mark.parametrize("status", [401, 403, 404, 408, 410, 429, 500, 502, 503])
def test_what_says_nothing_of_the_messages_is_tried_again(
    publisher: WebhookPublisher, server: EchoServer, status: int
) -> None:
    server.answer = lambda _seen: Reply(status, b"not now")
    with pytest.raises(PublisherUnavailable, match=f"answered {status}: not now") as failed:
        publisher.publish([message("a")])
    assert failed.value.retry_after is None


@pytest.mark.parametrize(("said", "meant"), [("90", 90), ("Thu, 01 Jan 2026 00:02:00 GMT", 119)])
def test_how_long_to_wait_is_told(publisher: WebhookPublisher, server: EchoServer, said: str, meant: int) -> None:
    server.answer = lambda _seen: Reply(503, b"", {"Retry-After": said})
    with pytest.raises(PublisherUnavailable) as failed:
        publisher.publish([message("a")])
    assert failed.value.retry_after is not None
    assert abs(failed.value.retry_after - timedelta(seconds=meant)) < timedelta(seconds=1)


def test_a_redirect_is_not_followed(publisher: WebhookPublisher, server: EchoServer) -> None:
    server.answer = lambda _seen: redirect_to(f"{server.url}/elsewhere", 307)
    with pytest.raises(PublisherUnavailable, match="answered 307"):
        publisher.publish([message("a")])
    assert server.at("/elsewhere") == []


def test_nobody_there_and_an_answer_too_late_are_tried_again(
    server: EchoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook, "DEADLINE_SECONDS", 0.2)
    absent = WebhookPublisher("http://127.0.0.1:1/t0ken", SECRET, "patra-test")
    with pytest.raises(PublisherUnavailable, match=r"http://127\.0\.0\.1:1: .*refused"):
        absent.publish([message("a")])
    absent.close()
    present = WebhookPublisher(f"{server.url}/t0ken", SECRET, "patra-test")
    server.answer = lambda _seen: Reply(200, b"cut", cut=True)
    present.publish([message("a")])  # the status has come: the body is not read

    def late(_seen: Any) -> Reply:
        server.wait(2)
        return Reply()

    server.answer = late
    with pytest.raises(PublisherUnavailable, match=r"no complete answer within 0.2 s \(the limit of a webhook\)"):
        present.publish([message("a")])
    present.close()


def test_errors_tell_neither_secret_nor_signature_nor_the_address_nor_people(
    publisher: WebhookPublisher, server: EchoServer
) -> None:
    def repeat(seen: Any) -> Reply:
        words = f"{SECRET} {seen.headers['x-patra-signature']} {seen.path} jane@example.org " + "x" * 5000
        return Reply(422, words.encode())

    server.answer = repeat
    with pytest.raises(MessageRefused) as failed:
        publisher.publish([message("a")])
    told = str(failed.value)
    assert f"{server.url} answered 422: *** *** *** ***" in told
    assert len(told) < 300


def test_the_sample_of_the_docs_accepts_what_is_ours_and_nothing_else(
    publisher: WebhookPublisher, server: EchoServer
) -> None:
    text = PAGE.read_text(encoding="utf-8")
    (code,) = re.findall(r'^```python\n("""A receiver.+?)^```$', text, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    publisher.publish([message("a")])
    (seen,) = server.seen
    genuine = names["is_genuine"]
    assert genuine(SECRET, seen.headers, seen.body, NOW + 1)
    assert not genuine("another", seen.headers, seen.body, NOW + 1)
    assert not genuine(SECRET, seen.headers, seen.body + b" ", NOW + 1)
    assert not genuine(SECRET, {**seen.headers, "x-patra-timestamp": "1767225601"}, seen.body, NOW + 1)
    assert not genuine(SECRET, seen.headers, seen.body, NOW + 3600)
    handled: list[str] = []
    state: dict[str, int] = {}
    first, newer = message("a", 1).json(), message("a", 2).json()
    for one in (first, first, newer, first):
        names["take"](one, state, lambda payload: handled.append(payload["payload_hash"]))
    assert handled == [first["payload"]["payload_hash"], newer["payload"]["payload_hash"]]
