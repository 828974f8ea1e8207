"""What an error means: one place says how bad it is."""

from datetime import timedelta

import pytest

from ingest_core.gate.taxonomy import MAX_RETRY_AFTER, UpstreamError, error_of_status, parse_retry_after
from ingest_core.model.codes import ErrorLevel
from tests.support.specs import at, crossref_spec

NOW = at("12:00")
RETRY_STATUSES = crossref_spec().retry.retry_statuses


def error_of(status: int, body: bytes = b"", **headers: str) -> UpstreamError:
    """The error of a status that must be one."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    error = error_of_status(status, named, body, RETRY_STATUSES, NOW)
    assert error is not None
    return error


@pytest.mark.parametrize("status", [200, 201, 204, 299])
def test_success_is_no_error(status: int) -> None:
    assert error_of_status(status, {}, b"", RETRY_STATUSES, NOW) is None


@pytest.mark.parametrize(
    ("status", "level", "moved"),
    [
        (408, ErrorLevel.L1, True),
        (429, ErrorLevel.L1, False),
        (500, ErrorLevel.L1, True),
        (502, ErrorLevel.L1, True),
        (503, ErrorLevel.L1, True),
        (504, ErrorLevel.L1, True),
        (400, ErrorLevel.L2, False),
        (404, ErrorLevel.L2, False),
        (410, ErrorLevel.L2, False),
        (422, ErrorLevel.L2, False),
        (501, ErrorLevel.L2, False),
        (301, ErrorLevel.L2, False),
        (304, ErrorLevel.L2, False),
        (100, ErrorLevel.L2, False),
        (401, ErrorLevel.L4, False),
        (403, ErrorLevel.L4, False),
    ],
)
def test_a_status_has_a_level_and_says_whether_the_provider_may_have_gone_on(
    status: int, level: ErrorLevel, *, moved: bool
) -> None:
    error = error_of(status)

    assert (error.level, error.moved, error.code, error.status) == (level, moved, f"HTTP_{status}", status)
    assert not error.unreachable


def test_which_statuses_pass_is_the_registrys_to_say() -> None:
    error = error_of_status(418, {}, b"", [418], NOW)

    assert error is not None
    assert error.level == ErrorLevel.L1
    assert error_of(418).level == ErrorLevel.L2


def test_a_refused_credential_is_fatal_even_where_the_registry_would_retry() -> None:
    for status in (401, 403):
        error = error_of_status(status, {}, b"", [401, 403], NOW)
        assert error is not None
        assert error.level == ErrorLevel.L4


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"<html><head><title>400</title></head><body><h1>Bad Request</h1>nginx</body></html>", "Bad Request nginx"),
        (b"\n<!DOCTYPE html><html><head><title>Just a moment...</title></head></html>", "Just a moment..."),
        (b"<!-- a --><HTML><Body><script>if (a < b) c()</script><STYLE>p {}</STYLE>Busy<!-- <b> --></Body>", "Busy"),
        (b"<html><body>Busy<script>cut off", "Busy"),
        (b"<!---->" * 20 + b" <b>busy</b>", "<!---->" * 20 + " <b>busy</b>"),
        (b"<html>a < b and <b>c</b>", "a < b and c"),
        (b"<error code='7'>no such field</error>", "<error code='7'>no such field</error>"),
        (b'{"message": "<html> is not allowed"}', '{"message": "<html> is not allowed"}'),
    ],
)
def test_of_a_web_page_the_words_are_told(body: bytes, said: str) -> None:
    assert error_of(400, body).message == f"the provider answered 400: {said}"


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0),
        ("7", 7),
        ("1.5", 1.5),
        (" 7 ", 7),
        ("-5", 0),
        ("Tue, 10 Mar 2026 12:00:30 GMT", 30),
        ("Tue, 10 Mar 2026 13:00:30 +0100", 1830 - 1800),
        ("Tue, 10 Mar 2026 12:00:30 -0000", 30),
        ("Tuesday, 10-Mar-26 12:00:30 GMT", 30),
        ("Tue, 10 Mar 2026 11:00:00 GMT", 0),
        ("86400", 86400),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str, seconds: float) -> None:
    assert parse_retry_after(value, NOW) == timedelta(seconds=seconds)


@pytest.mark.parametrize("value", ["604801", "999999999999", "Tue, 10 Mar 2099 12:00:00 GMT"])
def test_a_retry_after_is_bounded(value: str) -> None:
    assert parse_retry_after(value, NOW) == MAX_RETRY_AFTER == timedelta(days=7)


@pytest.mark.parametrize("value", [None, "", " ", "soon", "nan", "Tue, 99 Mar 2026 12:00:00 GMT", "2026-03-10", "1h"])
def test_a_retry_after_that_is_neither_is_nothing(value: str | None) -> None:
    assert parse_retry_after(value, NOW) is None


def test_a_retry_after_with_an_absurd_date_is_nothing() -> None:
    assert parse_retry_after("Mon, 99999999999 Jan 2026 00:00:00 GMT", NOW) is None


def test_a_status_that_passes_carries_its_retry_after() -> None:
    assert error_of(429, retry_after="30").retry_after == timedelta(seconds=30)
    assert error_of(503, retry_after="30").retry_after == timedelta(seconds=30)
    assert error_of(503).retry_after is None


def test_the_message_shows_the_start_of_the_answer_on_one_line() -> None:
    error = error_of(500, b"Internal\n\n   error " + b"x" * 5000)

    assert str(error).startswith("the provider answered 500: Internal error xxx")
    assert len(str(error)) < 250
    assert str(error).endswith("…")


def test_an_answer_that_is_no_text_is_no_problem() -> None:
    assert "\ufffd" in str(error_of(500, b"\xff\xfe\x00"))


def test_personal_data_in_an_error_page_is_masked() -> None:
    assert "jane.doe@example.org" not in str(error_of(500, b"contact jane.doe@example.org"))


def test_an_address_at_the_cut_is_masked() -> None:
    for padding in range(160, 200):
        assert "jane" not in str(error_of(500, b"x" * padding + b" jane.doe@hospital.example.org"))


def test_the_ledger_keeps_level_code_message_and_status() -> None:
    assert error_of(404, b"gone").json() == {
        "level": "L2",
        "code": "HTTP_404",
        "message": "the provider answered 404: gone",
        "status": 404,
    }
