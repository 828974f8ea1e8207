"""Working a plan of the shelf to its end, whatever that is, and what the ledger then says."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import pytest
import sqlalchemy as sa

from deployments.sandbox.remote import Sandbox
from ingest_core.store.engine.database import Database
from ingest_core.store.schema.tables import ing_plan_slice, ing_task
from tests.support.patra import Patra, Row
from tests.support.shelf_source import CODE, END, SIZE, START

T = TypeVar("T")

DAY = "2026-01-10"
ONE_DAY = ("--from", DAY, "--to", END)
"""One slice that holds the whole corpus of a sandbox of one day."""

WATERMARK_AT_END = f"{END}T00:00:00.000000Z"
UNCUT: Row = {"min_window": "P1D"}
"""A window whose slices of a day cannot be cut smaller."""

MOST_ROUNDS = 30

LINKED_KINDS = ["token", pytest.param("url", marks=pytest.mark.long)]
COUNTED_KINDS = ["page", pytest.param("offset", marks=pytest.mark.long)]
KINDS = ["token", "offset", *(pytest.param(kind, marks=pytest.mark.long) for kind in ("url", "page"))]
"""Kinds of paging; the second of two that work alike is left to the long tests."""


@dataclass(frozen=True)
class Ending:
    """What a plan came to: the states of its tasks in order, their errors, and the requests sent."""

    tasks: list[str]
    errors: list[Row]
    stats: list[Row]
    requests: int
    watermark: str | None
    idle: bool

    @property
    def succeeded(self) -> bool:
        """Whether a task succeeded and the watermark is at the end."""
        return "SUCCEEDED" in self.tasks and self.watermark == WATERMARK_AT_END

    @property
    def messages(self) -> str:
        """The errors of all attempts, as text to search."""
        return json.dumps(self.errors)


def work_off(patra: Patra, sandbox: Sandbox, *, cuts: bool = True, rounds: int = MOST_ROUNDS) -> Ending:
    """Run due and waiting tasks, and with `cuts` serve re-slice requests, until neither is left."""
    for _ in range(rounds):
        if not _wait_for_nothing(patra):
            if not (cuts and patra.rows("ing_reslice_request", where="status_code = 'OPEN'")):
                return ending_of(patra, sandbox, idle=True)
            patra.tried("plan", CODE, *ONE_DAY)
        patra.tried("execute")
    return ending_of(patra, sandbox, idle=False)


def harvest_day(patra: Patra, sandbox: Sandbox, *, cuts: bool = True, rounds: int = MOST_ROUNDS) -> Ending:
    """Plan the one day and work it off."""
    sandbox.clear_requests()
    patra("plan", CODE, *ONE_DAY)
    return work_off(patra, sandbox, cuts=cuts, rounds=rounds)


def ending_of(patra: Patra, sandbox: Sandbox, *, idle: bool) -> Ending:
    """What the ledger says now."""
    runs = patra.rows("ing_task_run")
    cursors = patra("cursor", "list")
    return Ending(
        tasks=[row["status_code"] for row in patra.rows("ing_task")],
        errors=[row["error"] for row in runs if row["error"]],
        stats=[row["stats"] for row in runs if row["stats"]],
        requests=len(sandbox.requests(CODE)),
        watermark=cursors[0]["value"] if cursors else None,
        idle=idle,
    )


def missing(patra: Patra, sandbox: Sandbox) -> set[str]:
    """The records of the truth that are not stored."""
    return {row["id"] for row in sandbox.truth(CODE, from_=START, to=END)} - set(patra.items())


def shortfall_rows(patra: Patra) -> list[Row]:
    """What quarantine says of records that never came."""
    return patra.rows("ing_quarantine", where="reason_code = 'SHORTFALL'")


def only_task(patra: Patra) -> str:
    """The id of the only task."""
    (task,) = patra.rows("ing_task", "id")
    return str(task["id"])


def shrink_budgets(patra: Patra, requests: int) -> None:
    """Give each planned slice a small budget, so that attempts without end are soon over."""
    small = {"maxRequests": requests, "maxRecords": requests * SIZE}

    def shrink(connection: sa.Connection) -> None:
        for row in connection.execute(sa.select(ing_plan_slice)).all():
            spec = {**row.slice_spec, "budget": {**row.slice_spec["budget"], **small}}
            mine = ing_plan_slice.c.id == row.id
            connection.execute(sa.update(ing_plan_slice).where(mine).values(slice_spec=spec))

    _transact(patra, lambda database: database.transact(shrink))


def _wait_for_nothing(patra: Patra) -> int:
    """Make queued tasks due at once, so that a test does not sleep through pauses; how many there are."""

    def make_due(database: Database, connection: sa.Connection) -> int:
        queued = ing_task.c.status_code == "QUEUED"
        now = database.now(connection)
        result: Any = connection.execute(sa.update(ing_task).where(queued).values(scheduled_at=now))
        return int(result.rowcount)

    return _transact(patra, lambda database: database.transact(partial(make_due, database)))


def _transact(patra: Patra, work: Callable[[Database], T]) -> T:
    """Change the database behind the product's back."""
    database = Database(patra.environment["PATRA_DATABASE_URL"])
    try:
        return work(database)
    finally:
        database.close()
