"""A merge of second rows while executors work: tasks planned before it, pages beside it, ids that wait, consumers."""

from dataclasses import replace

import pytest

from ingest_core.model.codes import Operation, QuarantineReason, TaskStatus
from ingest_core.model.record import Rejected
from ingest_core.planning.request import PlanRequest
from ingest_core.store.ledger.run_ledger import SqlRunLedger
from ingest_core.store.schema.tables import ing_item, ing_outbox_message, ing_quarantine, ing_signal
from tests.support.books import SOURCE, at
from tests.support.breaking import while_uncommitted
from tests.support.one_phase import item, merging, one_phase, places, put
from tests.support.pages import page, record, rejected
from tests.support.tables import rows
from tests.support.wiring import Stores
from tests.support.working import begin, commit, finish, open_page, plan_harvest, read_page, trigger


@pytest.fixture
def owned(stores: Stores) -> Stores:
    """A worker, with the source in the Registry."""
    stores.registry.apply([one_phase()])
    return stores


def bad(name: str) -> Rejected:
    return replace(rejected(name, QuarantineReason.RECORD_ERROR), provider_id=name)


def plan_refresh(stores: Stores, *ids: str) -> None:
    """Plan a refresh of these ids, as the Registry says it."""
    assert stores.planner.plan(PlanRequest(SOURCE, Operation.UPDATE, ids=ids), trigger()).plan.slices == 1


def harvest(stores: Stores, *ids: str) -> None:
    """Harvest an hour in which these were listed."""
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    read_page(stores, run, page(*(record(one) for one in ids)))
    finish(stores, run)


def applied(stores: Stores) -> None:
    """`registry apply` of the source that says `refreshes`, with its merge."""
    stores.registry.apply([one_phase()])
    merging(stores)


class TestSignals:
    """They name the endpoint that is asked, which is still the DETAIL endpoint."""

    def test_ids_that_wait_are_refreshed_after_the_merge(self, stores: Stores) -> None:
        stores.registry.apply([one_phase(None)])
        plan_refresh(stores, "b1")
        finish(stores, begin(stores), TaskStatus.FAILED)  # the id waits again
        applied(stores)
        assert [row["state_code"] for row in rows(stores.database, ing_signal)] == ["OPEN"]
        assert stores.planner.plan(PlanRequest(SOURCE, Operation.UPDATE), trigger()).plan.slices == 1
        run = begin(stores)
        assert run.task.ids == ("b1",)
        read_page(stores, run, page(record("b1")))
        finish(stores, run)
        assert places(stores) == [("list", "b1")]
        assert [row["state_code"] for row in rows(stores.database, ing_signal)] == ["DONE"]


class TestTasksPlannedBefore:
    """A task whose snapshot knows no owner writes where the Registry says now."""

    @pytest.fixture
    def old(self, stores: Stores) -> Stores:
        """b1 is harvested; a refresh of b1 and b2 is planned with rows from before `refreshes` was known."""
        harvest(stores, "b1")
        stores.registry.apply([one_phase(None)])
        plan_refresh(stores, "b1", "b2")
        return stores

    def test_its_pages_are_stored_under_the_owner_once_that_is_applied(self, old: Stores) -> None:
        run = begin(old)
        read_page(old, run, page(record("b1", at(2))))
        assert places(old) == [("list", "b1"), ("whole", "b1")]
        applied(old)
        assert places(old) == [("list", "b1")]
        read_page(old, run, page(record("b1", at(3)), record("b2", at(3)), rejected=[bad("b3")]), batch_no=2)
        assert places(old) == [("list", "b1"), ("list", "b2")]
        assert places(old, ing_quarantine) == [("list", "b3")]

    def test_what_is_in_quarantine_is_known_to_it(self, old: Stores) -> None:
        run = begin(old)
        failed = replace(bad("b2"), reason=QuarantineReason.DETAIL_FAILED)
        read_page(old, run, page(rejected=[failed]))
        applied(old)
        assert places(old, ing_quarantine) == [("list", "b2")]
        assert old.ledger.bad_ids(run.task, ["b1", "b2"]).keys() == {"b2"}
        assert old.ledger.known_bad(run.task, [failed]) == 1

    def test_a_page_about_to_commit_is_waited_for(self, old: Stores, others: Stores) -> None:
        run = begin(old)
        batch = open_page(old, run)
        news = page(record("b1", at(2)), record("b2"))
        while_uncommitted(old.database, lambda: commit(old, run, batch, news), lambda: applied(others), 1.0)
        assert places(old) == [("list", "b1"), ("list", "b2")]

    def test_an_apply_about_to_commit_is_waited_for(self, old: Stores, others: Stores) -> None:
        run = begin(old)
        batch = open_page(old, run)
        while_uncommitted(
            others.database,
            lambda: others.registry.apply([one_phase()]),
            lambda: commit(old, run, batch, page(record("b1", at(2)), record("b2"))),
        )
        assert places(old) == [("list", "b1"), ("list", "b2")]


class TestBesideHarvests:
    """A page of the search and a merge of the same records, at once, in either order."""

    @pytest.fixture
    def twice(self, owned: Stores) -> Stores:
        """b1 and b2 under the DETAIL endpoint, b1 under the search too; an hour is about to be read."""
        put(owned, ing_item, [item("list", "b1"), item("whole", "b1", refresh_checked_at=at(3)), item("whole", "b2")])
        plan_harvest(owned, at(0), at(1))
        return owned

    def test_a_page_waits_for_the_merge(self, twice: Stores, others: Stores) -> None:
        run = begin(twice)
        batch = open_page(twice, run)
        news = page(record("b1", at(8)), record("b2", at(8)))
        while_uncommitted(others.database, lambda: merging(others), lambda: commit(twice, run, batch, news))
        self.check(twice)

    def test_the_merge_waits_for_a_page(self, twice: Stores, others: Stores) -> None:
        run = begin(twice)
        batch = open_page(twice, run)
        news = page(record("b1", at(8)), record("b2", at(8)))
        while_uncommitted(twice.database, lambda: commit(twice, run, batch, news), lambda: merging(others))
        self.check(twice)

    @staticmethod
    def check(stores: Stores) -> None:
        found = [
            (row["endpoint_name"], row["provider_id"], row["source_updated_at"])
            for row in rows(stores.database, ing_item)
        ]
        assert sorted(found) == [("list", "b1", at(8)), ("list", "b2", at(8))]


def test_an_owner_that_is_being_taken_away_is_waited_for(owned: Stores, others: Stores) -> None:
    put(owned, ing_item, [item("whole", "b1")])
    taken = one_phase("whole")
    _, found = while_uncommitted(owned.database, lambda: owned.registry.apply([taken]), lambda: merging(others))
    assert found == []
    assert places(owned) == [("whole", "b1")]


def test_consumers_are_told_nothing(stores: Stores) -> None:
    """They were told of each version when it was stored."""
    publishing = replace(stores, ledger=SqlRunLedger(stores.database, publishing=True))
    harvest(publishing, "b1")
    publishing.registry.apply([one_phase(None)])
    plan_refresh(publishing, "b1", "b2")
    read_page(publishing, begin(publishing), page(record("b1", at(2)), record("b2")))
    before = rows(stores.database, ing_outbox_message)
    assert len(before) == 3
    applied(publishing)
    assert places(stores) == [("list", "b1"), ("list", "b2")]
    assert rows(stores.database, ing_outbox_message) == before
