"""Watermarks from the command line: told, rebuilt, taken over, compacted; on every database."""

import os
import pty
import subprocess
import sys
from itertools import pairwise
from typing import Any

import pytest
import sqlalchemy as sa

from flows.cli.main import run
from ingest_core.store.engine.database import Database
from tests.support.patra import Patra

pytestmark = pytest.mark.sqlite_first

START, END = "2026-01-01", "2026-01-03"
BY_STEP = {"max_window": "PT6H"}
"""No slice is longer than a step, however little it holds."""


def said(day: str) -> str:
    """A day's beginning as reports show it."""
    return f"{day}T00:00:00.000000Z"


def write(patra: Patra, statement: str) -> None:
    """Change the database behind the product's back."""
    database = Database(patra.environment["PATRA_DATABASE_URL"])
    try:
        with database.write() as connection:
            connection.execute(sa.text(statement))
    finally:
        database.close()


def micros(patra: Patra, text: str) -> str:
    """The instant as a literal of this database."""
    if patra.environment["PATRA_DATABASE_URL"].startswith("sqlite"):
        return f"(unixepoch('{text}') * 1000000)"
    return f"'{text} 00:00:00'"


def put(patra: Patra, day: str) -> None:
    """Put the watermark somewhere."""
    value = micros(patra, day)
    write(patra, f"UPDATE ing_cursor SET normalized_instant = {value}, cursor_value = '{said(day)}'")


@pytest.fixture
def harvested(patra: Patra) -> Patra:
    """Two days of Crossref, in eight slices."""
    patra.apply_crossref(window=BY_STEP)
    patra("plan", "crossref", "--from", START, "--to", END)
    patra("execute")
    return patra


def test_a_value_behind_its_events_is_told_and_moved_forward(harvested: Patra) -> None:
    (fine,) = harvested("cursor", "rebuild", "crossref")
    assert (fine["verdict"], fine["stored"], fine["missing"]) == ("EQUAL", said(END), [])
    put(harvested, "2026-01-02")
    (behind,) = harvested("cursor", "rebuild", "crossref", exit_code=1)
    assert (behind["verdict"], behind["stored"], behind["rebuilt"]) == ("BEHIND", said("2026-01-02"), said(END))
    assert harvested("cursor", "list")[0]["value"] == said("2026-01-02"), "nothing was changed"
    (moved,) = harvested("cursor", "rebuild", "crossref", "--apply")
    assert (moved["applied"], moved["rebuilt"]) == (True, said(END))
    assert harvested("cursor", "list")[0]["value"] == said(END)


def test_a_value_ahead_of_its_events_is_told_and_never_rewound(harvested: Patra) -> None:
    put(harvested, "2026-02-01")
    (ahead,) = harvested("cursor", "rebuild", "crossref", "--apply", exit_code=1)
    assert (ahead["verdict"], ahead["stored"], ahead["rebuilt"]) == ("AHEAD", said("2026-02-01"), said(END))
    assert ahead["holes"] == [{"from": said(END), "to": said("2026-02-01")}]
    assert harvested("cursor", "list")[0]["value"] == said("2026-02-01")


def test_an_event_that_is_missing_is_named(harvested: Patra) -> None:
    events = harvested.rows("ing_cursor_event", where="event_type = 'COVERAGE'")
    gone = events[3]
    write(harvested, f"DELETE FROM ing_cursor_event WHERE id = {gone['id']}")
    (result,) = harvested("cursor", "rebuild", exit_code=1)
    (missing,) = result["missing"]
    assert (missing["event"], missing["task_id"], missing["plan_id"]) == ("COVERAGE", gone["task_id"], gone["plan_id"])
    assert harvested("cursor", "list")[0]["value"] == said(END)


def test_a_row_that_is_lost_is_made_again(harvested: Patra) -> None:
    write(harvested, "DELETE FROM ing_cursor")
    (lost,) = harvested("cursor", "rebuild", exit_code=1)
    assert (lost["verdict"], lost["rebuilt"]) == ("LOST", said(END))
    harvested("cursor", "rebuild", "--apply")
    assert harvested("cursor", "list")[0]["value"] == said(END)
    assert harvested("plan", "crossref", "--from", START, "--to", END)["tasks_created"] == 0


def test_a_timeline_tells_each_move(harvested: Patra) -> None:
    steps = harvested("cursor", "timeline", "crossref")
    assert [one["event_type"] for one in steps] == ["ANCHOR"] + ["COVERAGE"] * 8
    assert (steps[0]["new"], steps[-1]["new"]) == (said(START), said(END))
    moves = [one for one in steps[1:] if not one["no_forward"]]
    assert all(before["new"] == after["prev"] for before, after in pairwise(moves))
    assert all(one["lineage"]["task_id"] for one in moves)
    assert len(harvested("cursor", "timeline", "crossref", "--limit", "2")) == 2
    assert harvested("cursor", "timeline", "crossref", "--since", "2100-01-01") == []


def test_show_says_what_the_watermark_waits_for(patra: Patra) -> None:
    patra.apply_crossref(window=BY_STEP)
    patra("plan", "crossref", "--from", START, "--to", END)
    patra("execute", "--max-tasks", "3")
    (shown,) = patra("cursor", "show", "crossref", "--operation", "harvest")
    done = [row for row in patra.rows("ing_task") if row["status_code"] == "SUCCEEDED"]
    assert shown["events"]["COVERAGE"] == len(done) == 3
    assert (shown["blocked_by"]["status"], shown["anchor"]) == ("QUEUED", said(START))
    assert shown["blocked_by"]["window"]["from"] == shown["value"]
    error = patra("cursor", "show", "crossref", "--namespace", "zz", exit_code=2)
    assert error["error"]["code"] == "CURSOR_UNKNOWN"


QUERY = ("--query", "type:journal-article")


def test_a_query_goes_on_where_another_stands(harvested: Patra) -> None:
    (source,) = harvested("cursor", "list")
    key = harvested("explain", "window", "crossref", *QUERY, "--from", START, "--to", END)["namespace_key"]
    done = harvested("cursor", "adopt", "--from", source["namespace_key"][:8], "--to", key, "--reason", "narrower")
    assert (done["before"], done["after"], done["adopted"]) == (None, said(END), True)
    assert (
        harvested("cursor", "adopt", "--from", f"crossref:{source['namespace_key'][:8]}", "--to", key)["adopted"]
        is False
    )
    plan = harvested("plan", "crossref", *QUERY, "--to", "2026-01-04")
    assert plan["window"] == {"from": said(END), "to": said("2026-01-04")}
    (event,) = harvested.rows("ing_cursor_event", where="event_type = 'ADOPT'")
    told = event["record_remarks"]
    assert (told["reason"], told["from"]) == ("narrower", source["namespace_key"])
    assert told["by"]
    back = harvested("cursor", "adopt", "--from", key[:8], "--to", source["namespace_key"])
    assert back["adopted"] is False, "both stand at the same place"


def test_going_back_is_refused(harvested: Patra) -> None:
    harvested("plan", "crossref", *QUERY, "--from", "2026-01-05", "--to", "2026-01-06")
    mine, other = (one["namespace_key"] for one in harvested("cursor", "list"))
    error = harvested("cursor", "adopt", "--from", mine, "--to", other, exit_code=2)["error"]
    assert (error["code"], "would go back" in error["message"]) == ("CANNOT_ADOPT", True)


def test_compaction_leaves_value_and_plans_as_they_were(harvested: Patra) -> None:
    harvested("plan", "crossref")  # finds what is settled
    before = harvested("cursor", "list")
    done = harvested("cursor", "compact", "crossref", "--older-than", "PT0S")
    assert done["events"] >= 7
    assert harvested("cursor", "list") == before
    assert harvested("cursor", "rebuild", "crossref")[0]["verdict"] == "EQUAL"
    assert harvested("plan", "crossref", "--from", START, "--to", END)["tasks_created"] == 0
    assert harvested("cursor", "compact", "crossref")["events"] == 0
    assert harvested("cursor", "compact", "--older-than", "soon", exit_code=2)["error"]["code"] == "DURATION_INVALID"


def answered(patra: Patra, answer: str, *arguments: str) -> tuple[int, str]:
    """A command on a terminal, with the answer to its question."""
    ours, theirs = pty.openpty()
    environment: dict[str, Any] = {**os.environ, **patra.environment, "COLUMNS": "200", "TERM": "dumb"}
    command = [sys.executable, "-m", "flows.cli", *arguments]
    process = subprocess.Popen(command, env=environment, stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL)
    os.close(theirs)
    os.write(ours, f"{answer}\n".encode())
    shown = b""
    try:
        while chunk := os.read(ours, 4096):
            shown += chunk
    except OSError:  # the other end is gone
        pass
    os.close(ours)
    return process.wait(60), shown.decode()


def test_on_a_terminal_a_change_is_shown_first_and_asked_for(harvested: Patra) -> None:
    put(harvested, "2026-01-02")
    code, shown = answered(harvested, "n", "cursor", "rebuild", "--apply")
    assert (code, "BEHIND" in shown, "Move 1 forward?" in shown) == (2, True, True)
    assert harvested("cursor", "list")[0]["value"] == said("2026-01-02")
    code, shown = answered(harvested, "", "cursor", "rebuild", "--apply", "--yes")
    assert (code, "moved" in shown) == (0, True)
    assert harvested("cursor", "list")[0]["value"] == said(END)


def test_every_command_has_a_table_for_people(harvested: Patra, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("show", "timeline", "rebuild", "compact"):
        assert run(["cursor", command, "crossref"]) == 0
        assert capsys.readouterr().out.strip()
    assert run(["cursor", "list"]) == 0
    assert "crossref" in capsys.readouterr().out
