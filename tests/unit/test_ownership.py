"""Whose records a refresh by id changes: said by `refreshes`, or by the only search that names it as `detail`."""

from typing import Any

import pytest

from ingest_core.model.codes import Operation
from ingest_core.registry.export import export_source
from ingest_core.registry.ownership import owners
from ingest_core.registry.read import read_source
from ingest_core.registry.rows import rows_of
from tests.support.small_source import compiled, problems_of, rows_from, small_document, small_endpoint

Document = dict[str, Any]


def document(*searches: Document, **detail: Any) -> Document:
    """A source with these searches and `record`, which gives records by id."""
    record = small_endpoint(name="record", role="DETAIL", operations=["UPDATE"], **detail)
    found = small_document(endpoints=[*searches, record])
    found["params"].append({"name": "ids", "value": "ids", "for": {"endpoint": "record"}})
    return found


WORKS, BOOKS = small_endpoint(), small_endpoint(name="books")
LINKED = small_endpoint(name="linked", detail="record")


@pytest.mark.parametrize(
    ("source", "owner"),
    [
        (document(WORKS, refreshes="works"), "works"),
        (document(WORKS, BOOKS, refreshes="books"), "books"),
        (document(LINKED), "linked"),
        (document(LINKED, refreshes="linked"), "linked"),
        (document(LINKED, small_endpoint(detail="record"), refreshes="works"), "works"),
        (document(WORKS, refreshes="record"), None),
        (document(), None),
    ],
    ids=["said", "one of two", "linked", "linked and said", "linked twice and said", "its own", "no search"],
)
def test_the_snapshot_has_the_owner(source: Document, owner: str | None) -> None:
    found = compiled(source, Operation.UPDATE, "record", from_file=True)

    assert found.spec.item_endpoint == owner
    assert found.warnings == []
    assert owners(rows_from(source)["reg_prov_endpoint_def"]) == ({"record": owner} if owner else {})


def test_a_harvest_stores_records_under_its_own_name() -> None:
    assert compiled(document(LINKED), endpoint="linked", from_file=True).spec.item_endpoint is None


@pytest.mark.parametrize(
    ("searches", "named"), [((WORKS,), "works"), ((LINKED, small_endpoint(detail="record")), "linked, works")]
)
def test_rows_applied_before_the_key_was_known_compile_as_before_with_a_warning(
    searches: tuple[Document, ...], named: str
) -> None:
    found = compiled(document(*searches), Operation.UPDATE, "record")

    assert found.spec.item_endpoint is None
    assert len(found.warnings) == 1
    assert f"a second time, under 'record' beside {named}" in found.warnings[0]
    refused = problems_of(document(*searches), operation=Operation.UPDATE, endpoint="record", from_file=True)
    assert [one.rule for one in refused] == ["REFRESHES_MISSING"]


def test_a_search_that_stores_nothing_owns_nothing() -> None:
    idle = document(small_endpoint(operations=[]))

    assert compiled(idle, Operation.UPDATE, "record", from_file=True).spec.item_endpoint is None


def test_the_key_survives_the_registry() -> None:
    rows = rows_from(document(WORKS, refreshes="works"))

    assert rows_of(read_source(export_source(rows), "again.yaml")) == rows
