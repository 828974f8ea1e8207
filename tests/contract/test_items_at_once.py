"""Two workers that write the same records at the same time."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
import sqlalchemy as sa

from ingest_core.execution.ports import Run
from ingest_core.model.record import Counts, PageOutcome
from ingest_core.store.engine.database import Database
from ingest_core.store.schema.tables import ing_item, ing_quarantine, ing_task
from tests.support.books import at
from tests.support.breaking import DEADLINE_SECONDS, together, wait_for, while_uncommitted
from tests.support.pages import page, record, rejected
from tests.support.tables import rows
from tests.support.wiring import Stores, wire
from tests.support.working import begin, commit, open_page, plan_harvest, read_page

ROUNDS = 3


def committing(stores: Stores, run: Run, outcome: PageOutcome, batch_no: int = 1) -> Callable[[], Counts]:
    """A page that was asked for, with its commit still to come."""
    batch = open_page(stores, run, batch_no)
    return lambda: commit(stores, run, batch, outcome)


def test_new_records_on_two_pages_at_once_are_inserted_once(stores: Stores, others: Stores) -> None:
    plan_harvest(stores, at(0), at(2))
    older = page(record("a", at(1)), record("b", at(1)), record("c", at(1)))
    newer = page(record("b", at(2)), record("c", at(0)), record("d", at(1)))
    first, second = while_uncommitted(
        stores.database,
        committing(stores, begin(stores), older),
        committing(others, begin(others, "bob"), newer),
    )
    assert first == Counts(3, 3, 0, 0, 0)
    assert second == Counts(3, 1, 1, 1, 0, older=1)
    versions = {row["provider_id"]: row["source_updated_at"] for row in rows(stores.database, ing_item)}
    assert versions == {"a": at(1), "b": at(2), "c": at(1), "d": at(1)}


def test_a_record_updated_on_two_pages_at_once_ends_with_the_newer(stores: Stores, others: Stores) -> None:
    plan_harvest(stores, at(0), at(2))
    one, two = begin(stores), begin(others, "bob")
    read_page(stores, one, page(record("a", at(1))))
    first, second = while_uncommitted(
        stores.database,
        committing(stores, one, page(record("a", at(3))), 2),
        committing(others, two, page(record("a", at(2)))),
    )
    assert (first.updated, second.skipped) == (1, 1)
    assert [row["source_updated_at"] for row in rows(stores.database, ing_item)] == [at(3)]


def test_the_same_unusable_record_on_two_pages_at_once_is_one_row(stores: Stores, others: Stores) -> None:
    plan_harvest(stores, at(0), at(2))
    first, second = while_uncommitted(
        stores.database,
        committing(stores, begin(stores), page(rejected=[rejected("x"), rejected("y")])),
        committing(others, begin(others, "bob"), page(rejected=[rejected("y"), rejected("z")])),
    )
    assert (first.quarantined, second.quarantined) == (2, 2)
    seen = {row["fragment"]: row["seen_count"] for row in rows(stores.database, ing_quarantine)}
    assert seen == {'{"name": "x"}': 1, '{"name": "y"}': 2, '{"name": "z"}': 1}


def test_workers_with_overlapping_pages_end_with_exact_totals(stores: Stores, others: Stores) -> None:
    """Round after round: each record once, in its newest version, and every one received is in one count."""
    plan_harvest(stores, at(0), at(3))
    third = wire(Database(stores.database.url.render_as_string(hide_password=False)))
    workers = [(stores, begin(stores)), (others, begin(others, "bob")), (third, begin(third, "cid"))]
    try:
        total, newest, unusable = Counts(), dict[str, int](), dict[str, int]()
        for round_no in range(1, ROUNDS + 1):
            works = []
            for number, (worker, run) in enumerate(workers):
                stamps = {f"id {n:03}": round_no * 10 + (n + number) % 3 for n in range(number * 20, number * 20 + 60)}
                names = [f"bad {n}" for n in range(number * 2, number * 2 + 5)]
                outcome = page(
                    *(record(name, at(hours)) for name, hours in stamps.items()),
                    rejected=[rejected(name) for name in names],
                )
                works.append(committing(worker, run, outcome, round_no))
                newest |= {name: max(hours, newest.get(name, 0)) for name, hours in stamps.items()}
                unusable |= {name: unusable.get(name, 0) + 1 for name in names}
            total = sum(together(*works), total)
    finally:
        third.database.close()
    stored = rows(stores.database, ing_item)
    assert {row["provider_id"]: row["source_updated_at"] for row in stored} == {
        name: at(hours) for name, hours in newest.items()
    }
    assert len(stored) == len(newest) == total.inserted == 100
    assert total.received == ROUNDS * 3 * 65
    assert total.received == total.inserted + total.updated + total.skipped + total.quarantined
    seen = {row["fragment"]: row["seen_count"] for row in rows(stores.database, ing_quarantine)}
    assert seen == {f'{{"name": "{name}"}}': count for name, count in unusable.items()}


@pytest.mark.parametrize("dialect", ["postgresql", "mysql"], indirect=True)  # SQLite has no rivals
def test_a_deadlock_while_a_page_is_written_is_tried_again(stores: Stores, other: Database) -> None:
    """The rival's transaction has more to lose, so that the page's is the one the server gives up."""
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    batch = open_page(stores, run)
    rows_of_rival = [item_row(stores, run, letter) for letter in "abcdefghijklm"]
    tangled = Event()
    with ThreadPoolExecutor(1) as pool, other.engine.connect() as rival:

        def get_ahead(_connection: object, _cursor: object, statement: str, *_more: object) -> None:
            if statement.startswith(("INSERT INTO ing_item", "COPY ing_item")) and not tangled.is_set():
                rival.execute(sa.insert(ing_item), rows_of_rival)
                tangled.set()

        sa.event.listen(stores.database.engine, "before_cursor_execute", get_ahead)
        try:
            future = pool.submit(commit, stores, run, batch, page(record("m"), record("n")))
            wait_for(tangled, future)
            wait_until_blocked(rival)
            rival.execute(sa.update(ing_task).where(ing_task.c.id == run.task.lease.task_id).values(credential_id=7))
            rival.commit()
            assert future.result(DEADLINE_SECONDS) == Counts(2, 1, 0, 1, 0, equal=1)
        finally:
            sa.event.remove(stores.database.engine, "before_cursor_execute", get_ahead)


def wait_until_blocked(connection: sa.Connection) -> None:
    """Give the other transaction the moment it needs to run into our lock."""
    connection.exec_driver_sql(
        "SELECT pg_sleep(0.2)" if connection.dialect.name == "postgresql" else "SELECT SLEEP(0.2)"
    ).close()


def item_row(stores: Stores, run: Run, provider_id: str) -> dict[str, object]:
    now = stores.database.now()
    one = record(provider_id)
    return {
        "provenance_code": run.task.partition.provenance_code,
        "endpoint_name": run.task.partition.endpoint_name,
        "provider_id": provider_id,
        "source_updated_at": one.updated_at,
        "payload": one.payload,
        "payload_hash": one.payload_hash,
        "record": one.fields,
        "expr_hash": run.task.expr_hash,
        "state_code": "PRESENT",
        "refresh_checked_at": now,
        "first_run_id": 0,
        "first_batch_no": 1,
        "last_run_id": 0,
        "last_batch_no": 1,
        "created_at": now,
        "updated_at": now,
    }
