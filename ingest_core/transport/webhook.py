"""Messages to a web address, several in a request, signed."""

import hashlib
import hmac
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime

import httpx

from ingest_core.gate.taxonomy import TOO_MANY_REQUESTS, parse_retry_after
from ingest_core.model.message import Message, delivery_key, wire_json
from ingest_core.model.redaction import excerpt
from ingest_core.outbox.ports import MessageRefused, PublisherUnavailable
from ingest_core.transport.auth import SHORTEST_MASKED, forms_of, masked
from ingest_core.transport.body import ACCEPTED_CODINGS, read_beginning
from ingest_core.transport.exchange import exchange
from ingest_core.transport.target import origin
from ingest_core.transport.wire import Wire, bounded_head, environment_proxy, with_user

DEADLINE_SECONDS = 10.0
"""From connecting to the answer's status; then a message's lease is far from its end."""
CONNECT_SECONDS = 5.0
ANSWER_BYTES = 2000
ANSWER_CHARS = 200

_CLOSED_DOORS = frozenset({401, 403, 404, 405, 407, 408, 410, TOO_MANY_REQUESTS})
"""Statuses that are not about the messages: access is refused."""


class WebhookPublisher:
    """A Publisher by HTTP POST; the address may hold a token, so only its host is shown."""

    def __init__(
        self,
        url: str,
        secret: str,
        user_agent: str,
        clock: Callable[[], float] = time.time,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._url = httpx.URL(url)
        self._secret = secret
        self._clock = clock
        self._user_agent = user_agent
        self._wire = transport or Wire(  # the operator named the address: it may be private
            httpx.create_ssl_context(), environment_proxy(self._url), allow_private=True
        )

    def close(self) -> None:
        """Give the connections back."""
        self._wire.close()

    def publish(self, messages: Sequence[Message]) -> None:
        """Send all in one request; any 2xx says that they are safe."""
        body = wire_json({"messages": [message.json() for message in messages]})
        timestamp = str(int(self._clock()))
        signature = sign(self._secret, timestamp, body)
        headers = {
            "Content-Type": "application/json",
            "X-Patra-Timestamp": timestamp,
            "X-Patra-Signature": signature,
            "X-Patra-Delivery": delivery_key(messages),
            "Idempotency-Key": delivery_key(messages),
            "User-Agent": self._user_agent,
            "Accept-Encoding": ACCEPTED_CODINGS,
        }
        request = with_user(httpx.Request("POST", self._url, content=body, headers=headers, extensions=_timeouts()))
        try:
            with exchange(DEADLINE_SECONDS, "the limit of a webhook"):
                with bounded_head():
                    answer = self._wire.handle_request(request)
                with closing(answer):
                    # A body of no bytes is read, since only then the connection can be used again.
                    unread = answer.is_success and answer.headers.get("content-length") != "0"
                    said = "" if unread else _beginning(answer)
        except httpx.HTTPError as error:
            words = self._clean(str(error) or type(error).__name__, signature)
            raise PublisherUnavailable(f"{origin(self._url)}: {words}") from error
        self._raise_unless_taken(answer, self._clean(said, signature))

    def _raise_unless_taken(self, answer: httpx.Response, said: str) -> None:
        if answer.is_success:
            return
        message = f"{origin(self._url)} answered {answer.status_code}: {excerpt(said, ANSWER_CHARS)}"
        if answer.is_client_error and answer.status_code not in _CLOSED_DOORS:
            raise MessageRefused(message)
        now = datetime.fromtimestamp(self._clock(), UTC)
        raise PublisherUnavailable(message, parse_retry_after(answer.headers.get("retry-after"), now))

    def _clean(self, text: str, signature: str) -> str:
        path = self._url.raw_path.decode("ascii")
        return masked(text, forms_of(self._secret, signature, *([path] if len(path) >= SHORTEST_MASKED else [])))


def sign(secret: str, timestamp: str, body: bytes) -> str:
    """What proves that a request is ours, and when it was made."""
    return "sha256=" + hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()


def _timeouts() -> dict[str, dict[str, float]]:
    rest = dict.fromkeys(("read", "write", "pool"), DEADLINE_SECONDS)
    return {"timeout": {"connect": CONNECT_SECONDS, **rest}}


def _beginning(answer: httpx.Response) -> str:
    """The first words of an answer; the rest is not waited for."""
    return " ".join(read_beginning(answer, ANSWER_BYTES).decode("utf-8", "replace").split())
