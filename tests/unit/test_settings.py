"""Settings come from PATRA_* variables, typed; a wrong one is named."""

from pathlib import Path

import pytest

from ingest_core import __version__
from ingest_core.model.errors import BadInput, ExitCode
from ingest_core.settings import Settings, load_settings


def test_an_empty_environment_has_defaults() -> None:
    settings = load_settings({})

    assert settings == Settings()
    assert settings.home == Path(".patra")
    assert settings.effective_database_url == f"sqlite:///{Path.cwd() / '.patra' / 'patra.db'}"
    assert (settings.log_level, settings.log_format, settings.lease_ttl_seconds) == ("WARNING", "text", 60)
    assert settings.user_agent == f"patra-ingest/{__version__}"


def test_every_variable_is_read() -> None:
    settings = load_settings(
        {
            "PATRA_HOME": "/data/patra",
            "PATRA_DATABASE_URL": "postgresql://db/x",
            "PATRA_UPSTREAM_CROSSREF": "http://localhost:8000/crossref",
            "PATRA_UPSTREAM_EUROPE_PMC": "https://mirror.example.org",
            "PATRA_LOG_LEVEL": "debug",
            "PATRA_LOG_FORMAT": "JSON",
            "PATRA_LEASE_TTL_SECONDS": "5",
            "PATRA_SLOT_LEASE_SECONDS": "90",
            "PATRA_TOTAL_CONCURRENCY": "7",
            "PATRA_CONTACT": "ops@example.org",
            "PATH": "/bin",
        }
    )

    assert settings.home == Path("/data/patra")
    assert settings.effective_database_url == "postgresql://db/x"
    assert settings.upstream_for("crossref") == "http://localhost:8000/crossref"
    assert settings.upstream_for("europe_pmc") == "https://mirror.example.org"
    assert settings.upstream_for("pubmed") is None
    assert (settings.log_level, settings.log_format, settings.lease_ttl_seconds) == ("DEBUG", "json", 5)
    assert (settings.slot_lease_seconds, settings.total_concurrency) == (90, 7)
    assert settings.user_agent.endswith("(mailto:ops@example.org)")


def test_the_default_database_lives_in_the_home_folder() -> None:
    assert load_settings({"PATRA_HOME": "/data"}).effective_database_url == "sqlite:////data/patra.db"


@pytest.mark.parametrize(
    "name",
    [
        "PATRA_HOME",
        "PATRA_DATABASE_URL",
        "PATRA_UPSTREAM_CROSSREF",
        "PATRA_LOG_LEVEL",
        "PATRA_LOG_FORMAT",
        "PATRA_LEASE_TTL_SECONDS",
        "PATRA_SLOT_LEASE_SECONDS",
        "PATRA_TOTAL_CONCURRENCY",
        "PATRA_CONTACT",
    ],
)
def test_an_empty_variable_is_as_good_as_none(name: str) -> None:
    assert load_settings({name: ""}) == Settings()


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("PATRA_UPSTREAM_CROSSREF", "localhost:8000", "http or https URL"),
        ("PATRA_UPSTREAM_CROSSREF", "ftp://x", "http or https URL"),
        ("PATRA_UPSTREAM_CROSSREF", "httpx://x", "http or https URL"),
        ("PATRA_LOG_LEVEL", "LOUD", "DEBUG, INFO, WARNING, ERROR"),
        ("PATRA_LOG_FORMAT", "xml", "text, json"),
        ("PATRA_LEASE_TTL_SECONDS", "0", "whole number of seconds above 0"),
        ("PATRA_LEASE_TTL_SECONDS", "-1", "whole number of seconds above 0"),
        ("PATRA_LEASE_TTL_SECONDS", "1.5", "whole number of seconds above 0"),
        ("PATRA_LEASE_TTL_SECONDS", "a minute", "whole number of seconds above 0"),
        ("PATRA_LEASE_TTL_SECONDS", "²", "whole number of seconds above 0"),
        ("PATRA_SLOT_LEASE_SECONDS", "59", "whole number of seconds above 59"),
        ("PATRA_TOTAL_CONCURRENCY", "0", "whole number above 0"),
        *[
            ("PATRA_CONTACT", wrong, "not an e-mail address")
            for wrong in (
                "me",
                "me@home",
                "@example.org",
                "me@example..org",
                "me at example.org",
                "a@b@example.org",
                "me@example.org\u00e9",
                "https://example.org/me",
                "me@-example.org",
                "mailto:me@example.org",
            )
        ],
    ],
)
def test_a_wrong_value_is_named_with_its_variable_and_what_is_allowed(name: str, value: str, expected: str) -> None:
    with pytest.raises(BadInput) as refused:
        load_settings({name: value})

    assert refused.value.exit_code == ExitCode.BAD_INPUT
    assert refused.value.where == name
    assert repr(value) in refused.value.message
    assert expected in refused.value.message


def test_the_processes_own_environment_is_read_when_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATRA_CONTACT", "me@example.org")

    assert load_settings().contact == "me@example.org"


def test_hosts_that_patra_up_answers_are_listed() -> None:
    found = load_settings({"PATRA_UP_ALLOWED_HOSTS": " Patra.example.org , localhost:8080,[::1]:9,"})
    assert found.up_allowed_hosts == ("patra.example.org", "localhost:8080", "[::1]:9")
    assert load_settings({}).up_allowed_hosts == ()


@pytest.mark.parametrize("wrong", ["*", "*.example.org", "http://a.example", "a b", "a.example/", "a:b", ":80", "a\nb"])
def test_a_host_that_is_none_is_refused(wrong: str) -> None:
    with pytest.raises(BadInput, match=r"is not a host|control character") as refused:
        load_settings({"PATRA_UP_ALLOWED_HOSTS": f"ok.example,{wrong}"})
    assert refused.value.where == "PATRA_UP_ALLOWED_HOSTS"


@pytest.mark.parametrize("address", ["me@example.org", "first.last+patra@mail.uni-example.ac.uk", "o'neil@example.org"])
def test_an_e_mail_address_is_a_contact(address: str) -> None:
    assert load_settings({"PATRA_CONTACT": address}).contact == address
