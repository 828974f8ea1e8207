"""What the planning flows do: request -> snapshot -> window -> trigger -> sizes -> tasks, and a page that shows it."""

from datetime import datetime
from typing import Any

from prefect import get_run_logger, runtime, task
from prefect.cache_policies import NO_CACHE
from prefect.states import Completed, Failed

from flows.parameters import PlanForm
from flows.planning.page import plan_headline, plan_page
from flows.prefect_api.run_name import label_run, show_page
from flows.process.application import open_app
from flows.text.wording import counted
from ingest_core.model.codes import SchedulerCode, TriggerType
from ingest_core.model.errors import PatraError
from ingest_core.model.instant import as_utc
from ingest_core.model.naming import span_name
from ingest_core.model.partition import Partition, partition_of
from ingest_core.planning.arithmetic import written
from ingest_core.planning.report import PlanReport
from ingest_core.planning.request import PlanRequest, Trigger
from ingest_core.planning.window import WindowDecision
from ingest_core.registry.compile import Compiled


def run_plan(form: PlanForm, *, dry_run: bool) -> Any:
    """Plan what the form asks for: a state that says in words what came of it, and gives callers the report."""
    now = form.clock()
    request = form.request(now or _due())
    try:
        report = _plan(request, now, dry_run=dry_run)
    except PatraError as error:
        return Failed(message=str(error), data=error)
    headline = plan_headline(report)
    get_run_logger().info("%s", headline)
    return Completed(message=headline, data=report.json())


def _plan(request: PlanRequest, now: datetime | None, *, dry_run: bool) -> PlanReport:
    """The steps in order. Whatever can be refused is, before the first of them that writes."""
    compiled, moment = compile_spec(request, now, dry_run=dry_run)
    partition = partition_of(compiled.spec)
    decision = resolve_window(request, compiled, moment)
    name, tags = _name(request, decision.start, decision.until), _tags(request, partition)
    label_run(f"{name} (dry run)" if dry_run else name, tags)
    if dry_run:
        report = try_plan(request, moment)
    else:
        report = _store(request, compiled, moment)
        name = _name(request, report.plan.start, report.plan.end)  # a plan that was there has its own window
        label_run(name, [*tags, *_plan_tags(report)])
    show_page(plan_page(report, partition), f"{name}: {plan_headline(report)}")
    return report


def _store(request: PlanRequest, compiled: Compiled, moment: datetime) -> PlanReport:
    trigger = _trigger()
    instance_id = record_trigger(request, trigger)
    serve_reslices(partition_of(compiled.spec))
    warnings = estimate_sizes(request, trigger, instance_id, compiled, moment)
    return derive_tasks(request, trigger, instance_id, compiled, moment, warnings)


def _due() -> datetime:
    """When this run was to begin: the same however late it is, and however often it is retried."""
    return as_utc(datetime.fromisoformat(runtime.flow_run.scheduled_start_time.isoformat()))  # Prefect's own kind


def _trigger() -> Trigger:
    """This flow run is the trigger: retrying it continues the same plan."""
    scheduled = "auto-scheduled" in (runtime.flow_run.tags or [])
    return Trigger(
        SchedulerCode.PREFECT,
        key=str(runtime.flow_run.id),
        job_id=runtime.deployment.name,
        type=TriggerType.SCHEDULE if scheduled else TriggerType.MANUAL,
    )


def _name(request: PlanRequest, start: datetime, end: datetime) -> str:
    """`crossref harvest 2026-01-01..02`."""
    what = counted(len(request.ids), "id") if request.ids else span_name(start, end)
    return f"{request.source} {request.operation.lower()} {what}"


def _tags(request: PlanRequest, partition: Partition) -> list[str]:
    return [f"source:{request.source}", f"endpoint:{partition.endpoint_name}", f"operation:{request.operation}"]


def _plan_tags(report: PlanReport) -> list[str]:
    campaign = report.plan.remarks.get("campaign")
    return [f"plan:{report.plan.plan_id}", *([f"campaign:{campaign}"] if campaign else [])]


@task(name="compile", task_run_name="compile {request.source}", cache_policy=NO_CACHE)
def compile_spec(request: PlanRequest, now: datetime | None, *, dry_run: bool) -> tuple[Compiled, datetime]:
    """Freeze what the Registry means now, and the moment itself: every step plans for the same."""
    with open_app() as app:
        if not dry_run:
            app.planner.refuse_future(now)
        moment = now or app.database.now()
        compiled = app.planner.compile(request, now=moment)
    get_run_logger().info("spec %s", compiled.spec.fingerprint[:12])
    for warning in compiled.warnings:
        get_run_logger().warning(warning)
    for degradation in compiled.degradations:
        get_run_logger().info(degradation)
    return compiled, moment


@task(name="resolve window", task_run_name="resolve window", cache_policy=NO_CACHE)
def resolve_window(request: PlanRequest, compiled: Compiled, now: datetime) -> WindowDecision:
    """Show the window's arithmetic, step by step."""
    with open_app() as app:
        decision = app.planner.resolve(request, compiled, now).decision
    for step in decision.audit:
        get_run_logger().info("%s", written(step))
    for warning in decision.warnings:
        get_run_logger().warning(warning)
    return decision


@task(name="try plan", task_run_name="try plan", cache_policy=NO_CACHE)
def try_plan(request: PlanRequest, now: datetime) -> PlanReport:
    """What a plan would come to; nothing is written, and the provider is not asked."""
    with open_app() as app:
        return app.planner.dry_run(request, now)


@task(name="record trigger", task_run_name="record trigger", cache_policy=NO_CACHE)
def record_trigger(request: PlanRequest, trigger: Trigger) -> int:
    """Write down who asked for what."""
    with open_app() as app:
        return app.planner.record_trigger(request, trigger)


@task(name="serve re-slice requests", task_run_name="serve re-slice requests", cache_policy=NO_CACHE)
def serve_reslices(partition: Partition) -> None:
    """Cut again what turned out too big since the last plan."""
    with open_app() as app:
        report = app.reslicer.serve(partition)
    if report.served:
        get_run_logger().info("%s slices were cut again, into %s", report.served, report.children)
    for refusal in report.refused:
        get_run_logger().error(refusal)


@task(name="estimate sizes", task_run_name="estimate sizes", cache_policy=NO_CACHE)
def estimate_sizes(
    request: PlanRequest, trigger: Trigger, instance_id: int, compiled: Compiled, now: datetime
) -> list[str]:
    """Ask the provider how much there is to read, within the probe budget; the answers are kept. Returns warnings."""
    with open_app() as app:
        sizes = app.planner.estimate(request, compiled, now, trigger, instance_id)
    get_run_logger().info("the provider was asked for %s sizes", sizes.told)
    for warning in sizes.warnings:
        get_run_logger().warning(warning)
    return list(sizes.warnings)


@task(name="derive tasks", task_run_name="derive tasks", cache_policy=NO_CACHE)
def derive_tasks(
    request: PlanRequest, trigger: Trigger, instance_id: int, compiled: Compiled, now: datetime, warnings: list[str]
) -> PlanReport:
    """Store plan, slices and tasks together, resolved again under the namespace's lock."""
    with open_app() as app:
        return app.planner.derive(request, trigger, instance_id, compiled, now, warnings)
