"""When a page is schema drift, by the source's thresholds, and which page an operator accepts."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from ingest_core.model.checkpoint import AcceptedPage, Checkpoint
from ingest_core.model.codes import Operation
from ingest_core.model.spec import DriftSpec
from ingest_core.registry.compile import Compiled, CompileRequest, compile_source
from ingest_core.registry.source_file import Source
from ingest_core.store.ledger.checkpoints import checkpoint_json, checkpoint_of
from tests.support.books import SPEC, source_block, source_rows


@pytest.mark.parametrize(
    ("unusable", "received", "drift"),
    [(9, 9, False), (10, 10, True), (10, 49, True), (10, 50, False), (11, 50, True), (0, 0, False)],
)
def test_the_defaults_are_ten_records_and_more_than_a_fifth(unusable: int, received: int, *, drift: bool) -> None:
    assert DriftSpec().is_drift(unusable, received) is drift


@pytest.mark.parametrize(
    ("share", "records", "unusable", "received", "drift"),
    [(0.0, 1, 1, 1000, True), (0.0, 1, 0, 1000, False), (0.5, 1, 2, 4, False), (0.5, 1, 3, 4, True)],
)
def test_a_source_sets_its_own(share: float, records: int, unusable: int, received: int, *, drift: bool) -> None:
    assert DriftSpec(share=share, records=records).is_drift(unusable, received) is drift


def compiled(**source: Any) -> Compiled:
    rows = source_rows(source=source_block(**source))
    return compile_source(rows, CompileRequest("books", "list", Operation.HARVEST), datetime(2026, 1, 1, tzinfo=UTC))


def test_the_snapshot_has_the_sources_thresholds_and_the_defaults_leave_its_hash() -> None:
    assert compiled(drift_share=0.4).spec.drift == DriftSpec(share=0.4, records=10)
    assert compiled(drift_records=3).spec.drift == DriftSpec(share=0.2, records=3)
    assert compiled(drift_share=0.2, drift_records=10).spec.fingerprint == SPEC.fingerprint


def test_a_threshold_that_no_page_can_reach_is_a_warning() -> None:
    (warning,) = compiled(drift_records=101).warnings
    assert warning.startswith("source.drift_records 101 is more than a page of")
    assert compiled(drift_records=50).warnings == []


@pytest.mark.parametrize("wrong", [{"drift_share": 1.0}, {"drift_share": -0.1}, {"drift_records": 0}])
def test_a_threshold_out_of_range_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        Source.model_validate({"code": "books", "name": "Books", **wrong})


class TestAnAcceptedPage:
    def test_is_the_one_that_comes_next_and_no_other(self) -> None:
        at = Checkpoint(page_no=3).accepting_next("why")
        assert [at.drift_accepted(page) for page in (3, 4, 5)] == [None, "why", None]

    def test_stays_accepted_when_the_slice_begins_again(self) -> None:
        at = Checkpoint(page_no=3, token="t").accepting_next("why")
        assert at.anew().accepted_page == at.retried(7).accepted_page == AcceptedPage(4, "why")

    def test_is_stored_with_the_checkpoint(self) -> None:
        at = Checkpoint(page_no=3).accepting_next("why")
        assert checkpoint_of(checkpoint_json(at)) == at
        assert checkpoint_of(checkpoint_json(replace(at, accepted_page=None))).accepted_page is None
