"""Deployments and their schedules on a server."""

from datetime import timedelta
from functools import partial
from importlib import import_module
from typing import Any

from prefect import Flow
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import DeploymentScheduleCreate, DeploymentUpdate
from prefect.client.schemas.objects import ConcurrencyOptions
from prefect.client.schemas.responses import DeploymentResponse
from prefect.client.schemas.schedules import IntervalSchedule, construct_schedule
from prefect.exceptions import ObjectNotFound
from prefect.utilities.callables import parameter_schema

from flows.deploying.declared import DeclaredDeployment
from flows.deploying.forms import form_schema
from flows.deploying.harvests import obsolete_harvests
from flows.deploying.report import ChangeKind, Changes, DeployChange, Did
from flows.deploying.schedules import PresentSchedule, WantedSchedule, is_missing, is_obsolete, is_outdated
from flows.prefect_api.client import PLANNER, deployments_of
from ingest_core import __version__


class PresentDeployment:
    """A declared deployment beside what the server has of it."""

    def __init__(self, client: SyncPrefectClient, declared: DeclaredDeployment) -> None:
        self.declared = declared
        self._client = client
        self._flow = _load(declared.entrypoint)
        self._found = self._read()

    @property
    def name(self) -> str:
        """What the server calls it."""
        return f"{self._flow.name}/{self.declared.name}"

    @property
    def schedules(self) -> list[PresentSchedule]:
        """The schedules it has."""
        found = self._found
        if found is None:
            return []
        return [PresentSchedule(found.id, one.id, one.slug, _interval(one.schedule)) for one in found.schedules]

    def keep(self, codes: list[str], changes: Changes) -> None:
        """Make it as declared, with these sources to choose from."""
        wanted = self._wanted(codes)
        if self._found is None:
            changes.make(partial(self._create, wanted), DeployChange(ChangeKind.DEPLOYMENT, self.name, Did.CREATED))
            return
        differing = {name: value for name, value in wanted.items() if value != _present(self._found, name)}
        if differing:
            change = DeployChange(ChangeKind.DEPLOYMENT, self.name, Did.UPDATED, ", ".join(sorted(differing)))
            changes.make(partial(self._update, self._found, differing), change)

    def keep_schedules(self, wanted: list[WantedSchedule], changes: Changes) -> None:
        """Add the schedules that are missing and remove ours that are wanted no more; the others are their user's."""
        for one in self.schedules:
            name = f"{self.name} {one.slug}"
            if is_obsolete(one, wanted):
                remove = partial(self._client.delete_deployment_schedule, one.deployment_id, one.id)
                changes.make(remove, DeployChange(ChangeKind.SCHEDULE, name, Did.REMOVED))
            for new in (new for new in wanted if is_outdated(one, new)):
                update = partial(self._set_timing, one, new)
                changes.make(update, DeployChange(ChangeKind.SCHEDULE, name, Did.UPDATED, "interval"))
        missing = [new for new in wanted if is_missing(new, self.schedules)]
        kind = ChangeKind.SCHEDULE
        made = [DeployChange(kind, f"{self.name} {new.slug}", Did.CREATED, new.state) for new in missing]
        changes.make(partial(self._add_schedules, missing), *made)

    def _wanted(self, codes: list[str]) -> dict[str, Any]:
        schema = parameter_schema(self._flow).model_dump(exclude_unset=True)
        concurrency = self.declared.concurrency or {}
        return {
            "description": self.declared.description,
            "entrypoint": self.declared.entrypoint,
            "path": None,
            "pull_steps": [],
            "version": __version__,
            "tags": self.declared.tags,
            "parameters": self.declared.parameters,
            "parameter_openapi_schema": form_schema(schema, codes, self.declared.parameters, self.declared.fields),
            "enforce_parameter_schema": True,
            "work_pool_name": self.declared.pool,
            "work_queue_name": self.declared.queue,
            "job_variables": self.declared.job_variables,
            "concurrency_limit": concurrency.get("limit"),
        }

    def _create(self, wanted: dict[str, Any]) -> None:
        flow_id = self._client.create_flow_from_name(self._flow.name)
        self._client.create_deployment(
            flow_id=flow_id, name=self.declared.name, **wanted, concurrency_options=self._collisions()
        )
        self._found = self._read()

    def _update(self, found: DeploymentResponse, differing: dict[str, Any]) -> None:
        place = {"work_pool_name": self.declared.pool, "work_queue_name": self.declared.queue}
        update = DeploymentUpdate(**{**place, **differing}, concurrency_options=self._collisions())
        self._client.update_deployment(found.id, update)
        self._found = self._read()

    def _collisions(self) -> ConcurrencyOptions | None:
        if self.declared.concurrency is None:
            return None
        return ConcurrencyOptions(collision_strategy=self.declared.concurrency["collision_strategy"])

    def _add_schedules(self, missing: list[WantedSchedule]) -> None:
        assert self._found, f"deployment {self.name} was made before its schedules"
        new = [
            DeploymentScheduleCreate(
                schedule=construct_schedule(**one.timing), active=one.active, parameters=one.parameters, slug=one.slug
            )
            for one in missing
        ]
        self._client.create_deployment_schedules(self._found.id, new)

    def _set_timing(self, present: PresentSchedule, wanted: WantedSchedule) -> None:
        assert self._found, f"deployment {self.name} has a schedule"
        # Prefect empties the parameters of a schedule that is changed without them.
        (kept,) = [one.parameters for one in self._found.schedules if one.id == present.id]
        timing = construct_schedule(**wanted.timing)
        self._client.update_deployment_schedule(present.deployment_id, present.id, schedule=timing, parameters=kept)

    def _read(self) -> DeploymentResponse | None:
        try:
            return self._client.read_deployment_by_name(self.name)
        except ObjectNotFound:
            return None


def remove_obsolete(client: SyncPrefectClient, wanted: list[DeclaredDeployment], changes: Changes) -> None:
    """Remove the deployments of harvests there are no more; their runs stay."""
    present = {one.name: one for one in deployments_of(client, PLANNER) if "patra" in one.tags}
    for name in obsolete_harvests(present, wanted):
        change = DeployChange(ChangeKind.DEPLOYMENT, f"{PLANNER}/{name}", Did.REMOVED)
        changes.make(partial(client.delete_deployment, present[name].id), change)


def _load(entrypoint: str) -> Flow[Any, Any]:
    """The flow an entrypoint such as `flows.planner.planner` names."""
    module, _, name = entrypoint.rpartition(".")
    flow: Flow[Any, Any] = getattr(import_module(module), name)
    return flow


def _interval(schedule: Any) -> timedelta | None:
    return schedule.interval if isinstance(schedule, IntervalSchedule) else None


def _present(found: DeploymentResponse, name: str) -> Any:
    if name == "concurrency_limit":
        limit = found.global_concurrency_limit
        return limit.limit if limit else None
    return getattr(found, name)
