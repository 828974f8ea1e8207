"""A hostile provider or source file costs its own records and tasks, and nothing that it says acts on a terminal."""

import contextlib
import io
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.cli.main import run
from tests.conftest import DatabaseFactory
from tests.support.echo_server import EchoServer, Reply, Seen, echo_server, reply_json
from tests.support.patra import Patra, Row
from tests.support.shelf_source import PERIOD, RESPONSE, shelf_document
from tests.support.yaml_text import yaml_of

SLOW = "(a|aa)+$"
VICTIM = "a" * 60 + "b"
TTL_SECONDS = 1
ACTING = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
HOSTILE = "\x1b[31mred\x1b]0;t\x07\r\n2026-01-01 ERROR forged\x9b2J\u202egnp\u2066\u2028[red]"


@pytest.fixture
def provider() -> Iterator[EchoServer]:
    with echo_server() as server:
        yield server


@pytest.fixture
def patra(
    database_factory: DatabaseFactory, provider: EchoServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Patra]:
    """`patra` on a new database whose sources ask the provider."""
    patra = Patra(database_factory.upgraded("sqlite"), provider.url, tmp_path, monkeypatch)
    for code in ("HOSTILE", "PLAIN"):
        name, url = f"PATRA_UPSTREAM_{code}", f"{provider.url}/{code.lower()}"
        patra.environment[name] = url
        monkeypatch.setenv(name, url)
    patra.environment["PATRA_LEASE_TTL_SECONDS"] = str(TTL_SECONDS)
    yield patra
    patra.stop_all()


def register(patra: Patra, folder: Path, code: str, **response: Any) -> None:
    """Apply a source of that code whose records have one field that is matched by the slow pattern."""
    document = shelf_document("offset", source={"code": code, "name": code}, mapping={"kind": KIND, "title": "$.title"})
    document["endpoints"][0]["response"] = {**RESPONSE, **response}
    file = folder / f"{code}.yaml"
    file.write_text(yaml_of(document), encoding="utf-8")
    patra("registry", "apply", str(file))


KIND = {"path": "$.kind", "as": f"match:{SLOW}"}


def record(number: int, **fields: Any) -> Row:
    return {"id": f"r{number}", "updated": "2026-01-09T12:00:00", "version": "1", "title": f"t{number}", **fields}


def one_page(*records: Row) -> Reply:
    return reply_json({"items": list(records), "total": len(records)})


def answered(hostile: Reply) -> Any:
    """One page of the hostile source's records on the first day, one of the other source's; nothing on other days."""

    def answer(seen: Seen) -> Reply:
        if "2026-01-09" not in seen.query.get("from", ""):
            return one_page()
        if seen.query["offset"] != "0":
            return reply_json({"items": [], "total": int(seen.query["offset"])})
        return hostile if seen.path.startswith("/hostile") else one_page(record(1), record(2))

    return answer


def plan_both(patra: Patra) -> None:
    for code in ("hostile", "plain"):
        patra("plan", code, *PERIOD)


def tasks_of(patra: Patra, code: str) -> list[Row]:
    return patra.rows("ing_task", where=f"provenance_code = '{code}'")


def test_slow_patterns_lose_no_lease_and_cost_their_records_alone(
    patra: Patra, provider: EchoServer, tmp_path: Path
) -> None:
    for code in ("hostile", "plain"):
        register(patra, tmp_path, code)
    slow = [record(number, kind=VICTIM) for number in range(TTL_SECONDS + 1)]
    provider.answer = answered(one_page(*slow, record(8, kind="aa"), record(9)))
    plan_both(patra)
    executor = patra.start("execute", "--until-idle")
    printed, said = executor.communicate(timeout=60)

    assert executor.returncode == 0, said
    assert json.loads(printed)["tasks"]["failed"] == 0
    for row in [*tasks_of(patra, "hostile"), *tasks_of(patra, "plain")]:
        assert (row["status_code"], row["expiry_count"], row["attempt_count"]) == ("SUCCEEDED", 0, 1)
    rejected = patra.rows("ing_quarantine")
    assert {(one["reason_code"], one["json_path"]) for one in rejected} == {
        ("PATTERN_TIMEOUT", f"mapping.kind '{SLOW}'")
    }
    assert {one["provider_id"] for one in rejected} == {one["id"] for one in slow}
    assert set(patra.items()) == {"r1", "r2", "r8", "r9"}


def test_a_slow_predicate_of_a_page_ends_its_task_with_a_message(
    patra: Patra, provider: EchoServer, tmp_path: Path
) -> None:
    register(patra, tmp_path, "hostile", errors=[{"path": "$.said", "matches": SLOW}])
    register(patra, tmp_path, "plain")
    provider.answer = answered(reply_json({"items": [], "total": 0, "said": VICTIM}))
    plan_both(patra)
    patra("execute", "--until-idle", exit_code=1)

    failed = [row for row in tasks_of(patra, "hostile") if row["status_code"] == "FAILED"]
    assert [(row["last_error"]["level"], row["last_error"]["code"]) for row in failed] == [("L2", "PATTERN_TIMEOUT")]
    assert f"response.errors: pattern '{SLOW}' took more than 1 s" in failed[0]["last_error"]["message"]
    assert {row["status_code"] for row in tasks_of(patra, "plain")} == {"SUCCEEDED"}


@pytest.mark.long
def test_a_page_of_slow_records_ends_its_task_and_a_signal_ends_the_worker(
    patra: Patra, provider: EchoServer, tmp_path: Path
) -> None:
    for code in ("hostile", "plain"):
        register(patra, tmp_path, code)
    provider.answer = answered(one_page(*(record(number, kind=VICTIM) for number in range(1000))))
    plan_both(patra)
    executor = patra.start("execute", "--until-idle")
    while not any(seen.path.startswith("/hostile") for seen in provider.seen):
        time.sleep(0.05)
    executor.terminate()
    executor.communicate(timeout=60)
    assert {row["status_code"] for row in tasks_of(patra, "hostile")} == {"QUEUED"}
    executor = patra.start("execute", "--until-idle")
    _, said = executor.communicate(timeout=90)
    (failed,) = [row for row in tasks_of(patra, "hostile") if row["status_code"] == "FAILED"]
    assert (failed["last_error"]["code"], failed["expiry_count"]) == ("PATTERN_TIMEOUT", 0), said
    assert {row["status_code"] for row in tasks_of(patra, "plain")} == {"SUCCEEDED"}


def shown(*arguments: str) -> str:
    """What a command prints for people."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        run(list(arguments))
    return printed.getvalue()


def test_what_a_provider_says_acts_neither_on_the_terminal_nor_on_the_log(
    patra: Patra, provider: EchoServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(patra, tmp_path, "hostile", record_error={"path": "$.broken"})
    provider.answer = answered(one_page(record(1, id=HOSTILE, title=HOSTILE, broken=HOSTILE), record(2, title=HOSTILE)))
    patra("plan", "hostile", *PERIOD)
    patra("execute", "--until-idle")
    (row,) = patra.rows("ing_quarantine")
    assert row["provider_id"] == HOSTILE.strip()  # as received
    assert HOSTILE in json.loads(patra.rows("ing_item")[0]["payload"])["title"]

    provider.answer = lambda _seen: Reply(400, HOSTILE.encode())
    monkeypatch.setenv("COLUMNS", "300")
    patra("plan", "hostile", "--from", "2026-01-11", "--to", "2026-01-12")
    said = shown("execute", "--until-idle")
    (failed,) = patra.rows("ing_task", where="status_code = 'FAILED'")
    assert not ACTING.search(failed["last_error"]["message"])
    assert r"\x1b[31mred" in failed["last_error"]["message"]
    assert "\n2026-01-01 ERROR forged" not in said
    for arguments in (
        ("quarantine", "list"),
        ("quarantine", "show", str(row["id"])),
        ("quarantine", "show", str(row["id"]), "--json"),
        ("status",),
        ("status", "hostile"),
        ("plan", "hostile", "--from", "2026-01-12", "--to", "2026-01-13", "--dry-run"),
        ("retry", "--task", HOSTILE),
        ("plan", HOSTILE),
        ("source", "check", str(tmp_path / "hostile.yaml"), "--send", *PERIOD),
    ):
        assert not ACTING.search(said := shown(*arguments)), arguments
        assert "forged" not in [line.strip()[17:23] for line in said.splitlines()], arguments
    assert r"\x1b[31mred" in shown("quarantine", "list")


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_log_record_stays_one_line(
    patra: Patra, provider: EchoServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    register(patra, tmp_path, "hostile")
    provider.answer = lambda _seen: Reply(503, HOSTILE.encode())
    monkeypatch.setenv("PATRA_LOG_FORMAT", form)
    patra("plan", "hostile", *PERIOD)
    said = shown("execute", "--max-tasks", "1")
    lines = [line for line in said.splitlines() if "hostile: the provider answered 503" in line]
    assert lines, said
    assert not ACTING.search(said)
    assert all(r"\x1b[31mred" in line.replace("\\\\", "\\") and "forged" in line for line in lines)
    if form == "json":
        assert all(json.loads(line)["level"] == "WARNING" for line in lines)
