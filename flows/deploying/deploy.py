"""Brings a server in step with what is declared; what is already so stays untouched."""

from dataclasses import dataclass

from prefect.client.orchestration import SyncPrefectClient
from prefect.exceptions import PrefectHTTPStatusError

from flows.deploying.automations import keep_automation, remove_former_automations
from flows.deploying.declared import DeclaredDeployment, declared_automations, declared_deployments
from flows.deploying.deployments import PresentDeployment, remove_obsolete
from flows.deploying.harvests import harvest_deployments
from flows.deploying.pools import keep_pool
from flows.deploying.report import ChangeKind, Changes, DeployChange, DeployReport, Did
from flows.deploying.schedule_parameters import RESTORED, keep_schedule_parameters
from flows.deploying.schedules import declared_schedules, executors_present
from flows.prefect_api.client import PLANNER, open_prefect, server_url
from flows.slots.limits import LimitChange, keep_limits
from ingest_core.bootstrap import App
from ingest_core.model.errors import PatraError
from ingest_core.model.source_summary import SourceSummary


@dataclass(frozen=True)
class DeployOptions:
    """How to deploy."""

    executors: int | None = None
    """How many executors are scheduled; none keeps the number there is."""
    pool: str | None = None
    """Another work pool than `prefect.yaml` names."""
    dry_run: bool = False


def deploy(app: App, options: DeployOptions) -> DeployReport:
    """Make the server as declared; what had to change for that."""
    sources, changes = app.registry.sources(), Changes(options.dry_run)
    declared = _declared(sources, options.pool)
    server, pool = server_url(), declared[0].pool
    try:
        with open_prefect() as client:
            keep_pool(client, pool, changes)
            for one in declared:
                _keep_deployment(PresentDeployment(client, one), sources, options, changes)
            remove_obsolete(client, declared, changes)
            _keep_parameters(client, changes)
            automations = declared_automations()
            for automation in automations:
                keep_automation(client, automation, changes)
            remove_former_automations(client, automations, changes)
        # Last: how much each source may do depends on how many are scheduled.
        limits = [_of_limit(one) for one in keep_limits(app, dry_run=options.dry_run)]
    except PrefectHTTPStatusError as error:
        raise PatraError("PREFECT_REFUSED", str(error), where=f"Prefect server {server}") from error
    return DeployReport(server, pool, [*limits, *changes.made], options.dry_run)


def _keep_parameters(client: SyncPrefectClient, changes: Changes) -> None:
    restored = keep_schedule_parameters(client, dry_run=changes.dry_run)
    changes.made += [DeployChange(ChangeKind.SCHEDULE, name, Did.UPDATED, RESTORED) for name in restored]


def _of_limit(one: LimitChange) -> DeployChange:
    did = Did.CREATED if one.before is None else Did.REMOVED if one.after is None else Did.UPDATED
    return DeployChange(
        ChangeKind.LIMIT, one.name, did, f"{one.before} -> {one.after}" if did == Did.UPDATED else f"{one.after or ''}"
    )


def _declared(sources: list[SourceSummary], pool: str | None) -> list[DeclaredDeployment]:
    """Those of `prefect.yaml`, and one for each harvest there can be."""
    declared = declared_deployments(pool)
    planner = next(one for one in declared if one.name == PLANNER)
    return declared + harvest_deployments(planner, sources)


def _keep_deployment(
    deployment: PresentDeployment, sources: list[SourceSummary], options: DeployOptions, changes: Changes
) -> None:
    deployment.keep([source.code for source in sources], changes)
    executors = options.executors or executors_present(deployment.schedules)
    deployment.keep_schedules(declared_schedules(deployment.declared.schedules, executors), changes)
