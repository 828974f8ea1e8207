"""What a page writes to the outbox, once and in order, and what a crash leaves."""

from dataclasses import replace
from functools import partial

import sqlalchemy as sa

from ingest_core.model.codes import Operation
from ingest_core.planning.request import PlanRequest
from ingest_core.store.ledger.run_ledger import SqlRunLedger
from ingest_core.store.schema.tables import ing_item, ing_outbox_message, ing_task_run_batch
from tests.contract.test_refresh import REFRESHED
from tests.support.books import SOURCE, at, compiled, source_block, source_rows
from tests.support.breaking import crash_at_every_step, while_uncommitted
from tests.support.pages import page, record, rejected
from tests.support.tables import change, column, rows
from tests.support.wiring import Stores
from tests.support.working import begin, commit, finish, open_page, plan_harvest, read_page, trigger


def publishing(stores: Stores) -> Stores:
    """The worker, with somebody to tell."""
    return replace(stores, ledger=SqlRunLedger(stores.database, publishing=True))


def told(stores: Stores) -> list[tuple[str, str]]:
    """Which record each message is about, and what became of it."""
    payloads = column(stores.database, ing_outbox_message, "payload")
    return [(payload["provider_id"], payload["event_type"]) for payload in payloads]


# What a page writes


def test_a_page_leaves_a_message_for_each_record_it_inserts_or_updates(stores: Stores) -> None:
    stores = publishing(stores)
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    read_page(stores, run, page(record("a", at(1)), record("b", at(1)), rejected=[rejected("x")]))
    assert told(stores) == [("a", "INSERTED"), ("b", "INSERTED")]
    second = page(record("a", at(2)), record("a", at(1.5)), record("b", at(0)), record("c", at(1)))
    read_page(stores, run, second, batch_no=2)
    assert told(stores)[2:] == [("c", "INSERTED"), ("a", "UPDATED")]


def test_a_message_tells_the_record_its_version_and_its_lineage(stores: Stores) -> None:
    stores = publishing(stores)
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    read_page(stores, run, page(record("a", at(1), '{"v": 1}')), batch_no=3)
    (row,) = rows(stores.database, ing_outbox_message)
    lineage = run.task.lineage
    assert (row["topic"], row["status_code"], row["attempts"]) == ("books.list", "PENDING", 0)
    assert row["payload"] == {
        "event_type": "INSERTED",
        "provenance": "books",
        "endpoint": "list",
        "provider_id": "a",
        "source_updated_at": "2020-01-01T01:00:00.000000Z",
        "source_version": None,
        "payload_hash": record("a", at(1), '{"v": 1}').payload_hash,
        "record": {"title": "a"},
        "lineage": {
            "plan_id": lineage.plan_id,
            "slice_id": lineage.slice_id,
            "task_id": lineage.task_id,
            "run_id": run.run_id,
            "batch_no": 3,
        },
    }


def test_without_a_publisher_no_message_is_written(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    read_page(stores, begin(stores), page(record("a", at(1))))
    assert rows(stores.database, ing_outbox_message) == []


def test_a_page_committed_twice_leaves_its_messages_once(stores: Stores) -> None:
    stores = publishing(stores)
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    batch, outcome = open_page(stores, run), page(record("a", at(1)), record("b", at(1)))
    commit(stores, run, batch, outcome)
    before = rows(stores.database, ing_outbox_message)
    commit(stores, run, batch, outcome)
    assert rows(stores.database, ing_outbox_message) == before


def test_the_same_version_from_another_page_leaves_no_further_message(stores: Stores) -> None:
    stores = publishing(stores)
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    read_page(stores, run, page(record("a", at(1))))
    read_page(stores, run, page(record("a", at(1))), batch_no=2)
    assert told(stores) == [("a", "INSERTED")]


def test_a_message_that_is_there_already_stays_as_it_is(stores: Stores) -> None:
    """Somebody emptied the items: they come again, and nobody is told twice."""
    stores = publishing(stores)
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    read_page(stores, run, page(record("a", at(1))))
    change(stores.database, ing_outbox_message, status_code="SENT")
    with stores.database.write() as connection:
        connection.execute(sa.delete(ing_item))
    read_page(stores, run, page(record("a", at(1)), record("b", at(1))), batch_no=2)
    assert column(stores.database, ing_outbox_message, "status_code") == ["SENT", "PENDING"]


def test_content_that_comes_back_under_the_same_time_is_told_again(stores: Stores) -> None:
    """Only the time of asking makes it newer, so that is part of its version."""
    stores = publishing(stores)
    plan_harvest(stores, at(0), at(1), spec=compiled(source=source_block(on_equal="CHANGED")))
    run = begin(stores)
    for batch_no, text in enumerate(('{"v": 1}', '{"v": 2}', '{"v": 1}', '{"v": 2}'), start=1):
        read_page(stores, run, page(record("a", at(1), text)), batch_no=batch_no)
    keys = column(stores.database, ing_outbox_message, "dedup_key")
    assert len(set(keys)) == 4
    assert len(set(column(stores.database, ing_outbox_message, "ordering_key"))) == 1


def test_a_refresh_that_fills_in_fields_tells_the_record_as_it_is_now(registered: Stores) -> None:
    stores = publishing(registered)
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    bare = replace(record("a", at(1)), fields={"title": "Old", "abstract": ""})
    read_page(stores, run, page(bare))
    finish(stores, run)
    stores.registry.apply([source_rows(**REFRESHED, source=source_block(on_refresh="FILL_EMPTY"))])
    stores.planner.plan(PlanRequest(SOURCE, Operation.UPDATE, ids=("a",)), trigger())
    read_page(stores, begin(stores), page(replace(bare, fields={"title": "New", "abstract": "Fresh"})))
    first, second = rows(stores.database, ing_outbox_message)
    assert second["payload"]["event_type"] == "UPDATED"
    assert second["payload"]["record"] == {"title": "Old", "abstract": "Fresh"}
    assert second["payload"]["payload_hash"] == first["payload"]["payload_hash"]
    assert (second["ordering_key"], second["dedup_key"] != first["dedup_key"]) == (first["ordering_key"], True)


def test_a_page_whose_commit_crashes_leaves_no_message(stores: Stores) -> None:
    stores = publishing(stores)
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    batch, outcome = open_page(stores, run), page(record("a", at(1)), record("b", at(1)))

    def with_the_page_or_not_at_all() -> None:
        committed = column(stores.database, ing_task_run_batch, "status_code") == ["SUCCEEDED"]
        assert len(rows(stores.database, ing_outbox_message)) == (2 if committed else 0)

    crash_at_every_step(stores.database, lambda: commit(stores, run, batch, outcome), with_the_page_or_not_at_all)
    assert told(stores) == [("a", "INSERTED"), ("b", "INSERTED")]


def test_two_pages_at_once_number_the_messages_of_a_record_in_the_order_of_its_versions(
    stores: Stores, others: Stores
) -> None:
    stores, others = publishing(stores), publishing(others)
    plan_harvest(stores, at(0), at(2))
    first, second = begin(stores), begin(others, "bob")
    batches = open_page(stores, first), open_page(others, second)
    while_uncommitted(
        stores.database,
        partial(commit, stores, first, batches[0], page(record("a", at(1)), record("b", at(1)))),
        partial(commit, others, second, batches[1], page(record("a", at(2)), record("c", at(1)))),
    )
    versions = [
        payload["source_updated_at"][11:13]
        for payload in column(stores.database, ing_outbox_message, "payload")
        if payload["provider_id"] == "a"
    ]
    assert versions == ["01", "02"]


def test_a_page_of_thousands_leaves_as_many_messages(stores: Stores) -> None:
    stores = publishing(stores)
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    read_page(stores, run, page(*(record(f"id-{number:04}", at(1)) for number in range(1201))))
    assert len(rows(stores.database, ing_outbox_message)) == 1201
