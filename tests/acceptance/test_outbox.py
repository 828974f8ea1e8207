"""A harvest tells others what it changed: every change at least once, each record's in order."""

import hashlib
import hmac
import json
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deployments.sandbox.remote import Sandbox
from tests.support.echo_server import EchoServer, Reply, Seen, echo_server
from tests.support.patra import Patra

pytestmark = pytest.mark.sqlite_first

START, MIDDLE, END = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-04T00:00:00Z"
SECRET = "s3cret-of-the-receiver"


@pytest.fixture
def receiver() -> Iterator[EchoServer]:
    with echo_server() as server:
        yield server


def configure(patra: Patra, monkeypatch: pytest.MonkeyPatch, **variables: str) -> None:
    for name, value in {"NO_PROXY": "*", **variables}.items():
        patra.environment[name] = value
        monkeypatch.setenv(name, value)


def harvest(patra: Patra, *bounds: str) -> dict[str, int]:
    """Plan and execute; what became of the records."""
    patra("plan", "crossref", *bounds)
    done = patra("execute", "--until-idle")
    assert done["tasks"]["failed"] == 0
    records: dict[str, int] = done["records"]
    return records


def harvest_twice(patra: Patra, sandbox: Sandbox) -> int:
    """A harvest, and another after the provider has changed some of it; how many changes there were."""
    sandbox.move_clock(MIDDLE)
    first = harvest(patra, "--from", START, "--to", MIDDLE, "--now", "2026-01-02T00:10:00Z")
    sandbox.move_clock(None)
    second = harvest(patra, "--from", START, "--to", END, "--now", "2026-01-04T00:10:00Z")
    assert first["inserted"] > 100
    assert second["inserted"] > 100
    assert second["updated"] > 0
    return sum(records[name] for records in (first, second) for name in ("inserted", "updated"))


def assert_told(patra: Patra, messages: list[Any], changes: int) -> None:
    """Every change arrived, and the first time each did was in order."""
    assert len({message["dedup_key"] for message in messages}) == changes
    by_key: dict[str, list[Any]] = defaultdict(list)
    known: set[str] = set()
    for message in messages:
        if message["dedup_key"] not in known:
            by_key[message["ordering_key"]].append(message)
        known.add(message["dedup_key"])
    last = {}
    for told in by_key.values():
        sequences = [message["sequence"] for message in told]
        assert sequences == sorted(sequences)
        kinds = [message["payload"]["event_type"] for message in told]
        assert kinds == ["INSERTED", *["UPDATED"] * (len(told) - 1)]
        payload = told[-1]["payload"]
        last[payload["provider_id"]] = (payload["source_updated_at"], payload["payload_hash"], payload["record"])
    stored = {
        row["provider_id"]: (
            f"{row['source_updated_at']:%Y-%m-%dT%H:%M:%S.%fZ}",
            row["payload_hash"],
            row["record"],
        )
        for row in patra.rows("ing_item")
    }
    assert last == stored
    assert {row["status_code"] for row in patra.rows("ing_outbox_message", "status_code")} == {"SENT"}


def test_every_change_is_a_line_of_the_file(
    patra: Patra, quiet_sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "changes.jsonl"
    configure(patra, monkeypatch, PATRA_PUBLISHER=f"file:{path}")
    changes = harvest_twice(patra, quiet_sandbox)
    first, second = (patra.start("outbox", "relay", "--until-empty") for _ in range(2))
    reports = [json.loads(relay.communicate(timeout=120)[0]) for relay in (first, second)]
    assert sum(report["sent"] for report in reports) == changes
    messages = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert len(messages) == changes
    assert_told(patra, messages, changes)
    assert patra("outbox", "prune", "--older-than", "PT0S") == {"deleted": changes}


def test_a_webhook_that_fails_at_first_gets_everything_in_the_end(
    patra: Patra, quiet_sandbox: Sandbox, receiver: EchoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(
        patra,
        monkeypatch,
        PATRA_PUBLISHER=f"{receiver.url}/hook",
        PATRA_WEBHOOK_SECRET="env:HOOK_SECRET",
        HOOK_SECRET=SECRET,
    )
    arrived: list[Any] = []
    calls = iter(range(10**6))
    lock = threading.Lock()

    def answer(seen: Seen) -> Reply:
        signed = seen.headers["x-patra-timestamp"].encode() + b"." + seen.body
        expected = hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
        assert seen.headers["x-patra-signature"] == f"sha256={expected}"
        with lock:
            number = next(calls)
            if number == 0:
                return Reply(503, b"not yet", {"Retry-After": "1"})
            if number in (1, 6):
                return Reply(500, b"oops")
            if number == 3:
                return Reply(422, b"a message is odd")
            arrived.extend(seen.json["messages"])
            return Reply(200, b"", lost=number == 4)  # taken, but the answer is lost

    receiver.answer = answer
    changes = harvest_twice(patra, quiet_sandbox)
    report = patra("outbox", "relay", "--until-empty")
    assert (report["sent"], report["dead"], report["pending"]) == (changes, 0, 0)
    assert report["failed"] > 0
    assert len(arrived) > changes  # what was in the lost answer came again
    assert_told(patra, arrived, changes)
    assert SECRET not in json.dumps(patra("outbox", "list"))


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_a_dead_message_is_listed_and_brought_back(
    patra: Patra, quiet_sandbox: Sandbox, receiver: EchoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest_core.outbox.retry.MAX_REFUSALS", 1)
    configure(
        patra, monkeypatch, PATRA_PUBLISHER=receiver.url, PATRA_WEBHOOK_SECRET="env:HOOK_SECRET", HOOK_SECRET=SECRET
    )
    harvest(patra, "--from", START, "--to", MIDDLE)
    odd = patra("outbox", "list", "--status", "PENDING", "--limit", "1")[0]
    receiver.answer = lambda seen: Reply(422, b"odd") if odd["provider_id"].encode() in seen.body else Reply()
    report = patra("outbox", "relay", exit_code=1)
    assert (report["dead"], report["pending"]) == (1, 0)
    (dead,) = patra("outbox", "list", "--status", "DEAD")
    assert (dead["id"], dead["last_error"]) == (odd["id"], f"{receiver.url} answered 422: odd")
    receiver.answer = lambda _seen: Reply()
    assert patra("outbox", "retry", str(dead["id"])) == {"retried": 1}
    assert patra("outbox", "relay", "--max", "5")["sent"] == 1
    error = patra("outbox", "retry", str(dead["id"]), exit_code=2)["error"]
    assert (error["code"], error["where"]) == ("MESSAGE_NOT_WAITING", f"message {dead['id']}")


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_without_a_publisher_nothing_is_written_and_nothing_is_sent(patra: Patra, quiet_sandbox: Sandbox) -> None:
    assert harvest(patra, "--from", START, "--to", MIDDLE)["inserted"] > 0
    assert patra("outbox", "list") == []
    assert patra("outbox", "retry", "--dead") == {"retried": 0}
    assert patra("outbox", "relay", exit_code=2)["error"]["code"] == "PUBLISHER_MISSING"
    assert patra("outbox", "retry", exit_code=2)["error"]["code"] == "USAGE"
    assert patra("outbox", "prune", "--older-than", "a month", exit_code=2)["error"]["code"] == "DURATION_INVALID"


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_a_publisher_that_is_not_there_is_exit_code_3_and_kills_nothing(
    patra: Patra, quiet_sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(patra, monkeypatch, PATRA_PUBLISHER=f"file:{tmp_path}/none/out.jsonl")
    harvest(patra, "--from", START, "--to", MIDDLE)
    report = patra("outbox", "relay", exit_code=3)
    assert (report["sent"], report["dead"], report["unavailable"]) == (0, 0, True)
    (tmp_path / "none").mkdir()
    assert patra("outbox", "relay", "--until-empty")["pending"] == 0
