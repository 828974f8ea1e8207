"""A crash before and after each database and network step, one at a time: the truth holds each time."""

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta
from itertools import count
from typing import Any, TypeVar

import pytest
import sqlalchemy as sa

from deployments.sandbox.remote import Sandbox
from ingest_core.bootstrap import App, open_core_app
from ingest_core.execution.ports import Request, Response
from ingest_core.model.codes import SchedulerCode
from ingest_core.model.instant import parse_instant
from ingest_core.planning.request import PlanRequest, Trigger
from ingest_core.settings import Settings
from ingest_core.store.engine.database import Database
from ingest_core.transport.http import HttpUpstream
from tests.conftest import DatabaseFactory
from tests.support.patra import Patra, Row

T = TypeVar("T")
START, END = "2026-01-01T00:00:00Z", "2026-01-01T12:00:00Z"
BY_STEP = {"max_window": "PT6H"}
"""No slice is longer than a step: there are two."""
LEASE = timedelta(seconds=60)
IN_FLIGHT = 2
"""The page asked for, and the one fetched ahead."""
OF_EACH_SLICE = {"begin_run", "now", "open_batch", "acquire", "send", "commit_page", "finish", "advance"}
RUN_LOOP = {"repair", "give_back_expired", "claim", "limits", *OF_EACH_SLICE}
"""What the run loop asks of a store or a provider."""
MORE_STEPS_THAN_THERE_ARE = 400


class Crash(BaseException):
    """The process is gone."""


class Steps:
    """Counts steps and crashes before or after the n-th; once the process is gone, its threads take no other."""

    def __init__(self, crash_at: int, only: frozenset[str] = frozenset()) -> None:
        self._numbers = count()
        self._crash_at = crash_at
        self._only = only
        self._gone = False
        self.cut: str | None = None

    def around(self, step: Callable[[], T], name: str | None = None) -> T:
        """Take a step; even numbers crash before it, odd ones after."""
        self._end_if(self._gone)
        name = name or _store_call()
        if self._only and name not in self._only:
            return step()
        number = next(self._numbers)  # pages are fetched in a thread: the number is this step's own
        self._end_if(number * 2 == self._crash_at, name)
        result = step()
        self._end_if(number * 2 + 1 == self._crash_at, name)
        return result

    def _end_if(self, it_is_time: bool, name: str | None = None) -> None:
        if it_is_time:
            self._gone = True
            self.cut = name or self.cut
            raise Crash


def _store_call() -> str:
    """What of a store is being called: the outermost of its methods."""
    frame, name = sys._getframe(), ""
    while frame.f_back:
        frame = frame.f_back
        if frame.f_globals["__name__"].startswith("ingest_core.store."):
            name = frame.f_code.co_name
    return name


def _break_at(monkeypatch: pytest.MonkeyPatch, steps: Steps) -> None:
    """A transaction, a reading and a request are a step each."""
    once, read, send = Database._once, Database.read, HttpUpstream.send

    def crashing_once(database: Database, work: Callable[[Any], T]) -> T:
        return steps.around(lambda: once(database, work))

    @contextmanager
    def crashing_read(database: Database, *, snapshot: bool = False) -> Iterator[sa.Connection]:
        with ExitStack() as reading:
            yield steps.around(lambda: reading.enter_context(read(database, snapshot=snapshot)))

    def crashing_send(upstream: HttpUpstream, request: Request) -> Response:
        return steps.around(lambda: send(upstream, request), "send")

    monkeypatch.setattr(Database, "_once", crashing_once)
    monkeypatch.setattr(Database, "read", crashing_read)
    monkeypatch.setattr(HttpUpstream, "send", crashing_send)


def _execute(settings: Settings, shift: timedelta = timedelta(0)) -> App:
    with open_core_app(settings, clock_shift=shift) as app:
        app.executor.execute()
        return app


def _silent_about_crashes(hook: Callable[[Any], object]) -> Callable[[Any], object]:
    """A thread that ends with its process has nothing to say."""
    return lambda ended: None if issubclass(ended.exc_type, Crash) else hook(ended)


def _crash_once(settings: Settings, steps: Steps, work: Callable[[Settings], object] = _execute) -> str | None:
    """Where the work was cut; none if it was not that long."""
    with pytest.MonkeyPatch.context() as patched:
        _break_at(patched, steps)
        patched.setattr(threading, "excepthook", _silent_about_crashes(threading.excepthook))
        try:
            work(settings)
        except Crash:
            return steps.cut
    return None


def _sweep(
    patra: Patra,
    sandbox: Sandbox,
    prepare: Callable[[], Settings],
    position: str,
    only: frozenset[str] = frozenset(),
) -> list[str]:
    """Crash at each step in turn and recover; where the work was cut, before and after each."""
    truth = sandbox.truth(from_=START, to=END)
    cuts: list[str] = []
    for crash_at in range(MORE_STEPS_THAN_THERE_ARE):
        settings = prepare()
        sandbox.clear_requests()
        cut = _crash_once(settings, Steps(crash_at, only))
        if cut is None:
            return cuts
        cuts.append(cut)
        committed, finished = _committed(patra), _finished(patra)
        before = len(sandbox.requests("crossref"))
        _execute(settings, shift=LEASE * 2)
        _assert_whole(patra, truth, crash_at)
        log = sandbox.requests("crossref")
        if position == "CLIENT":
            _assert_no_committed_page_again(log, before, committed)
        else:
            _assert_no_finished_slice_again(log, before, finished)
    raise AssertionError("the harvest never ended")


def _committed(patra: Patra) -> set[str]:
    rows = patra.rows("ing_task_run_batch", "run_id", "batch_no", where="status_code = 'SUCCEEDED'")
    return {f"ing-{row['run_id']}-{row['batch_no']}" for row in rows}


def _assert_whole(patra: Patra, truth: list[Row], crash_at: int) -> None:
    patra.assert_truth(truth)
    assert {row["status_code"] for row in patra.rows("ing_task")} == {"SUCCEEDED"}, crash_at
    (cursor,) = patra.rows("ing_cursor")
    assert cursor["cursor_value"] == "2026-01-01T12:00:00.000000Z", crash_at
    pages = [row["stats"] for row in patra.rows("ing_task_run_batch") if row["status_code"] == "SUCCEEDED"]
    assert sum(page["inserted"] for page in pages) == len(patra.items()), crash_at
    assert not [row for row in patra.rows("ing_task_run_batch") if row["status_code"] == "RUNNING"], crash_at
    coverage = patra.rows("ing_cursor_event", where="event_type = 'COVERAGE'")
    assert len(coverage) == 2, crash_at


def _page(request: Row) -> tuple[str, int]:
    return (request["query"]["filter"], request["page"])


def _assert_no_committed_page_again(log: list[Row], before: int, committed: set[str]) -> None:
    """Promise 6: of what was asked for, only the pages in flight are asked for again."""
    kept = {_page(request) for request in log[:before] if request["correlation"] in committed}
    assert not kept & {_page(request) for request in log[before:]}
    assert sum(number - 1 for number in Counter(map(_page, log)).values()) <= IN_FLIGHT


def _finished(patra: Patra) -> set[int]:
    """The runs whose slices are read to their end, though their tasks may not have ended."""
    pages = patra.rows("ing_task_run_batch", "run_id", "stats", where="status_code = 'SUCCEEDED'")
    return {page["run_id"] for page in pages if not page["stats"]["hasNext"]}


def _assert_no_finished_slice_again(log: list[Row], before: int, finished: set[int]) -> None:
    """Promise 6 where the position is the provider's: the slice begins again, in a scroll of its own, and no other."""
    done = {row["query"]["filter"] for row in log[:before] if int(row["correlation"].split("-")[1]) in finished}
    assert not done & {row["query"]["filter"] for row in log[before:]}
    assert max(Counter((row["scroll"], row["page"]) for row in log).values()) == 1


Copies = Callable[[Patra, Sandbox], Callable[[], Settings]]


@pytest.fixture
def copies(database_factory: DatabaseFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Copies]:
    """What makes a copy of the database as it is now, and goes on with that, each time it is called."""
    with ExitStack() as last:

        def of(patra: Patra, sandbox: Sandbox) -> Callable[[], Settings]:
            original = patra.environment["PATRA_DATABASE_URL"]

            def prepare() -> Settings:
                # The last one stays meanwhile: a thread of the crashed attempt may still hold it.
                before = last.pop_all()
                patra.use(last.enter_context(database_factory.copied(original)), monkeypatch)
                before.close()
                return _settings(patra, sandbox)

            return prepare

        yield of


def _configure(patra: Patra, sandbox: Sandbox, position: str) -> None:
    sandbox.configure(scroll="server" if position == "SERVER" else "token")
    patra.apply_crossref(pagination={"page_size": 80, "position": position}, retry={"max_attempts": 1}, window=BY_STEP)
    patra("plan", "crossref", "--from", START, "--to", END)


@pytest.mark.timeout(1800)
@pytest.mark.sqlite_first
@pytest.mark.parametrize("position", ["SERVER", pytest.param("CLIENT", marks=pytest.mark.long)])
def test_a_crash_at_any_step_loses_and_doubles_nothing(
    patra: Patra, quiet_sandbox: Sandbox, position: str, copies: Copies
) -> None:
    _configure(patra, quiet_sandbox, position)
    prepare = copies(patra, quiet_sandbox)

    assert_all_was_cut(_sweep(patra, quiet_sandbox, prepare, position))


def assert_all_was_cut(cuts: list[str]) -> None:
    """Before and after each call of the run loop, there was a crash."""
    assert set(Counter(cuts)) >= RUN_LOOP, RUN_LOOP - set(cuts)
    assert {name: Counter(cuts)[name] for name in OF_EACH_SLICE if Counter(cuts)[name] < 4} == {}


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_a_crash_at_any_sign_of_life_loses_and_doubles_nothing(
    patra: Patra, quiet_sandbox: Sandbox, copies: Copies
) -> None:
    """A page that is long in coming: the lease is renewed meanwhile."""
    _configure(patra, quiet_sandbox, "CLIENT")
    copy = copies(patra, quiet_sandbox)

    def prepare() -> Settings:
        quiet_sandbox.script({"kind": "latency", "seconds": 1.0, "after": 1})
        return replace(copy(), lease_ttl_seconds=1)

    cuts = _sweep(patra, quiet_sandbox, prepare, "CLIENT", only=frozenset({"renew"}))
    assert len(cuts) >= 2


def _settings(patra: Patra, sandbox: Sandbox) -> Settings:
    return Settings(
        database_url=patra.environment["PATRA_DATABASE_URL"],
        upstreams={"crossref": sandbox.url("crossref")},
        lease_ttl_seconds=int(LEASE.total_seconds()),
    )


LEFT_BY_PLANNING = {
    "ing_schedule_instance": ("scheduler_log_id",),
    "ing_plan": ("plan_key", "status_code", "window_from", "window_to"),
    "ing_plan_slice": ("plan_id", "slice_no", "slice_signature_hash", "status_code"),
    "ing_task": ("plan_id", "idempotent_key", "status_code"),
    "ing_reslice_request": ("task_id", "status_code"),
    "ing_cursor": ("cursor_value", "anchor_instant"),
    "ing_cursor_event": ("event_type", "window_from", "window_to", "idempotent_key"),
}


def _plan(settings: Settings) -> None:
    """One tick of the planner: slices that were too big are cut again, and two more hours are planned."""
    request = PlanRequest("crossref", user_from=parse_instant(START), user_to=parse_instant("2026-01-01T14:00:00Z"))
    with open_core_app(settings) as app:
        app.planner.plan(request, Trigger(SchedulerCode.CLI, "tick"))


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_a_crash_at_any_step_of_planning_leaves_the_next_try_nothing_but_its_work(
    patra: Patra, quiet_sandbox: Sandbox, copies: Copies
) -> None:
    patra.apply_crossref(pagination={"page_size": 60, "max_page": 1}, retry={"max_attempts": 1})
    patra("plan", "crossref", "--from", START, "--to", END, "--set", "slicing.probe_budget=0")
    patra("execute")
    prepare = copies(patra, quiet_sandbox)
    _plan(prepare())
    whole = {table: patra.rows(table, *columns) for table, columns in LEFT_BY_PLANNING.items()}
    assert [row["status_code"] for row in whole["ing_reslice_request"]] == ["SERVED", "SERVED"]
    assert len(whole["ing_plan"]) == 2

    steps = 0
    while _crash_once(settings := prepare(), Steps(steps), _plan):
        _plan(settings)
        left = {table: patra.rows(table, *columns) for table, columns in LEFT_BY_PLANNING.items()}
        assert left == whole, steps
        steps += 1
        assert steps < MORE_STEPS_THAN_THERE_ARE
    assert steps > 10
