"""Parameters of schedules, kept and restored: switching or editing a schedule in the UI of Prefect 3.8.8 empties them.

Our own schedules have none: what their runs need is in the deployment. A schedule with parameters is its user's.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import VariableCreate
from prefect.exceptions import ObjectAlreadyExists
from prefect.types import MAX_VARIABLE_VALUE_LENGTH

from flows.prefect_api.client import deployments_of

PREFIX = "patra_schedule_"
"""Each schedule's parameters are kept in a Prefect variable of its own, named after its id."""

RESTORED = "parameters restored: a switch or edit in the UI had emptied them"

_FLOWS = ("planner", "backfill", "executor", "housekeeping")
_PAGE = 200
Parameters = Mapping[str, Any]


@dataclass(frozen=True)
class Upkeep:
    """What is to be done with the kept parameters of schedules, by the schedules' ids."""

    keep: dict[UUID, Parameters] = field(default_factory=dict)
    restore: dict[UUID, Parameters] = field(default_factory=dict)
    forget: frozenset[UUID] = frozenset()


def decide_upkeep(present: Mapping[UUID, Parameters], kept: Mapping[UUID, Parameters]) -> Upkeep:
    """Restore what is empty and was not; keep what is new or changed; forget schedules that are gone.

    No parameters on purpose are `{"parameters": {}}`, which is not empty.
    """
    given = {one: parameters for one, parameters in present.items() if parameters}
    return Upkeep(
        keep={one: parameters for one, parameters in given.items() if kept.get(one) != parameters},
        restore={one: kept[one] for one in present if one in kept and one not in given},
        forget=frozenset(kept.keys() - present.keys()),
    )


class _Place(NamedTuple):
    """A schedule on the server."""

    deployment_id: UUID
    name: str
    parameters: Parameters


def keep_schedule_parameters(client: SyncPrefectClient, *, dry_run: bool = False) -> list[str]:
    """Restore parameters that were lost, and note those that are there; the names of the restored schedules."""
    places = dict(_places(client))
    kept = _read_kept(client)
    upkeep = decide_upkeep({one: place.parameters for one, place in places.items()}, kept)
    if not dry_run:
        for one, parameters in upkeep.restore.items():
            client.update_deployment_schedule(places[one].deployment_id, one, parameters=dict(parameters))
        for one in upkeep.forget | (upkeep.keep.keys() & kept.keys()):
            client.delete_variable_by_name(_variable(one))
        for one, parameters in upkeep.keep.items():
            _keep(client, one, parameters)
    return sorted(places[one].name for one in upkeep.restore)


def _places(client: SyncPrefectClient) -> Iterator[tuple[UUID, _Place]]:
    """The schedules of our deployments."""
    for flow in _FLOWS:
        for deployment in deployments_of(client, flow):
            for one in deployment.schedules if "patra" in deployment.tags else []:
                name = f"{flow}/{deployment.name} {one.slug or one.id}"
                yield one.id, _Place(deployment.id, name, one.parameters or {})


def _read_kept(client: SyncPrefectClient) -> dict[UUID, Parameters]:
    found: dict[UUID, Parameters] = {}
    offset = 0
    while page := _variables(client, offset):
        offset += len(page)
        found |= {one: value for name, value in page if (one := _schedule(name)) and isinstance(value, Mapping)}
    return found


def _variables(client: SyncPrefectClient, offset: int) -> list[tuple[str, Any]]:
    asked = {"variables": {"name": {"like_": PREFIX}}, "sort": "NAME_ASC", "limit": _PAGE, "offset": offset}
    return [(one["name"], one["value"]) for one in client.request("POST", "/variables/filter", json=asked).json()]


def _variable(schedule: UUID) -> str:
    return f"{PREFIX}{schedule.hex}"


def _schedule(variable: str) -> UUID | None:
    """The schedule a variable belongs to, if it is one of ours."""
    try:
        return UUID(hex=variable.removeprefix(PREFIX)) if variable.startswith(PREFIX) else None
    except ValueError:
        return None


def _keep(client: SyncPrefectClient, schedule: UUID, parameters: Parameters) -> None:
    """Keep them; not those that are longer than a variable may be, nor where another process was faster."""
    if len(str(parameters)) < MAX_VARIABLE_VALUE_LENGTH // 2:
        try:
            client.create_variable(VariableCreate(name=_variable(schedule), value=dict(parameters)))
        except ObjectAlreadyExists:
            return
