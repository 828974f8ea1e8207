"""Names for flow runs from the moment Prefect's server makes them.

Prefect invents a name, and a flow can change it only once it runs: until then, and in the note that says a run was
created, a run would be called slick-cow.
"""

from typing import Any

from prefect.server import models
from prefect.utilities.names import generate_slug

from flows.prefect_api.chosen_names import is_invented, starting_name


def name_new_runs() -> None:
    """Have Prefect's server name the runs it is asked for, and those it schedules, by what they are about."""
    flow_runs: Any = models.flow_runs
    deployments: Any = models.deployments
    create = flow_runs.create_flow_run
    schedule = deployments._generate_scheduled_flow_runs  # noqa: SLF001 - nothing public makes these names

    async def create_named(*context: Any, session: Any, flow_run: Any, **others: Any) -> Any:
        if flow_run.deployment_id and is_invented(flow_run.name):
            flow_run.name = await _name(session, flow_run.flow_id, flow_run.parameters) or flow_run.name
        return await create(*context, session=session, flow_run=flow_run, **others)

    async def schedule_named(*context: Any, session: Any, **others: Any) -> list[dict[str, Any]]:
        runs: list[dict[str, Any]] = await schedule(*context, session=session, **others)
        # They are stored in one statement, for which all must have a name.
        return [
            {**run, "name": await _name(session, run["flow_id"], run["parameters"]) or generate_slug(2)} for run in runs
        ]

    flow_runs.create_flow_run = create_named
    deployments._generate_scheduled_flow_runs = schedule_named  # noqa: SLF001 - as above


async def _name(session: Any, flow_id: Any, parameters: dict[str, Any]) -> str | None:
    flows: Any = models.flows
    flow = await flows.read_flow(session=session, flow_id=flow_id)
    return starting_name(flow.name, parameters) if flow else None
