"""A database of schema level 4 with work in flight is brought up and worked to the end: nothing is lost or changed."""

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from ingest_core.model.codes import EmptyPage, TotalKind
from ingest_core.model.scope import ScopeKind, WorkScope
from ingest_core.planning.request import PlanRequest
from ingest_core.planning.reslice import Reslicer
from ingest_core.planning.strategies.id_slices import IdStrategy
from ingest_core.planning.strategies.strategy import StrategyRegistry
from ingest_core.planning.strategies.time_slices import TimeStrategy
from ingest_core.store.engine.database import Database
from ingest_core.store.queue.work_control import SqlWorkControl
from ingest_core.store.schema.dictionary import seed_dictionary
from ingest_core.store.schema.tables import (
    ing_cursor,
    ing_item,
    ing_outbox_message,
    ing_plan,
    ing_quarantine,
    ing_reslice_request,
    ing_task,
)
from ingest_core.store.schema.versions import head_revision, upgrade_schema
from tests.conftest import DatabaseFactory
from tests.contract.test_schema import catalogue
from tests.support.level_four import (
    HOURS,
    PAGE,
    REVISION,
    START,
    Bookshop,
    as_golden,
    create_level_four,
    golden,
    truth,
)
from tests.support.planning_store import HOUR
from tests.support.tables import column, rows
from tests.support.wiring import Stores, runner_of, wire
from tests.support.working import TTL_SECONDS, trigger

ENDED = {"ing_item", "ing_quarantine", "ing_outbox_message", "ing_task_run_batch", "ing_cursor_event", "ing_estimate"}
"""What later work adds to and, in this scene, changes nothing of."""


@pytest.fixture
def old(dialect: str, database_factory: DatabaseFactory) -> Iterator[Database]:
    """A database as the code of level 4 left it."""
    database = Database(database_factory.fresh(dialect))
    create_level_four(database)
    yield database
    database.close()


@pytest.fixture
def upgraded(old: Database) -> Stores:
    """The same, brought up."""
    assert upgrade_schema(old) == (REVISION, head_revision())
    seed_dictionary(old)
    return wire(old)


def work(stores: Stores, shop: Bookshop) -> None:
    """Work whatever waits, to the end."""
    while task := stores.queue.claim("bob", TTL_SECONDS):
        runner_of(stores, shop).run(task)


def finish_all(stores: Stores, shop: Bookshop) -> None:
    """What housekeeping, an operator and executors do: cut again, retry, work."""
    report = Reslicer(stores.plans, StrategyRegistry([TimeStrategy(), IdStrategy()])).serve()
    assert (report.served, report.refused) == (1, [])
    assert SqlWorkControl(stores.database).retry(WorkScope(ScopeKind.PLAN, "1")) == 1
    work(stores, shop)


def test_the_scene_is_in_flight() -> None:
    """Guards the golden file: each state that an upgrade may meet is in it."""
    old = golden()
    assert [row["status_code"] for row in old["ing_task"]] == ["SUCCEEDED", "QUEUED", "FAILED", "QUEUED", "PARTIAL"]
    assert old["ing_task"][1]["checkpoint"]["resumeToken"] == str(PAGE)
    assert [row["event_type"] for row in old["ing_cursor_event"]] == ["ANCHOR", "COVERAGE"]
    assert [row["status_code"] for row in old["ing_reslice_request"]] == ["OPEN"]
    assert {row["status_code"] for row in old["ing_outbox_message"]} == {"PENDING"}
    assert len(old["ing_quarantine"]) == 1
    assert "empty_page_code" not in old["reg_prov_pagination_cfg"][0]


def test_every_row_comes_along_unchanged(upgraded: Stores) -> None:
    old = golden()
    assert as_golden(upgraded.database, old) == old


def test_an_upgraded_database_is_a_new_one_but_for_its_rows(upgraded: Stores, database: Database) -> None:
    assert catalogue(upgraded.database) == catalogue(database)


def test_new_columns_say_nothing_in_old_rows(upgraded: Stores) -> None:
    old = golden()
    with upgraded.database.read() as connection:
        for name in ("reg_prov_pagination_cfg", "reg_prov_endpoint_def", "ing_item"):
            for before, row in zip(old[name], connection.execute(sa.text(f"SELECT * FROM {name}")), strict=True):
                said = {column for column, value in row._mapping.items() if value is not None}
                assert said == before.keys()


def test_what_was_planned_means_what_it_meant(upgraded: Stores) -> None:
    """A plan runs on its snapshot: what it does not say is as it was when it was made."""
    task = upgraded.queue.claim("bob", TTL_SECONDS)
    assert task is not None
    assert (task.spec.paging.empty_page, task.spec.paging.total_kind) == (EmptyPage.END, TotalKind.CHECKED)
    compiled = upgraded.planner.compile(PlanRequest("books"))
    assert compiled.spec.paging == task.spec.paging


def test_work_in_flight_is_finished_and_nothing_is_lost(upgraded: Stores) -> None:
    shop, database = Bookshop(), upgraded.database
    finish_all(upgraded, shop)
    assert set(column(database, ing_task, "status_code")) == {"SUCCEEDED", "PARTIAL"}
    assert column(database, ing_reslice_request, "status_code") == ["SERVED"]
    assert column(database, ing_plan, "status_code") == ["SUCCEEDED"]
    assert {row["provider_id"]: row["record"]["title"] for row in rows(database, ing_item)} == truth()
    assert len(rows(database, ing_quarantine)) == 1
    assert column(database, ing_cursor, "normalized_instant") == [START + HOURS * HOUR]
    (namespace,) = upgraded.cursor_reports.find()
    assert upgraded.cursor_reports.rebuild(namespace).agrees


def test_what_was_done_before_is_neither_changed_nor_asked_for_again(upgraded: Stores) -> None:
    shop, before = Bookshop(), {name: table for name, table in golden().items() if name in ENDED}
    finish_all(upgraded, shop)
    after = as_golden(upgraded.database, before)
    for seen in (before, after):
        seen["ing_item"] = [_without_looks(item) for item in seen["ing_item"]]
    assert after == before
    first, second = (f"2020-01-01T0{hour}:00:00..2020-01-01T0{hour + 1}:00:00" for hour in (0, 1))
    assert [token for asked, token in shop.asked if asked == first] == []
    assert [token for asked, token in shop.asked if asked == second] == ["2", "4", "0", "2", "4"], (
        "it goes on after the first page, and a second pass confirms the positions"
    )
    messages = rows(upgraded.database, ing_outbox_message)
    assert [row["status_code"] for row in messages] == ["PENDING"] * len(before["ing_outbox_message"])


def _without_looks(item: dict[str, Any]) -> dict[str, Any]:
    """A book of the hour that was too big is seen again in the halves, one of the hour in flight in its second pass."""
    looks = {"refresh_checked_at", "expr_hash"} if item["provider_id"][:2] in ("b1", "b4") else set()
    return {name: value for name, value in item.items() if name not in looks}


def test_a_harvest_goes_on_where_it_stood(upgraded: Stores) -> None:
    finish_all(upgraded, Bookshop())
    report = upgraded.planner.plan(PlanRequest("books", user_from=START, user_to=START + (HOURS + 1) * HOUR), trigger())
    assert report.plan.slices == 1, "what was read before the upgrade is settled"
    work(upgraded, Bookshop())
    assert column(upgraded.database, ing_cursor, "normalized_instant") == [START + (HOURS + 1) * HOUR]
