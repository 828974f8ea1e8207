"""What was applied can be taken out again: the exported file stands for the same rows."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from ingest_core.model.codes import Operation
from ingest_core.model.errors import BadInput
from ingest_core.model.instant import format_instant
from ingest_core.registry.columns import iso_span
from ingest_core.registry.export import document_of, export_source
from ingest_core.registry.read import read_source
from ingest_core.registry.rows import Rows, rows_of
from ingest_core.shipped import shipped_sources
from tests.support.compiling import compile_spec
from tests.support.small_source import Document, rows_from, small_document, small_endpoint
from tests.support.source_documents import documents
from tests.support.specs import NOW, at
from tests.support.yaml_text import read_yaml, yaml_of

SHIPPED = shipped_sources()


def again(rows: Rows) -> Rows:
    """The rows of the exported file."""
    return rows_of(read_source(export_source(rows), "exported.yaml"))


def exported(document: Document) -> Document:
    """What is exported for a document."""
    result: Document = read_yaml(export_source(rows_from(document)))
    return result


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_source_comes_back(name: str) -> None:
    rows = rows_of(read_source(SHIPPED[name], name))

    assert again(rows) == rows
    assert export_source(again(rows)) == export_source(rows)


@pytest.mark.parametrize("name", SHIPPED)
def test_and_means_the_same(name: str) -> None:
    rows = rows_of(read_source(SHIPPED[name], name))
    source, returned = rows["reg_provenance"][0]["provenance_code"], again(rows)
    for row in rows["reg_prov_endpoint_def"]:
        for operation in map(Operation, row["operations"]):
            asked = source, row["endpoint_name"], operation, NOW
            assert compile_spec(returned, *asked).fingerprint == compile_spec(rows, *asked).fingerprint


@pytest.mark.parametrize("name", SHIPPED)
def test_nothing_is_said_that_says_nothing(name: str) -> None:
    def holds_none(value: Any) -> bool:
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return value is None or any(map(holds_none, parts))

    assert not holds_none(document_of(rows_of(read_source(SHIPPED[name], name))))


def test_the_file_names_its_schema_for_editors() -> None:
    text = export_source(rows_from(small_document()))

    assert text.splitlines()[0] == "# yaml-language-server: $schema=source.schema.json"


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(documents())
def test_any_source_comes_back(document: Document) -> None:
    rows = rows_of(read_source(yaml_of(document), "any.yaml"))

    assert again(rows) == rows
    assert export_source(again(rows)) == export_source(rows)


@pytest.mark.parametrize("where", ["source", "endpoint"])
def test_empty_defaults_come_back(where: str) -> None:
    document = small_document()
    (document["source"] if where == "source" else document["endpoints"][0])["defaults"] = {}
    rows = rows_from(document)

    assert again(rows) == rows


def test_a_text_with_a_strange_line_end_comes_back() -> None:
    rows = rows_from(small_document(source={"name": "a\x85b"}))

    assert again(rows) == rows


def with_free_value(text: str) -> str:
    """The shipped file with one more value in its mapping."""
    return SHIPPED["crossref.yaml"] + f"  made: {{value: {text}}}\n"


def test_a_date_in_a_free_value_stays_a_text() -> None:
    rows = rows_of(read_source(with_free_value("2020-01-01"), "dated.yaml"))

    assert rows["reg_provenance"][0]["output_mapping"]["made"] == {"value": "2020-01-01"}
    assert again(rows) == rows


@pytest.mark.parametrize("value", ["!!binary aGk=", "!!set {a, b}", "!!timestamp 2020-01-01"])
def test_a_value_json_cannot_hold_is_no_part_of_a_source(value: str) -> None:
    with pytest.raises(BadInput, match="could not determine a constructor"):
        read_source(with_free_value(value), "strange.yaml")


class TestDurations:
    """A duration is written as ISO 8601 writes it, in the largest units that are whole."""

    @pytest.mark.parametrize(
        ("span", "text"),
        [
            (timedelta(0), "PT0S"),
            (timedelta(seconds=1), "PT1S"),
            (timedelta(seconds=90), "PT1M30S"),
            (timedelta(minutes=10), "PT10M"),
            (timedelta(hours=6), "PT6H"),
            (timedelta(hours=25), "PT25H"),
            (timedelta(days=1), "P1D"),
            (timedelta(days=14), "P14D"),
            (timedelta(milliseconds=500), "PT0.5S"),
            (timedelta(milliseconds=100), "PT0.1S"),
            (timedelta(seconds=61, milliseconds=50), "PT1M1.05S"),
            (timedelta(microseconds=1), "PT0.000001S"),
        ],
    )
    def test_by_example(self, span: timedelta, text: str) -> None:
        assert iso_span(span) == text

    @settings(deadline=None)
    @given(st.timedeltas(timedelta(0), timedelta(days=15_000)))
    def test_it_reads_back_as_itself(self, span: timedelta) -> None:
        assert TypeAdapter(timedelta).validate_python(iso_span(span)) == span

    def test_each_block_has_its_own_unit(self) -> None:
        document = small_document(
            http={"read_timeout": "PT0.25S"}, window={"lag": "PT90S"}, retry={"initial": "PT1.0005S"}
        )

        assert exported(document)["http"]["read_timeout"] == "PT0.25S"
        assert exported(document)["window"]["lag"] == "PT1M30S"
        assert exported(document)["retry"]["initial"] == "PT1S"


class TestScopesAndDates:
    """Who a block is for, and since when."""

    @pytest.mark.parametrize(
        "scope", [{"operation": "HARVEST"}, {"endpoint": "works"}, {"operation": "UPDATE", "endpoint": "works"}]
    )
    def test_a_scope_is_said_as_it_was(self, scope: Document) -> None:
        blocks = [{"burst": 1}, {"burst": 2, "for": scope}]

        assert exported(small_document(rate_limit=blocks))["rate_limit"] == blocks

    def test_no_scope_is_not_said(self) -> None:
        assert "for" not in exported(small_document(rate_limit={"burst": 2, "for": {}}))["rate_limit"]

    def test_a_lone_block_stays_a_lone_block_and_a_list_a_list(self) -> None:
        assert exported(small_document(rate_limit=[{"burst": 2}]))["rate_limit"] == {"burst": 2}
        assert isinstance(exported(small_document())["params"], list)

    @pytest.mark.parametrize("said", ["2026-01-01", "2026-01-01T08:00:00+08:00", "2026-01-01T00:00:00.000000Z"])
    def test_a_date_is_said_as_an_instant(self, said: str) -> None:
        block = exported(small_document(rate_limit={"burst": 2, "effective_from": said}))["rate_limit"]

        assert block == {"effective_from": format_instant(at("2026-01-01")), "burst": 2}

    def test_an_instant_keeps_its_microseconds(self) -> None:
        rows = rows_from(small_document(rate_limit={"burst": 2, "effective_to": "2026-01-01T00:00:00.123456Z"}))

        assert again(rows)["reg_prov_rate_limit_cfg"][0]["effective_to"] == at("2026-01-01T00:00:00.123456Z")

    def test_a_date_of_a_setting_comes_back_from_a_block_and_from_defaults(self) -> None:
        document = small_document(
            source={"defaults": {"window": {"baseline": "2020-01-01"}}}, window={"baseline": "2021-01-01T00:00:00Z"}
        )
        rows = rows_from(document)

        assert again(rows) == rows
        assert isinstance(rows["reg_prov_window_offset_cfg"][0]["baseline_at"], datetime)


def test_every_part_of_an_endpoint_comes_back() -> None:
    endpoint = small_endpoint(
        role="SEARCH",
        method="POST",
        restricted=True,
        query='title:"heart failure"',
        body={"format": "JSON", "template": {"q": "{query}", "n": 5, "deep": [{"a": None}]}},
        mapping={"title": {"any": ["$.a", "$.b"]}},
        response={
            "format": "XML",
            "namespaces": {"a": "http://a"},
            "id": {"all": ["$.x", "$.y"], "with": "/"},
            "total": "$.n",
            "time_zone": "Asia/Tokyo",
            "errors": [{"path": "$.e", "equals": False, "level": "L4", "message": "$.m"}],
            "empty": {"path": "$.none", "matches": "^no"},
            "record_error": {"path": "$.bad", "equals": 0},
        },
    )
    expected = {**endpoint, "operations": ["BACKFILL", "HARVEST"]}
    expected["response"]["empty"] = [expected["response"]["empty"]]

    assert exported(small_document(endpoints=[endpoint]))["endpoints"] == [expected]
