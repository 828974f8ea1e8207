"""Walks: whatever triggers fire and however tasks end, nothing is owned twice and nothing is forgotten."""

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from ingest_core.cursor.frontier import fold_frontier, whole_coverage
from ingest_core.execution.ports import Run
from ingest_core.model.codes import LIVE_TASKS, NamespaceScope, Operation, PlanStatus, TaskStatus
from ingest_core.model.errors import BadInput
from ingest_core.model.namespace import Namespace
from ingest_core.model.partition import Partition
from ingest_core.model.slice_codes import ResliceReason
from ingest_core.model.task import FlowRun
from ingest_core.model.window import Window, window_or_none
from ingest_core.planning.proposal import Proposer
from ingest_core.planning.report import PlanReport
from ingest_core.store.engine.database import Database
from ingest_core.store.schema.tables import ing_cursor, ing_plan, ing_reslice_request, ing_task
from tests.support.books import at
from tests.support.frontiers import fold_frontier_down
from tests.support.planning_store import (
    BACKFILL,
    LEASE_SECONDS,
    SHELF,
    UPDATE,
    Desk,
    assert_owned_once,
    holes,
    open_desk,
    readings,
    request,
    set_up,
)
from tests.support.tables import clear, rows

pytestmark = pytest.mark.long

LENGTHS = {"sqlite": (12, 30), "postgresql": (3, 20), "mysql": (2, 20)}
"""How many walks, and how many steps each has."""

REFUSALS = {"BELOW_ANCHOR", "OUTSIDE_CAMPAIGN"}
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
DESKS = st.integers(0, 1)
STARTS = st.integers(0, 60).map(lambda halves: halves / 2)
SPANS = st.integers(1, 18).map(lambda halves: halves / 2)
"""In hours; the provider's unit is one, and nobody has to ask for whole ones."""

STOCKS = st.sampled_from([0, 0, 1, 3])
ENDS = st.sampled_from(
    [
        (TaskStatus.SUCCEEDED, None),
        (TaskStatus.SUCCEEDED, None),
        (TaskStatus.FAILED, None),
        (TaskStatus.PARTIAL, None),
        (TaskStatus.QUEUED, None),
        (TaskStatus.PARTIAL, ResliceReason.RECORD_CAP),
    ]
)
"""How an attempt may end; what goes back to the queue is tried again."""


class Walk(RuleBasedStateMachine):
    """Two processes that plan, cut again and work, one step at a time."""

    def __init__(self, desks: Sequence[Desk]) -> None:
        super().__init__()
        self.desks = desks
        self.compiled = desks[0].planner.compile(request())
        self.database = desks[0].database
        clear(self.database)
        self.now = 24.0
        self.runs: list[Run] = []
        self.fired: list[dict[str, Any]] = []
        self.keys = itertools.count(1)

    def plan(self, desk: int, start: float | None = None, end: float | None = None, **how: Any) -> PlanReport | None:
        """Fire a trigger; what it planned leaves no hole in its window, unless the stock was short."""
        asked = {"start": start, "end": end, "now": self.now, "key": f"walk {next(self.keys)}", **how}
        try:
            report = self.desks[desk].plan(**asked)
        except BadInput as refusal:
            if refusal.code not in REFUSALS:
                raise
            return None
        self.fired.append(asked)
        window = window_or_none(report.plan.start, report.plan.end)
        if window and report.plan.status != PlanStatus.PARTIAL:
            assert holes(self.database, _namespace(report), self.reach(report, window, start or end)) == []
        return report

    def reach(self, report: PlanReport, window: Window, bounded: float | None) -> Window:
        """The plan's window; of a harvest as a schedule fires it, all from the anchor on."""
        cursor = self.desks[0].cursor(_namespace(report))
        if cursor is None or bounded is not None or report.partition.operation_code != Operation.HARVEST:
            return window
        return Window(cursor.anchor, window.end)

    @rule(halves=st.integers(1, 8))
    def time_passes(self, halves: int) -> None:
        self.now += halves / 2

    @rule(desk=DESKS, stock=STOCKS)
    def a_schedule_fires(self, desk: int, stock: int) -> None:
        self.plan(desk, max_queued=stock)

    @rule(desk=DESKS, start=STARTS, span=SPANS, stock=STOCKS)
    def somebody_harvests(self, desk: int, start: float, span: float, stock: int) -> None:
        self.plan(desk, start, start + span, max_queued=stock)

    @rule(desk=DESKS, start=STARTS, span=SPANS, stock=STOCKS, campaign=st.sampled_from("ab"), down=st.booleans())
    def somebody_backfills(self, desk: int, start: float, span: float, stock: int, campaign: str, down: bool) -> None:
        how: dict[str, Any] = {"operation": BACKFILL, "campaign": campaign, "newest_first": down}
        self.plan(desk, start, start + span, max_queued=stock, **how)

    @rule(desk=DESKS, campaign=st.sampled_from("ab"), down=st.booleans())
    def a_campaign_goes_on(self, desk: int, campaign: str, down: bool) -> None:
        self.plan(desk, operation=BACKFILL, campaign=campaign, newest_first=down)

    @rule(desk=DESKS, start=STARTS, span=SPANS, stock=STOCKS)
    def somebody_refreshes(self, desk: int, start: float, span: float, stock: int) -> None:
        self.plan(desk, start, start + span, max_queued=stock, operation=UPDATE, endpoint="list")

    @precondition(lambda self: self.fired)
    @rule(desk=DESKS, which=st.integers(0, 99))
    def a_trigger_fires_again(self, desk: int, which: int) -> None:
        before = len(rows(self.database, ing_task))
        report = self.desks[desk].plan(**self.fired[which % len(self.fired)])
        assert report.created is False
        assert len(rows(self.database, ing_task)) == before

    @rule(desk=DESKS, most=st.integers(1, 4))
    def work_begins(self, desk: int, most: int) -> None:
        for _ in range(most):
            if task := self.desks[desk].queue.claim("ann", LEASE_SECONDS):
                self.runs.append(self.desks[desk].ledger.begin_run(task, FlowRun()))

    @precondition(lambda self: self.runs)
    @rule(desk=DESKS, which=st.integers(0, 99), end=ENDS)
    def work_ends(self, desk: int, which: int, end: tuple[TaskStatus, ResliceReason | None]) -> None:
        run, (status, reslice) = self.runs.pop(which % len(self.runs)), end
        self.desks[desk].end(run, status, reslice=reslice, as_of=at(self.now))

    @rule(desk=DESKS)
    def requests_are_served(self, desk: int) -> None:
        self.desks[desk].reslicer.serve()

    @rule()
    def all_is_worked_off(self) -> None:
        """With success from now on, everything is read in a few rounds, and the watermark stands at the end."""
        desk = self.desks[0]
        for _ in range(5):
            desk.reslicer.serve()
            report = self.plan(0)
            assert report is not None
            self.runs += desk.begin_all()
            if not self.runs and not report.plan.slices:
                break
            while self.runs:
                desk.end(self.runs.pop(), as_of=at(self.now))
        else:
            raise AssertionError("it never comes to rest")
        cursor, window = desk.cursor(_namespace(report)), window_or_none(report.plan.start, report.plan.end)
        assert cursor is None or window is None or cursor.value == window.end
        assert {row["status_code"] for row in rows(self.database, ing_plan)} <= {"SUCCEEDED", "PARTIAL", "FAILED"}

    @invariant()
    def nothing_is_owned_twice(self) -> None:
        assert_owned_once(self.database)

    @invariant()
    def nothing_is_forgotten(self) -> None:
        """Between a harvest's anchor and what is safe now, all was read, is live, or would be planned now."""
        desk, wanted = self.desks[0], request()
        with desk.plans.look() as transaction:
            proposal = Proposer(transaction, wanted, self.compiled, at(self.now)).propose()
        if proposal.cursor and proposal.decision.window:
            reach = Window(proposal.cursor.anchor, proposal.decision.end)
            needed = [need.window for need in proposal.needs]
            for hole in holes(self.database, proposal.namespace, reach):
                assert any(need.start <= hole.start and hole.end <= need.end for need in needed), (hole, needed)

    @invariant()
    def no_watermark_passes_what_was_not_read(self) -> None:
        for row in rows(self.database, ing_cursor):
            partition = Partition(row["provenance_code"], row["endpoint_name"], Operation(row["operation_code"]))
            scope = NamespaceScope(row["namespace_scope_code"])
            namespace = Namespace(partition, row["cursor_key"], scope, row["namespace_key"])
            read = [one.window for one in whole_coverage(readings(self.database, namespace))]
            fold = fold_frontier_down if row["is_descending"] else fold_frontier
            assert row["normalized_instant"] == fold(row["anchor_instant"], read)

    @invariant()
    def a_plan_ends_with_the_last_of_its_work(self) -> None:
        live = [status.value for status in LIVE_TASKS]
        under_way = {row["plan_id"] for row in rows(self.database, ing_task) if row["status_code"] in live}
        asked = rows(self.database, ing_reslice_request, ing_reslice_request.c.status_code == "OPEN")
        under_way |= {row["plan_id"] for row in asked}
        for row in rows(self.database, ing_plan):
            short = bool(row["record_remarks"]["stock"])
            if row["id"] in under_way:
                assert row["status_code"] == "READY" or (short and row["status_code"] == "PARTIAL")
            else:
                assert row["status_code"] in ("SUCCEEDED", "PARTIAL", "FAILED")
                assert not (short and row["status_code"] == "SUCCEEDED")


def _namespace(report: PlanReport) -> Namespace:
    """Whose watermark a plan moves."""
    said = report.plan.remarks["namespace"]
    return Namespace(report.partition, said["cursorKey"], NamespaceScope(said["scope"]), said["key"])


@pytest.fixture
def desks(database: Database, other: Database) -> tuple[Desk, Desk]:
    """Two processes; slices of two hours are halved, an hour that is too big is cut by number."""
    first = set_up(
        database,
        window={"unit": "HOUR", "format": "%Y-%m-%dT%H", "step": "PT2H", "lookback": "PT3H"},
        slicing={"split_field": "number", "split_max": 8},
    )
    second = open_desk(other)
    for desk in (first, second):
        desk.registry.rows(SHELF)
    return first, second


@pytest.mark.timeout(1800)
def test_whatever_happens_nothing_is_owned_twice_and_nothing_is_forgotten(
    desks: tuple[Desk, Desk], dialect: str
) -> None:
    walks, steps = LENGTHS[dialect]
    how = settings(max_examples=walks, stateful_step_count=steps, deadline=None, suppress_health_check=SLOW)
    run_state_machine_as_test(lambda: Walk(desks), settings=how)  # type: ignore[arg-type]
