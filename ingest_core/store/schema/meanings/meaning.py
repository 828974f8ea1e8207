"""A table's sentence and those of its columns, and the sentences that many tables share."""

from collections.abc import Mapping
from dataclasses import dataclass

ID = {"id": "Number of the row, given by the database."}

TIMES = {
    "created_at": "When the row was inserted (UTC).",
    "updated_at": "When the row was last changed (UTC).",
}

PARTITION = {
    "provenance_code": "Code of the source, such as `crossref`.",
    "endpoint_name": "Name of the source's endpoint, such as `works`.",
    "operation_code": "`HARVEST`, `BACKFILL` or `UPDATE`.",
}

WINDOW = {
    "window_from": "Start of the window (UTC), included; a whole millisecond.",
    "window_to": "End of the window (UTC), not included; a whole millisecond.",
}

UP = {
    "schedule_instance_id": "The trigger, `ing_schedule_instance.id`.",
    "plan_id": "The plan, `ing_plan.id`.",
    "slice_id": "The slice, `ing_plan_slice.id`.",
    "task_id": "The task, `ing_task.id`.",
    "run_id": "The run, `ing_task_run.id`.",
}
"""Columns that lead to the rows above."""


@dataclass(frozen=True)
class Meaning:
    """What a table is for, and what each of its columns holds."""

    about: str
    columns: Mapping[str, str]


def meaning(about: str, *shared: Mapping[str, str], **columns: str) -> Meaning:
    """The meaning of a table whose other columns are shared ones; its own sentences win."""
    known = {name: said for one in shared for name, said in one.items()}
    return Meaning(about, known | columns)


def only(shared: Mapping[str, str], *names: str) -> dict[str, str]:
    """Some of the shared columns."""
    return {name: shared[name] for name in names}
