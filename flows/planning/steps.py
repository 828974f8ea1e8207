"""What the planning flows do: the library's planning sequence, each step a Prefect task, and a page that shows it."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from prefect import get_run_logger, runtime, task
from prefect.cache_policies import NO_CACHE
from prefect.settings import PREFECT_UI_URL
from prefect.states import Completed, Failed

from flows.parameters import BackfillParameters, PlanParameters
from flows.planning.outcome import not_executed, outcome_part, plan_tag
from flows.planning.page import plan_headline, plan_message, plan_page
from flows.prefect_api.executors import start_executor_if_none
from flows.prefect_api.run_name import is_scheduled, label_run, show_page
from flows.process.application import open_app
from flows.text.refusals import in_labels, read_form
from ingest_core.bootstrap import App
from ingest_core.model.codes import SchedulerCode, TriggerType
from ingest_core.model.errors import PatraError
from ingest_core.model.instant import as_utc
from ingest_core.model.naming import counted, span_name
from ingest_core.model.partition import Partition
from ingest_core.planning.arithmetic import written
from ingest_core.planning.estimate import SizesAsked
from ingest_core.planning.proposal import Proposal
from ingest_core.planning.report import PlanReport
from ingest_core.planning.request import PlanRequest, Trigger
from ingest_core.planning.reslice import ResliceReport
from ingest_core.planning.steps import PlanSteps
from ingest_core.registry.compile import Compiled

F = TypeVar("F", PlanParameters, BackfillParameters)


def run_plan(kind: type[F], given: F) -> Any:
    """Plan what a form of this kind asks for: a state that says what came of it, and gives callers the report.

    The form comes as the server has it, and is read here: what it cannot mean is said with the fields' labels.
    """
    try:
        form = read_form(kind, given)
        now = form.clock()
        report = _plan(form.request(now or _due()), now, dry_run=form.dry_run)
    except PatraError as error:
        return Failed(message=in_labels(error), data=error)
    message = plan_message(report, PREFECT_UI_URL.value())
    get_run_logger().info("%s", message)
    return Completed(message=message, data=report.json())


def _plan(request: PlanRequest, now: datetime | None, *, dry_run: bool) -> PlanReport:
    """The sequence of the library; this run is named by its window once that is known, and shows the plan's page."""
    steps = TaskSteps(request, dry_run=dry_run)
    with open_app() as app:
        if dry_run:
            report = app.planner.dry_run(request, now, steps)
        else:
            report = app.planner.plan(request, _trigger(), now, steps)
        outcome = _outcome_of(app, report)
    # A plan that was there has its own window, and a refresh takes the ids that waited beside those asked for.
    name = _name(request, report.plan.start, report.plan.end, report.json()["ids"])
    if not dry_run:
        label_run(name, [*_tags(report.partition), *_plan_tags(report)])
        if report.plan.tasks:
            start_executor_if_none(request.source)
    show_page(plan_page(report, outcome), f"{name}: {plan_headline(report)}")
    return report


def _outcome_of(app: App, report: PlanReport) -> str:
    """The part of the page that says what became of the plan: one that was there already may have been executed."""
    plan_id = report.plan.plan_id
    if report.dry_run or not report.plan.slices:
        return ""
    found = [] if report.created else app.readside.plan_outcomes([plan_id])
    return outcome_part(found[0], app.database.now()) if found and found[0].ended else not_executed(plan_id)


def _due() -> datetime:
    """When this run was to begin: the same however late it is, and however often it is retried."""
    return as_utc(datetime.fromisoformat(runtime.flow_run.scheduled_start_time.isoformat()))  # Prefect's own kind


def _trigger() -> Trigger:
    """This flow run is the trigger: retrying it continues the same plan."""
    return Trigger(
        SchedulerCode.PREFECT,
        key=str(runtime.flow_run.id),
        job_id=runtime.deployment.name,
        type=TriggerType.SCHEDULE if is_scheduled() else TriggerType.MANUAL,
    )


def _name(request: PlanRequest, start: datetime, end: datetime, ids: int | None) -> str:
    """`crossref harvest 2026-01-01..02`, or `pubmed update 3 ids`."""
    what = span_name(start, end) if ids is None else counted(ids, "id")
    return f"{request.source} {request.operation.lower()} {what}"


def _tags(partition: Partition) -> list[str]:
    return [
        f"source:{partition.provenance_code}",
        f"endpoint:{partition.endpoint_name}",
        f"operation:{partition.operation_code}",
    ]


def _plan_tags(report: PlanReport) -> list[str]:
    campaign = report.plan.remarks.get("campaign")
    return [plan_tag(report.plan.plan_id), *([f"campaign:{campaign}"] if campaign else [])]


class TaskSteps(PlanSteps):
    """Each step as a Prefect task of this flow run, with what came of it in the task's log."""

    def __init__(self, request: PlanRequest, *, dry_run: bool) -> None:
        self._request = request
        self._dry_run = dry_run

    def record(self, work: Callable[[], int]) -> int:
        """Write down who asked for what."""
        return record_trigger(work)

    def compile(self, work: Callable[[], Compiled]) -> Compiled:
        """Freeze what the Registry means now."""
        return compile_spec(self._request.source, work)

    def resolve(self, work: Callable[[], Proposal]) -> Proposal:
        """Show the window's arithmetic, and name this run by the window."""
        resolved = resolve_window(work)
        decision = resolved.decision
        name = _name(self._request, decision.start, decision.until, len(self._request.ids) if resolved.by_id else None)
        label_run(f"{name} (dry run)" if self._dry_run else name, _tags(resolved.namespace.partition))
        return resolved

    def reslice(self, work: Callable[[], ResliceReport]) -> ResliceReport:
        """Cut again what turned out too big since the last plan."""
        return serve_reslices(work)

    def estimate(self, work: Callable[[], SizesAsked]) -> SizesAsked:
        """Ask the provider how much there is to read, within the probe budget; the answers are kept."""
        return estimate_sizes(work)

    def derive(self, work: Callable[[], PlanReport]) -> PlanReport:
        """Store plan, slices and tasks together; a dry run writes nothing."""
        return try_plan(work) if self._dry_run else derive_tasks(work)


@task(name="record trigger", task_run_name="record trigger", cache_policy=NO_CACHE)
def record_trigger(work: Callable[[], int]) -> int:
    """The id of the trigger's row."""
    return work()


@task(name="compile", task_run_name="compile {source}", cache_policy=NO_CACHE)
def compile_spec(source: str, work: Callable[[], Compiled]) -> Compiled:
    """The snapshot; its warnings are logged."""
    compiled = work()
    get_run_logger().info("spec %s", compiled.spec.fingerprint[:12])
    for warning in compiled.warnings:
        get_run_logger().warning(warning)
    for degradation in compiled.degradations:
        get_run_logger().info(degradation)
    return compiled


@task(name="resolve window", task_run_name="resolve window", cache_policy=NO_CACHE)
def resolve_window(work: Callable[[], Proposal]) -> Proposal:
    """The window; its arithmetic is logged, step by step."""
    resolved = work()
    for step in resolved.decision.audit:
        get_run_logger().info("%s", written(step))
    for warning in resolved.decision.warnings:
        get_run_logger().warning(warning)
    return resolved


@task(name="serve re-slice requests", task_run_name="serve re-slice requests", cache_policy=NO_CACHE)
def serve_reslices(work: Callable[[], ResliceReport]) -> ResliceReport:
    """What became of the requests; those that were refused are logged as errors."""
    report = work()
    if report.served:
        get_run_logger().info("%s slices were cut again, into %s", report.served, report.children)
    for refusal in report.refused:
        get_run_logger().error(refusal)
    return report


@task(name="estimate sizes", task_run_name="estimate sizes", cache_policy=NO_CACHE)
def estimate_sizes(work: Callable[[], SizesAsked]) -> SizesAsked:
    """What the provider said of sizes; a failure is logged as a warning."""
    sizes = work()
    get_run_logger().info("the provider gave %s", counted(sizes.given, "size"))
    for warning in sizes.warnings:
        get_run_logger().warning(warning)
    return sizes


@task(name="derive tasks", task_run_name="derive tasks", cache_policy=NO_CACHE)
def derive_tasks(work: Callable[[], PlanReport]) -> PlanReport:
    """The plan, stored."""
    return work()


@task(name="try plan", task_run_name="try plan", cache_policy=NO_CACHE)
def try_plan(work: Callable[[], PlanReport]) -> PlanReport:
    """What a plan would come to."""
    return work()
