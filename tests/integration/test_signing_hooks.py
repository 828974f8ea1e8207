"""Signing hooks: an installed entry point signs each request; one that fails stops the source and tells no secret."""

import hashlib
import hmac
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest_core.execution.ports import CredentialMissing, NotSent
from ingest_core.model.codes import AuthType, Operation
from ingest_core.model.errors import BadInput
from ingest_core.model.spec import AuthSpec
from ingest_core.registry.compile import CompileRequest, compile_source
from ingest_core.transport.auth import installed_hooks
from ingest_core.transport.http import HttpUpstream
from tests.support.credentials import DEMO_NAMES
from tests.support.echo_server import EchoServer, echo_server, request_to
from tests.support.specs import NOW, crossref_document, rows_of_document

KEY = "k3y-of-the-test"
MODULE = "patra_test_hooks"

HOOKS = """
import hashlib, hmac

def signed(request, secret):
    text = f"{request.method} {request.path} {request.query}"
    return {"X-Signature": hmac.new(secret("env:DEMO_KEY").encode(), text.encode(), hashlib.sha256).hexdigest(),
            "X-Version": "1", "X-Empty": ""}

def failing(request, secret):
    raise ValueError(f"cannot sign with {secret('env:DEMO_KEY')}")

def without_key(request, secret):
    return {"X-Signature": secret("env:DEMO_ABSENT")}

def nothing(request, secret):
    return None

def of_bytes(request, secret):
    return {"X-Signature": secret("env:DEMO_KEY").encode()}

def of_two_lines(request, secret):
    return {"X-Signature": "one\\n" + secret("env:DEMO_KEY")}
"""
NAMES = ("signed", "failing", "without_key", "nothing", "of_bytes", "of_two_lines")


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("DEMO_KEY", KEY)
    monkeypatch.delenv("DEMO_ABSENT", raising=False)


@pytest.fixture
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package with hooks, as an installer would leave it."""
    info = tmp_path / f"{MODULE}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {MODULE}\nVersion: 1.0\n")
    points = [f"{name} = {MODULE}:{name}" for name in NAMES] + ["gone = patra_test_no_such_module:sign"]
    (info / "entry_points.txt").write_text("[patra.signing_hooks]\n" + "\n".join(points) + "\n")
    (tmp_path / f"{MODULE}.py").write_text(HOOKS)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop(MODULE, None)


@pytest.fixture
def server() -> Iterator[EchoServer]:
    with echo_server() as running:
        yield running


@pytest.fixture
def upstream() -> Iterator[HttpUpstream]:
    sender = HttpUpstream("patra-test", credential_names=DEMO_NAMES, allow_private_addresses=True)
    yield sender
    sender.close()


def custom(hook: str) -> AuthSpec:
    return AuthSpec(type=AuthType.CUSTOM, credential_ref=None, signing_hook=hook)


@pytest.mark.usefixtures("_installed")
def test_an_installed_hook_signs_each_request(upstream: HttpUpstream, server: EchoServer) -> None:
    for rows in ("1", "2"):
        upstream.send(request_to(server.url, auth=custom("signed"), query={"rows": rows}))

    for rows, seen in zip(("1", "2"), server.seen, strict=True):
        text = f"GET /works [('rows', '{rows}')]"
        assert seen.headers["x-signature"] == hmac.new(KEY.encode(), text.encode(), hashlib.sha256).hexdigest()
        assert (seen.headers["x-version"], seen.headers["x-empty"]) == ("1", "")


@pytest.mark.usefixtures("_installed")
def test_key_and_signature_are_masked_where_they_come_back_and_nothing_else_is(
    upstream: HttpUpstream, server: EchoServer
) -> None:
    response = upstream.send(request_to(server.url, auth=custom("signed")))
    signature = server.seen[0].headers["x-signature"]

    assert response.clean(f"page 1 of 10 by {KEY}, {signature}") == "page 1 of 10 by ***, ***"


@pytest.mark.usefixtures("_installed")
def test_the_preview_names_the_hook_and_does_not_call_it(upstream: HttpUpstream, server: EchoServer) -> None:
    preview = upstream.preview(request_to(server.url, auth=custom("failing")))

    assert preview["headers"]["authorization"] == "signed by failing ***"
    assert MODULE not in sys.modules


def test_a_hook_that_is_not_installed_is_named(upstream: HttpUpstream, server: EchoServer) -> None:
    with pytest.raises(CredentialMissing, match=r"'signed' is installed .*patra\.signing_hooks"):
        upstream.send(request_to(server.url, auth=custom("signed")))
    assert server.seen == []


FAULTS = {
    "failing": "'failing' failed: ValueError",
    "nothing": "'nothing' failed: TypeError",
    "of_bytes": "'of_bytes' failed: TypeError",
    "of_two_lines": "'of_two_lines' cannot stand in a header",
    "gone": "'gone' failed: ModuleNotFoundError",
    "without_key": "'env:DEMO_ABSENT' is not there: set the environment variable DEMO_ABSENT",
}


@pytest.mark.usefixtures("_installed")
@pytest.mark.parametrize(("hook", "message"), FAULTS.items(), ids=FAULTS)
def test_a_hook_that_cannot_sign_sends_nothing_and_tells_no_secret(
    upstream: HttpUpstream, server: EchoServer, hook: str, message: str
) -> None:
    with pytest.raises(CredentialMissing) as failed:
        upstream.send(request_to(server.url, auth=custom(hook)))

    assert message in str(failed.value)
    assert KEY not in "".join(traceback.format_exception(failed.value))
    assert server.seen == []


@pytest.mark.usefixtures("_installed")
def test_a_hook_whose_secret_cannot_be_read_now_is_a_passing_fault(server: EchoServer) -> None:
    def unreachable(_name: str) -> str | None:
        raise ConnectionError("no route")

    upstream = HttpUpstream(
        "patra-test", credential_names=DEMO_NAMES, secret_readers={"env": unreachable}, allow_private_addresses=True
    )
    with pytest.raises(NotSent, match="env:DEMO_KEY"):
        upstream.send(request_to(server.url, auth=custom("signed")))
    upstream.close()


def compiled_with(hook: str) -> AuthSpec:
    rows = rows_of_document(crossref_document(credential={"auth": "CUSTOM", "signing_hook": hook}))
    request = CompileRequest("crossref", "works", Operation.HARVEST, signing_hooks=installed_hooks())
    return compile_source(rows, request, NOW).spec.auth


@pytest.mark.usefixtures("_installed")
def test_a_source_compiles_only_with_a_hook_that_is_installed() -> None:
    assert compiled_with("signed") == custom("signed")
    with pytest.raises(BadInput, match="no signing hook 'missing' is installed"):
        compiled_with("missing")
