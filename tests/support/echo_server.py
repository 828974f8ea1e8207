"""A real HTTP server on the loopback that keeps what it was asked and answers as told."""

import http.client
import json
import shutil
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from ingest_core.execution.ports import Request
from ingest_core.model.codes import AuthType, BodyFormat, HttpMethod
from ingest_core.model.spec import AuthSpec, HttpSpec

NO_AUTH = AuthSpec(type=AuthType.NONE, credential_ref=None)

IDLE_SECONDS = 10
LONGEST_WAIT_SECONDS = 10


@dataclass(frozen=True)
class Seen:
    """One request as it arrived; header names are in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes = b""

    @property
    def path(self) -> str:
        """The path alone."""
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        """The parameters of the URL."""
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    @property
    def form(self) -> dict[str, str]:
        """The fields of a form."""
        return dict(parse_qsl(self.body.decode(), keep_blank_values=True))

    @property
    def json(self) -> Any:
        """The body's JSON."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    """What to answer; `cut` ends the connection before the body does, `lost` before the answer begins."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    lost: bool = False


OK = Reply()


def reply_json(value: Any, status: int = 200) -> Reply:
    """An answer of JSON."""
    return Reply(status, json.dumps(value).encode(), {"Content-Type": "application/json"})


def redirect_to(location: str, status: int = 302) -> Reply:
    """An answer that is elsewhere."""
    return Reply(status, b"", {"Location": location})


@dataclass
class EchoServer:
    """The server: where it is, what it saw, and how it answers: by path, or as `answer` says."""

    url: str
    seen: list[Seen] = field(default_factory=list)
    replies: dict[str, list[Reply]] = field(default_factory=dict)
    answer: Callable[[Seen], Reply] = lambda _seen: OK
    closing: threading.Event = field(default_factory=threading.Event)

    def say(self, path: str, *replies: Reply) -> None:
        """Answer these in turn at a path, the last one for ever."""
        self.replies[path] = list(replies)

    def reply(self, seen: Seen) -> Reply:
        """Write the request down, and the answer to it."""
        self.seen.append(seen)
        told = self.replies.get(seen.path)
        if not told:
            return self.answer(seen)
        return told.pop(0) if len(told) > 1 else told[0]

    def at(self, path: str) -> list[Seen]:
        """What was asked at a path."""
        return [one for one in self.seen if one.path == path]

    def wait(self, seconds: float = LONGEST_WAIT_SECONDS) -> None:
        """Sleep, at most until the server closes."""
        self.closing.wait(seconds)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is what a test is about."""


def _handler(echo: EchoServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = IDLE_SECONDS

        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def do_CONNECT(self) -> None:
            self._answer()

        def _answer(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(int(headers.get("content-length", 0)))
            reply = echo.reply(Seen(self.command, self.path, headers, body))
            if reply.lost:
                self.close_connection = True
                return
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body) + reply.cut))
            self.end_headers()
            self.wfile.write(reply.body)
            self.close_connection = self.close_connection or reply.cut

        def log_message(self, *_args: Any) -> None:
            """Say nothing."""

    return Handler


@contextmanager
def echo_server(tls: "Certificate | None" = None) -> Iterator[EchoServer]:
    """A server in a thread, stopped when the block ends."""
    echo = EchoServer("")
    server = _Server(("127.0.0.1", 0), _handler(echo))
    echo.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls.certificate, tls.key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield echo
    finally:
        echo.closing.set()
        server.shutdown()
        server.server_close()
        thread.join(IDLE_SECONDS)


def forward(seen: Seen) -> Reply:
    """What a forward proxy does with a request for another host."""
    target = urlsplit(seen.target)
    connection = http.client.HTTPConnection(target.netloc, timeout=IDLE_SECONDS)
    try:
        connection.request(seen.method, seen.target.partition(target.netloc)[2], seen.body, seen.headers)
        answer = connection.getresponse()
        return Reply(answer.status, answer.read())
    finally:
        connection.close()


@dataclass(frozen=True)
class Certificate:
    """A self-signed certificate of 127.0.0.1, and its key."""

    certificate: Path
    key: Path


def make_certificate(folder: Path) -> Certificate | None:
    """A fresh certificate; none without the openssl binary."""
    openssl = shutil.which("openssl")
    if openssl is None:
        return None
    made = Certificate(folder / "certificate.pem", folder / "key.pem")
    options = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    extensions = ["subjectAltName=IP:127.0.0.1", "keyUsage=critical,keyCertSign,digitalSignature"]
    added = [part for extension in extensions for part in ("-addext", extension)]
    files = ["-keyout", str(made.key), "-out", str(made.certificate)]
    subprocess.run([openssl, *options, "-subj", "/CN=127.0.0.1", *added, *files], check=True, capture_output=True)
    return made


def request_to(
    base_url: str,
    path: str = "/works",
    auth: AuthSpec = NO_AUTH,
    *,
    query: dict[str, str] | None = None,
    headers: dict[str, str] | None = None,
    body: dict[str, Any] | None = None,
    body_format: BodyFormat | None = None,
    next_url: str | None = None,
    **settings: Any,
) -> Request:
    """A request of source `demo`, a POST where it has a body; settings are of its HttpSpec."""
    http = {
        "method": HttpMethod.POST if body_format else HttpMethod.GET,
        "headers": {},
        "query": {},
        "connect_timeout_seconds": 5.0,
        "read_timeout_seconds": 5.0,
        "allow_plain_http": True,
        **settings,
    }
    spec = HttpSpec(base_url=base_url, path=path, body_format=body_format, **http)
    return Request("demo", spec, auth, path, list((query or {}).items()), headers or {}, body, next_url)
