"""Whatever a provider or a receiver answers, a command ends with a message, in time, and without a trace of Python."""

import gzip
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ingest_core.transport import webhook
from tests.conftest import DatabaseFactory
from tests.support.hostile_server import Script, dripping, flooding, hostile_server, saying
from tests.support.patra import Patra
from tests.support.small_source import small_document, small_endpoint
from tests.support.yaml_text import yaml_of

PERIOD = ("--from", "2026-01-01", "--to", "2026-01-02", "--now", "2026-01-03T00:00:00Z")
LONGEST_SECONDS = 6.0
"""Of a command; a slow request has 0.5 s, and is sent once."""

OK = b"HTTP/1.1 200 OK\r\n"
JSON = OK + b"Connection: close\r\nContent-Type: application/json\r\n"


def body(content: bytes, *headers: bytes) -> Script:
    lines = b"".join(header + b"\r\n" for header in headers)
    return saying(JSON + lines + f"Content-Length: {len(content)}\r\n\r\n".encode() + content)


HOSTILE: dict[str, tuple[Script, str]] = {
    "a head byte by byte": (dripping(OK, b"X-A: b\r\n"), "ANSWER_LOST"),
    "a body byte by byte": (dripping(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"), "ANSWER_LOST"),
    "an error byte by byte": (dripping(b"HTTP/1.1 503 No\r\nContent-Length: 999\r\n\r\n", b"x"), "ANSWER_LOST"),
    "interim answers for ever": (flooding(b"", b"HTTP/1.1 103 Hints\r\nA: b\r\n\r\n" * 2000), "ANSWER_LOST"),
    "stacked codings": (
        body(gzip.compress(gzip.compress(bytes(2**24))), b"Content-Encoding: gzip, gzip"),
        "CODING_UNSUPPORTED",
    ),
    "a body too large": (body(gzip.compress(bytes(2**22)), b"Content-Encoding: gzip"), "ANSWER_TOO_LARGE"),
    "a redirect to a script": (
        saying(
            b"HTTP/1.1 302 Found\r\nConnection: close\r\nContent-Length: 0\r\nLocation: javascript:alert(1)\r\n\r\n"
        ),
        "REDIRECT_INVALID",
    ),
    "a redirect to no host": (
        saying(
            b"HTTP/1.1 302 Found\r\nConnection: close\r\nContent-Length: 0\r\nLocation: http://xn--\xc3\xa9/\r\n\r\n"
        ),
        "REDIRECT_INVALID",
    ),
}


@pytest.fixture
def patra(database_factory: DatabaseFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Patra]:
    monkeypatch.setenv("NO_PROXY", "*")
    patra = Patra(database_factory.upgraded("sqlite"), "http://127.0.0.1:1", tmp_path, monkeypatch)
    yield patra
    patra.stop_all()


def register(patra: Patra, folder: Path, **http: Any) -> None:
    document = small_document(
        endpoints=[small_endpoint(response={"total": "$.total"})],
        http={"max_body_bytes": 1_000_000, "max_redirects": 2, **http},
        retry={"max_attempts": 1},
        rate_limit={"requests_per_second": 1000},
    )
    file = folder / "small.yaml"
    file.write_text(yaml_of(document), encoding="utf-8")
    patra("registry", "apply", str(file))


def within(work: Callable[[], Any]) -> Any:
    started = time.monotonic()
    result = work()
    assert time.monotonic() - started < LONGEST_SECONDS
    return result


@pytest.mark.parametrize(("script", "code"), HOSTILE.values(), ids=HOSTILE)
def test_a_plan_and_an_execution_end(
    patra: Patra, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: Script, code: str
) -> None:
    with hostile_server(script) as server:
        monkeypatch.setenv("PATRA_UPSTREAM_SMALL", server.url)
        register(patra, tmp_path, deadline="PT0.5S" if code == "ANSWER_LOST" else "PT5S")
        plan = within(lambda: patra("plan", "small", *PERIOD))
        (warning,) = [one for one in plan["warnings"] if one.startswith("the provider gave no size")]
        done = within(lambda: patra.tried("execute", "--max-tasks", "1"))

    assert plan["slices"] > 0
    assert "Traceback" not in str(done)
    assert warning
    assert {row["error"]["code"] for row in patra.rows("ing_task_run")} == {code}


def test_a_path_that_moves_the_request_is_refused_when_it_is_applied(patra: Patra, tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(yaml_of(small_document(endpoints=[small_endpoint(path="@evil.example/works")])), encoding="utf-8")
    refused = patra("registry", "apply", str(file), exit_code=2)

    assert "PATH_UNSAFE" in str(refused)


def test_a_private_address_is_refused_unless_the_operator_allows_it(
    patra: Patra, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hostile_server(body(b'{"items": [], "total": 0}')) as server:
        register(patra, tmp_path, base_url=server.url, allow_plain_http=True, deadline="PT5S")
        refused = patra("source", "check", "small", "--send", exit_code=1)
        assert server.asked == []
        monkeypatch.setenv("PATRA_ALLOW_PRIVATE_ADDRESSES", "1")
        patra("source", "check", "small", "--send")

    assert refused["error"]["code"] == "PRIVATE_ADDRESS"
    assert "PATRA_UPSTREAM_SMALL" in refused["error"]["remedy"]
    assert len(server.asked) == 1


@pytest.mark.parametrize("case", ["a head byte by byte", "an error byte by byte"])
def test_a_relay_ends(patra: Patra, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    monkeypatch.setattr(webhook, "DEADLINE_SECONDS", 0.5)
    monkeypatch.setenv("HOOK_SECRET", "s3cret-of-the-receiver")
    monkeypatch.setenv("PATRA_WEBHOOK_SECRET", "env:HOOK_SECRET")
    with hostile_server(body(b'{"items": [{"id": "a", "updated": "2026-01-01T05:00:00Z"}], "total": 1}')) as provider:
        monkeypatch.setenv("PATRA_UPSTREAM_SMALL", provider.url)
        with hostile_server(HOSTILE[case][0]) as receiver:
            monkeypatch.setenv("PATRA_PUBLISHER", f"{receiver.url}/hook")
            register(patra, Path(patra.environment["PATRA_HOME"]).parent, deadline="PT5S")
            patra("plan", "small", *PERIOD)
            patra("execute", "--max-tasks", "1")
            report = within(lambda: patra.tried("outbox", "relay"))
            assert len(receiver.asked) > 0

    assert (report["sent"], report["pending"]) == (0, 1)
