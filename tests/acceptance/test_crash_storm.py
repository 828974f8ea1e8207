"""Workers that are killed by the dozen fail no task; a task that kills its worker is failed, and no other with it."""

import random
import signal
import subprocess
import sys
import time
from datetime import timedelta

import pytest
import sqlalchemy as sa

from deployments.sandbox.remote import Sandbox
from ingest_core.execution.expiry import MAX_BLAMED
from ingest_core.store.engine.database import Database
from ingest_core.store.schema.tables import ing_task
from tests.support.patra import Patra, Row

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]

START, END = "2026-01-01T00:00:00Z", "2026-01-05T00:00:00Z"
KILLS, AT_ONCE = 40, 3
POISON = """
import os, signal
from flows.cli.main import main
from ingest_core.execution.run_task import TaskRunner

run = TaskRunner.run

def run_or_die(self, task, *arguments, **options):
    if task.slice_no == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return run(self, task, *arguments, **options)

TaskRunner.run = run_or_die
main()
"""


def _tasks(patra: Patra) -> list[Row]:
    return patra.rows("ing_task", "id", "status_code", "lease_owner", "expiry_count", "last_error")


def _wait_for_a_task(patra: Patra, worker: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + 60
    while not any(f":{worker.pid}:" in (one["lease_owner"] or "") for one in _tasks(patra)):
        assert worker.poll() is None, worker.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _kill_by_the_dozen(patra: Patra) -> None:
    """Keep some workers at work, and kill the oldest as soon as it has begun a task."""
    chance, workers = random.Random(7), [patra.start("execute") for _ in range(AT_ONCE)]
    for _ in range(KILLS):
        oldest = workers.pop(0)
        _wait_for_a_task(patra, oldest)
        time.sleep(chance.uniform(0, 0.5))
        oldest.kill()
        oldest.communicate()
        workers.append(patra.start("execute"))
    for worker in workers:
        worker.kill()
        worker.communicate()


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"], indirect=True)
def test_forty_kills_fail_no_task(patra: Patra, quiet_sandbox: Sandbox) -> None:
    patra.apply_crossref(pagination={"page_size": 25}, window={"step": "PT1H", "max_window": "PT1H"})
    patra("plan", "crossref", "--from", START, "--to", END)
    quiet_sandbox.script({"kind": "latency", "seconds": 1.5, "times": None})
    _kill_by_the_dozen(patra)
    assert max(one["expiry_count"] for one in _tasks(patra)) > 0
    quiet_sandbox.script()
    deadline = time.monotonic() + 600
    while {one["status_code"] for one in _tasks(patra)} & {"QUEUED", "DISPATCHED", "EXECUTING"}:
        assert time.monotonic() < deadline, _tasks(patra)
        patra("execute", "--until-idle")
    failed = [one for one in _tasks(patra) if one["status_code"] != "SUCCEEDED"]
    assert failed == []
    patra.assert_truth(quiet_sandbox.truth(from_=START, to=END))


def _end_delays(patra: Patra) -> None:
    """Let the tasks that wait be due."""
    database = Database(patra.environment["PATRA_DATABASE_URL"])
    try:
        database.transact(
            lambda connection: connection.execute(
                sa.update(ing_task).values(scheduled_at=database.now(connection) - timedelta(hours=1))
            )
        )
    finally:
        database.close()


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_a_task_that_kills_its_worker_is_failed_and_the_others_are_done(patra: Patra, quiet_sandbox: Sandbox) -> None:
    patra.apply_crossref(window={"max_window": "PT6H"})
    patra("plan", "crossref", "--from", START, "--to", "2026-01-02T00:00:00Z")
    killed = 0
    for _ in range(4 * MAX_BLAMED):
        command = [sys.executable, "-c", POISON, "execute", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        killed += done.returncode == -signal.SIGKILL
        if any(one["status_code"] == "FAILED" for one in _tasks(patra)):
            break
        time.sleep(2.1)  # a lease that is held is over
        _end_delays(patra)
    (failed,) = [one for one in _tasks(patra) if one["status_code"] == "FAILED"]
    assert killed == failed["expiry_count"] == MAX_BLAMED
    assert "no other worker was lost" in failed["last_error"]["message"]
    assert {one["status_code"] for one in _tasks(patra) if one["id"] != failed["id"]} == {"SUCCEEDED"}
