"""The JSON Schema editors use says what the reader says: every shipped file fits it, unknown keys do not."""

import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from ingest_core.registry.columns import LISTS, SETTINGS
from ingest_core.registry.export import SCHEMA_FILE
from ingest_core.registry.schema import schema_text, source_schema
from ingest_core.registry.source_file import SourceFile
from ingest_core.shipped import shipped_sources
from ingest_core.store.schema.tables import metadata
from tests.support.small_source import Document, small_document, small_endpoint
from tests.support.source_documents import documents
from tests.support.yaml_text import read_yaml

SHIPPED = shipped_sources()
SCHEMA = source_schema()
CHECK = Draft202012Validator(SCHEMA)
BROKEN = Path(__file__).parent / "broken"
RULE_BREAKERS = sorted(path.name for path in BROKEN.glob("*.yaml") if not path.name.startswith("read_"))


def fits(document: Any) -> bool:
    """Whether an editor would be content."""
    return bool(CHECK.is_valid(document))


def reads(document: Any) -> bool:
    """Whether the reader is."""
    try:
        SourceFile.model_validate(document)
    except ValidationError:
        return False
    return True


def loaded(name: str) -> Document:
    """A shipped file's document."""
    document: Document = read_yaml(SHIPPED[name])
    return document


def with_unknown_keys(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The value with a key nobody knows, once in each of its mappings; with the place."""
    if isinstance(value, dict):
        yield path, {**value, "unknown_key": "x"}
    for step, one in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        for place, changed in with_unknown_keys(one, f"{path}.{step}"):
            copy = dict(value) if isinstance(value, dict) else list(value)
            copy[step] = changed
            yield place, copy


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_its_text_is_the_schema_the_same_every_time() -> None:
    assert json.loads(schema_text()) == SCHEMA
    assert schema_text() == schema_text()
    assert schema_text().endswith("}\n")
    assert list(json.loads(schema_text())) == sorted(SCHEMA)


def test_the_file_beside_the_shipped_sources_is_up_to_date() -> None:
    assert (files("ingest_core.registry") / "sources" / SCHEMA_FILE).read_text() == schema_text()


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_file_fits(name: str) -> None:
    assert [error.message for error in CHECK.iter_errors(loaded(name))] == []


@pytest.mark.parametrize("name", SHIPPED)
def test_an_unknown_key_fits_nowhere_but_where_names_are_free(name: str) -> None:
    for place, document in with_unknown_keys(loaded(name)):
        assert fits(document) == reads(document), place


def test_most_places_know_their_keys() -> None:
    refused = [place for place, document in with_unknown_keys(loaded("pubmed.yaml")) if not fits(document)]

    assert {"", ".source", ".endpoints.0", ".endpoints.0.response", ".endpoints.0.response.errors.1"} <= set(refused)
    assert {".http.1", ".http.1.for", ".credential", ".window", ".params.0.for", ".render_rules.3"} <= set(refused)


def test_a_name_the_reader_refuses_in_a_mapping_does_not_fit() -> None:
    document = small_document(mapping={"Not A Code": "$.a"})

    assert not reads(document)
    assert not fits(document)


@pytest.mark.parametrize("kind", [*SETTINGS.values(), *LISTS.values()], ids=[*SETTINGS, *LISTS])
def test_every_key_of_a_block_is_known_under_the_name_files_use(kind: Any) -> None:
    known = SCHEMA["$defs"][kind.model.__name__]["properties"]

    assert {kind.model.model_fields[key].alias or key for key in kind.keys} <= set(known)
    assert {"for", "effective_from", "effective_to"} <= set(known)
    assert not {"gate_scope", "scope_text", "functions"} & set(known)


def whole_numbers() -> Iterator[Any]:
    """Every key that is a whole number, with what it may say and the column that keeps it."""
    for block, kind in {**SETTINGS, **LISTS}.items():
        known = SCHEMA["$defs"][kind.model.__name__]["properties"]
        for key, (column, _) in kind.keys.items():
            said = known[kind.model.model_fields[key].alias or key]
            for one in said.get("anyOf", [said]):
                if one.get("type") == "integer":
                    yield pytest.param(one, metadata.tables[kind.table].c[column], id=f"{block}.{key}")


@pytest.mark.parametrize(("said", "column"), list(whole_numbers()))
def test_a_whole_number_that_fits_the_file_fits_its_column(said: dict[str, Any], column: sa.Column[Any]) -> None:
    largest = 2**63 if isinstance(column.type, sa.BigInteger) else 2**31

    assert isinstance(column.type, sa.Integer)
    assert said["maximum"] < largest


@pytest.mark.parametrize("block", SETTINGS)
def test_a_block_may_stand_alone_or_in_a_list(block: str) -> None:
    one: Document = {"for": {"operation": "HARVEST"}}

    assert fits(small_document(**{block: [one, one]}))
    assert fits({**small_document(), block: one})
    assert not fits({**small_document(), block: "x"})


@pytest.mark.parametrize(
    "document",
    [
        small_document(params=[{"name": "q", "value": "query", "as": "lower"}]),
        small_document(params=[{"name": "q", "value": "query", "as": ["lower", "url"]}]),
        small_document(endpoints=[small_endpoint(response={"errors": {"path": "$.e"}})]),
        small_document(endpoints=[small_endpoint(response={"empty": [{"path": "$.e", "equals": 0}]})]),
        small_document(endpoints=[small_endpoint(response={"id": {"any": ["$.a", "$.b"]}})]),
    ],
    ids=["one function", "functions", "one predicate", "predicates", "an expression"],
)
def test_what_may_be_said_short_may_be_said_short(document: Document) -> None:
    assert reads(document)
    assert fits(document)


@pytest.mark.parametrize(
    "name",
    ["read_code_unknown", "read_key_unknown", "read_key_missing", "read_no_endpoints"],
)
def test_a_mistake_the_reader_finds_is_found_by_editors(name: str) -> None:
    document = read_yaml((BROKEN / f"{name}.yaml").read_text())

    assert not reads(document)
    assert not fits(document)


@pytest.mark.parametrize("name", RULE_BREAKERS)
def test_a_file_that_only_breaks_a_rule_of_the_compiler_fits(name: str) -> None:
    assert [error.message for error in CHECK.iter_errors(read_yaml((BROKEN / name).read_text()))] == []


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(documents())
def test_what_fits_is_read(document: Document) -> None:
    assert fits(document)
    assert reads(document)
