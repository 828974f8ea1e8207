"""What `patra up --no-sandbox` says is missing before it starts anything: contact, keys, providers."""

import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flows.cli.room import _lacks
from flows.up.lacks import say_missing_at_once
from ingest_core.bootstrap import open_core_app, upgrade_database
from ingest_core.execution.ports import NotSent
from ingest_core.inspection.readiness import Lack, LackKind
from ingest_core.planning.request import PlanRequest
from ingest_core.settings import Settings
from ingest_core.shipped import shipped_sources
from tests.support.echo_server import EchoServer, echo_server, make_certificate

CODES = sorted(name.removesuffix(".yaml") for name in shipped_sources())
NO_PROVIDER = "http://127.0.0.1:9"
KEYS = {"openalex": "OPENALEX_API_KEY", "pubmed": "NCBI_API_KEY", "semanticscholar": "SEMANTIC_SCHOLAR_API_KEY"}


@pytest.fixture
def provider() -> Iterator[EchoServer]:
    """A provider that is there."""
    with echo_server() as server:
        yield server


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a database of the shipped sources."""
    folder = tmp_path_factory.mktemp("home")
    upgrade_database(Settings(home=folder))
    return folder


@pytest.fixture
def settings(home: Path, provider: EchoServer, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """No contact and one key; of the providers, Crossref alone is there."""
    settings = Settings(home=home, upstreams={**dict.fromkeys(CODES, NO_PROVIDER), "crossref": provider.url})
    for name in KEYS.values():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(KEYS["pubmed"], "a key")
    return settings


def lacking(found: list[Lack], kind: LackKind) -> set[str]:
    return {source for one in found if one.kind == kind for source in one.sources}


def test_contact_keys_and_providers_that_are_missing_are_said(settings: Settings, provider: EchoServer) -> None:
    said: list[str] = []
    found = say_missing_at_once(settings, said.append)

    assert lacking(found, LackKind.CONTACT) == {"crossref", "datacite", "europepmc", "openalex", "pubmed"}
    assert lacking(found, LackKind.KEY) >= {"openalex", "semanticscholar"}
    assert "pubmed" not in lacking(found, LackKind.KEY)
    assert lacking(found, LackKind.PROVIDER) == {*CODES} - {"crossref"}
    assert provider.seen == []  # a connection is no request
    assert said[0].startswith("missing: PATRA_CONTACT is not set: crossref, datacite, ")
    assert len(said) == len(found)
    key = next(line for line in said if KEYS["openalex"] in line)
    assert "(optional: requests are sent without it)" in key
    away = next(line for line in said if "source arxiv" in line)
    assert away.startswith(f"missing: source arxiv: its provider was not reached: {NO_PROVIDER}: ")


def test_a_contact_that_is_set_is_not_missing(settings: Settings) -> None:
    found = say_missing_at_once(replace(settings, contact="ops@example.org"), lambda _line: None)
    assert lacking(found, LackKind.CONTACT) == set()


def test_the_table_of_the_room_names_the_sources_of_each_kind() -> None:
    missing = [
        Lack(LackKind.CONTACT, ("crossref", "pubmed"), "no contact"),
        Lack(LackKind.KEY, ("datacite",), "no user"),
        Lack(LackKind.KEY, ("datacite",), "no password"),
    ]
    assert list(_lacks([one.json() for one in missing])) == [("no contact", "crossref, pubmed"), ("no key", "datacite")]
    assert list(_lacks([])) == []


def reach(settings: Settings, upstream: str | None, **http: Any) -> None:
    """Connect to Crossref there."""
    with open_core_app(replace(settings, upstreams={"crossref": upstream} if upstream else {})) as app:
        spec = app.planner.compile(PlanRequest("crossref")).spec.http.model_copy(update=http)
        app.upstream.reach("crossref", spec, 5)


def test_a_certificate_that_is_not_trusted_is_no_way_to_a_provider(settings: Settings, tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    if certificate is None:
        pytest.skip("no openssl")
    with echo_server(certificate) as server:
        with pytest.raises(NotSent, match="certificate"):
            reach(settings, server.url)
        reach(settings, server.url, ca_bundle=str(certificate.certificate))


def test_a_private_address_of_a_source_file_is_not_connected_to(settings: Settings) -> None:
    with pytest.raises(NotSent, match="not at a public address"):
        reach(settings, None, base_url="https://127.0.0.1:9")


def test_a_provider_behind_a_proxy_needs_the_proxy(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as proxy:
        proxy.bind(("127.0.0.1", 0))
        proxy.listen()
        port = proxy.getsockname()[1]
        monkeypatch.setenv("HTTPS_PROXY", f"http://user:secret@127.0.0.1:{port}")
        reach(settings, None, base_url="https://provider.invalid")
    with pytest.raises(NotSent) as refused:
        reach(settings, None, base_url="https://provider.invalid")
    assert str(refused.value).startswith(f"http://127.0.0.1:{port}: ")
    assert "secret" not in str(refused.value)
