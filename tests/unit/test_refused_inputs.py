"""Addresses, headers, numbers, files, certificates and database URLs are refused with a reason and no secret."""

import os
import time
from pathlib import Path

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.cli.files import read_file, write_file
from ingest_core.model.errors import BadInput, ExitCode
from ingest_core.model.header import is_header_name, is_header_text
from ingest_core.model.web_address import address_problem
from ingest_core.model.whole_number import LARGEST_ID, whole_number
from ingest_core.registry.read import read_source
from ingest_core.settings import Settings
from ingest_core.store.engine.database import Database
from ingest_core.transport.certificates import MOST_BYTES, trusting
from ingest_core.transport.credentials import Secrets
from ingest_core.transport.publishers import SHORTEST_SECRET, open_publisher
from tests.support.specs import CROSSREF_TEXT

WEB = ("http", "https")
SECONDS = 2.0


@pytest.mark.parametrize(
    "url",
    ["https://api.example.org", "http://127.0.0.1:8000/x?y=z", "https://[::1]:8/", "https://h", "https://xn--e1a.org./",
     "https://a_b.example", "http://u:p@h:1/"],
)  # fmt: skip
def test_an_address_that_can_be_asked_is_fine(url: str) -> None:
    assert address_problem(url, WEB) is None
    httpx.URL(url)


@pytest.mark.parametrize(
    "url",
    ["", "x", "h:80", "//h", "ftp://h", "http://", "http:///x", "https://[::1", "https://[::1]x", "https://[g::1]",
     "https://[fe80::1%25eth0]/", "https://h:y", "https://h:0", "https://h:99999", "https://h:", "https://h:٣",
     "https://a b", "https://h/a\nb", "https://h/\x00", "https://☃.example", "https://..", "https://a..b", "https://-a.b",
     "https://" + "a" * 64 + ".org", "https://" + "a." * 127 + "org", "https://h/" + "x" * 2000,
     "https://h\\@x", "https://@"],
)  # fmt: skip
def test_an_address_that_cannot_be_asked_is_named_without_repeating_it(url: str) -> None:
    problem = address_problem(url, WEB)

    assert problem
    assert len(url) < 3 or url not in problem


@given(st.text(st.characters(min_codepoint=0x20, max_codepoint=0x17F), max_size=40).map("https://{}".format))
@settings(max_examples=500, deadline=None)
def test_what_is_accepted_the_http_client_and_the_resolver_accept(url: str) -> None:
    if address_problem(url, WEB) is None:
        parsed = httpx.URL(url)
        assert parsed.host
        parsed.host.encode("idna")
        httpx.Request("GET", parsed)


def test_a_header_is_a_token_and_printable_ascii() -> None:
    assert [one for one in ("x-api-key", "A", "", "a b", "a:", "a\r\n", "é", "a" * 200) if is_header_name(one)] == [
        "x-api-key",
        "A",
    ]
    assert [one for one in ("a b", "", "é", "a\r\nb: c", "a\x00", " a", "a\t", "\x7f") if is_header_text(one)] == [
        "a b",
        "",
    ]


@given(st.text(max_size=30))
def test_a_whole_number_is_its_digits(text: str) -> None:
    number = whole_number(text)
    assert number is None or (str(number) == text.lstrip("0") or number == 0)


def test_a_whole_number_fits_the_database() -> None:
    assert whole_number(str(LARGEST_ID)) == LARGEST_ID
    wrong = (str(LARGEST_ID + 1), "9" * 5000, "-1", "٣", "²", "1_0", "", " 1")
    assert [one for one in wrong if whole_number(one) is not None] == []
    assert whole_number("11", largest=10) is None


# Database URLs.


@pytest.mark.parametrize(
    "url",
    ["postgresql://patra:hunter2@hunter3@db.example/patra", "mysql://u:hunter2@hunter3/x@h/n",
     "mariadb://u:hunter2@hunter3?a=b@h/n", "postgresql://:hunter2@hunter3@h/n"],
)  # fmt: skip
def test_a_password_with_a_bare_at_sign_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(BadInput) as refused:
        Database(url)

    assert "%40" in refused.value.remedy
    assert "hunter" not in str(refused.value)


@given(st.text(st.sampled_from("ab@:/?#%"), max_size=12), st.sampled_from(["postgresql", "mysql"]))
@settings(max_examples=300, deadline=None)
def test_nothing_before_the_last_at_sign_but_the_user_is_shown(password: str, scheme: str) -> None:
    secret = f"s3{password}cret"
    try:
        database = Database(f"{scheme}://user:{secret}@h/n")
    except BadInput as refused:
        shown = str(refused)
    else:
        shown = database.shown_url
        database.close()

    assert "s3" not in shown
    assert "cret" not in shown


@pytest.mark.parametrize(
    "url",
    ["sqlite://", "sqlite:///:memory:", "sqlite:///x.db?timeout=hunter2", "sqlite://u:hunter2@h/x", "sqlite:///a\nb",
     "postgresql://\udcff@h/x", "mysql://127.0.0.1:9/x?nonsense=hunter2", "mysql://127.0.0.1:9/x?ssl=hunter2",
     "mysql://127.0.0.1:9/x?ssl_ca=hunter2", "postgresql://127.0.0.1:9/x?nonsense=hunter2"],
)  # fmt: skip
def test_options_a_driver_refuses_are_bad_input_by_name_alone(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput) as refused, Database(url).read():
        pass

    assert (refused.value.code, refused.value.exit_code) == ("DATABASE_URL_INVALID", ExitCode.BAD_INPUT)
    assert "hunter2" not in str(refused.value)


def test_settings_do_not_show_the_database_url() -> None:
    assert "hunter2" not in repr(Settings(database_url="postgresql://u:hunter2@h/n"))


# Webhook secrets.


@pytest.mark.parametrize(("length", "fine"), [(1, False), (SHORTEST_SECRET - 1, False), (SHORTEST_SECRET, True)])
def test_a_short_webhook_secret_is_refused_and_not_shown(length: int, fine: bool) -> None:
    secrets = Secrets({"env": lambda _name: "q" * length}, allowed=None)
    if fine:
        with open_publisher("https://hook.example", "env:HOOK", secrets, "test"):
            return
    with (
        pytest.raises(BadInput, match="fewer than 16 characters") as refused,
        open_publisher("https://hook.example", "env:HOOK", secrets, "test"),
    ):
        pass
    assert refused.value.code == "WEBHOOK_SECRET_SHORT"
    assert "qq" not in str(refused.value)


# Files.


def _hostile(folder: Path, kind: str) -> Path:
    file = folder / kind
    match kind:
        case "fifo":
            os.mkfifo(file)
        case "folder":
            file.mkdir()
        case "device":
            return Path("/dev/zero")
        case "huge":
            with file.open("wb") as sparse:
                sparse.truncate(5_000_000_000)
        case "binary":
            file.write_bytes(b"\xff\xfe\x00")
        case "nul":
            return folder / "a\x00b"
        case "long name":
            return folder / ("x" * 5000)
    return file


KINDS = ["fifo", "folder", "device", "huge", "binary", "missing", "nul", "long name"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_readable_text_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    started = time.monotonic()
    with pytest.raises(BadInput) as refused:
        read_file(_hostile(tmp_path, kind), 1_000_000)

    assert time.monotonic() - started < SECONDS
    assert refused.value.code == "FILE_UNREADABLE"
    assert refused.value.remedy


def test_a_text_file_is_read_up_to_the_limit(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"\xef\xbb\xbf" + b"x" * 7)

    assert read_file(file, 10) == "x" * 7
    with pytest.raises(BadInput, match="larger than 9 bytes"):
        read_file(file, 9)


@pytest.mark.parametrize("kind", ["fifo", "folder", "device", "nul", "long name"])
def test_what_is_no_regular_file_is_not_written(tmp_path: Path, kind: str) -> None:
    file = _hostile(tmp_path, kind)
    with pytest.raises(BadInput) as refused:
        write_file(file, "text")

    assert refused.value.code == "FILE_UNWRITABLE"
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_bundle_that_is_no_file_of_certificates_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    started = time.monotonic()
    with pytest.raises(BadInput) as refused:
        trusting(str(_hostile(tmp_path, kind)))

    assert time.monotonic() - started < SECONDS
    assert refused.value.code == "CA_BUNDLE_UNREADABLE"


@pytest.mark.parametrize(
    "content", [b"", b"-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n", b"x" * (MOST_BYTES + 1)]
)
def test_a_bundle_without_certificates_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "bundle.pem"
    file.write_bytes(content)
    with pytest.raises(BadInput, match="no certificates can be read"):
        trusting(str(file))


# Source files.


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("requests_per_second: 5", "requests_per_second: .inf"),
        ("requests_per_second: 5", "requests_per_second: .nan"),
        ("requests_per_second: 5", "requests_per_second: 1e-300"),
        ("requests_per_second: 5", "requests_per_second: 0.0000009"),
        ("requests_per_second: 5", "requests_per_second: 5\n  provider_cap: .inf"),
        ("unit: HOUR", "unit: HOUR\n  baseline: 0001-01-01T00:00:00+14:00"),
        ("unit: HOUR", "unit: HOUR\n  baseline: 9999-12-31T23:59:59-14:00"),
        ("unit: HOUR", "unit: HOUR\n  effective_from: 0001-01-01T00:00:00+14:00\n  effective_to: 2026-01-01"),
        ("unit: HOUR", "unit: HOUR\n  effective_to: 9999-12-31T23:59:59-14:00"),
    ],
)
def test_a_rate_or_date_beyond_reckoning_is_refused_at_its_line(old: str, new: str) -> None:
    assert old in CROSSREF_TEXT
    with pytest.raises(BadInput) as refused:
        read_source(CROSSREF_TEXT.replace(old, new, 1), "my.yaml")

    assert refused.value.code in ("SOURCE_INVALID", "SOURCE_NOT_YAML")
    assert "my.yaml" in str(refused.value)
