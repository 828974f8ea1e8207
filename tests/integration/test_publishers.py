"""Whom messages are sent to: what PATRA_PUBLISHER may say, and publishers that others install."""

import re
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest_core.execution.ports import NotSent
from ingest_core.model.errors import BadInput, Unreachable
from ingest_core.settings import load_settings
from ingest_core.transport.credentials import Secrets
from ingest_core.transport.publishers import open_publisher
from tests.support.echo_server import echo_server
from tests.support.outbox import message

MODULE = "patra_test_publishers"
SECRET = "p4ssword-of-the-test"
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "outbox.md"

PUBLISHERS = """
SENT, CLOSED = [], []

class Listing:
    def __init__(self, secret):
        self.password = secret("env:DEMO_PASSWORD")

    def publish(self, messages):
        SENT.extend(message.dedup_key for message in messages)

    def close(self):
        CLOSED.append(self.password)

def failing(secret):
    raise ValueError(secret("env:DEMO_PASSWORD"))

def without(secret):
    secret("env:DEMO_ABSENT")
"""
NAMES = ("Listing", "failing", "without")


def install(folder: Path, name: str, code: str, points: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave a package as an installer would."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[patra.publishers]\n{points}\n")
    (folder / f"{name}.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(folder)


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("DEMO_PASSWORD", SECRET)
    monkeypatch.delenv("DEMO_ABSENT", raising=False)


@pytest.fixture
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    points = [f"{name.lower()} = {MODULE}:{name}" for name in NAMES] + ["gone = patra_test_no_such_module:Gone"]
    install(tmp_path, MODULE, PUBLISHERS, "\n".join(points), monkeypatch)
    yield
    sys.modules.pop(MODULE, None)


def publish_one(name: str | None, secret_ref: str | None = None, secrets: Secrets | None = None) -> None:
    with open_publisher(name, secret_ref, secrets or Secrets(None, allowed=None), "patra-test") as publisher:
        publisher.publish([message("a")])


def test_a_file_is_appended_to(tmp_path: Path) -> None:
    publish_one(f"file:{tmp_path}/out.jsonl")
    assert (tmp_path / "out.jsonl").read_bytes().count(b"\n") == 1


def test_a_url_is_posted_to_with_the_secret_that_is_referred_to() -> None:
    with echo_server() as server:
        publish_one(f"{server.url}/hook", "env:DEMO_PASSWORD")
        assert server.seen[0].headers["x-patra-signature"].startswith("sha256=")


@pytest.mark.usefixtures("_installed")
def test_an_installed_publisher_gets_its_secret_the_messages_and_an_end() -> None:
    publish_one("listing")
    module = sys.modules[MODULE]
    sent, closed = module.SENT, module.CLOSED
    assert (sent, closed) == ([message("a").dedup_key], [SECRET])


@pytest.mark.usefixtures("_installed")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        (None, "PATRA_PUBLISHER: no publisher is set"),
        ("nobody", r"no publisher 'nobody' is installed \(installed are: failing, gone, listing, without"),
        ("failing", "'failing' cannot be opened: ValueError"),
        ("without", "'env:DEMO_ABSENT' is not there"),
        ("gone", "ModuleNotFoundError"),
    ],
)
def test_a_publisher_that_is_not_to_be_had_is_named_and_tells_no_secret(name: str | None, words: str) -> None:
    with pytest.raises(BadInput, match=words) as failed:
        publish_one(name)
    assert SECRET not in "".join(traceback.format_exception(failed.value))


def test_a_webhook_without_its_secret_sends_nothing() -> None:
    with echo_server() as server:
        with pytest.raises(BadInput, match="there is no secret"):
            publish_one(server.url)
        with pytest.raises(BadInput, match="env:DEMO_ABSENT"):
            publish_one(server.url, "env:DEMO_ABSENT")

        def away(_name: str) -> str | None:
            raise NotSent("no Prefect")

        with pytest.raises(Unreachable, match="no Prefect"):
            publish_one(server.url, "prefect:hook", Secrets({"prefect": away}, allowed=None))
        assert server.seen == []


def test_the_publisher_of_the_docs_publishes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = PAGE.read_text(encoding="utf-8")
    (code,) = re.findall(r'^```python\n("""LOUD: .+?)^```$', text, re.MULTILINE | re.DOTALL)
    (entry,) = re.findall(r'^\[project\.entry-points\."patra\.publishers"\]\n(.+)$', text, re.MULTILINE)
    install(tmp_path, "loud_publisher", code, entry.replace('"', ""), monkeypatch)
    monkeypatch.setenv("LOUD_PASSWORD", "x")
    publish_one("loud")
    sys.modules.pop("loud_publisher")
    assert capsys.readouterr().out == "books.list a\n"


@pytest.mark.parametrize(
    "value",
    [
        "file:out.jsonl",
        "file:/data/out.jsonl",
        "https://hooks.example.org/t0ken?x=1",
        "http://127.0.0.1:8080/hook",
        "http://localhost/hook",
        "http://[::1]:9/hook",
        "kafka",
        "my-own.publisher_2",
    ],
)
def test_a_publisher_may_be_a_file_a_url_or_a_name(value: str) -> None:
    assert load_settings({"PATRA_PUBLISHER": value}).publisher == value


@pytest.mark.parametrize(
    "value",
    ["file:", "http://hooks.example.org/t0ken", "ftp://example.org/t0ken", "https://", "two words", "http://[t0ken"],
)
def test_another_publisher_is_refused_without_repeating_it(value: str) -> None:
    with pytest.raises(BadInput, match=r"PATRA_PUBLISHER: it is none of file:PATH") as failed:
        load_settings({"PATRA_PUBLISHER": value})
    assert "t0ken" not in str(failed.value)


def test_the_secret_itself_is_no_reference_and_is_not_repeated() -> None:
    assert load_settings({"PATRA_WEBHOOK_SECRET": "env:HOOK_SECRET"}).webhook_secret == "env:HOOK_SECRET"
    with pytest.raises(BadInput, match="write env:NAME or prefect:NAME, not the secret") as failed:
        load_settings({"PATRA_WEBHOOK_SECRET": SECRET})
    assert SECRET not in str(failed.value)


def test_a_url_with_a_token_is_not_shown_with_the_settings() -> None:
    assert "t0ken" not in repr(load_settings({"PATRA_PUBLISHER": "https://hooks.example.org/t0ken"}))
