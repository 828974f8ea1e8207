"""Every way of paging against a provider with every bad habit: exactly the truth, or a word on what is missing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deployments.sandbox.remote import Sandbox
from deployments.sandbox.server import running
from deployments.sandbox.settings import Settings
from tests.conftest import DatabaseFactory
from tests.support.patra import Patra, Row
from tests.support.shelf_source import (
    CODE,
    KINDS,
    PERIOD,
    RESPONSE,
    SIZE,
    assert_exact,
    harvest,
    register,
    shelf_document,
    shortfalls,
)

WORKS = 150


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """A shelf of one's own: its records may be changed."""
    with running(Settings(works=WORKS, days=2)) as sandbox:
        yield sandbox


@pytest.fixture
def patra(
    database_factory: DatabaseFactory, sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Patra]:
    """`patra` on a new database that asks the shelf."""
    patra = Patra(database_factory.upgraded("sqlite"), sandbox.url("crossref"), tmp_path, monkeypatch)
    patra.reach(sandbox, CODE, monkeypatch)
    yield patra
    patra.stop_all()


def offsets(sandbox: Sandbox) -> list[str]:
    """The places that were asked for, in order."""
    return [request["query"].get("offset") or request["query"].get("page", "") for request in sandbox.requests(CODE)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_way_of_paging_arrives_at_the_truth(patra: Patra, sandbox: Sandbox, tmp_path: Path, kind: str) -> None:
    base = KINDS[kind]["pagination"].get("page_base", 1)
    sandbox.configure(shelf={"page_base": base})
    register(patra, tmp_path, shelf_document(kind))
    done = harvest(patra)

    assert (done["tasks"]["failed"], shortfalls(patra)) == (0, 0)
    assert_exact(patra, sandbox)


HABITS: dict[str, tuple[str, Row, Row]] = {
    "a total on the first page only": ("offset", {"total": "first"}, {}),
    "a total on the first page only, by token": ("token", {"total": "first"}, {}),
    "no total": ("offset", {"total": "none"}, {}),
    "no total, by page": ("page", {"total": "none"}, {}),
    "no total, by link": ("url", {"total": "none"}, {}),
    "a total that goes up and down": ("offset", {"total": "wobbles"}, {}),
    "a total that goes up and down, by page": ("page", {"total": "wobbles"}, {}),
    "a total that goes up and down, by token": ("token", {"total": "wobbles"}, {}),
    "short pages in the middle": ("offset", {"short_every": 2}, {}),
    "short pages in the middle, no total": ("offset", {"short_every": 2, "total": "none"}, {}),
    "short pages in the middle, by token": ("token", {"short_every": 2, "total": "none"}, {}),
    "records that are passed over": ("offset", {"hidden_every": 5}, {"step": "$.moved"}),
    "more is said rightly": ("offset", {"more": "right", "total": "none"}, {"has_more": "$.more"}),
    "more is said rightly, by token": ("token", {"more": "right", "total": "none"}, {"has_more": "$.more"}),
    "more is said at the end too": ("offset", {"more": "always"}, {"has_more": "$.more", "empty_page": "END"}),
    "more is said at the end too, by page": (
        "page",
        {"more": "always", "total": "none"},
        {"has_more": "$.more", "empty_page": "END"},
    ),
    "pages that repeat records": ("token", {"overlap": 3}, {}),
    "pages that repeat records, by link": ("url", {"overlap": 3, "total": "none"}, {}),
    "a page that comes twice": ("token", {"stutters": True}, {}),
    "a page that comes twice, no total": ("url", {"stutters": True, "total": "none"}, {}),
    "an empty page with a token": ("token", {"empty_end": True, "total": "none"}, {"empty_page": "END"}),
    "an empty page with a link": ("url", {"empty_end": True}, {"empty_page": "END"}),
    "a lost token": ("token", {"lose_next": 1, "total": "none"}, {"tail_probe": True}),
    "a lost link": ("url", {"lose_next": 1, "total": "none"}, {"tail_probe": True}),
    "a lost token, but the total tells": ("token", {"lose_next": 1}, {}),
    "a reach, refused beyond": ("offset", {"reach": 60}, {"max_records": 60}),
    "a reach, by page, the last page repeated beyond": ("page", {"reach": 60, "beyond": "repeated"}, {}),
    "a reach, a total cut off there": ("offset", {"reach": 60, "total_cap": 60}, {"max_records": 60}),
    "a reach, by token, that looks like the end": (
        "token",
        {"reach": 60, "total_cap": 60, "beyond": "empty"},
        {"max_records": 60},
    ),
    "a reach, by link, no total": ("url", {"reach": 60, "total": "none", "beyond": "empty"}, {"max_records": 60}),
}
"""What the provider does, and what the source's file says of it."""


def habits() -> list[Any]:
    """Each habit; one that another kind of paging was shown with already is left to the long tests."""
    again = (", by page", ", by link", ", by token", ", no total")
    return [
        pytest.param(*habit, id=name, marks=[pytest.mark.long] if name.endswith(again) else [])
        for name, habit in HABITS.items()
    ]


@pytest.mark.parametrize(("kind", "ways", "pagination"), habits())
def test_no_habit_of_a_provider_costs_a_record(
    patra: Patra, sandbox: Sandbox, tmp_path: Path, kind: str, ways: Row, pagination: Row
) -> None:
    sandbox.configure(shelf=ways)
    register(patra, tmp_path, shelf_document(kind, pagination=pagination))
    done = harvest(patra)

    assert done["tasks"]["failed"] == 0, done["errors"]
    assert_exact(patra, sandbox)


@pytest.mark.parametrize("kind", ["offset", "page"])
@pytest.mark.parametrize("after", [0, 2], ids=["on the second page", "later"])
def test_records_that_leave_while_we_page_cost_none_of_those_that_stay(
    patra: Patra, sandbox: Sandbox, tmp_path: Path, kind: str, after: int
) -> None:
    register(patra, tmp_path, shelf_document(kind))
    patra("plan", CODE, *PERIOD)
    sandbox.script({"kind": "touch", "works": 7, "after": after, "match": {"path": "/shelf/*", "cursor": "later"}})
    done = patra("execute", "--until-idle")
    asked = [int(place) for place in offsets(sandbox)]

    assert done["tasks"]["failed"] == 0
    assert sandbox.faults()[0]["hits"] == 1
    assert asked != sorted(asked)
    patra.assert_truth(sandbox.truth(CODE, from_=PERIOD[1], to=PERIOD[3]))
    assert shortfalls(patra) == 0


@pytest.mark.parametrize(
    ("kind", "fault"), [("offset", "cut"), ("page", "drop"), ("token", "drop"), ("token", "html"), ("url", "cut")]
)
def test_a_lost_answer_is_asked_for_again_where_the_place_is_ours(
    patra: Patra, sandbox: Sandbox, tmp_path: Path, kind: str, fault: str
) -> None:
    register(patra, tmp_path, shelf_document(kind))
    sandbox.script({"kind": fault, "times": 2, "match": {"path": "/shelf/*", "cursor": "later"}})
    harvest(patra)

    assert_exact(patra, sandbox)
    assert {row["error"] and row["error"]["code"] for row in patra.rows("ing_task_run")} == {None}


def test_a_token_that_expires_makes_the_slice_begin_again(patra: Patra, sandbox: Sandbox, tmp_path: Path) -> None:
    sandbox.configure(shelf={"token_ttl_seconds": 0.4})
    register(patra, tmp_path, shelf_document("token"))
    sandbox.script({"kind": "latency", "seconds": 0.7, "match": {"path": "/shelf/*", "cursor": "later"}})
    harvest(patra)
    errors = [row["error"]["code"] for row in patra.rows("ing_task_run") if row["error"]]

    assert errors == ["TOKEN_REFUSED"]
    assert_exact(patra, sandbox)


def test_a_token_that_is_lost_is_looked_for_once_and_the_ledger_says_so(
    patra: Patra, sandbox: Sandbox, tmp_path: Path
) -> None:
    sandbox.configure(shelf={"lose_next": 1, "total": "none"})
    register(patra, tmp_path, shelf_document("token", pagination={"tail_probe": True}))
    harvest(patra)
    probes = [row["stats"].get("tailProbed", False) for row in patra.rows("ing_task_run_batch")]
    stats = [row["stats"] for row in patra.rows("ing_task_run")]

    assert sum(probes) == sum(run["tailProbeCount"] for run in stats) == 1
    assert len(sandbox.requests(CODE)) == len(probes) + 1
    assert sum(run["retCount"] for run in stats) == len(sandbox.truth(CODE))
    assert_exact(patra, sandbox)


def test_more_without_a_place_is_never_taken_for_the_end(patra: Patra, sandbox: Sandbox, tmp_path: Path) -> None:
    sandbox.configure(shelf={"more": "always"})
    register(patra, tmp_path, shelf_document("token", pagination={"has_more": "$.more"}))
    patra("plan", CODE, *PERIOD)
    patra("execute")
    errors = {row["error"]["code"] for row in patra.rows("ing_task_run")}

    assert errors == {"NEXT_PAGE_MISSING"}
    assert {row["status_code"] for row in patra.rows("ing_task")} == {"QUEUED"}


def test_what_never_comes_is_noted_and_not_waited_for(patra: Patra, sandbox: Sandbox, tmp_path: Path) -> None:
    sandbox.configure(shelf={"total": "over"})
    register(patra, tmp_path, shelf_document("offset"))
    done = harvest(patra)
    slices = len(patra.rows("ing_plan_slice"))

    assert (done["tasks"]["failed"], shortfalls(patra)) == (0, slices)
    assert [row["stats"]["passes"] for row in patra.rows("ing_task_run")] == [2] * slices


class TestLinksElsewhere:
    """A link to another host is followed only where the operator named it."""

    @pytest.fixture
    def elsewhere(self, sandbox: Sandbox) -> str:
        """The same server by another name, which the links lead to."""
        base = sandbox.url("").rstrip("/").replace("127.0.0.1", "localhost")
        sandbox.configure(shelf={"next_base": base})
        return base.removeprefix("http://")

    def test_it_is_refused(self, patra: Patra, sandbox: Sandbox, tmp_path: Path, elsewhere: str) -> None:
        register(patra, tmp_path, shelf_document("url"))
        patra("plan", CODE, *PERIOD)
        done = patra("execute", exit_code=1)

        assert elsewhere in done["errors"][0]
        assert {row["error"]["code"] for row in patra.rows("ing_task_run")} == {"NEXT_URL_ELSEWHERE"}
        assert {request["headers"]["host"] for request in sandbox.requests(CODE)} != {elsewhere}

    def test_it_is_followed_where_it_is_allowed(
        self, patra: Patra, sandbox: Sandbox, tmp_path: Path, elsewhere: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATRA_ALLOW_PRIVATE_ADDRESSES", "1")  # only the mirror itself is named by the operator
        register(patra, tmp_path, shelf_document("url", pagination={"next_hosts": [elsewhere]}))
        harvest(patra)

        assert elsewhere in {request["headers"]["host"] for request in sandbox.requests(CODE)}
        assert_exact(patra, sandbox)


@pytest.mark.parametrize("size", [SIZE, 13])
def test_of_several_versions_of_one_time_the_latest_is_kept(
    patra: Patra, sandbox: Sandbox, tmp_path: Path, size: int
) -> None:
    sandbox.configure(shelf={"versions": "all", "day_stamps": True})
    window = {"unit": "DAY", "format": "%Y-%m-%d"}
    # The total counts versions, the store records.
    pagination = {"page_size": size, "total_kind": "ESTIMATE"}
    register(patra, tmp_path, shelf_document("offset", window=window, pagination=pagination))
    harvest(patra)
    received = sum(row["stats"]["retCount"] for row in patra.rows("ing_task_run"))

    assert received > len(patra.rows("ing_item"))
    assert_exact(patra, sandbox)


SCAN = {"supports_updated_since": False, "stable_order": True}


def test_a_source_without_a_time_filter_is_scanned_and_filtered_here(
    patra: Patra, sandbox: Sandbox, tmp_path: Path
) -> None:
    endpoint = {"name": "list", "path": "/all", "operations": ["HARVEST"], "response": RESPONSE}
    register(patra, tmp_path, shelf_document("offset", endpoints=[endpoint], window=SCAN))
    first, last = "2026-01-09T12:00:00Z", "2026-01-10T12:00:00Z"
    plan = patra("plan", CODE, "--from", first, "--to", last)
    done = patra("execute", "--until-idle")
    everything, due = sandbox.truth(CODE), sandbox.truth(CODE, from_=first, to=last)

    assert plan["slices"] == 1
    assert "reads everything in order and filters here, one slice per plan" in str(plan)
    assert set(patra.items()) == {row["id"] for row in due}
    assert 0 < len(due) < len(everything)
    assert done["records"]["received"] == 2 * len(everything)  # positions are read in two passes
    assert done["records"]["skipped"] == 2 * len(everything) - len(due)
    assert patra("cursor", "list")[0]["value"] == "2026-01-10T12:00:00.000000Z"


TWO_PHASES: Row = {
    "endpoints": [
        {
            "name": "list",
            "path": "/ids",
            "operations": ["HARVEST"],
            "detail": "whole",
            "response": {"items": "$.items", "id": "$", "total": "$.total"},
        },
        {
            "name": "whole",
            "role": "DETAIL",
            "method": "POST",
            "path": "/details",
            "body": {"format": "JSON", "template": {"ids": "{ids}"}},
            "response": {**RESPONSE, "total": None},
        },
    ],
    "params": [
        {"name": "size", "value": "page_size", "for": {"endpoint": "list"}},
        {"name": "offset", "value": "page_offset", "for": {"endpoint": "list"}},
    ],
    "batching": {"id_batch_size": 8},
}


@pytest.mark.parametrize(
    "ways",
    [
        {"lost_every": 11},
        {"bad_every": 31},
        {"lost_every": 11, "bad_every": 31, "listed_twice": True, "total": "none"},
        {"uninvited": True},
    ],
    ids=["gone", "refused", "both, and listed twice", "uninvited"],
)
def test_in_two_phases_each_id_is_a_record_or_in_quarantine(
    patra: Patra, sandbox: Sandbox, tmp_path: Path, ways: Row
) -> None:
    sandbox.configure(shelf=ways)
    step: Row = {"pagination": {"step": "$.moved"}} if "listed_twice" in ways else {}
    register(patra, tmp_path, shelf_document("offset", **TWO_PHASES, **step))
    done = harvest(patra)
    set_aside = {(row["provider_id"], row["reason_code"]) for row in patra.rows("ing_quarantine")}
    truth = sandbox.truth(CODE, record=True)

    assert done["tasks"]["failed"] == 0
    assert set_aside == {(row["id"], row["reason"]) for row in truth if not row["usable"]}
    assert_exact(patra, sandbox)


def test_a_detail_batch_that_fails_for_a_while_is_asked_for_again(
    patra: Patra, sandbox: Sandbox, tmp_path: Path
) -> None:
    register(patra, tmp_path, shelf_document("offset", **TWO_PHASES))
    sandbox.script({"kind": "status", "status": 503, "times": 3, "after": 1, "match": {"path": "/shelf/details"}})
    harvest(patra)

    assert sandbox.faults()[0]["hits"] == 3
    assert patra.rows("ing_quarantine") == []
    assert_exact(patra, sandbox)
