"""The planner's use case: from a trigger to a stored plan, step by step."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from heapq import merge
from itertools import chain, groupby, islice
from typing import Any

from ingest_core.model.canonical import hash_of
from ingest_core.model.clock import CLOCK_SLACK, Clock
from ingest_core.model.codes import ControlState, EndpointRole, Operation, PlanStatus, SliceStrategy
from ingest_core.model.credential_names import CredentialNames
from ingest_core.model.errors import BadInput, PatraError, Refused
from ingest_core.model.instant import MILLISECOND, format_instant
from ingest_core.model.naming import resume_command
from ingest_core.model.partition import Partition, partition_of
from ingest_core.model.record import NORMALIZE_ID
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.window import Window
from ingest_core.planning.estimate import (
    NOTHING_ASKED,
    Probe,
    ProbingEstimator,
    SizesAsked,
    StoredEstimates,
    probe_budget,
)
from ingest_core.planning.ports import Control, PlanHead, PlanStore, PlanTransaction, StoredPlan
from ingest_core.planning.proposal import Proposal, Proposer
from ingest_core.planning.report import PlanReport, Tally
from ingest_core.planning.request import PlanRequest, Trigger
from ingest_core.planning.reslice import Reslicer
from ingest_core.planning.sizing import constant_estimate, sizing_of
from ingest_core.planning.slicing import Drafter, SliceDraft, spread
from ingest_core.planning.steps import AS_THEY_ARE, PlanSteps
from ingest_core.planning.strategies.strategy import SliceContext, Strategy, StrategyRegistry
from ingest_core.registry.compile import Compiled, CompileRequest, compile_source, endpoint_for
from ingest_core.registry.merge import read_overrides
from ingest_core.registry.ports import RegistryStore
from ingest_core.registry.rows import Rows


@dataclass(frozen=True)
class PlanSettings:
    """What holds for every plan of this installation."""

    max_queued: int = 100_000
    signing_hooks: frozenset[str] | None = None
    credential_names: CredentialNames | None = None


class Planner:
    """Turns triggers into plans; every step can be run again."""

    def __init__(
        self,
        registry: RegistryStore,
        plans: PlanStore,
        reslicer: Reslicer,
        clock: Clock,
        strategies: StrategyRegistry,
        probe: Probe | None = None,
        settings: PlanSettings | None = None,
    ) -> None:
        self._registry = registry
        self._plans = plans
        self._reslicer = reslicer
        self._clock = clock
        self._strategies = strategies
        self._probe = probe
        self._settings = settings or PlanSettings()

    def asking_through(self, wrap: Callable[[Probe], Probe]) -> "Planner":
        """The same planner; it asks providers for sizes through what `wrap` makes of its probe."""
        if self._probe is None:
            return self
        parts = (self._registry, self._plans, self._reslicer, self._clock, self._strategies)
        return Planner(*parts, wrap(self._probe), self._settings)

    def plan(
        self, request: PlanRequest, trigger: Trigger, now: datetime | None = None, steps: PlanSteps = AS_THEY_ARE
    ) -> PlanReport:
        """All steps in order, each within its hook; a trigger that has its plan finds that, and makes nothing.

        What fails once the trigger is recorded leaves its reason there.
        """
        self.refuse_future(now)
        partition = self.partition(request)
        instance_id = steps.record(lambda: self._plans.record_trigger(trigger, request, partition))
        stored = self._stored(partition, trigger)
        if stored:
            return PlanReport(stored, partition, created=False)
        moment = now or self._clock.now()  # of every step: sizes are of windows that end there
        with self._noted(instance_id):
            compiled = steps.compile(lambda: self.compile(request, moment))
            resolved = steps.resolve(lambda: self.resolve(request, compiled, moment))
            resliced = steps.reslice(lambda: self._reslicer.serve(partition))
            sizes = steps.estimate(lambda: self.estimate(request, compiled, resolved, moment))
            report = steps.derive(lambda: self.derive(request, trigger, instance_id, compiled, moment, sizes))
        return replace(report, resliced=resliced)

    def dry_run(
        self,
        request: PlanRequest,
        now: datetime | None = None,
        steps: PlanSteps = AS_THEY_ARE,
        *,
        probe: bool = False,
    ) -> PlanReport:
        """The report a plan would give; the provider is asked for sizes only if wanted, and nothing is written."""
        moment = now or self._clock.now()
        compiled = steps.compile(lambda: self.compile(request, moment))
        resolved = steps.resolve(lambda: self.resolve(request, compiled, moment))
        return steps.derive(lambda: self._try(request, compiled, resolved, moment, probe=probe))

    def refuse_future(self, now: datetime | None) -> None:
        """BadInput where a plan that is to be stored takes a moment for now that has not come yet."""
        clock = self._clock.now() if now else None
        if now and clock and now > clock + CLOCK_SLACK:
            raise BadInput(
                "NOW_AHEAD",
                f"now {format_instant(now)} is ahead of the database's clock, {format_instant(clock)}",
                where="now",
                remedy="leave it out, or look with a dry run: what has not happened cannot be read",
            )

    def partition(self, request: PlanRequest) -> Partition:
        """Whose work the request is."""
        return _partition(request, self._registry.rows(request.source))

    def _stored(self, partition: Partition, trigger: Trigger) -> StoredPlan | None:
        with self._plans.look() as transaction:
            return transaction.find_plan(_plan_key(partition, trigger))

    def compile(self, request: PlanRequest, now: datetime | None = None) -> Compiled:
        """The snapshot the plan will run on, and how it came about."""
        rows = self._registry.rows(request.source)
        partition = _partition(request, rows)
        asked = CompileRequest(
            request.source,
            partition.endpoint_name,
            partition.operation_code,
            request.query,
            read_overrides(request.overrides),
            self._settings.signing_hooks,
            strategies=self._strategies.codes,
            timed=_timed(request, rows, partition.endpoint_name),
            credential_names=self._settings.credential_names,
            ids=request.ids,
        )
        return compile_source(rows, asked, now or self._clock.now())

    def resolve(self, request: PlanRequest, compiled: Compiled, now: datetime | None = None) -> Proposal:
        """The window as it would be now, with its arithmetic; nothing is planned."""
        with self._plans.look() as transaction:
            return Proposer(transaction, request, compiled, now or self._clock.now()).resolve()

    def estimate(self, request: PlanRequest, compiled: Compiled, resolved: Proposal, now: datetime) -> SizesAsked:
        """Ask the provider how big the slices of that window would be, and keep the answers. Nothing is locked."""
        spec = compiled.spec
        with self._plans.look() as transaction:
            _refuse_unless_active(spec, transaction.control(partition_of(spec)))
            if self._probe is None:
                return NOTHING_ASKED
            proposal = Proposer(transaction, request, compiled, now).survey(resolved)
            if not proposal.needs:
                return NOTHING_ASKED
            context = self._context(transaction, spec, proposal)
        prober = ProbingEstimator(spec, context.estimator, self._probe, probe_budget(spec))
        pieces = self._strategy(spec).pieces(replace(context, estimator=prober))
        while not prober.exhausted and next(pieces, None):
            pass
        self._plans.save_estimates(spec, prober.found)
        return prober.asked

    def _try(
        self, request: PlanRequest, compiled: Compiled, resolved: Proposal, now: datetime, *, probe: bool
    ) -> PlanReport:
        spec = compiled.spec
        with self._plans.look() as transaction:
            _refuse_unless_active(spec, transaction.control(partition_of(spec)))
            proposal = Proposer(transaction, request, compiled, now).survey(resolved)
            asked = _wanted(request, spec)
            planned = transaction.planned_signals(partition_of(spec), asked)
            new = [one for one in asked if one not in planned]
            wanted = merge(new, transaction.open_signals(partition_of(spec)))
            context = self._context(transaction, spec, proposal, list(_each_once(wanted)) if proposal.by_id else ())
            most = self._free_stock(transaction, spec)
        prober = None
        if probe and self._probe and proposal.needs:
            prober = ProbingEstimator(spec, context.estimator, self._probe, probe_budget(spec))
            context = replace(context, estimator=prober)
        drafts = self._drafts(context, proposal, "dry run", request.urgency)
        tally = Tally(spec, proposal.timeline)
        for _ in tally.watch(islice(drafts, most)):
            pass
        short = next(drafts, None) is not None
        sizes = prober.asked if prober else NOTHING_ASKED
        remarks = self._remarks(compiled, proposal, tally, sizes, short=short)
        start, until = proposal.decision.start, proposal.decision.until
        plan = StoredPlan(0, "", PlanStatus.DRAFT, start, until, tally.slices, tally.slices, remarks)
        return PlanReport(plan, partition_of(spec), created=True, dry_run=True)

    def derive(
        self,
        request: PlanRequest,
        trigger: Trigger,
        instance_id: int,
        compiled: Compiled,
        now: datetime | None = None,
        sizes: SizesAsked = NOTHING_ASKED,
    ) -> PlanReport:
        """Resolve again under the partition's and the namespace's lock; plan, slices and tasks are stored together."""
        self.refuse_future(now)

        def work(transaction: PlanTransaction) -> PlanReport:
            partition = partition_of(compiled.spec)
            control = transaction.lock_control(partition)
            stored = transaction.find_plan(_plan_key(partition, trigger))
            if stored:
                return PlanReport(stored, partition, created=False)
            _refuse_unless_active(compiled.spec, control)
            moment = now or self._clock.now()
            return self._store(transaction, request, trigger, instance_id, compiled, moment, sizes)

        return self._plans.transact(work)

    def _store(
        self,
        transaction: PlanTransaction,
        request: PlanRequest,
        trigger: Trigger,
        instance_id: int,
        compiled: Compiled,
        now: datetime,
        sizes: SizesAsked,
    ) -> PlanReport:
        spec = compiled.spec
        proposal = Proposer(transaction, request, compiled, now).propose()
        namespace = proposal.namespace
        ids: Iterable[str] = ()
        if proposal.by_id:
            campaign = request.campaign or trigger.identity
            transaction.add_signals(namespace.partition, campaign, _wanted(request, spec))
            ids = transaction.open_signals(namespace.partition)
        context = self._context(transaction, spec, proposal, ids)
        drafts = self._drafts(context, proposal, trigger.identity, request.urgency)
        tally, most = Tally(spec, proposal.timeline), self._free_stock(transaction, spec)
        first = next(drafts, None)
        drafts = chain([first], drafts) if first else drafts
        head = self._head(_plan_key(namespace.partition, trigger), instance_id, spec, proposal)
        anchor = proposal.anchor(request) if first else None
        plan_id = transaction.insert_plan(head, anchor, tally.watch(islice(drafts, most)))
        short = next(drafts, None) is not None
        remarks = self._remarks(compiled, proposal, tally, sizes, short=short)
        status = PlanStatus.PARTIAL if short else PlanStatus.READY if tally.slices else PlanStatus.SUCCEEDED
        transaction.finish_plan(plan_id, namespace, status, remarks, proposal.settled)
        taught = "window.lag" not in request.overrides
        if proposal.lag and proposal.lag.changed and proposal.cursor and taught:
            transaction.note_lag(namespace, proposal.lag.learned_seconds, now)
        plan = StoredPlan(plan_id, head.plan_key, status, head.start, head.end, tally.slices, tally.slices, remarks)
        return PlanReport(plan, namespace.partition, created=True)

    def _strategy(self, spec: SpecSnapshot) -> Strategy:
        by_id = spec.window is None
        return self._strategies.choose(SliceStrategy.ID_RANGE.value if by_id else spec.slicing.strategy, spec)

    def _context(
        self, transaction: PlanTransaction, spec: SpecSnapshot, proposal: Proposal, ids: Iterable[str] = ()
    ) -> SliceContext:
        decision = proposal.decision
        reach = decision.window or Window(decision.start, decision.start + MILLISECOND)
        if proposal.needs:
            reach = Window(min(reach.start, proposal.needs[0].window.start), reach.end)
        known = transaction.estimates(spec, reach) if proposal.needs else {}
        history = transaction.history(spec) if proposal.needs else None
        stored = StoredEstimates(constant_estimate(spec), known, history)
        return SliceContext(spec, proposal.config, reach, proposal.needs, stored, proposal.newest_first, iter(ids))

    def _drafts(self, context: SliceContext, proposal: Proposal, trigger: str, priority: int) -> Iterator[SliceDraft]:
        if proposal.decision.window is None:
            return iter(())
        spec, strategy = context.spec, self._strategy(context.spec)
        lag = proposal.lag.seconds if proposal.lag else proposal.config.lag_seconds
        drafter = Drafter(spec, proposal.namespace, trigger, strategy.code, lag, priority)
        return spread(map(drafter.draft, strategy.pieces(context)), spec.rate.daily_quota)

    def _free_stock(self, transaction: PlanTransaction, spec: SpecSnapshot) -> int | None:
        """How many more tasks may wait; none means any number."""
        limits = ((partition_of(spec), spec.slicing.max_queued), (None, self._settings.max_queued))
        free = [max(0, limit - transaction.queued(partition, limit)) for partition, limit in limits if limit]
        return min(free, default=None)

    def _head(self, plan_key: str, instance_id: int, spec: SpecSnapshot, proposal: Proposal) -> PlanHead:
        decision, config = proposal.decision, proposal.config
        lag = proposal.lag.seconds if proposal.lag else config.lag_seconds
        params = {"strategy": self._strategy(spec).code, "safetyLagSec": lag, "newestFirst": proposal.newest_first}
        if spec.window is not None:
            target = sizing_of(spec).target
            params |= {"stepSeconds": config.step_seconds, "targetRecordsPerSlice": target}
        return PlanHead(
            plan_key=plan_key,
            instance_id=instance_id,
            namespace=proposal.namespace,
            start=decision.start,
            end=decision.until,
            spec=spec,
            strategy=self._strategy(spec).code,
            slice_params=params,
        )

    def _remarks(
        self, compiled: Compiled, proposal: Proposal, tally: Tally, sizes: SizesAsked, *, short: bool
    ) -> dict[str, Any]:
        decision, namespace, spec = proposal.decision, proposal.namespace, compiled.spec
        warnings = [*compiled.warnings, *decision.warnings, *sizes.warnings, *tally.warnings()]
        limit = spec.slicing.max_queued
        stock = {"short": True, "limit": limit, "limit_in_all": self._settings.max_queued} if short else None
        if short:
            warnings.append("too many tasks wait: this plan is PARTIAL, and the rest is planned by a later trigger")
        return {
            "reason": None if short else proposal.reason(tally.slices),
            "sliceCount": tally.slices,
            "totalEstimated": tally.records,
            "strategy": self._strategy(spec).code,
            "sizes": tally.json(sizes),
            "stock": stock,
            "campaign": proposal.campaign,
            "audit": decision.audit,
            "warnings": warnings,
            "degradations": compiled.degradations,
            "origins": compiled.origins(),
            "namespace": {"scope": namespace.scope.value, "key": namespace.key, "cursorKey": namespace.cursor_key},
        }

    @contextmanager
    def _noted(self, instance_id: int) -> Iterator[None]:
        """Write a failure down on the trigger that met it."""
        try:
            yield
        except PatraError as error:
            self._plans.note_trigger(instance_id, {"error": {"code": error.code, "message": str(error)}})
            raise


def _partition(request: PlanRequest, rows: Rows) -> Partition:
    endpoint = endpoint_for(rows, request.source, request.endpoint, request.operation)
    return Partition(request.source, endpoint, request.operation)


def _timed(request: PlanRequest, rows: Rows, endpoint: str) -> bool:
    """Whether a refresh follows time: it was given a period, and the endpoint can be asked for one."""
    if request.operation != Operation.UPDATE or request.ids:
        return False
    row = next(row for row in rows["reg_prov_endpoint_def"] if row["endpoint_name"] == endpoint)
    return row["endpoint_role_code"] == EndpointRole.SEARCH and bool(request.user_from or request.user_to)


def _refuse_unless_active(spec: SpecSnapshot, control: Control) -> None:
    if control.state == ControlState.ACTIVE:
        return
    said = f": {control.reason}" if control.reason else ""
    raise Refused(
        f"PARTITION_{control.state}",
        f"it is {control.state}{said}",
        where=f"partition {partition_of(spec)}",
        remedy=f"{resume_command(partition_of(spec))}; nothing was planned",
    )


def _wanted(request: PlanRequest, spec: SpecSnapshot) -> list[str]:
    return sorted({NORMALIZE_ID[spec.id_normalizer](one) for one in request.ids})


def _each_once(ids: Iterator[str]) -> Iterator[str]:
    return (one for one, _ in groupby(ids))


def _plan_key(partition: Partition, trigger: Trigger) -> str:
    return f"{partition}:{hash_of(trigger.identity)[:16]}"
