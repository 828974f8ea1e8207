"""Slices are cut at the same instants whenever they are cut, and their keys cover what they mean."""

from datetime import timedelta
from typing import Any

import pytest

from ingest_core.model.codes import Direction, NamespaceScope
from ingest_core.model.expression import Const, Term, localize, window_range
from ingest_core.model.id_range import IdRange
from ingest_core.model.namespace import campaign_namespace, harvest_namespace
from ingest_core.model.window import Window
from ingest_core.planning.slicing import SliceDraft
from ingest_core.planning.strategies.time_slices import slice_time
from tests.support.specs import crossref_spec, drafted, span


@pytest.mark.parametrize(
    ("needs", "slices"),
    [
        ([("00:00", "12:00")], [("00:00", "06:00"), ("06:00", "12:00")]),
        ([("05:00", "13:00")], [("05:00", "06:00"), ("06:00", "12:00"), ("12:00", "13:00")]),
        ([("01:00", "02:00"), ("07:00", "08:00")], [("01:00", "02:00"), ("07:00", "08:00")]),
        ([("06:00", "06:00:00.001")], [("06:00", "06:00:00.001")]),
        ([], []),
    ],
    ids=["on the step", "ragged ends", "needs stay apart", "a millisecond", "nothing"],
)
def test_slices_are_cut_at_multiples_of_the_step(needs: list[tuple[str, str]], slices: list[tuple[str, str]]) -> None:
    cut = slice_time([span(*ends) for ends in needs], timedelta(hours=6))

    assert list(cut) == [span(*ends) for ends in slices]


def test_the_same_instants_are_cut_the_same_way_from_any_start() -> None:
    early = set(slice_time([span("00:00", "23:00")], timedelta(hours=6)))
    late = set(slice_time([span("06:00", "23:00")], timedelta(hours=6)))

    assert late < early


WINDOW = span("00:00", "06:00")


def draft(of: Window = WINDOW, trigger: str = "CLI:one", **changes: Any) -> SliceDraft:
    """The slice of a window under the shipped Crossref, with other settings."""
    return drafted(of, crossref_spec(**changes), trigger)


def test_a_slice_carries_its_window_expression_budget_and_hints() -> None:
    slice_ = drafted(WINDOW, records=5000)

    assert slice_.expression == {
        "op": "RANGE",
        "field": "indexed_at",
        "from": "2026-03-10T00:00:00.000000Z",
        "to": "2026-03-10T06:00:00.000000Z",
    }
    assert slice_.spec == {
        "strategy": "TIME",
        "window": {
            "from": "2026-03-10T00:00:00.000000Z",
            "to": "2026-03-10T06:00:00.000000Z",
            "boundary": {"from": "CLOSED", "to": "OPEN"},
            "timezone": "UTC",
            "precision": "HOUR",
        },
        "budget": {"maxRequests": 100, "maxRecords": 70_000, "maxDurationSec": 1200, "priority": "HIGH"},
        "hints": {
            "expectedPageSize": 700,
            "safetyLagSec": 600,
            "overlapSec": 0,
            "estimatedRecords": 5000,
            "estimateMethod": "CONSTANT",
            "expectedRequests": 8,
        },
    }
    assert slice_.params == {"window": WINDOW.json()}
    assert slice_.priority == 3
    assert (slice_.records, slice_.method, slice_.requests) == (5000, "CONSTANT", 8)


def test_a_slice_of_a_range_carries_it_too() -> None:
    slice_ = drafted(WINDOW, range=IdRange("uid", None, 99))
    bounds = {"key": "uid", "from": None, "to": "99", "boundary": {"from": "CLOSED", "to": "CLOSED"}}

    assert slice_.params == {"window": WINDOW.json(), "range": bounds}
    assert slice_.spec["range"] == {name: value for name, value in bounds.items() if value is not None}
    assert slice_.expression["op"] == "AND"
    assert sorted((child["field"], child.get("from"), child["to"]) for child in slice_.expression["children"]) == [
        ("indexed_at", "2026-03-10T00:00:00.000000Z", "2026-03-10T06:00:00.000000Z"),
        ("uid", None, "99"),
    ]


def test_the_signature_does_not_depend_on_the_trigger_but_the_task_key_does() -> None:
    one, other = draft(trigger="CLI:one"), draft(trigger="CLI:other")

    assert one.signature_hash == other.signature_hash
    assert one.idempotent_key != other.idempotent_key


def test_the_same_trigger_finds_the_same_keys() -> None:
    assert draft() == draft()


@pytest.mark.parametrize(
    "changes",
    [
        {"pagination": {"page_size": 10}},
        {"window": {"lag_seconds": 3600}},
        {"window": {"overlap_seconds": 60}},
        {"window": {"step_seconds": 3600}},
        {"rate": {"requests_per_second": 50.0}},
        {"retry": {"max_attempts": 1}},
        {"mapping": {}},
        {"slicing": {"target_records": 9, "max_queued": 1}},
    ],
    ids=str,
)
def test_hints_and_budgets_are_in_no_key(changes: dict[str, Any]) -> None:
    changed = draft(**changes)

    assert changed.signature_hash == draft().signature_hash
    assert changed.idempotent_key == draft().idempotent_key
    assert changed.expr_hash == draft().expr_hash


@pytest.mark.parametrize(
    "changes",
    [
        {"provenance_code": "datacite"},
        {"endpoint_name": "journals"},
        {"operation_code": "BACKFILL"},
        {"window": {"field": "created_at"}},
    ],
    ids=str,
)
def test_source_endpoint_operation_and_field_are_in_every_key(changes: dict[str, Any]) -> None:
    changed = draft(**changes)

    assert changed.signature_hash != draft().signature_hash
    assert changed.idempotent_key != draft().idempotent_key


def test_estimates_are_in_no_key() -> None:
    one, other = drafted(WINDOW, records=0), drafted(WINDOW, records=100_000)

    assert one.spec != other.spec
    assert (one.signature_hash, one.expr_hash, one.idempotent_key) == (
        other.signature_hash,
        other.expr_hash,
        other.idempotent_key,
    )


@pytest.mark.parametrize("part", [IdRange("uid"), IdRange("uid", 1, 9), IdRange("uid", None, 9), IdRange("uid", 1)])
def test_a_range_and_each_of_its_ends_are_in_every_key(part: IdRange) -> None:
    other = drafted(WINDOW, range=part)

    for one in (draft(), drafted(WINDOW, range=IdRange("uid", 1, 10)), drafted(WINDOW, range=IdRange("pmid", 1, 9))):
        assert other.signature_hash != one.signature_hash
        assert other.expr_hash != one.expr_hash
        assert other.idempotent_key != one.idempotent_key


@pytest.mark.parametrize("window", [span("00:00", "06:00:00.001"), span("00:00:00.001", "06:00")], ids=["to", "from"])
def test_each_boundary_is_in_every_key(window: Window) -> None:
    other = draft(window)

    assert other.signature_hash != draft().signature_hash
    assert other.expr_hash != draft().expr_hash
    assert other.idempotent_key != draft().idempotent_key


def test_another_query_is_another_namespace_and_another_task() -> None:
    other = Term("type", "book").json()

    assert harvest_namespace(crossref_spec(expression=other)).key != harvest_namespace(crossref_spec()).key
    assert draft(expression=other).idempotent_key != draft().idempotent_key


@pytest.mark.parametrize("changes", [{"rate": {"burst": 9}}, {"window": {"lag_seconds": 1}}], ids=str)
def test_a_new_rate_or_lag_keeps_the_watermark(changes: dict[str, Any]) -> None:
    assert harvest_namespace(crossref_spec(**changes)) == harvest_namespace(crossref_spec())


def test_a_harvest_has_one_watermark_per_endpoint_and_query() -> None:
    namespace = harvest_namespace(crossref_spec())

    assert (namespace.scope, namespace.cursor_key) == (NamespaceScope.EXPR, "indexed_at")
    assert str(namespace.partition) == "crossref.works.harvest"
    assert harvest_namespace(crossref_spec(endpoint_name="journals")).key != namespace.key


def test_a_backfill_has_one_watermark_per_campaign_endpoint_query_and_direction() -> None:
    spec = crossref_spec(operation_code="BACKFILL")
    namespace = campaign_namespace(spec, "old")
    others = [
        campaign_namespace(spec, "older"),
        campaign_namespace(spec, "old", newest_first=True),
        campaign_namespace(crossref_spec(operation_code="BACKFILL", endpoint_name="journals"), "old"),
        campaign_namespace(crossref_spec(operation_code="BACKFILL", expression=Term("type", "book").json()), "old"),
        harvest_namespace(crossref_spec()),
    ]

    assert (namespace.scope, namespace.cursor_key) == (NamespaceScope.CUSTOM, "indexed_at")
    assert (str(namespace.partition), namespace.direction) == ("crossref.works.backfill", Direction.BACKFILL)
    assert namespace == campaign_namespace(spec, "old")
    assert len({one.key for one in (namespace, *others)}) == 6


def test_a_refresh_has_a_watermark_of_its_own_that_is_nobodys_update_time() -> None:
    spec = crossref_spec(operation_code="UPDATE")
    namespace = campaign_namespace(spec, None)

    assert (namespace.scope, namespace.cursor_key) == (NamespaceScope.CUSTOM, "refresh_checked_at")
    assert (str(namespace.partition), namespace.direction) == ("crossref.works.update", Direction.FORWARD)
    assert campaign_namespace(spec, "again").key != namespace.key


def test_everything_narrowed_to_a_range_is_the_range_and_nothing_stays_nothing() -> None:
    bounds = window_range("indexed_at", WINDOW)

    assert localize(Const(value=True).json(), bounds) == bounds.json()
    assert localize(Const(value=False).json(), bounds) == Const(value=False).json()


def test_a_query_narrowed_to_a_range_is_both_of_them() -> None:
    bounds, query = window_range("indexed_at", WINDOW), Term("type", "book")
    narrowed = localize(query.json(), bounds)

    assert narrowed["op"] == "AND"
    assert sorted(narrowed["children"], key=lambda child: child["op"]) == [bounds.json(), query.json()]


def test_a_query_in_the_slice_is_in_every_key() -> None:
    one, other = (draft(expression=Term("type", name).json()) for name in ("book", "map"))

    assert one.expr_hash != other.expr_hash
    assert one.signature_hash != other.signature_hash
