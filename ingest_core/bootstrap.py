"""The composition root: the only module that names concrete adapters."""

import os
import socket
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, partial
from threading import Event
from typing import Any

from ingest_core.cursor.ports import CursorAdoption, CursorCompaction, CursorReports, CursorStore
from ingest_core.execution.execute import Executor
from ingest_core.execution.ports import TaskQueue, WorkControl
from ingest_core.execution.run_task import TaskRunner
from ingest_core.gate.ports import RateControl, RateGate
from ingest_core.inspection.ports import ReachableUpstream, VisibleUpstream
from ingest_core.inspection.probe import UpstreamProbe
from ingest_core.model.clock import Clock
from ingest_core.model.codes import Operation
from ingest_core.model.credential_names import CredentialNames, how_to_allow
from ingest_core.model.errors import BadInput, Refused
from ingest_core.outbox.ports import OutboxControl
from ingest_core.outbox.relay import Relay
from ingest_core.planning.plan import Planner, PlanSettings
from ingest_core.planning.redrive import Redriver
from ingest_core.planning.reslice import Reslicer
from ingest_core.planning.strategies.id_slices import IdStrategy
from ingest_core.planning.strategies.strategy import StrategyRegistry
from ingest_core.planning.strategies.time_slices import TimeStrategy
from ingest_core.readside.ports import DatabaseClock, ItemReader, QuarantineStore, WorkReports
from ingest_core.registry.compile import CompileRequest, compile_source
from ingest_core.registry.ports import RecordMerger, RegistryStore
from ingest_core.registry.read import read_source
from ingest_core.registry.rows import Rows, references_of, rows_of
from ingest_core.settings import Settings, load_settings
from ingest_core.shipped import shipped_sources
from ingest_core.store.cursors.adoption import SqlCursorAdoption
from ingest_core.store.cursors.compaction import SqlCursorCompaction
from ingest_core.store.cursors.store import SqlCursorStore
from ingest_core.store.engine.database import Database
from ingest_core.store.gate.caps import LiveCaps
from ingest_core.store.gate.rate_control import SqlRateControl
from ingest_core.store.gate.rate_gate import SqlRateGate
from ingest_core.store.ledger.run_ledger import SqlRunLedger
from ingest_core.store.outbox.messages import SqlOutbox
from ingest_core.store.plans.store import SqlPlanStore
from ingest_core.store.queue.task_queue import SqlTaskQueue
from ingest_core.store.queue.work_control import SqlWorkControl
from ingest_core.store.records.item_reader import SqlItemReader
from ingest_core.store.records.quarantine_store import SqlQuarantineStore
from ingest_core.store.records.record_merge import SqlRecordMerge
from ingest_core.store.registry.sources import SqlRegistryStore
from ingest_core.store.reports.cursors import SqlCursorReports
from ingest_core.store.reports.work import SqlWorkReports
from ingest_core.store.schema.dictionary import seed_dictionary
from ingest_core.store.schema.versions import (
    DEMO,
    current_revision,
    drop_schema,
    mark_purpose,
    no_schema,
    purpose,
    refuse_other_schema,
    upgrade_schema,
)
from ingest_core.transport.auth import installed_hooks
from ingest_core.transport.credentials import SecretReader, Secrets
from ingest_core.transport.http import HttpUpstream
from ingest_core.transport.installed import installed
from ingest_core.transport.publishers import open_publisher


@dataclass(frozen=True)
class App:
    """The use cases and the ports that commands and flows use, wired."""

    settings: Settings
    database: DatabaseClock
    registry: RegistryStore
    planner: Planner
    reslicer: Reslicer
    queue: TaskQueue
    executor: Executor
    cursors: CursorStore
    control: WorkControl
    cursor_reports: CursorReports
    cursor_adoption: CursorAdoption
    cursor_compaction: CursorCompaction
    readside: WorkReports
    items: ItemReader
    quarantine: QuarantineStore
    redriver: Redriver
    record_merge: RecordMerger
    upstream: ReachableUpstream
    gate: RateGate
    rates: RateControl
    outbox: OutboxControl
    relay: Relay


@contextmanager
def open_core_app(
    settings: Settings | None = None,
    clock_shift: timedelta = timedelta(0),
    secret_readers: Mapping[str, SecretReader] | None = None,
) -> Iterator[App]:
    """The application on the configured database, which must have this code's schema."""
    settings = settings or load_settings()
    if settings.database_url is None and not settings.default_database.exists():
        raise no_schema(settings.effective_database_url)
    database = open_database(settings, clock_shift)
    upstream = _upstream(settings, secret_readers)
    try:
        refuse_other_schema(database)
        # The publisher's secrets are named by the operator's settings and code, not by source files: any name will do.
        yield _wire(settings, database, upstream, Secrets(secret_readers, allowed=None))
    finally:
        upstream.close()
        database.close()


def _wire(settings: Settings, database: Database, upstream: HttpUpstream, secrets: Secrets) -> App:
    registry = SqlRegistryStore(database)
    cursors = SqlCursorStore(database)
    stop, gate, control = Event(), SqlRateGate(database), SqlWorkControl(database)
    queue = SqlTaskQueue(database, caps=LiveCaps(database))
    ledger = SqlRunLedger(database, publishing=settings.publisher is not None)
    runner = TaskRunner(queue, ledger, cursors, control, gate, upstream, database, stop, settings.contact)
    plans, probe = SqlPlanStore(database), UpstreamProbe(gate, upstream, settings.contact)
    limits = PlanSettings(settings.max_queued, installed_hooks(), settings.credential_names)
    reslicer, quarantine = Reslicer(plans, strategies(), probe), SqlQuarantineStore(database)
    planner = Planner(registry, plans, reslicer, database, strategies(), probe, limits)
    owner = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
    outbox = SqlOutbox(database)
    publisher = partial(open_publisher, settings.publisher, settings.webhook_secret, secrets, settings.user_agent)
    return App(
        settings=settings,
        database=database,
        registry=registry,
        planner=planner,
        reslicer=reslicer,
        queue=queue,
        executor=Executor(queue, cursors, control, runner, owner, settings.lease_ttl_seconds, stop),
        cursors=cursors,
        control=control,
        cursor_reports=SqlCursorReports(database),
        cursor_adoption=SqlCursorAdoption(database, cursors),
        cursor_compaction=SqlCursorCompaction(database),
        readside=SqlWorkReports(database),
        items=SqlItemReader(database),
        quarantine=quarantine,
        redriver=Redriver(registry, planner, quarantine),
        record_merge=SqlRecordMerge(database),
        upstream=upstream,
        gate=gate,
        rates=SqlRateControl(database),
        outbox=outbox,
        relay=Relay(outbox, publisher, owner, settings.lease_ttl_seconds, stop),
    )


def _upstream(settings: Settings, secret_readers: Mapping[str, SecretReader] | None) -> HttpUpstream:
    return HttpUpstream(
        settings.user_agent,
        settings.upstream_for,
        secret_readers=secret_readers,
        credential_names=settings.credential_names,
        allow_private_addresses=settings.allow_private_addresses,
    )


def open_database(settings: Settings, clock_shift: timedelta = timedelta(0)) -> Database:
    """The configured database; the default one's folder is made."""
    if settings.database_url is None:
        settings.home.mkdir(parents=True, exist_ok=True)
    return Database(settings.effective_database_url, clock_shift)


def upgrade_database(settings: Settings | None = None) -> dict[str, Any]:
    """Bring the schema and the dictionary up, and add the shipped sources that are not there yet."""
    settings = settings or load_settings()
    database = open_database(settings)
    try:
        before, after = upgrade_schema(database)
        seed_dictionary(database, {"ing_slice_strategy": strategies().codes})
        registry = SqlRegistryStore(database)
        known = {source.code for source in registry.sources()} | registry.removed()  # a removed source stays removed
        new = {code: rows for code, rows in _shipped_rows().items() if code not in known}
        registry.apply(list(new.values()))
        return {
            "from": before,
            "to": after,
            "sources_applied": list(new),
            "warnings": _refused_credentials(registry, settings.credential_names),
        }
    finally:
        database.close()


def _refused_credentials(registry: RegistryStore, allowed: CredentialNames) -> list[str]:
    """What to set for the sources that refer to a secret which is not allowed."""
    used = ((source.code, references_of(registry.rows(source.code))) for source in registry.sources())
    return [
        f"source {code!r} uses {reference!r}, which is not allowed: {how_to_allow(reference)}"
        for code, references in used
        for reference in references
        if not allowed.allow(reference)
    ]


@cache
def _shipped_rows() -> dict[str, Rows]:
    """The shipped sources by code; they are known to compile."""
    sources = [rows_of(read_source(text, name)) for name, text in shipped_sources().items()]
    return {code_of(rows): rows for rows in sources}


def prepare_demo_database(settings: Settings, *, keep: bool) -> None:
    """A database for a demo, empty unless the last demo's is kept; one that is not a demo's is left alone."""
    database = open_database(settings)
    try:
        if current_revision(database) is not None:
            refuse_other_schema(database, upgrading=True)  # a demo of an older version is replaced or brought up
            if purpose(database) != DEMO:
                raise Refused(
                    "DATABASE_IN_USE",
                    "it was not made by a demo",
                    where=f"database {database.shown_url}",
                    remedy="unset PATRA_DATABASE_URL, or name an empty database",
                )
            if not keep:
                drop_schema(database)
        upgrade_database(settings)
        mark_purpose(database, DEMO)
    finally:
        database.close()


def code_of(rows: Rows) -> str:
    """Whose rows they are."""
    return str(rows["reg_provenance"][0]["provenance_code"])


def check_source(text: str, name: str, clock: Clock) -> Rows:
    """The rows of a source file that reads well and compiles for every operation it serves."""
    return check_rows(rows_of(read_source(text, name)), clock.now())


MAX_COMPILES = 2_000
"""Endpoints x operations x dates of a source file; a compile takes a few milliseconds."""


def check_rows(rows: Rows, now: datetime) -> Rows:
    """The rows, if they compile for every operation they serve, now and whenever other rows come into force."""
    source, hooks, known, names = code_of(rows), installed_hooks(), strategies().codes, load_settings().credential_names
    served = [(row["endpoint_name"], one) for row in rows["reg_prov_endpoint_def"] for one in row["operations"]]
    moments = sorted({now, *_turning_points(rows, now)})
    if len(served) * len(moments) > MAX_COMPILES:
        raise BadInput(
            "SOURCE_TOO_LARGE",
            f"{len(served)} endpoint operations on {len(moments)} dates are more than {MAX_COMPILES:,} to check",
            where=f"source {source!r}",
            remedy="split the source, or date fewer blocks",
        )
    for moment in moments:
        for name, operation in served:
            asked = CompileRequest(
                source, name, Operation(operation), None, {}, hooks, known, from_file=True, credential_names=names
            )
            compile_source(rows, asked, moment)
    return rows


def _turning_points(rows: Rows, now: datetime) -> set[datetime]:
    """The moments after now at which a row begins or ends."""
    dates = {row.get(name) for table in rows.values() for row in table for name in ("effective_from", "effective_to")}
    return {date for date in dates if date is not None and date > now}


STRATEGY_GROUP = "patra.slice_strategies"
"""The entry points under which others install ways of slicing."""


def strategies() -> StrategyRegistry:
    """The ways of slicing there are: ours, and those that are installed."""
    others = [entry.load()() for entry in installed(STRATEGY_GROUP)]
    return StrategyRegistry([TimeStrategy(), IdStrategy(), *others])


def signing_hooks() -> frozenset[str]:
    """The signing hooks that are installed."""
    return installed_hooks()


@contextmanager
def open_upstream(
    settings: Settings | None = None, secret_readers: Mapping[str, SecretReader] | None = None
) -> Iterator[VisibleUpstream]:
    """The providers alone, for a source that is in no database."""
    settings = settings or load_settings()
    upstream = _upstream(settings, secret_readers)
    try:
        yield upstream
    finally:
        upstream.close()
