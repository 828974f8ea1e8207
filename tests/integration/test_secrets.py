"""Secrets are read by reference, when a request is sent and no earlier."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from prefect.blocks.system import Secret
from prefect.exceptions import ObjectNotFound

from flows.process.application import read_prefect_secret
from ingest_core.bootstrap import open_core_app, upgrade_database
from ingest_core.execution.ports import CredentialMissing
from ingest_core.inspection.check_source import CheckRequest, SourceCheck
from ingest_core.model.codes import AuthType, ErrorLevel, SchedulerCode
from ingest_core.model.spec import AuthSpec
from ingest_core.planning.request import PlanRequest, Trigger
from ingest_core.settings import Settings
from ingest_core.transport.credentials import Secrets
from ingest_core.transport.http import HttpUpstream
from tests.support.credentials import DEMO_NAMES, KEY, KINDS, failure, secrets_in, set_credentials, spec_with, told
from tests.support.echo_server import EchoServer, echo_server, request_to
from tests.support.specs import NOW, crossref_document, rows_of_document


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    set_credentials(monkeypatch)


@pytest.fixture
def server() -> Iterator[EchoServer]:
    with echo_server() as running:
        yield running


@pytest.fixture
def upstream() -> Iterator[HttpUpstream]:
    sender = HttpUpstream(
        "patra-test",
        credential_names=DEMO_NAMES,
        secret_readers={"prefect": read_prefect_secret},
        allow_private_addresses=True,
    )
    yield sender
    sender.close()


def bearer(reference: str = "env:DEMO_KEY", *, optional: bool = False) -> AuthSpec:
    return AuthSpec(type=AuthType.BEARER, credential_ref=reference, optional=optional)


# When secrets are read.


def test_a_secret_is_read_anew_for_each_request(
    upstream: HttpUpstream, server: EchoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for value in ("first", "second"):
        monkeypatch.setenv("DEMO_KEY", value)
        upstream.send(request_to(server.url, auth=bearer()))

    assert [one.headers["authorization"] for one in server.seen] == ["Bearer first", "Bearer second"]


def forbidden(name: str) -> str | None:
    raise AssertionError(f"{name} was read")


@pytest.mark.parametrize("kind", KINDS)
def test_compiling_and_looking_at_a_source_reads_no_secret(kind: str) -> None:
    auth = {**KINDS[kind], "auth": KINDS[kind]["type"], "ref": "env:DEMO_KEY"}
    auth.pop("type")
    if "token_url" in auth:
        auth["token_url"] = "https://id.example.org/token"
    document = crossref_document(credential=auth)
    if kind == "body":
        document["endpoints"][0]["method"] = "POST"
    upstream = HttpUpstream(
        "patra-test", credential_names=DEMO_NAMES, secret_readers={"env": forbidden}, allow_private_addresses=True
    )
    report = SourceCheck(rows_of_document(document), CheckRequest(), upstream, NOW).describe()
    upstream.close()

    assert "***" in json.dumps(report["requests"])
    assert secrets_in(str(report)) == []


def test_planning_reads_no_secret_and_stores_only_its_reference(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, database_url=f"sqlite:///{tmp_path}/patra.db", credential_names=DEMO_NAMES)
    upgrade_database(settings)
    with open_core_app(settings, timedelta(0), {"env": forbidden}) as app:
        document = crossref_document(credential={"auth": "BEARER", "ref": "env:DEMO_KEY"})
        app.registry.apply([rows_of_document(document)])
        report = app.planner.plan(PlanRequest("crossref"), Trigger(SchedulerCode.CLI, "t"))

    assert report.plan.tasks > 0
    stored = (tmp_path / "patra.db").read_bytes()
    assert (b"env:DEMO_KEY" in stored, KEY.encode() in stored) == (True, False)


# A secret that is not there.

MISSING = {
    "env": ("env:DEMO_ABSENT", "set the environment variable DEMO_ABSENT"),
    "prefect": ("prefect:demo-absent", "create the prefect block 'demo-absent'"),
}


@pytest.mark.parametrize(("reference", "way_out"), MISSING.values(), ids=MISSING)
def test_a_missing_secret_stops_the_source_and_says_the_way_out(
    upstream: HttpUpstream, server: EchoServer, monkeypatch: pytest.MonkeyPatch, reference: str, way_out: str
) -> None:
    monkeypatch.setattr(Secret, "load", _not_found)
    error = failure(upstream, spec_with(server, {"type": "BEARER", "credential_ref": reference}))

    assert (error.level, error.code) == (ErrorLevel.L4, "CREDENTIAL_MISSING")
    assert str(error) == f"the credential {reference!r} is not there: {way_out}"
    assert server.seen == []


@pytest.mark.parametrize("optional", [False, True])
def test_a_kind_of_reference_that_nothing_reads_is_named(server: EchoServer, optional: bool) -> None:
    upstream = HttpUpstream("patra-test", credential_names=DEMO_NAMES, allow_private_addresses=True)
    auth = {"type": "BEARER", "credential_ref": "prefect:demo", "optional": optional}
    error = failure(upstream, spec_with(server, auth))
    upstream.close()

    assert (error.code, str(error)) == (
        "CREDENTIAL_MISSING",
        "nothing here reads credentials of kind 'prefect' ('prefect:demo')",
    )
    assert server.seen == []


@pytest.mark.parametrize("value", ["two\nlines", "schlüssel", " spaced"])
def test_a_secret_that_cannot_stand_in_a_header_is_not_told(
    upstream: HttpUpstream, server: EchoServer, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("DEMO_KEY", value)
    error = failure(upstream, spec_with(server, KINDS["header"]))

    assert (error.level, error.code) == (ErrorLevel.L4, "CREDENTIAL_MISSING")
    assert "'env:DEMO_KEY' cannot stand in a header" in str(error)
    assert value not in told(error)
    assert server.seen == []


def test_the_line_break_a_file_ends_with_is_no_part_of_the_secret(
    upstream: HttpUpstream, server: EchoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEMO_KEY", "s3cret\r\n")
    upstream.send(request_to(server.url, auth=bearer()))

    assert server.seen[0].headers["authorization"] == "Bearer s3cret"


# Prefect's blocks.


def _not_found(name: str) -> Secret[str]:
    raise ValueError(f"no {name}") from ObjectNotFound(Exception("404"))


@pytest.mark.parametrize("value", ["s3cret", "0123456789", "12e5", "true", '{"a": 1}'])
def test_a_block_is_read_as_it_was_typed(
    upstream: HttpUpstream, server: EchoServer, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setattr(Secret, "load", lambda name: Secret(value={"demo-key": value}[name]))
    upstream.send(request_to(server.url, auth=bearer("prefect:demo-key")))

    assert server.seen[0].headers["authorization"] == f"Bearer {value}"


def test_a_block_that_holds_no_text_is_named_and_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Secret, "load", lambda _name: Secret(value={"user": KEY}))
    with pytest.raises(CredentialMissing, match="'demo-key' holds dict") as failed:
        Secrets({"prefect": read_prefect_secret}, DEMO_NAMES).read("prefect:demo-key")
    assert KEY not in told(failed.value)


@pytest.mark.parametrize("optional", [False, True])
@pytest.mark.parametrize("fault", [RuntimeError("no API"), ValueError("no JSON")], ids=["out of reach", "garbled"])
def test_while_prefect_does_not_answer_nobody_asks_anonymously(
    upstream: HttpUpstream, server: EchoServer, monkeypatch: pytest.MonkeyPatch, optional: bool, fault: Exception
) -> None:
    def fail(_name: str) -> Secret[str]:
        raise fault

    monkeypatch.setattr(Secret, "load", fail)
    auth = {"type": "BEARER", "credential_ref": "prefect:demo", "optional": optional}
    error = failure(upstream, spec_with(server, auth))

    assert (error.level, error.code, error.unreachable) == (ErrorLevel.L1, "UNREACHABLE", True)
    assert "'prefect:demo' cannot be read now" in str(error)
    assert server.seen == []


def test_an_absent_block_of_an_optional_credential_means_asking_anonymously(
    upstream: HttpUpstream, server: EchoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Secret, "load", _not_found)
    upstream.send(request_to(server.url, auth=bearer("prefect:demo", optional=True)))

    assert "authorization" not in server.seen[0].headers


@pytest.mark.long
def test_a_block_of_a_real_prefect_server_is_read() -> None:
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=120):
        Secret(value="0123456789").save("demo-key")
        assert read_prefect_secret("demo-key") == "0123456789"
        assert read_prefect_secret("demo-absent") is None
