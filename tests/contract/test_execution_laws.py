"""Laws of execution: whatever workers do, crash or repeat, the truth is stored, counted once, and no watermark lies."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ingest_core.model.codes import LIVE_TASKS, Operation, TaskStatus
from ingest_core.model.slice_codes import ResliceReason
from ingest_core.store.engine.database import Database
from tests.models.execution_model import INSTANT
from tests.models.execution_scene import BEGIN_HOUR, FIRST_HOUR, LOOKBACK, Scene
from tests.models.execution_worker import LEASE, so_far
from tests.support.books import at
from tests.support.planning_store import BACKFILL, HARVEST, request

WORKERS = 3
LENGTHS = {"sqlite": (6, 50), "postgresql": (3, 50), "mysql": (3, 50)}
LONG_LENGTHS = {"sqlite": (40, 80), "postgresql": (20, 80), "mysql": (15, 80)}
"""How many walks, and how many steps each has."""

WHO = st.integers(0, WORKERS - 1)
WHICH = st.integers(0, 9999)
ENDS = st.sampled_from(
    [
        {"status": TaskStatus.FAILED},
        {"status": TaskStatus.PARTIAL},
        {"status": TaskStatus.PARTIAL, "reslice": ResliceReason.RECORD_CAP},
        {"status": TaskStatus.PARTIAL, "reslice": ResliceReason.RECORD_CAP, "ascending": True},
        {"status": TaskStatus.QUEUED},
        {"status": TaskStatus.QUEUED, "retry_in": LEASE},
        {"status": TaskStatus.QUEUED, "anew": True},
    ]
)
"""How an attempt may end before its slice does."""


class Walk(Scene, RuleBasedStateMachine):
    """What may happen, in any order."""

    def __init__(self, databases: Sequence[Database]) -> None:
        RuleBasedStateMachine.__init__(self)
        Scene.__init__(self, databases)

    @rule(instants=st.integers(1, 6))
    def it_gets_later(self, instants: int) -> None:
        self.time_passes(instants)

    @rule(number=st.integers(0, 11), late=st.integers(0, LOOKBACK))
    def a_record_changes(self, number: int, late: int) -> None:
        self.provider.change(number, self.now() - late * INSTANT)

    @initialize(
        hours=st.lists(st.integers(BEGIN_HOUR + 12, FIRST_HOUR - 2), min_size=6, max_size=12), start=st.integers(15, 21)
    )
    def it_begins(self, hours: list[int], start: int) -> None:
        for number, hour in enumerate(hours):
            self.provider.change(number, at(hour))
        self.fire(self.workers[0], request(start, FIRST_HOUR - 1))

    @rule(who=WHO)
    def a_schedule_fires(self, who: int) -> None:
        self.fire(self.workers[who], request())

    @rule(who=WHO, start=st.integers(8, 30), span=st.integers(1, 8))
    def somebody_harvests(self, who: int, start: int, span: int) -> None:
        self.fire(self.workers[who], request(start, start + span))

    @rule(who=WHO, start=st.integers(0, 24), span=st.integers(1, 9), down=st.booleans())
    def somebody_backfills(self, who: int, start: int, span: int, down: bool) -> None:
        self.fire(
            self.workers[who], request(start, start + span, operation=BACKFILL, campaign="old", newest_first=down)
        )

    @precondition(lambda self: self.fired)
    @rule(who=WHO, which=WHICH)
    def a_trigger_fires_again(self, who: int, which: int) -> None:
        self.fire_again(self.workers[who], which)

    @precondition(lambda self: self.oracle.tasks)
    @rule(who=WHO, steps=st.integers(1, 12), twice=st.booleans())
    def a_worker_works(self, who: int, steps: int, twice: bool) -> None:
        for _ in range(steps):
            self.take(self.next_step(self.workers[who]))
            if twice:
                self.repeat(self.workers[who])
            self.the_laws_hold()

    @precondition(lambda self: any(worker.held and worker.held.run for worker in self.workers))
    @rule(who=WHO, how=ENDS)
    def an_attempt_ends_early(self, who: int, how: dict[str, Any]) -> None:
        running = [worker for worker in self.workers if worker.held and worker.held.run]
        self.take(running[who % len(running)].end(**how))

    @rule(who=WHO, most=st.integers(2, 4))
    def a_worker_claims_many(self, who: int, most: int) -> None:
        self.take(self.workers[who].claim(most))

    @precondition(lambda self: any(worker.leased for worker in self.workers))
    @rule(who=WHO)
    def a_task_is_released(self, who: int) -> None:
        holding = [worker for worker in self.workers if worker.leased]
        self.take(holding[who % len(holding)].release())

    @precondition(lambda self: self.oracle.live())
    @rule(who=WHO, which=WHICH, whole_plan=st.booleans())
    def somebody_cancels(self, who: int, which: int, whole_plan: bool) -> None:
        live = [key for key, task in self.oracle.tasks.items() if task.status in LIVE_TASKS]
        self.take(self.cancelling(self.workers[who], live[which % len(live)], whole_plan=whole_plan))

    @precondition(lambda self: self.oracle.tasks)
    @rule(who=WHO, which=WHICH)
    def somebody_retries(self, who: int, which: int) -> None:
        ended = self.oracle.unfinished(set(self.oracle.tasks)) or set(self.oracle.tasks)
        self.take(self.retrying(self.workers[who], sorted(ended)[which % len(ended)]))

    @rule(who=WHO, operation=st.sampled_from([HARVEST, BACKFILL]), pause=st.booleans())
    def somebody_pauses_or_resumes(self, who: int, operation: Operation, pause: bool) -> None:
        self.take(self.controlling(self.workers[who], operation, pause=pause))

    @precondition(lambda self: any(worker.waits for worker in self.workers))
    @rule(who=WHO)
    def a_page_does_not_come(self, who: int) -> None:
        waiting = [worker for worker in self.workers if worker.waits]
        self.take(waiting[who % len(waiting)].fail_page())

    @precondition(lambda self: any(worker.held for worker in self.workers))
    @rule(who=WHO)
    def a_lease_is_renewed(self, who: int) -> None:
        holding = [worker for worker in self.workers if worker.held]
        self.take(holding[who % len(holding)].renew())

    @precondition(lambda self: any(worker.held for worker in self.workers))
    @rule(who=WHO)
    def a_worker_crashes(self, who: int) -> None:
        holding = [worker for worker in self.workers if worker.held]
        holding[who % len(holding)].crash()

    @precondition(lambda self: any(task.leased for task in self.oracle.tasks.values()))
    @rule(who=WHO)
    def expired_leases_are_given_back(self, who: int) -> None:
        self.take(self.expiry(self.workers[who]))

    @precondition(lambda self: not all(self.oracle.requests.values()))
    @rule(who=WHO)
    def requests_are_served(self, who: int) -> None:
        self.take(self.serving(self.workers[who]))

    @precondition(lambda self: any(worker.idle for worker in self.workers))
    @rule(who=WHO, times=st.integers(1, 3))
    def slices_turn_out_too_big(self, who: int, times: int) -> None:
        idle = [worker for worker in self.workers if worker.idle]
        for _ in range(times):
            self.cut_smallest(idle[who % len(idle)])
            self.the_laws_hold()

    @precondition(lambda self: any(worker.idle for worker in self.workers))
    @rule(who=WHO)
    def a_slice_ends_early_in_order_of_time(self, who: int) -> None:
        """What was read is covered, the rest is to be cut; it happens to the slice that holds most."""
        idle = [worker for worker in self.workers if worker.idle]
        worker = idle[who % len(idle)]
        self.take(worker.claim(len(self.oracle.tasks)))
        worker.leased.sort(key=lambda task: -self.provider.count(task.window))
        while worker.leased[1:]:
            self.take(worker.release())
        while worker.leased or (worker.held and not worker.held.checkpoint.ended and not so_far(worker.held)):
            self.take(self.next_step(worker))
        if worker.held and so_far(worker.held):
            self.take(worker.end(TaskStatus.PARTIAL, reslice=ResliceReason.BUDGET, ascending=True))

    @precondition(lambda self: self.finished)
    @rule(who=WHO)
    def watermarks_are_repaired(self, who: int) -> None:
        self.take(self.repair(self.workers[who]))

    @precondition(lambda self: self.past)
    @rule(which=WHICH)
    def something_is_delivered_again(self, which: int) -> None:
        step = self.delivery(which)
        if step:
            self.take(step)

    @precondition(lambda self: self.finished)
    @rule(who=WHO, which=WHICH)
    def an_event_is_delivered_again(self, who: int, which: int) -> None:
        step = self.event(self.workers[who], which)
        if step:
            self.take(step)

    @precondition(lambda self: self.oracle.tasks)
    @rule(who=WHO, more=st.integers(1, WORKERS - 1), kinds=st.tuples(st.integers(0, 7), st.integers(0, 7)), which=WHICH)
    def two_at_once(self, who: int, more: int, kinds: tuple[int, int], which: int) -> None:
        """The second does its step while the first is about to commit."""
        one, other = self.workers[who], self.workers[(who + more) % WORKERS]
        first, second = (self.any_step(worker, kind, which) for worker, kind in zip((one, other), kinds, strict=True))
        self.take_both(one, first, second)

    @precondition(lambda self: any(worker.held for worker in self.workers))
    @rule(who=WHO, more=st.integers(1, WORKERS - 1), steps=st.integers(0, 4))
    def a_slow_worker_is_overtaken(self, who: int, more: int, steps: int) -> None:
        """Another has its task now; it knows nothing of it, and goes on."""
        holding = [number for number, worker in enumerate(self.workers) if worker.held]
        slow = holding[who % len(holding)]
        self.overtake(self.workers[slow], self.workers[(slow + more) % WORKERS], steps)
        self.the_laws_hold()
        self.take(self.next_step(self.workers[slow]))

    @invariant()
    def the_laws_hold(self) -> None:
        self.all_is_as_told()

    def teardown(self) -> None:
        if sys.exc_info()[0] is None:
            self.the_worst_happens()
            self.everything_comes_to_rest()

    def the_worst_happens(self) -> None:
        """Wherever a walk has led: slices that end early or are too big, pauses, what comes twice, who is slow."""
        ann, bob, other_ann = self.workers
        self.everybody_dies()
        for number in range(2, 9):
            self.provider.change(number, self.now() - number * INSTANT)
        self.time_passes(LOOKBACK)
        self.fire(bob, request())
        self.a_slice_ends_early_in_order_of_time(0)
        self.a_worker_works(0, 2, twice=True)
        self.requests_are_served(1)
        self.slices_turn_out_too_big(1, 3)
        for key in [key for key, task in self.oracle.tasks.items() if task.status == TaskStatus.PARTIAL]:
            self.take(self.retrying(bob, key))
        self.somebody_pauses_or_resumes(0, HARVEST, pause=True)
        self.a_worker_claims_many(1, 3)
        self.somebody_pauses_or_resumes(0, HARVEST, pause=False)
        self.a_worker_works(1, 20, twice=True)
        for slow, other in ((ann, bob), (other_ann, ann)):
            self.everybody_dies()
            while not (slow.held and slow.held.asked) and self.oracle.due(self.now()):
                self.take(self.next_step(slow))
            if slow.held:
                self.overtake(slow, other, 3)
                self.take(self.next_step(slow))
            self.the_laws_hold()


@pytest.fixture
def databases(database: Database, other: Database) -> Iterator[list[Database]]:
    """One database over every worker's own connections."""
    more = [Database(database.url.render_as_string(hide_password=False)) for _ in range(WORKERS - 2)]
    yield [database, other, *more]
    for one in more:
        one.close()


def walk(databases: list[Database], lengths: tuple[int, int], **how: Any) -> None:
    """So many walks of so many steps."""
    walks, steps = lengths
    profile = settings(
        max_examples=walks,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        **how,
    )
    run_state_machine_as_test(lambda: Walk(databases), settings=profile)  # type: ignore[arg-type]


@pytest.mark.timeout(300)
def test_whatever_workers_do_the_truth_is_stored_and_no_watermark_lies(databases: list[Database], dialect: str) -> None:
    walk(databases, LENGTHS[dialect], derandomize=True, database=None, phases=[Phase.generate])


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_on_long_walks_too_the_truth_is_stored_and_no_watermark_lies(databases: list[Database], dialect: str) -> None:
    walk(databases, LONG_LENGTHS[dialect], print_blob=True)
