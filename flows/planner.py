"""The planner flow: trigger -> snapshot -> window -> slices -> tasks."""

from datetime import datetime
from typing import Any

from prefect import flow, get_run_logger, runtime, task
from prefect.cache_policies import NO_CACHE

from flows.parameters import PlanParameters
from flows.wiring import open_app
from ingest_core.model.codes import SchedulerCode, TriggerType
from ingest_core.model.work import partition_of
from ingest_core.planning.arithmetic import written
from ingest_core.planning.request import PlanRequest, Trigger
from ingest_core.registry.compile import Compiled


def _trigger() -> Trigger:
    """This flow run is the trigger: retrying it continues the same plan."""
    scheduled = "auto-scheduled" in (runtime.flow_run.tags or [])
    return Trigger(
        SchedulerCode.PREFECT,
        key=str(runtime.flow_run.id),
        job_id=runtime.deployment.name,
        type=TriggerType.SCHEDULE if scheduled else TriggerType.MANUAL,
    )


@task(name="record trigger", cache_policy=NO_CACHE)
def record_trigger(request: PlanRequest, trigger: Trigger) -> int:
    """Write down who asked for what."""
    with open_app() as app:
        return app.planner.record_trigger(request, trigger)


@task(name="compile spec", cache_policy=NO_CACHE)
def compile_spec(request: PlanRequest, instance_id: int, now: datetime | None) -> tuple[Compiled, datetime]:
    """Freeze what the Registry means now, and the moment itself: every step plans for the same."""
    with open_app() as app:
        moment = now or app.database.now()
        compiled = app.planner.compile(request, instance_id, moment)
    get_run_logger().info("spec %s", compiled.spec.fingerprint[:12])
    for warning in compiled.warnings:
        get_run_logger().warning(warning)
    for degradation in compiled.degradations:
        get_run_logger().info(degradation)
    return compiled, moment


@task(name="resolve window", cache_policy=NO_CACHE)
def resolve_window(request: PlanRequest, instance_id: int, compiled: Compiled, now: datetime | None) -> None:
    """Show the window's arithmetic, step by step."""
    with open_app() as app:
        decision = app.planner.resolve(request, compiled, now, instance_id).decision
    for step in decision.audit:
        get_run_logger().info("%s", written(step))
    for warning in decision.warnings:
        get_run_logger().warning(warning)


@task(name="estimate sizes", cache_policy=NO_CACHE)
def estimate_sizes(
    request: PlanRequest, trigger: Trigger, instance_id: int, compiled: Compiled, now: datetime | None
) -> int:
    """Ask the provider how much there is to read, within the probe budget; the answers are kept."""
    with open_app() as app:
        asked = app.planner.estimate(request, compiled, now, trigger, instance_id)
    get_run_logger().info("the provider was asked for %s sizes", asked)
    return asked


@task(name="serve re-slice requests", cache_policy=NO_CACHE)
def serve_reslices(compiled: Compiled) -> dict[str, Any]:
    """Cut again what turned out too big since the last plan."""
    with open_app() as app:
        report = app.reslicer.serve(partition_of(compiled.spec))
    if report.served:
        get_run_logger().info("%s slices were cut again, into %s", report.served, report.children)
    for refusal in report.refused:
        get_run_logger().error(refusal)
    return report.json()


@task(name="derive tasks", cache_policy=NO_CACHE)
def derive_tasks(
    request: PlanRequest, trigger: Trigger, instance_id: int, compiled: Compiled, now: datetime | None
) -> dict[str, Any]:
    """Store plan, slices and tasks together, resolved again under the namespace's lock."""
    with open_app() as app:
        return app.planner.derive(request, trigger, instance_id, compiled, now).json()


@flow(name="planner", flow_run_name="{parameters.source} plan", validate_parameters=True)
def planner(parameters: PlanParameters) -> dict[str, Any]:
    """Turn this run into a plan with its tasks.

    Args:
        parameters: What to plan.
    """
    request, now, trigger = parameters.request(), parameters.clock(), _trigger()
    instance_id = record_trigger(request, trigger)
    compiled, moment = compile_spec(request, instance_id, now)
    serve_reslices(compiled)
    resolve_window(request, instance_id, compiled, moment)
    estimate_sizes(request, trigger, instance_id, compiled, moment)
    report = derive_tasks(request, trigger, instance_id, compiled, moment)
    get_run_logger().info("plan %s: %s tasks. %s", report["plan_id"], report["tasks_created"], report["reason"] or "")
    return report
