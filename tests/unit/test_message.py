"""Messages: what they tell, and which changes are the same."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from ingest_core.model.codes import GoneReason
from ingest_core.model.message import ChangeType, RecordChange, delivery_key, message_of, wire_json
from ingest_core.model.record import Gone
from tests.support.outbox import message

STAMP = datetime(2026, 1, 2, tzinfo=UTC)
CHANGE = RecordChange(ChangeType.INSERTED, "10.1/a", STAMP, None, "f" * 64, {"title": "A"})


def keys(change: RecordChange, source: str = "crossref", endpoint: str = "works") -> tuple[str, str]:
    made = message_of(change, source, endpoint, {})
    return made.dedup_key, made.ordering_key


def test_the_keys_of_a_version_are_always_the_same() -> None:
    assert keys(CHANGE) == keys(replace(CHANGE, type=ChangeType.UPDATED, fields={}))


@pytest.mark.parametrize(
    "changed",
    [
        replace(CHANGE, updated_at=STAMP + timedelta(microseconds=1)),
        replace(CHANGE, version="2"),
        replace(CHANGE, payload_hash="0" * 64),
        replace(CHANGE, taken_at=STAMP),
        replace(CHANGE, type=ChangeType.GONE, gone=Gone("10.1/a", STAMP, GoneReason.DELETED)),
        replace(CHANGE, type=ChangeType.GONE, gone=Gone("10.1/a", STAMP, GoneReason.MERGED, "10.1/b")),
    ],
    ids=["update time", "version", "payload", "time of asking", "deletion", "merge"],
)
def test_another_version_of_a_record_is_another_message_of_the_same_order(changed: RecordChange) -> None:
    assert keys(changed)[0] != keys(CHANGE)[0]
    assert keys(changed)[1] == keys(CHANGE)[1]


def test_a_deletion_says_when_why_and_what_took_the_record_s_place() -> None:
    deleted = Gone("10.1/a", STAMP, GoneReason.DELETED)
    merged = Gone("10.1/a", STAMP, GoneReason.MERGED, "10.1/b")
    payloads = [message_of(replace(CHANGE, gone=one), "crossref", "works", {}).payload for one in (deleted, merged)]
    names = ("state", "gone_at", "gone_reason", "merged_into")
    assert [[payload[name] for name in names] for payload in payloads] == [
        ["GONE", "2026-01-02T00:00:00.000000Z", "DELETED", None],
        ["GONE", "2026-01-02T00:00:00.000000Z", "MERGED", "10.1/b"],
    ]
    assert keys(replace(CHANGE, gone=deleted))[0] != keys(replace(CHANGE, gone=merged))[0]
    assert "state" not in message_of(CHANGE, "crossref", "works", {}).payload


def test_other_records_and_other_endpoints_have_an_order_of_their_own() -> None:
    found = {
        keys(CHANGE)[1],
        keys(replace(CHANGE, provider_id="10.1/b"))[1],
        keys(CHANGE, "openalex")[1],
        keys(CHANGE, endpoint="journals")[1],
    }
    assert len(found) == 4


def test_the_topic_is_source_and_endpoint() -> None:
    assert message_of(CHANGE, "crossref", "works", {}).topic == "crossref.works"


def test_a_message_is_written_on_one_line_whatever_it_holds() -> None:
    odd = message("a", title="two\nlines", number=2**70)
    line = wire_json(odd.json())
    assert b"\n" not in line
    assert json.loads(line)["payload"]["record"]["number"] == 2**70
    assert line.startswith(b'{"dedup_key":')


def test_the_key_of_a_delivery_is_that_of_its_messages() -> None:
    one, two = message("a", 1), message("b", 2)
    assert delivery_key([one]) == one.dedup_key
    assert delivery_key([one, two]) == delivery_key([one, two]) != delivery_key([two, one])
