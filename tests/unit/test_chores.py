"""Every part of housekeeping: what it says of what it did, and when it fails."""

from threading import Event
from types import SimpleNamespace
from typing import Any, cast

import pytest

from flows import chores
from flows.chores import CHORES, ChoreFailed
from flows.parameters import HousekeepingPart
from flows.slots.audit import SlotReport
from flows.slots.limits import LimitChange
from ingest_core.bootstrap import App
from ingest_core.model.errors import Unreachable
from ingest_core.model.record_merge import RecordMerge
from ingest_core.outbox.relay import RelayReport
from ingest_core.planning.reslice import ResliceReport
from ingest_core.settings import Settings


def app_of(**parts: Any) -> App:
    """An application with these parts alone."""
    return cast("App", SimpleNamespace(**parts))


def do(part: HousekeepingPart, **parts: Any) -> str:
    return CHORES[part](app_of(**parts))


def test_every_part_has_its_chore() -> None:
    assert list(CHORES) == list(HousekeepingPart)


def test_leases_are_given_back_until_none_is_left() -> None:
    rounds = iter([500, 7, 0])
    queue = SimpleNamespace(repair_clock=lambda: 0, give_back_expired=lambda: next(rounds))
    assert do(HousekeepingPart.REAP_LEASES, queue=queue) == "507 leases released"


def test_a_queue_that_never_ends_is_left_after_a_while() -> None:
    queue = SimpleNamespace(repair_clock=lambda: 0, give_back_expired=lambda: 1)
    assert do(HousekeepingPart.REAP_LEASES, queue=queue) == "20 leases released"


def test_limits_and_slots_are_told_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    changes = [LimitChange("a", None, 2), LimitChange("b", 3, 1), LimitChange("c", 1, None)]
    monkeypatch.setattr(chores, "keep_limits", lambda _app: changes)
    assert do(HousekeepingPart.KEEP_LIMITS) == "a: 2, new; b: 3 -> 1; c: 1 -> removed"
    monkeypatch.setattr(chores, "reconcile_slots", lambda _app: SlotReport({"b": 2, "a": 1}, {"c": 1}))
    assert do(HousekeepingPart.RECONCILE_SLOTS) == "freed 1 of a, 2 of b; possibly orphaned: 1 of c"


def test_slices_that_cannot_be_cut_fail_the_part() -> None:
    served = SimpleNamespace(serve=lambda: ResliceReport(2, 5))
    assert do(HousekeepingPart.SERVE_RESLICES, reslicer=served) == "2 slices cut again, into 5"
    refused = SimpleNamespace(serve=lambda: ResliceReport(2, 5, ["plan 1: too small"]))
    with pytest.raises(ChoreFailed, match="plan 1: too small"):
        do(HousekeepingPart.SERVE_RESLICES, reslicer=refused)


def relayed(report: RelayReport, publisher: str | None = "file:x") -> str:
    relay = SimpleNamespace(stop=Event(), relay=lambda: report)
    return do(HousekeepingPart.RELAY_OUTBOX, relay=relay, settings=Settings(publisher=publisher))


def test_messages_are_sent_where_there_is_a_publisher() -> None:
    assert relayed(RelayReport(sent=3, pending=1)) == "3 messages sent, 1 wait"
    assert relayed(RelayReport(sent=3), publisher=None) == ""
    with pytest.raises(Unreachable, match="it said no"):
        relayed(RelayReport(sent=3, unavailable=True, errors=["it said no"]))
    with pytest.raises(ChoreFailed, match="2 will not be sent: too long"):
        relayed(RelayReport(dead=2, errors=["too long"]))


def test_what_is_old_is_tidied_up() -> None:
    assert do(HousekeepingPart.REPAIR_CURSORS, cursors=SimpleNamespace(repair=lambda: 2)) == "2 cursors moved"
    assert (
        do(HousekeepingPart.PRUNE_OUTBOX, outbox=SimpleNamespace(prune=lambda age: age.days)) == "30 messages deleted"
    )
    reports, compaction = SimpleNamespace(find=lambda: [1, 2]), SimpleNamespace(compact=lambda one, age: one * age.days)
    said = do(HousekeepingPart.COMPACT_CURSORS, cursor_reports=reports, cursor_compaction=compaction)
    assert said == "270 events compacted"


def test_rows_left_under_a_detail_endpoint_are_merged_some_at_a_time() -> None:
    asked: list[int] = []

    def merge(most_chunks: int) -> list[RecordMerge]:
        asked.append(most_chunks)
        return [
            RecordMerge("trials", "by_id", "studies", merged=2, moved=1),
            RecordMerge("papers", "by_id", "query", 0, 0, 1),
        ]

    said = do(HousekeepingPart.MERGE_RECORDS, record_merge=SimpleNamespace(merge=merge))
    assert said == (
        "trials: from by_id into studies: 2 records merged, 1 record moved; "
        "papers: from by_id into query: 1 quarantined record moved or merged"
    )
    assert asked == [chores.MOST_CHUNKS]
    assert do(HousekeepingPart.MERGE_RECORDS, record_merge=SimpleNamespace(merge=lambda most_chunks: [])) == ""
