"""The work pool: what a flow run may change of the process it is started in."""

from copy import deepcopy
from functools import partial
from typing import Any

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import WorkPoolCreate, WorkPoolUpdate
from prefect.exceptions import ObjectNotFound
from prefect.workers.process import ProcessWorker

from flows.deploying.report import ChangeKind, Changes, DeployChange, Did

FIXED = ("command", "env", "working_dir")
"""Job variables that choose the code of a flow run's process: the command itself, LD_PRELOAD, PYTHONPATH and others
in the environment, and the folder Python imports from."""
_REFUSED = ("command", "working_dir")
"""`env` is ignored and not refused: deployments send it for pools of other types."""


def keep_pool(client: SyncPrefectClient, name: str, changes: Changes) -> None:
    """Create the pool, or fix the job variables of one of type process; one of another type stays as it is."""
    try:
        present = client.read_work_pool(name)
    except ObjectNotFound:
        template = fixed_template(ProcessWorker.get_default_base_job_template())
        pool = WorkPoolCreate(name=name, type=ProcessWorker.type, base_job_template=template)
        changes.make(partial(client.create_work_pool, pool), DeployChange(ChangeKind.POOL, name, Did.CREATED))
        return
    template = fixed_template(present.base_job_template)
    if present.type == ProcessWorker.type and template != present.base_job_template:
        update = partial(client.update_work_pool, name, WorkPoolUpdate(base_job_template=template))
        changes.make(update, DeployChange(ChangeKind.POOL, name, Did.UPDATED, "base_job_template"))


def fixed_template(template: dict[str, Any]) -> dict[str, Any]:
    """The template without the job variables that choose code; whatever else it has stays.

    Each is left out of the job's configuration, not only of the variables: Prefect merges the `env` of a flow run into
    any the configuration has, and does not check a flow run that is changed after it was created.
    """
    fixed = deepcopy(template)
    configuration = fixed.setdefault("job_configuration", {})
    properties = fixed.setdefault("variables", {}).setdefault("properties", {})
    for variable in FIXED:
        configuration.pop(variable, None)
        properties.pop(variable, None)
    for variable in _REFUSED:
        properties[variable] = {"title": variable, "type": "null", "description": "Fixed: a flow run cannot choose it."}
    return fixed
