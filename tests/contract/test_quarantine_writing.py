"""Quarantine as pages write it: in when a record cannot be used, out when it comes back usable."""

from dataclasses import replace
from functools import partial

import pytest

from ingest_core.model.codes import QuarantineReason, QuarantineState
from ingest_core.model.record import Rejected
from ingest_core.store.schema.tables import ing_quarantine
from tests.support.books import at
from tests.support.breaking import together
from tests.support.pages import page, record, rejected
from tests.support.tables import change, column, explain, rows
from tests.support.wiring import Stores
from tests.support.working import begin, commit, open_page, plan_harvest, read_page

EVERY_STATE = [state.value for state in QuarantineState]


def bad(provider_id: str, name: str = "broken", reason: QuarantineReason = QuarantineReason.RECORD_ERROR) -> Rejected:
    """An unusable record whose id is known."""
    return replace(rejected(f"{name} {provider_id}", reason), provider_id=provider_id)


def states(stores: Stores) -> list[str]:
    return column(stores.database, ing_quarantine, "state_code")


def test_a_record_that_comes_back_usable_leaves_with_every_row_it_has(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    read_page(stores, run, page(rejected=[bad("a"), bad("a", "otherwise"), bad("b")]))
    read_page(stores, run, page(record("a"), record("c")), batch_no=2)
    found = {(row["provider_id"], row["state_code"]) for row in rows(stores.database, ing_quarantine)}
    assert found == {("a", "RELEASED"), ("b", "OPEN")}
    released = [row for row in rows(stores.database, ing_quarantine) if row["provider_id"] == "a"]
    assert [row["record_remarks"] for row in released] == [
        {"cause": "USABLE", "run_id": run.run_id, "batch_no": 2},
        {"cause": "USABLE", "run_id": run.run_id, "batch_no": 2},
    ]


def test_an_older_page_releases_nothing(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(2))
    slow, fast = begin(stores), begin(stores, "bob")
    earlier = open_page(stores, slow)
    read_page(stores, fast, page(rejected=[bad("a")]))
    commit(stores, slow, earlier, page(record("a")))
    assert states(stores) == ["OPEN"]


def test_a_page_that_has_it_both_ways_does_not_release_it(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    read_page(stores, run, page(rejected=[bad("a")]))
    read_page(stores, run, page(record("a"), rejected=[bad("a")]), batch_no=2)
    assert states(stores) == ["OPEN"]


@pytest.mark.parametrize("before", EVERY_STATE)
def test_one_that_comes_back_bad_is_open_again_unless_it_was_discarded(stores: Stores, before: str) -> None:
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    read_page(stores, run, page(rejected=[bad("a")]))
    change(stores.database, ing_quarantine, state_code=before)
    read_page(stores, run, page(rejected=[bad("a")]), batch_no=2)
    (row,) = rows(stores.database, ing_quarantine)
    assert (row["state_code"], row["seen_count"]) == ("DISCARDED" if before == "DISCARDED" else "OPEN", 2)


def test_a_retry_that_brings_it_back_bad_in_other_words_is_over(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    read_page(stores, run, page(rejected=[bad("a")]))
    change(stores.database, ing_quarantine, state_code="RETRYING")
    read_page(stores, run, page(rejected=[bad("a", "broken otherwise")]), batch_no=2)
    assert states(stores) == ["OPEN", "OPEN"]


@pytest.mark.parametrize("settled", ["RELEASED", "DISCARDED"])
def test_what_people_settled_stays_when_the_record_comes_usable(stores: Stores, settled: str) -> None:
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    read_page(stores, run, page(rejected=[bad("a"), bad("b")]))
    change(stores.database, ing_quarantine, ing_quarantine.c.provider_id == "a", state_code=settled)
    read_page(stores, run, page(record("a")), batch_no=2)
    assert states(stores) == sorted([settled, "OPEN"], key=lambda state: state == "OPEN")


def test_a_page_of_thousands_releases_all_of_its_own(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    names = [f"id-{number:04}" for number in range(1201)]
    read_page(stores, run, page(rejected=[bad(name) for name in names]))
    read_page(stores, run, page(*(record(name) for name in names)), batch_no=2)
    assert set(states(stores)) == {"RELEASED"}


def test_two_workers_release_the_same_rows_once_each(stores: Stores, others: Stores) -> None:
    plan_harvest(stores, at(0), at(3))
    first, second, third = begin(stores), begin(stores, "bob"), begin(others, "cid")
    names = [f"id-{number}" for number in range(50)]
    read_page(stores, first, page(rejected=[bad(name) for name in names]))
    usable = page(*(record(name) for name in names))
    together(partial(read_page, stores, second, usable), partial(read_page, others, third, usable))
    assert set(states(stores)) == {"RELEASED"}


def test_a_clean_source_costs_one_look_at_an_index(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    whole = page(*(record(str(number)) for number in range(600)))
    plans = explain(stores.database, partial(read_page, stores, run, whole), "ing_quarantine")
    assert len(plans) == 1
