"""A source may use only the secrets that an operator allowed, and never a setting of Patra or Prefect."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest_core.bootstrap import check_rows, open_core_app, upgrade_database
from ingest_core.execution.ports import CredentialMissing, CredentialRefused
from ingest_core.model.codes import ErrorLevel, SchedulerCode
from ingest_core.model.credential_names import SHIPPED, SHIPPED_NAMES, CredentialNames, how_to_allow, is_reserved
from ingest_core.model.errors import BadInput, ExitCode
from ingest_core.planning.request import PlanRequest, Trigger
from ingest_core.registry.problems import SpecInvalid
from ingest_core.registry.read import read_source
from ingest_core.registry.rows import references_of, rows_of
from ingest_core.settings import Settings, load_settings
from ingest_core.shipped import shipped_sources
from ingest_core.transport.credentials import Secrets
from ingest_core.transport.http import HttpUpstream
from ingest_core.transport.publishers import open_publisher
from tests.support.credentials import KINDS, failure, set_credentials, spec_with
from tests.support.echo_server import EchoServer, echo_server
from tests.support.specs import NOW, crossref_document, rows_of_document

DATABASE_URL = "postgresql://patra:s3cret-of-the-database@db.example/patra"
NAMES = st.from_regex(r"[A-Za-z0-9_.-]{1,20}", fullmatch=True)


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    set_credentials(monkeypatch)
    monkeypatch.setenv("PATRA_DATABASE_URL", DATABASE_URL)


@pytest.fixture
def server() -> Iterator[EchoServer]:
    with echo_server() as running:
        yield running


def test_the_names_of_the_shipped_sources_are_allowed_without_a_setting() -> None:
    used = {one for name, text in shipped_sources().items() for one in references_of(rows_of(read_source(text, name)))}

    assert used == {f"env:{name}" for name in SHIPPED}
    assert load_settings({}).credential_names == SHIPPED_NAMES


def test_a_setting_adds_names_and_prefixes_to_the_shipped_ones() -> None:
    names = load_settings({"PATRA_CREDENTIAL_NAMES": " MUSEUM_KEY , LIBRARY_*,,museum-key"}).credential_names

    allowed = ("env:MUSEUM_KEY", "prefect:museum-key", "env:LIBRARY_A", "env:LIBRARY_", "env:NCBI_API_KEY")
    refused = ("env:MUSEUM_KEY2", "env:museum_key", "env:LIBRARY", "env:HOME", "env:", "prefect:other")
    assert [one for one in (*allowed, *refused) if names.allow(one)] == list(allowed)


@pytest.mark.parametrize(
    "value",
    ["PATRA_DATABASE_URL", "A,PATRA_*", "PREFECT_API_KEY", "patra_x", "Prefect_*", "*", "A*B", "A B", "env:A", "A;B",
     "A\x00", "\udcff", "A" * 100_000 + "*x", "é"],
)  # fmt: skip
def test_a_list_that_could_open_a_setting_or_is_no_list_is_refused(value: str) -> None:
    with pytest.raises(BadInput) as refused:
        load_settings({"PATRA_CREDENTIAL_NAMES": value})

    assert (refused.value.where, refused.value.exit_code) == ("PATRA_CREDENTIAL_NAMES", ExitCode.BAD_INPUT)
    assert refused.value.remedy
    assert len(str(refused.value)) < 500


@given(st.lists(NAMES, max_size=5), st.sampled_from(["PATRA_", "PREFECT_", "patra_", "Prefect_"]), NAMES)
def test_no_list_allows_a_setting_of_patra_or_prefect(entries: list[str], prefix: str, rest: str) -> None:
    everything = CredentialNames((*entries, *(f"{one}*" for one in entries), "P*", "p*", prefix + rest))

    assert is_reserved(prefix + rest)
    assert not everything.allow(f"env:{prefix}{rest}")
    assert not everything.allow(f"prefect:{prefix}{rest}")


@pytest.mark.parametrize("optional", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reference", ["env:PATRA_DATABASE_URL", "env:PATH", "prefect:any-block"])
def test_a_row_that_names_another_secret_sends_nothing_and_stops_its_source(
    server: EchoServer, kind: str, reference: str, optional: bool
) -> None:
    upstream = HttpUpstream(
        "patra-test",
        secret_readers={"prefect": lambda _name: DATABASE_URL},
        credential_names=CredentialNames(("DEMO_*",)),
    )
    auth = {**KINDS[kind], "credential_ref": reference, "optional": optional}
    error = failure(upstream, spec_with(server, auth))
    upstream.close()

    assert (error.level, error.code) == (ErrorLevel.L4, "CREDENTIAL_REFUSED")
    assert how_to_allow(reference) in str(error)
    assert server.seen == []


@pytest.mark.parametrize("kind", ["basic", "oauth2"])
def test_the_user_of_a_pair_is_checked_too(server: EchoServer, kind: str) -> None:
    upstream = HttpUpstream("patra-test", credential_names=CredentialNames(("DEMO_KEY",)))
    error = failure(upstream, spec_with(server, KINDS[kind]))
    upstream.close()

    assert error.code == "CREDENTIAL_REFUSED"
    assert "add DEMO_USER to PATRA_CREDENTIAL_NAMES" in str(error)
    assert server.seen == []


def test_a_reference_that_is_refused_is_not_read() -> None:
    def forbidden(name: str) -> str | None:
        raise AssertionError(f"{name} was read")

    secrets = Secrets({"env": forbidden}, CredentialNames(("DEMO_KEY",)))
    with pytest.raises(CredentialRefused):
        secrets.read("env:PATRA_DATABASE_URL")
    with pytest.raises(CredentialRefused):
        secrets.find("env:DEMO_KEYS")
    assert issubclass(CredentialRefused, CredentialMissing)


@pytest.mark.parametrize("place", ["block", "source.defaults", "endpoint.defaults"])
def test_a_source_file_that_names_another_secret_is_refused_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    rows = rows_of_document(_document(place, "env:MUSEUM_KEY"))
    with pytest.raises(SpecInvalid) as refused:
        check_rows(rows, NOW)

    assert [problem.rule for problem in refused.value.problems] == ["CREDENTIAL_REFUSED"]
    assert "add MUSEUM_KEY to PATRA_CREDENTIAL_NAMES" in str(refused.value)
    monkeypatch.setenv("PATRA_CREDENTIAL_NAMES", "MUSEUM_KEY")
    assert check_rows(rows, NOW) is rows


def _document(place: str, reference: str) -> dict[str, object]:
    credential = {"auth": "BEARER", "ref": reference}
    if place == "block":
        return crossref_document(credential=credential)
    document = crossref_document()
    owner = document["source"] if place == "source.defaults" else document["endpoints"][0]
    owner["defaults"] = {**(owner.get("defaults") or {}), "credential": credential}
    return document


@pytest.mark.parametrize("place", ["block", "source.defaults", "endpoint.defaults"])
def test_an_upgrade_says_what_to_set_for_a_source_that_is_already_there(tmp_path: Path, place: str) -> None:
    settings = Settings(home=tmp_path, database_url=f"sqlite:///{tmp_path}/patra.db")
    assert upgrade_database(settings)["warnings"] == []
    with open_core_app(settings, timedelta(0)) as app:
        app.registry.apply([rows_of_document(_document(place, "env:MUSEUM_KEY"))])
        with pytest.raises(SpecInvalid, match="add MUSEUM_KEY to PATRA_CREDENTIAL_NAMES"):
            app.planner.plan(PlanRequest("crossref"), Trigger(SchedulerCode.CLI, "t"))

    (warning,) = upgrade_database(settings)["warnings"]
    assert warning.startswith("source 'crossref' uses 'env:MUSEUM_KEY', which is not allowed: add MUSEUM_KEY to PATRA_")


def test_the_operators_own_webhook_secret_may_have_any_name(
    server: EchoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATRA_HOOK", "a secret of the operator's own")
    with open_publisher(server.url, "env:PATRA_HOOK", Secrets(None, allowed=None), "patra-test") as publisher:
        publisher.publish([])
    assert "x-patra-signature" in server.seen[0].headers
