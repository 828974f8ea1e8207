"""The housekeeping flow: puts right what crashes, restarts and time leave behind, part by part."""

from datetime import datetime
from typing import Any

from prefect import flow, get_run_logger, runtime, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.states import Completed

from flows.chores import CHORES
from flows.parameters import HousekeepingParameters, HousekeepingPart
from flows.prefect_api.chosen_names import name_at_start
from flows.prefect_api.history import NOTHING_TO_DO
from flows.process.application import open_app

PART_SECONDS = 120
"""A part that takes longer has failed; what it had done by then stays done."""

HOURLY = frozenset({HousekeepingPart.PRUNE_OUTBOX, HousekeepingPart.COMPACT_CURSORS, HousekeepingPart.MERGE_RECORDS})


class HousekeepingFailed(Exception):
    """Some parts failed; the others did their work."""


@task(name="housekeeping part", task_run_name="{part}", timeout_seconds=PART_SECONDS, cache_policy=NO_CACHE)
def do_part(part: HousekeepingPart) -> str:
    """One part, with an application of its own."""
    with open_app() as app:
        said = CHORES[part](app)
    get_run_logger().info(said or NOTHING_TO_DO)
    return said


def due_parts(scheduled: datetime) -> list[HousekeepingPart]:
    """The parts of a run that was scheduled for then: some are for the first run of an hour."""
    return [part for part in HousekeepingPart if part not in HOURLY or scheduled.minute == 0]


@flow(name="housekeeping", flow_run_name=name_at_start, validate_parameters=True)
def housekeeping(parameters: HousekeepingParameters) -> State[Any]:
    """Release leases and slots of lost workers, keep limits, cursors and messages moving.

    Args:
        parameters: Which parts, if not all.
    """
    parts = parameters.parts or due_parts(runtime.flow_run.scheduled_start_time)
    ends = {part: do_part(part, return_state=True) for part in parts}
    failures = [f"{part}: {_reason(end)}" for part, end in ends.items() if not end.is_completed()]
    if failures:
        raise HousekeepingFailed(f"{len(failures)} of {len(parts)} parts failed: " + "; ".join(failures))
    done = [said for end in ends.values() if (said := end.result())]
    return Completed(message="; ".join(done) or NOTHING_TO_DO)


def _reason(end: State[Any]) -> str:
    error = end.result(raise_on_failure=False)
    return str(error) if isinstance(error, Exception) and str(error) else str(end.message)
