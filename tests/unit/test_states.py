"""The state machines: one module says what may follow what, and the page in docs is drawn from it."""

from enum import StrEnum
from pathlib import Path

import pytest

from ingest_core.model.codes import LIVE_TASKS, PlanStatus, TaskStatus
from ingest_core.model.states import MACHINES, before
from ingest_core.store.ledger.settle import plan_status
from tests.support.state_diagram import diagram, final

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "life-cycle.md"
UNUSED = {"PENDING", "PLANNED"}
"""States of the vocabulary that no row has."""


@pytest.mark.parametrize("machine", MACHINES)
def test_the_page_has_the_diagram_of_this_machine(machine: type[StrEnum]) -> None:
    assert f"```mermaid\n{diagram(machine)}\n```" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("machine", MACHINES)
def test_every_state_is_reached_and_leads_to_an_end(machine: type[StrEnum]) -> None:
    steps = MACHINES[machine]
    reached = {step.after for step in steps if step.before is None}
    for _ in machine:
        reached |= {step.after for step in steps if step.before in reached}
    ending = set(final(machine))
    for _ in machine:
        ending |= {step.before for step in steps if step.after in ending and step.before}
    states = {state for state in machine if state.value not in UNUSED}
    assert (reached, ending) == (states, states)


@pytest.mark.parametrize("machine", MACHINES)
def test_no_step_is_told_twice_and_none_stays_where_it_is(machine: type[StrEnum]) -> None:
    steps = [(step.before, step.after) for step in MACHINES[machine]]
    assert len(steps) == len(set(steps))
    assert not any(first == after for first, after in steps)


def test_what_ended_well_is_never_left() -> None:
    for machine in MACHINES:
        assert not any(step.before == "SUCCEEDED" for step in MACHINES[machine])


def test_only_a_worker_ends_a_task_well() -> None:
    assert before(TaskStatus.SUCCEEDED) == ("EXECUTING",)
    assert "CANCELLED" not in before(TaskStatus.QUEUED)


@pytest.mark.parametrize(
    ("ended", "status"),
    [
        ("", "SUCCEEDED"),
        ("SUCCEEDED", "SUCCEEDED"),
        ("SUCCEEDED FAILED", "PARTIAL"),
        ("SUCCEEDED CANCELLED", "PARTIAL"),
        ("PARTIAL", "PARTIAL"),
        ("PARTIAL FAILED", "PARTIAL"),
        ("FAILED", "FAILED"),
        ("FAILED CANCELLED", "FAILED"),
        ("CANCELLED", "CANCELLED"),
    ],
)
def test_a_plan_ends_as_its_tasks_did(ended: str, status: str) -> None:
    assert plan_status({TaskStatus(one) for one in ended.split()}) == PlanStatus(status)


def test_a_plan_can_end_from_where_it_is_while_tasks_live() -> None:
    assert all("READY" in before(PlanStatus(one)) for one in ("SUCCEEDED", "PARTIAL", "FAILED", "CANCELLED"))
    assert all(any(step.before == live for step in MACHINES[TaskStatus]) for live in LIVE_TASKS)
