"""The parts of housekeeping: each may run at any time, also beside itself, and says what it did, if anything."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from threading import Timer
from types import MappingProxyType

from flows.deploying.schedule_parameters import RESTORED, keep_schedule_parameters
from flows.parameters import HousekeepingPart
from flows.prefect_api.client import open_prefect
from flows.prefect_api.history import delete_idle_runs
from flows.slots.audit import reconcile_slots
from flows.slots.limits import keep_limits
from ingest_core.bootstrap import App
from ingest_core.model.errors import PatraError, Unreachable
from ingest_core.registry.difference import describe_merge

SENT_FOR = timedelta(days=30)
"""How long a sent message is kept."""

EVENTS_FOR = timedelta(days=90)
"""Age at which cursor events are compacted, as by `patra cursor compact`."""

MOST_CHUNKS = 100
"""Chunks of rows merged in one round for each endpoint; the next round goes on."""

RELAY_SECONDS = 40.0
_MOST_ROUNDS = 20


class ChoreFailed(PatraError):
    """A part that did what it could and found something an operator must look at."""


def reap_leases(app: App) -> str:
    """Queue again what dead workers held, also where a clock that was ahead has leased it for years."""
    app.queue.repair_clock()
    total = 0
    for _ in range(_MOST_ROUNDS):
        given_back = app.queue.give_back_expired()
        total += given_back
        if not given_back:
            break
    return f"{total} leases released" if total else ""


def keep_caps(app: App) -> str:
    """Bring Prefect's limits in step with the Registry."""
    return "; ".join(map(str, keep_limits(app)))


def keep_schedules(_app: App) -> str:
    """Restore parameters of schedules that a switch in the UI has emptied."""
    with open_prefect() as client:
        restored = keep_schedule_parameters(client)
    return "; ".join(f"schedule {name}: {RESTORED}" for name in restored)


def audit_slots(app: App) -> str:
    """Free orphaned slots."""
    report = reconcile_slots(app)
    freed = ", ".join(f"{count} of {name}" for name, count in sorted(report.freed.items()))
    watched = ", ".join(f"{count} of {name}" for name, count in sorted(report.watched.items()))
    said = ([f"freed {freed}"] if freed else []) + ([f"possibly orphaned: {watched}"] if watched else [])
    return "; ".join(said)


def repair_cursors(app: App) -> str:
    """Advance cursors that a crash left behind their events."""
    moved = app.cursors.repair()
    return f"{moved} cursors moved" if moved else ""


def serve_waiting_reslices(app: App) -> str:
    """Cut again what turned out too big."""
    report = app.reslicer.serve()
    if report.refused:
        raise ChoreFailed(
            "RESLICE_REFUSED",
            "; ".join(report.refused[:10]),
            where=f"{len(report.refused)} re-slice requests ({report.served} were served)",
            remedy="the slice of a refused one stays PARTIAL; one that waits is tried again in every round",
        )
    return f"{report.served} slices cut again, into {report.children}" if report.served else ""


def relay_outbox(app: App) -> str:
    """Send the messages that are due, for a while; nothing where no publisher is set."""
    if app.settings.publisher is None:
        return ""
    bell = Timer(RELAY_SECONDS, app.relay.stop.set)
    bell.start()
    try:
        report = app.relay.relay()
    finally:
        bell.cancel()
    errors = "; ".join(report.errors)
    if report.unavailable:
        raise Unreachable("PUBLISHER_UNAVAILABLE", errors, where="publisher", remedy="its messages wait")
    if report.dead:
        remedy = "see: patra outbox list --status DEAD"
        raise ChoreFailed("MESSAGES_DEAD", f"{report.dead} will not be sent: {errors}", where="outbox", remedy=remedy)
    return f"{report.sent} messages sent, {report.pending} wait" if report.sent else ""


def prune_outbox(app: App) -> str:
    """Delete messages that were sent long ago."""
    deleted = app.outbox.prune(SENT_FOR)
    return f"{deleted} messages deleted" if deleted else ""


def compact_cursors(app: App) -> str:
    """Replace old events that no plan needs any more by one each."""
    compacted = sum(app.cursor_compaction.compact(one, EVENTS_FOR) for one in app.cursor_reports.find())
    return f"{compacted} events compacted" if compacted else ""


def merge_records(app: App) -> str:
    """Merge rows left under a DETAIL endpoint: an apply was stopped, or an older version executed a task."""
    merges = app.record_merge.merge(most_chunks=MOST_CHUNKS)
    return "; ".join(describe_merge(merge) for merge in merges)


def prune_history(_app: App) -> str:
    """Delete runs that did nothing from Prefect's history. It says nothing, or each round would have done something."""
    with open_prefect() as client:
        delete_idle_runs(client, datetime.now(UTC))
    return ""


CHORES: Mapping[HousekeepingPart, Callable[[App], str]] = MappingProxyType(
    {
        HousekeepingPart.REAP_LEASES: reap_leases,
        HousekeepingPart.KEEP_LIMITS: keep_caps,
        HousekeepingPart.KEEP_SCHEDULES: keep_schedules,
        HousekeepingPart.RECONCILE_SLOTS: audit_slots,
        HousekeepingPart.REPAIR_CURSORS: repair_cursors,
        HousekeepingPart.SERVE_RESLICES: serve_waiting_reslices,
        HousekeepingPart.RELAY_OUTBOX: relay_outbox,
        HousekeepingPart.PRUNE_OUTBOX: prune_outbox,
        HousekeepingPart.COMPACT_CURSORS: compact_cursors,
        HousekeepingPart.MERGE_RECORDS: merge_records,
        HousekeepingPart.PRUNE_HISTORY: prune_history,
    }
)
