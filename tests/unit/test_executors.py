"""Executor runs on the server: whether one will execute what is planned now, and which runs did nothing."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from prefect.client.schemas.objects import FlowRun, State
from prefect.states import Completed, Failed, Pending, Running, Scheduled

from flows.parameters import ExecuteParameters
from flows.prefect_api.executors import is_at_hand
from flows.prefect_api.history import IDLE_MESSAGES, idle_runs
from ingest_core.execution.conclusion import conclude
from ingest_core.execution.report import ExecuteReport

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def _run(state: State[Any], began: timedelta | None = None, *, scheduled: bool = True, **asked: Any) -> FlowRun:
    """An executor run as the server has it; of a wiped schedule, unless it was asked for something."""
    parameters = {"parameters": asked} if asked else {}
    start = None if began is None else NOW - began
    return FlowRun(
        id=uuid4(), flow_id=uuid4(), state=state, start_time=start, auto_scheduled=scheduled, parameters=parameters
    )


MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    "run",
    [
        _run(Running(), MINUTE),
        _run(Pending()),
        _run(Scheduled(scheduled_time=NOW)),
        _run(Running(), 6 * MINUTE, minutes=10),
        _run(Running(), MINUTE, source="crossref"),
        _run(Running(), MINUTE, scheduled=False, wait_for_work=True),
    ],
)
def test_an_executor_that_stays_will_execute_a_new_plan(run: FlowRun) -> None:
    assert is_at_hand([run], "crossref", NOW)


@pytest.mark.parametrize(
    "run",
    [
        _run(Running(), 5 * MINUTE),
        _run(Running(), MINUTE, source="pubmed"),
        _run(Running(), MINUTE, scheduled=False),
        _run(Running(), MINUTE, wait_for_work=False),
    ],
)
def test_an_executor_that_ends_soon_or_works_for_another_source_will_not(run: FlowRun) -> None:
    assert not is_at_hand([run], "crossref", NOW)


def test_without_executors_none_is_at_hand() -> None:
    assert not is_at_hand([], "crossref", NOW)


def test_a_scheduled_executor_waits_for_work_whatever_its_schedule_says() -> None:
    wiped = ExecuteParameters()
    assert wiped.bounds(scheduled=True).wait_for_work
    assert not wiped.bounds(scheduled=False).wait_for_work
    assert not ExecuteParameters(wait_for_work=False).bounds(scheduled=True).wait_for_work
    assert ExecuteParameters(wait_for_work=True).bounds().wait_for_work


def test_the_message_of_an_executor_that_did_nothing_is_known() -> None:
    assert conclude(ExecuteReport(), stopped=False).message in IDLE_MESSAGES


def test_only_runs_that_did_nothing_are_idle() -> None:
    idle = [_run(Completed(message="nothing was due")), _run(Completed(message="nothing to do"))]
    others = [
        _run(Completed(message="1 task succeeded: 5 received")),
        _run(Completed(message="nothing to do; 2 leases released")),
        _run(Failed(message="nothing to do")),
        _run(Running(message="nothing to do")),
        _run(Completed()),
    ]
    assert idle_runs([*idle, *others]) == [run.id for run in idle]
