"""A source file's mistakes are named: file, line, path, value and what was expected."""

from datetime import datetime

import pytest

from ingest_core.model.codes import Operation, PagePosition
from ingest_core.model.errors import BadInput, ExitCode
from ingest_core.registry.read import read_source
from ingest_core.registry.rows import rows_of
from tests.support.specs import CROSSREF_TEXT


def line_of(text: str, fragment: str) -> int:
    """The line number of the first line that holds the fragment."""
    return next(number for number, line in enumerate(text.splitlines(), 1) if fragment in line)


def refused(text: str) -> BadInput:
    """The error of reading a text."""
    with pytest.raises(BadInput) as caught:
        read_source(text, "my.yaml")
    assert caught.value.exit_code == ExitCode.BAD_INPUT
    return caught.value


def changed(old: str, new: str) -> str:
    """The shipped file with one text replaced."""
    assert old in CROSSREF_TEXT
    return CROSSREF_TEXT.replace(old, new, 1)


def test_the_shipped_file_reads() -> None:
    file = read_source(CROSSREF_TEXT, "crossref.yaml")

    assert file.source.code == "crossref"
    assert file.endpoints[0].operations == [Operation.HARVEST, Operation.BACKFILL]
    assert file.pagination[0].position == PagePosition.SERVER


@pytest.mark.parametrize(
    ("old", "new", "path", "expectation", "value"),
    [
        ("initial: PT0.5S", "max_attempts: many", "retry.max_attempts", "valid integer", "'many'"),
        ("initial: PT0.5S", "max_attempts: 21", "retry.max_attempts", "less than or equal to 20", "21"),
        ("type: TOKEN", "type: SCROLL", "pagination.type", "'OFFSET', 'PAGE', 'TOKEN', 'URL' or 'TIME'", "'SCROLL'"),
        ("lag: PT10M", "lag: -PT10M", "window.lag", "greater than or equal to", "'-PT10M'"),
        ("lookback: PT2H", "lookback: two", "window.lookback", "valid timedelta", "'two'"),
        ("read_timeout: PT60S", "read_timeout: PT5M", "http.read_timeout", "equal to 2 minutes", "'PT5M'"),
        ("limit_header: x-rate-limit-limit", "burst: 0", "rate_limit.burst", "greater than or equal to 1", "0"),
        ("code: crossref", "code: Crossref", "source.code", "should match pattern", "'Crossref'"),
        ("name: works", "name: 7", "endpoints.0.name", "valid string", "7"),
        ("upper_inclusive: true", "upper_inclusive: perhaps", "window.upper_inclusive", "boolean", "'perhaps'"),
        ("[HARVEST, BACKFILL]", "[HARVEST, MINE]", "endpoints.0.operations.1", "'BACKFILL'", "'MINE'"),
        ("limit_header: x-rate-limit-limit", "burts: 1", "rate_limit.burts", "Extra inputs are not permitted", "1"),
        ("op: RANGE", "op: BETWEEN", "render_rules.0.op", "'RANGE'", "'BETWEEN'"),
    ],
    ids=lambda value: value if isinstance(value, str) and "." in value else "",
)
def test_a_mistake_is_named_with_line_path_value_and_expectation(
    old: str, new: str, path: str, expectation: str, value: str
) -> None:
    text = changed(old, new)
    error = refused(text)

    assert error.code == "SOURCE_INVALID"
    assert str(error).startswith(f"my.yaml:{line_of(text, new)}: {path}: ")
    assert expectation in error.message
    assert f"(got {value})" in error.message
    assert "apply it again" in error.remedy


def test_a_missing_key_is_named_at_its_block_without_a_value() -> None:
    text = changed("      items: $.message.items\n", "")
    error = refused(text)

    assert error.message == f"my.yaml:{line_of(text, 'id: $.DOI')}: endpoints.0.response.items: Field required"


def test_several_mistakes_are_said_at_once() -> None:
    text = changed("initial: PT0.5S", "max_attempts: 0").replace("step: PT6H", "stp: 1")
    text = text.replace("requests_per_second: 5", "requests_per_second: 0")
    lines = refused(text).message.splitlines()

    assert [line.split(": ")[1] for line in lines] == [
        "window.stp",
        "retry.max_attempts",
        "rate_limit.requests_per_second",
    ]
    assert all(line.startswith("my.yaml:") for line in lines)


def test_the_second_block_of_a_list_is_found_at_its_own_line() -> None:
    text = changed(
        "rate_limit:\n  requests_per_second: 5", "rate_limit:\n- burst: 2\n- burst: 1\n  requests_per_second: none"
    )

    assert f"my.yaml:{line_of(text, 'requests_per_second: none')}: rate_limit.1.requests_per_second" in str(
        refused(text)
    )


def test_a_long_value_is_shown_short() -> None:
    error = refused(changed("code: crossref", f"code: {'X' * 500}"))

    assert "X" * 50 in error.message
    assert "X" * 60 not in error.message
    assert "…" in error.message


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        ("source: {}\nhttp: {}\nsource: {}\n", 3, "source"),
        ("http:\n  base_url: a\n  base_url: b\n", 3, "base_url"),
        ("params:\n- {name: a, name: b}\n", 2, "name"),
    ],
    ids=["at the top", "in a block", "in a list"],
)
def test_a_key_that_stands_twice_is_refused(text: str, line: int, key: str) -> None:
    error = refused(text)

    assert error.code == "SOURCE_KEY_TWICE"
    assert str(error).startswith(f"my.yaml:{line}: key {key!r} stands twice")


def test_the_same_key_in_two_blocks_is_fine() -> None:
    assert CROSSREF_TEXT.count("indexed_at") > 1
    read_source(CROSSREF_TEXT, "crossref.yaml")


@pytest.mark.parametrize(
    "text",
    [
        "source: [",
        "a: b: c",
        "\ta: 1",
        "a: 1\n---\nb: 2\n",
        "a: !!timestamp 2026-13-45\n",
        "a: !!python/object/apply:os.getcwd []\n",
        "? [a]\n: 1\n",
        "a: \x00\n",
        "a: *nowhere\n",
    ],
    ids=["cut", "colons", "tab", "two documents", "bad date", "python object", "list as key", "nul", "no anchor"],
)
def test_what_is_not_yaml_is_said_to_be_none(text: str) -> None:
    error = refused(text)

    assert error.code == "SOURCE_NOT_YAML"
    assert str(error).startswith("my.yaml: not YAML: ")


@pytest.mark.parametrize("text", ["", "# only a comment\n", "- a\n- b\n", "just words", "42"])
def test_a_document_that_is_no_mapping_is_refused(text: str) -> None:
    error = refused(text)

    assert error.code == "SOURCE_NOT_A_MAPPING"
    assert str(error).startswith("my.yaml: the document must be a mapping with a `source` block")


def test_a_date_is_a_text_until_its_key_says_otherwise() -> None:
    text = changed("unit: HOUR", "baseline: 2026-13-45\n  unit: HOUR")
    error = refused(text)

    assert f"my.yaml:{line_of(text, 'baseline:')}: window.baseline: " in str(error)
    assert "(got '2026-13-45')" in str(error)
    dated = changed("unit: HOUR", "baseline: 2026-01-05\n  unit: HOUR")
    assert read_source(dated, "a").window[0].baseline == datetime(2026, 1, 5)  # noqa: DTZ001 - rows make it UTC


def test_a_document_that_contains_itself_is_refused() -> None:
    refused("source: &again\n  name: *again\n")


def test_a_secret_put_where_a_reference_belongs_is_not_shown() -> None:
    error = refused(changed("retry:\n", "credential:\n  auth: API_KEY\n  ref: sk-live-0123456789\nretry:\n"))

    assert "credential.ref" in str(error)
    assert "sk-live" not in str(error)


def test_a_key_that_is_no_text_is_refused() -> None:
    assert "Keys should be strings (got True)" in str(refused("on: 1\n" + CROSSREF_TEXT))


def test_a_lone_block_stands_for_a_list_of_one_and_lists_stay() -> None:
    listed = changed("retry:\n  initial: PT0.5S", "retry:\n- initial: PT0.5S")

    assert read_source(listed, "a") == read_source(CROSSREF_TEXT, "b")


def test_what_a_block_leaves_out_stays_unsaid_in_its_row() -> None:
    (row,) = rows_of(read_source(CROSSREF_TEXT, "a"))["reg_prov_retry_cfg"]

    assert row.pop("initial_delay_ms") == 500
    assert {row.pop("provenance_code"), row.pop("operation_code")} == {"crossref", "ALL"}
    assert set(row.values()) == {None}


def test_a_secret_in_a_sources_or_an_endpoints_defaults_is_not_shown_either() -> None:
    secret = "defaults:\n    credential: {auth: API_KEY, ref: sk-live-0123456789}"
    for text in (
        changed("  id_normalizer: DOI", f"  {secret}\n  id_normalizer: DOI"),
        changed("    role: SEARCH", f"    {secret}\n    role: SEARCH".replace("\n    c", "\n      c")),
    ):
        error = refused(text)
        assert "credential.ref" in str(error)
        assert "sk-live" not in str(error)
