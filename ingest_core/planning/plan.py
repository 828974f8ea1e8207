"""The planner's use case: from a trigger to a stored plan, step by step."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from ingest_core.model.canonical import hash_of
from ingest_core.model.clock import Clock
from ingest_core.model.codes import PlanStatus, SliceStrategy
from ingest_core.model.errors import PatraError
from ingest_core.model.instant import format_instant
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.window import Window
from ingest_core.model.work import CursorState, Namespace, Partition, harvest_namespace
from ingest_core.planning.needs import needs_reading, settled_until
from ingest_core.planning.ports import PlanHead, PlanStore, PlanTransaction, StoredPlan
from ingest_core.planning.request import PlanRequest, Trigger
from ingest_core.planning.slicing import draft_slice, slice_time
from ingest_core.planning.window import WindowDecision, resolve_harvest
from ingest_core.registry.compile import Compiled, CompileRequest, compile_source, endpoint_for
from ingest_core.registry.merge import read_overrides
from ingest_core.registry.ports import RegistryStore
from ingest_core.registry.rows import Rows

NOTHING_NEEDED = "every part of the window is settled, was just read, or is in a live task"


@dataclass(frozen=True)
class Proposal:
    """What a plan would be, were it stored now."""

    decision: WindowDecision
    slices: list[Window]
    first: bool
    settled: datetime | None = None

    @property
    def reason(self) -> str | None:
        """Why there is nothing to do, if so."""
        return self.decision.reason or (None if self.slices else NOTHING_NEEDED)


@dataclass(frozen=True)
class PlanReport:
    """What planning did, as people and scripts read it."""

    plan: StoredPlan
    operation: str
    created: bool
    warnings: list[str]
    notes: list[str] = field(default_factory=list)
    dry_run: bool = False

    def json(self) -> dict[str, Any]:
        """The report under its interface's names."""
        plan = self.plan
        return {
            "plan_id": plan.plan_id or None,
            "plan_key": plan.plan_key,
            "operation": str(self.operation),
            "status": str(plan.status),
            "reason": plan.remarks.get("reason"),
            "window": {"from": format_instant(plan.start), "to": format_instant(plan.end)},
            "slices": plan.slices,
            "slices_existing": 0 if self.created else plan.slices,
            "tasks_created": plan.tasks if self.created else 0,
            "tasks_existing": 0 if self.created else plan.tasks,
            "expected_requests": plan.slices,
            "warnings": self.warnings,
            "notes": self.notes,
            "dry_run": self.dry_run,
        }


class Planner:
    """Turns triggers into plans; every step can be run again."""

    def __init__(
        self, registry: RegistryStore, plans: PlanStore, clock: Clock, signing_hooks: frozenset[str] | None = None
    ) -> None:
        self._registry = registry
        self._signing_hooks = signing_hooks
        self._plans = plans
        self._clock = clock

    def plan(self, request: PlanRequest, trigger: Trigger, now: datetime | None = None) -> PlanReport:
        """All steps in order."""
        instance_id = self.record_trigger(request, trigger)
        compiled = self.compile(request, instance_id, now)
        return self.derive(request, trigger, instance_id, compiled, now)

    def record_trigger(self, request: PlanRequest, trigger: Trigger) -> int:
        """Write the trigger down, once."""
        rows = self._registry.rows(request.source)
        return self._plans.record_trigger(trigger, request, _partition(request, rows))

    def compile(self, request: PlanRequest, instance_id: int | None = None, now: datetime | None = None) -> Compiled:
        """The snapshot the plan will run on, and how it came about; a failure is noted on the trigger."""
        rows = self._registry.rows(request.source)
        partition = _partition(request, rows)
        try:
            asked = CompileRequest(
                request.source,
                partition.endpoint_name,
                partition.operation_code,
                request.query,
                read_overrides(request.overrides),
                self._signing_hooks,
            )
            return compile_source(rows, asked, now or self._clock.now())
        except PatraError as error:
            self._note(instance_id, error)
            raise

    def resolve(self, request: PlanRequest, spec: SpecSnapshot, now: datetime | None = None) -> WindowDecision:
        """The window as it would be now; nothing is written."""
        with self._plans.look() as transaction:
            namespace = harvest_namespace(spec)
            cursor = transaction.lock_cursor(namespace)
            before = _predecessor(transaction, request, namespace, cursor)
            return resolve_harvest(request, cursor, spec.time, now or self._clock.now(), before)

    def propose(self, request: PlanRequest, spec: SpecSnapshot, now: datetime | None = None) -> Proposal:
        """Window and slices as they would be now; nothing is written."""
        with self._plans.look() as transaction:
            return self._propose(transaction, request, spec, now or self._clock.now())

    def dry_run(self, request: PlanRequest, now: datetime | None = None) -> PlanReport:
        """The report a plan would give."""
        compiled = self.compile(request, now=now)
        spec = compiled.spec
        proposal = self.propose(request, spec, now)
        decision, count = proposal.decision, len(proposal.slices)
        end = max(decision.start, decision.end)
        plan = StoredPlan(0, "", PlanStatus.DRAFT, decision.start, end, count, count, {"reason": proposal.reason})
        warnings = [*compiled.warnings, *decision.warnings]
        notes = compiled.degradations
        return PlanReport(plan, spec.operation_code, created=True, warnings=warnings, notes=notes, dry_run=True)

    def derive(
        self,
        request: PlanRequest,
        trigger: Trigger,
        instance_id: int,
        compiled: Compiled,
        now: datetime | None = None,
    ) -> PlanReport:
        """Resolve again under the namespace's lock; plan, slices and tasks are stored together."""
        spec = compiled.spec
        namespace = harvest_namespace(spec)
        plan_key = _plan_key(namespace.partition, trigger)

        def work(transaction: PlanTransaction) -> PlanReport:
            stored = transaction.find_plan(plan_key)
            if stored:
                remarks = stored.remarks
                notes = remarks.get("degradations", [])
                return PlanReport(stored, spec.operation_code, created=False, warnings=remarks["warnings"], notes=notes)
            proposal = self._propose(transaction, request, spec, now or self._clock.now())
            warnings = [*compiled.warnings, *proposal.decision.warnings]
            head = _head(plan_key, instance_id, namespace, compiled, proposal, warnings)
            drafts = (draft_slice(window, spec, namespace, _identity(trigger)) for window in proposal.slices)
            anchor = proposal.first and bool(proposal.slices)
            plan = transaction.insert_plan(head, anchor=anchor, drafts=drafts)
            notes = compiled.degradations
            return PlanReport(plan, spec.operation_code, created=True, warnings=warnings, notes=notes)

        try:
            return self._plans.transact(work)
        except PatraError as error:
            self._note(instance_id, error)
            raise

    def _propose(
        self, transaction: PlanTransaction, request: PlanRequest, spec: SpecSnapshot, now: datetime
    ) -> Proposal:
        namespace = harvest_namespace(spec)
        cursor = transaction.lock_cursor(namespace)
        before = _predecessor(transaction, request, namespace, cursor)
        decision = resolve_harvest(request, cursor, spec.time, now, before)
        reach = _reach(request, cursor, decision)
        if reach is None:
            return Proposal(decision, [], first=cursor is None)
        ground = transaction.ground(namespace, reach)
        needs = needs_reading(reach, ground, spec.time, now)
        slices = list(slice_time(needs, timedelta(seconds=spec.time.step_seconds)))
        if slices and not spec.time.supports_updated_since:  # every slice would read everything: one, when none is live
            slices = [] if ground.live else [Window(slices[0].start, slices[-1].end)]
        settled = None
        if cursor and reach.start <= cursor.unsettled_from:
            settled = settled_until(cursor.unsettled_from, ground.coverage, spec.time)
        return Proposal(decision, slices, first=cursor is None, settled=settled)

    def _note(self, instance_id: int | None, error: PatraError) -> None:
        if instance_id is not None:
            self._plans.note_trigger(instance_id, {"error": {"code": error.code, "message": str(error)}})


def _partition(request: PlanRequest, rows: Rows) -> Partition:
    endpoint = endpoint_for(rows, request.source, request.endpoint, request.operation)
    return Partition(request.source, endpoint, request.operation)


def _predecessor(
    transaction: PlanTransaction, request: PlanRequest, namespace: Namespace, cursor: CursorState | None
) -> datetime | None:
    """Where a query that the Registry changed goes on; a trigger's own query has a beginning of its own."""
    return None if cursor or request.query else transaction.predecessor(namespace)


def _reach(request: PlanRequest, cursor: CursorState | None, decision: WindowDecision) -> Window | None:
    """The window, and without a user's bounds also older ground that is not settled yet."""
    if cursor is None or request.user_from or request.user_to or decision.window is None:
        return decision.window
    return Window(min(cursor.unsettled_from, decision.start), decision.end)


def _identity(trigger: Trigger) -> str:
    return f"{trigger.scheduler}:{trigger.key}"


def _plan_key(partition: Partition, trigger: Trigger) -> str:
    return f"{partition}:{hash_of(_identity(trigger))[:16]}"


def _head(
    plan_key: str,
    instance_id: int,
    namespace: Namespace,
    compiled: Compiled,
    proposal: Proposal,
    warnings: list[str],
) -> PlanHead:
    decision, spec = proposal.decision, compiled.spec
    return PlanHead(
        plan_key=plan_key,
        instance_id=instance_id,
        namespace=namespace,
        start=decision.start,
        end=max(decision.start, decision.end),
        snapshot=spec.json_value(),
        fingerprint=spec.fingerprint,
        expression=spec.expression,
        expr_proto_hash=spec.expr_proto_hash,
        settled=proposal.settled,
        slice_params={"strategy": SliceStrategy.TIME.value, "stepSeconds": spec.time.step_seconds},
        remarks={
            "reason": proposal.reason,
            "sliceCount": len(proposal.slices),
            "audit": decision.audit,
            "warnings": warnings,
            "degradations": compiled.degradations,
            "origins": compiled.origins(),
            "namespace": {"scope": namespace.scope.value, "key": namespace.key},
        },
    )
