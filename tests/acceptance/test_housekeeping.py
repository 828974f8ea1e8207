"""Housekeeping as a worker runs it: each part puts its own right, whatever becomes of the others."""

from collections.abc import Iterator

import pytest

from deployments.sandbox.remote import Sandbox
from flows.caps import TOTAL
from flows.wiring import open_app
from ingest_core.store.database import Database
from ingest_core.store.tables import ing_cursor
from tests.support.patra import Patra
from tests.support.prefect import ControlRoom

START, MIDDLE, END = "2026-01-01", "2026-01-02", "2026-01-04"
HARVEST = "ingest.crossref.works.harvest"


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlRoom]:
    """A server with the deployments of this checkout."""
    with ControlRoom(tmp_path_factory.mktemp("room")) as room:
        room.command("work-pool", "create", "patra", "--type", "process")
        room.command("deploy", "--name", "housekeeping", "--no-prompt")
        found = room.ask("GET", "/deployments/name/housekeeping/housekeeping")
        room.ask("PATCH", f"/deployments/{found['id']}", {"paused": True})
        yield room


def set_back(database_url: str, patra: Patra) -> None:
    """A cursor as a crash leaves it: behind its events."""
    anchor = patra.rows("ing_cursor_event", "window_from")[0]["window_from"]
    database = Database(database_url)
    with database.write() as connection:
        connection.execute(ing_cursor.update().values(normalized_instant=anchor))
    database.close()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_a_part_that_fails_is_named_and_stops_no_other(patra: Patra, quiet_sandbox: Sandbox, room: ControlRoom) -> None:
    patra("plan", "crossref", "--from", START, "--to", MIDDLE, "--now", END)
    patra("execute")
    reached = patra.rows("ing_cursor", "normalized_instant")
    set_back(patra.environment["PATRA_DATABASE_URL"], patra)
    patra("plan", "crossref", "--from", START, "--to", END, "--now", END)
    with open_app() as app:
        assert app.queue.claim("a worker that dies", 1)
    room.ask("POST", "/v2/concurrency_limits/", {"name": HARVEST, "limit": 9, "active_slots": 1})
    settings = {"PATRA_PUBLISHER": "nobody-installed-this", "PATRA_TOTAL_CONCURRENCY": "3"}
    room.worker(limit=None, **patra.environment, **settings)

    failed = room.run("housekeeping/housekeeping")
    assert failed["state_type"] == "FAILED"
    message = failed["state"]["message"]
    assert "1 of 6 parts failed: relay outbox: " in message
    assert "nobody-installed-this" in message
    states = {run["name"]: run["state_type"] for run in room.task_runs(failed["id"])}
    assert states.pop("relay outbox") == "FAILED"
    assert set(states.values()) == {"COMPLETED"}
    assert patra.rows("ing_task", where="status_code = 'DISPATCHED'") == []
    assert patra.rows("ing_cursor", "normalized_instant") == reached
    assert (room.limits()[TOTAL]["limit"], room.limits()[HARVEST]["limit"]) == (3, 3)

    done = room.run("housekeeping/housekeeping", {"parts": ["reap leases", "reconcile slots", "compact cursors"]})
    assert (done["state_type"], done["state"]["message"]) == ("COMPLETED", f"nobody's for now: 1 of {HARVEST}")
