"""What was planned before an upgrade runs after it: old snapshots mean what they meant (promise 4, no drift)."""

from typing import Any

import pytest

from ingest_core.execution.request import Caller, render_request
from ingest_core.execution.routing import Router
from ingest_core.model.codes import ExprOp, Operation
from ingest_core.model.namespace import harvest_namespace
from ingest_core.model.spec import RuleSpec, SpecSnapshot
from tests.support.compiling import compile_spec
from tests.support.level_one import GOLDEN, OLD_ROWS, old_snapshot, window_of
from tests.support.specs import NOW, at, crossref_spec, drafted, page_of


@pytest.mark.parametrize("asked", GOLDEN["requests"], ids=lambda asked: asked["token"])
def test_an_old_snapshot_asks_exactly_as_it_did(asked: dict[str, Any]) -> None:
    request = render_request(old_snapshot(), window_of(asked["window"]), asked["token"], Caller("ing-7-1"))

    assert [list(pair) for pair in request.query] == asked["query"]
    assert request.headers == asked["headers"]
    assert (request.method, request.path, request.http.base_url) == (asked["method"], asked["path"], asked["base_url"])
    assert (request.body, request.next_url) == (None, None)


def test_an_operators_address_does_not_change_what_an_old_snapshot_asks() -> None:
    asked = GOLDEN["requests"][0]
    request = render_request(old_snapshot(), window_of(asked["window"]), "*", Caller("ing-7-1", "ann@example.org"))

    assert ([list(pair) for pair in request.query], request.headers) == (asked["query"], asked["headers"])


def test_an_old_snapshots_one_rule_is_the_windows_range() -> None:
    old = GOLDEN["snapshot"]["render"]

    assert old_snapshot().rules == [
        RuleSpec(op=ExprOp.RANGE, field=old["field"], params={old["param"]: old["template"]})
    ]
    assert old_snapshot().snapshot_version == 1
    assert old_snapshot().detail is None


def test_an_old_snapshot_survives_being_stored_again() -> None:
    old = old_snapshot()

    assert SpecSnapshot.from_json(old.json_value()) == old


def test_an_old_mapping_takes_the_same_values_from_a_record() -> None:
    item = {
        "DOI": "10.1/A",
        "indexed": {"date-time": "2026-03-10T08:00:00Z"},
        "title": ["One"],
        "author": [{"family": "Li"}, {"name": "Group"}],
        "container-title": ["Journal"],
        "ISSN": ["1-1", "2-2"],
    }
    (record,) = Router(old_snapshot()).route(page_of([item], raw=["{}"]), at("12:00")).records

    assert (record.provider_id, record.updated_at) == ("10.1/a", at("08:00"))
    assert record.fields == {
        "authors": ["Li"],
        "doi": "10.1/A",
        "issn": ["1-1", "2-2"],
        "journal": "Journal",
        "title": "One",
    }


def test_an_old_mapping_keeps_numbers_as_numbers() -> None:
    item = {"DOI": "a", "indexed": {"date-time": "2026-03-10"}, "issued": {"date-parts": [[2026, 3, 10]]}}
    (record,) = Router(old_snapshot()).route(page_of([item], raw=["{}"]), at("12:00")).records

    assert record.fields["published"] == [2026, 3, 10]


def test_rows_of_level_one_compile_to_what_they_compiled_to() -> None:
    spec = compile_spec(OLD_ROWS, "crossref", "works", Operation.HARVEST, NOW)
    old = old_snapshot()

    assert spec.model_copy(update={"snapshot_version": 1}) == old


def test_the_watermark_goes_on_under_todays_source() -> None:
    assert old_snapshot().expr_proto_hash == crossref_spec().expr_proto_hash == GOLDEN["expr_proto_hash"]
    assert harvest_namespace(crossref_spec()).key == GOLDEN["namespace_key"]


def test_a_slice_of_today_has_the_keys_it_had() -> None:
    old, spec = GOLDEN["slice"], crossref_spec()
    drawn = drafted(window_of(old["window"]), spec, old["trigger"])

    assert (drawn.expression, drawn.expr_hash) == (old["expression"], old["expr_hash"])
    assert (drawn.signature_hash, drawn.idempotent_key) == (old["signature_hash"], old["idempotent_key"])
