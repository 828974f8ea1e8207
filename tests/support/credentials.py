"""Sources that ask with each kind of credential, and a page asked for with one."""

import base64
import traceback
from typing import Any

import pytest

from ingest_core.execution.fetch import FetchedPage, Fetcher
from ingest_core.execution.paging import paginator_of
from ingest_core.execution.ports import Request
from ingest_core.execution.request import Caller, render_request
from ingest_core.gate.taxonomy import UpstreamError
from ingest_core.inspection.local_gate import LocalGate
from ingest_core.model.credential_names import CredentialNames
from ingest_core.model.spec import SpecSnapshot
from ingest_core.transport.http import HttpUpstream
from tests.support.echo_server import EchoServer
from tests.support.specs import crossref_spec, span

DEMO_NAMES = CredentialNames(("DEMO_*", "demo*"))
"""The names of credentials that these sources may use."""

KEY = 'k3y+of/"the"=test'
TOKEN = "t0ken.of.the/test"
USER = "somebody"
PAIR = base64.b64encode(f"{USER}:{KEY}".encode()).decode()

KINDS: dict[str, dict[str, Any]] = {
    "header": {"type": "API_KEY", "location": "HEADER", "name": "x-api-key"},
    "query": {"type": "API_KEY", "location": "QUERY", "name": "api_key"},
    "body": {"type": "API_KEY", "location": "BODY", "name": "key"},
    "bearer": {"type": "BEARER"},
    "basic": {"type": "BASIC", "username_ref": "env:DEMO_USER"},
    "oauth2": {"type": "OAUTH2", "username_ref": "env:DEMO_USER", "token_url": "{url}/token"},
}
"""The settings of each kind of credential; `env:DEMO_KEY` is the secret of all."""


def set_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variables the kinds refer to, and a straight way to the loopback."""
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("PATRA_CREDENTIAL_NAMES", ",".join(DEMO_NAMES.entries))
    monkeypatch.setenv("DEMO_KEY", KEY)
    monkeypatch.setenv("DEMO_USER", USER)
    monkeypatch.delenv("DEMO_ABSENT", raising=False)


def spec_with(server: EchoServer, auth: dict[str, Any], **changes: Any) -> SpecSnapshot:
    """A source at the server that asks with this credential."""
    posts = {"method": "POST", "body_format": "JSON"} if auth.get("location") == "BODY" else {}
    whole = {"credential_ref": "env:DEMO_KEY", **auth}
    return crossref_spec(
        http={"base_url": server.url, "allow_plain_http": True, **posts},
        auth={name: value.format(url=server.url) if name == "token_url" else value for name, value in whole.items()},
        retry={"max_attempts": 2, "initial_seconds": 0.0, "max_seconds": 0.0, "jitter": 0.0},
        rate={"requests_per_second": 1000.0, "burst": 100},
        **changes,
    )


def first_request(spec: SpecSnapshot) -> Request:
    """The request for its first page."""
    return render_request(spec, span("00:00", "06:00"), paginator_of(spec.paging).first(), Caller("c"))


def fetch(upstream: HttpUpstream, spec: SpecSnapshot) -> FetchedPage:
    """Its first page."""
    fetcher = Fetcher(spec, LocalGate(), upstream, sleep=lambda _seconds: None)
    return fetcher.fetch(first_request(spec))


def failure(upstream: HttpUpstream, spec: SpecSnapshot) -> UpstreamError:
    """Why its first page does not come."""
    with pytest.raises(UpstreamError) as failed:
        fetch(upstream, spec)
    return failed.value


def told(error: BaseException) -> str:
    """Everything an error says, with all that led to it."""
    return "".join(traceback.format_exception(error))


def secrets_in(text: str) -> list[str]:
    """The parts of secrets a text holds, however they are written."""
    loose = text.replace("\\", "").replace("%2B", "+").replace("%2F", "/").replace("%22", '"').replace("%3D", "=")
    return [part for part in (KEY[:8], KEY[-8:], TOKEN[:8], PAIR[:8]) if part in loose]
