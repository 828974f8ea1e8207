"""Caps that count the page size too, tokens that die, pages behind the end, and results without one."""

from pathlib import Path

import pytest

from deployments.sandbox.remote import Sandbox
from tests.acceptance.no_silent_loss.conftest import WORKS
from tests.support.patra import Patra, Row
from tests.support.shelf_endings import (
    COUNTED_KINDS,
    LINKED_KINDS,
    ONE_DAY,
    UNCUT,
    harvest_day,
    missing,
    only_task,
    shortfall_rows,
    shrink_budgets,
    work_off,
)
from tests.support.shelf_source import CODE, assert_exact, register, shelf_document
from tests.support.yaml_text import yaml_of

CAP = 66
RESTART: Row = {"path": "$.error.code", "equals": "badResumptionToken", "effect": "RESTART"}


class TestTheLastPageIsShortenedToTheCap:
    """NIH RePORTER: offset 315 + 35 > 330 is a 400."""

    @pytest.mark.parametrize("kind", ["offset", "body", pytest.param("header", marks=pytest.mark.long)])
    def test_exactly_the_cap_is_read_and_the_rest_after_a_cut(
        self, patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str
    ) -> None:
        shelf.configure(shelf={"cap": CAP})
        register(patra, tmp_path, shelf_document(kind, pagination={"max_records": CAP}))
        patra("plan", CODE, *ONE_DAY)
        first = work_off(patra, shelf, cuts=False)
        reached = len(patra.items())
        last = work_off(patra, shelf)

        assert (first.tasks, reached) == (["PARTIAL"], CAP)
        assert {request["status"] for request in shelf.requests(CODE)} == {200}
        assert last.succeeded
        assert_exact(patra, shelf)

    def test_only_the_last_page_asks_for_fewer(self, patra: Patra, shelf: Sandbox, tmp_path: Path) -> None:
        shelf.configure(shelf={"cap": WORKS, "total": "none"})
        pagination = {"max_records": WORKS, "page_size": 35}
        register(patra, tmp_path, shelf_document("offset", pagination=pagination))
        ending = harvest_day(patra, shelf, cuts=False)
        sizes = [request["query"]["size"] for request in shelf.requests(CODE)]

        assert (len(patra.items()), ending.tasks) == (WORKS, ["PARTIAL"])
        assert sizes[:4] == ["35", "35", "35", str(WORKS - 105)]

    def test_pages_must_divide_the_cap(self, patra: Patra, tmp_path: Path) -> None:
        file = tmp_path / "undivided.yaml"
        file.write_text(yaml_of(shelf_document("page", pagination={"max_records": CAP})), encoding="utf-8")
        refused = patra("registry", "validate", str(file), exit_code=2)

        assert "PAGE_SIZE_NOT_DIVIDING" in str(refused)

    def test_pages_that_divide_it_are_read(self, patra: Patra, shelf: Sandbox, tmp_path: Path) -> None:
        shelf.configure(shelf={"cap": CAP})
        register(patra, tmp_path, shelf_document("page", pagination={"max_records": CAP, "page_size": 22}))
        ending = harvest_day(patra, shelf)

        assert {request["status"] for request in shelf.requests(CODE)} == {200}
        assert ending.succeeded
        assert_exact(patra, shelf)


class TestDeadTokens:
    """A provider that forgets its tokens: the slice is read from its start again."""

    @pytest.mark.parametrize("kind", LINKED_KINDS)
    @pytest.mark.parametrize("total", ["none", pytest.param("exact", marks=pytest.mark.long)])
    @pytest.mark.parametrize(
        ("how", "blocks"),
        [
            pytest.param("in_200", {"errors": RESTART}, id="in a 200"),
            pytest.param("unprocessable", {"restart_statuses": [422]}, id="422"),
            pytest.param("unprocessable", {"errors": RESTART}, id="422 and a predicate"),
            pytest.param("refused", {}, id="400"),
            pytest.param("gone", {}, id="410"),
        ],
    )
    def test_the_slice_is_read_again(
        self, patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str, how: str, blocks: Row, total: str
    ) -> None:
        shelf.configure(shelf={"token_answers": 3, "dead_token": how, "total": total})
        register(patra, tmp_path, source(kind, **blocks))
        ending = harvest_day(patra, shelf)

        assert (ending.tasks, missing(patra, shelf)) == (["SUCCEEDED"], set())
        assert {error["code"] for error in ending.errors} == {"TOKEN_REFUSED"}
        assert_exact(patra, shelf)

    @pytest.mark.parametrize("kind", LINKED_KINDS)
    @pytest.mark.parametrize("how", ["in_200", "unprocessable"])
    def test_a_refusal_the_file_does_not_know_fails_and_a_retry_begins_anew(
        self, patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str, how: str
    ) -> None:
        shelf.configure(shelf={"token_answers": 3, "dead_token": how})
        register(patra, tmp_path, shelf_document(kind))
        failed = harvest_day(patra, shelf)
        asked = len(shelf.requests(CODE))
        patra("retry", "--task", only_task(patra))
        ending = work_off(patra, shelf)
        first = shelf.requests(CODE)[asked]

        assert failed.tasks == ["FAILED"]
        assert "token" not in first["query"]
        assert ending.tasks == ["SUCCEEDED"]
        assert_exact(patra, shelf)

    def test_a_provider_that_forgets_every_token_does_not_go_on_for_ever(
        self, patra: Patra, shelf: Sandbox, tmp_path: Path
    ) -> None:
        shelf.configure(shelf={"token_ttl_seconds": -1, "dead_token": "in_200"})
        register(patra, tmp_path, source("token", errors=RESTART))
        ending = harvest_day(patra, shelf)

        assert ending.idle
        assert "SUCCEEDED" not in ending.tasks
        assert ending.requests <= 40


def source(kind: str, errors: Row | None = None, **pagination: object) -> Row:
    """The shelf's file with this predicate for errors."""
    document = shelf_document(kind, window=UNCUT, pagination=pagination)
    if errors:
        (endpoint,) = document["endpoints"]
        endpoint["response"] = {**endpoint["response"], "errors": [errors]}
    return document


class TestPagesBehindTheEnd:
    """A counted page behind the last record is an error: with a total it is not asked for, or not minded."""

    @pytest.mark.parametrize("kind", COUNTED_KINDS)
    @pytest.mark.parametrize("past_end", ["not_found", "refused"])
    def test_with_a_total_everything_is_stored(
        self, patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str, past_end: str
    ) -> None:
        shelf.configure(shelf={"past_end": past_end})
        register(patra, tmp_path, shelf_document(kind))
        ending = harvest_day(patra, shelf)

        assert (ending.succeeded, shortfall_rows(patra)) == (True, [])
        assert_exact(patra, shelf)

    @pytest.mark.parametrize("kind", COUNTED_KINDS)
    @pytest.mark.parametrize("ways", [{"total": "none"}, {"total": "under", "total_off": 60}], ids=["none", "under"])
    def test_without_a_right_total_nothing_is_lost_in_silence(
        self, patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str, ways: Row
    ) -> None:
        shelf.configure(shelf={"past_end": "not_found", **ways})
        register(patra, tmp_path, shelf_document(kind))
        ending = harvest_day(patra, shelf)

        assert missing(patra, shelf) == set()
        assert ending.idle


BUDGET = 10
"""Requests of one attempt."""
MOST_ATTEMPTS = 30


class TestEndlessResults:
    """Pages without end: their number over all attempts is bounded, and the task says so."""

    @pytest.mark.parametrize(
        ("kind", "endless", "total"),
        [
            ("token", "cycle", "none"),
            ("token", "new", "none"),
            pytest.param("url", "cycle", "none", marks=pytest.mark.long),
            pytest.param("url", "new", "exact", marks=pytest.mark.long),
            pytest.param("page", "cycle", "none", marks=pytest.mark.long),
            pytest.param("page", "new", "none", marks=pytest.mark.long),
            pytest.param("offset", "new", "none", marks=pytest.mark.long),
        ],
    )
    def test_the_task_ends_and_says_why(
        self, patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str, endless: str, total: str
    ) -> None:
        shelf.configure(shelf={"endless": endless, "total": total})
        register(patra, tmp_path, shelf_document(kind, window=UNCUT))
        patra("plan", CODE, *ONE_DAY)
        shrink_budgets(patra, BUDGET)
        ending = work_off(patra, shelf, cuts=False, rounds=MOST_ATTEMPTS)

        assert ending.idle
        assert ending.tasks in (["PARTIAL"], ["FAILED"])
        assert ending.requests < BUDGET * MOST_ATTEMPTS
        assert not ending.succeeded
        assert ending.errors[-1]["code"] != "BUDGET_SPENT"

    @pytest.mark.parametrize("kind", LINKED_KINDS)
    def test_a_cycle_with_a_right_total_ends_too(self, patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str) -> None:
        shelf.configure(shelf={"endless": "cycle"})
        register(patra, tmp_path, shelf_document(kind, window=UNCUT))
        patra("plan", CODE, *ONE_DAY)
        shrink_budgets(patra, BUDGET)
        ending = work_off(patra, shelf, cuts=False, rounds=MOST_ATTEMPTS)

        assert (ending.idle, missing(patra, shelf)) == (True, set())
        assert ending.requests < BUDGET * MOST_ATTEMPTS
