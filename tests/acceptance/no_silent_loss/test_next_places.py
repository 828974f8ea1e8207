"""Next places that are not where, or not what, the source's file says: never taken for the end in silence."""

from pathlib import Path
from typing import Any

import pytest

from deployments.sandbox.remote import Sandbox
from tests.acceptance.no_silent_loss.conftest import WORKS
from tests.support.patra import Patra, Row
from tests.support.shelf_endings import (
    DAY,
    LINKED_KINDS,
    UNCUT,
    WATERMARK_AT_END,
    Ending,
    harvest_day,
    missing,
    work_off,
)
from tests.support.shelf_source import CODE, SIZE, assert_exact, register, shelf_document

LINKED = {"token": "next_token", "url": "next_url"}
SHORT = ("--from", DAY, "--to", f"{DAY}T02:00:00Z")
"""A window whose records fill half a page."""


def lost_sight(kind: str, **blocks: Any) -> Row:
    """A source's file that looks for the next place where it is not."""
    return shelf_document(kind, pagination={LINKED[kind]: "$.links.next"}, **blocks)


class TestAWrongPath:
    """The file looks for the next place where the provider does not write it."""

    @pytest.mark.parametrize("kind", LINKED_KINDS)
    def test_a_full_page_without_a_next_place_is_no_end(
        self, patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str
    ) -> None:
        shelf.configure(shelf={"total": "none"})
        register(patra, tmp_path, lost_sight(kind))
        ending = harvest_day(patra, shelf, cuts=False)

        assert (len(patra.items()), ending.tasks) == (SIZE, ["PARTIAL"])
        assert [row["reason_code"] for row in patra.rows("ing_reslice_request")] == ["END_UNCERTAIN"]
        assert ending.watermark != WATERMARK_AT_END

    @pytest.mark.parametrize("kind", LINKED_KINDS)
    @pytest.mark.parametrize("total", ["none", "exact"])
    def test_where_it_cannot_be_cut_the_watermark_waits(
        self, patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str, total: str
    ) -> None:
        shelf.configure(shelf={"total": total})
        register(patra, tmp_path, lost_sight(kind, window=UNCUT))
        ending = harvest_day(patra, shelf)

        assert ending.idle
        assert "SUCCEEDED" not in ending.tasks
        assert ending.watermark != WATERMARK_AT_END

    @pytest.mark.parametrize("kind", LINKED_KINDS)
    def test_an_api_that_renames_it_is_seen(self, patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str) -> None:
        shelf.configure(shelf={"total": "none", "next_shape": "renamed"})
        register(patra, tmp_path, shelf_document(kind))
        ending = harvest_day(patra, shelf, cuts=False)

        assert (len(patra.items()), ending.tasks, ending.succeeded) == (SIZE, ["PARTIAL"], False)

    @pytest.mark.parametrize("kind", LINKED_KINDS)
    def test_cut_small_enough_every_record_is_stored(
        self, patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str
    ) -> None:
        shelf.configure(shelf={"total": "none"})
        register(patra, tmp_path, lost_sight(kind))
        ending = harvest_day(patra, shelf)

        assert missing(patra, shelf) == set()
        assert ending.succeeded


@pytest.mark.parametrize("kind", LINKED_KINDS)
def test_a_full_last_page_costs_a_cut_and_no_record(patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str) -> None:
    shelf.configure(shelf={"total": "none"})
    register(patra, tmp_path, shelf_document(kind, pagination={"page_size": WORKS // 5}))
    ending = harvest_day(patra, shelf)

    assert "PARTIAL" in ending.tasks
    assert ending.succeeded
    assert_exact(patra, shelf)


class TestWeakEnds:
    """The run's stats say by which signal a slice ended, and whether that signal alone is weak."""

    def harvested(self, patra: Patra, shelf: Sandbox, period: tuple[str, ...]) -> Ending:
        """Harvest another window than the whole day."""
        patra("plan", CODE, *period)
        return work_off(patra, shelf)

    def test_a_short_only_page_without_a_next_place_is_weak(self, patra: Patra, shelf: Sandbox, tmp_path: Path) -> None:
        shelf.configure(shelf={"total": "none"})
        register(patra, tmp_path, lost_sight("token"))
        ending = self.harvested(patra, shelf, SHORT)
        (stats,) = ending.stats

        assert (ending.tasks, stats["weakEnd"]) == (["SUCCEEDED"], True)
        assert stats["endSignal"] in ("NO_NEXT_PLACE", "SHORT_PAGE")
        assert 0 < len(patra.items()) < SIZE

    @pytest.mark.parametrize(
        ("kind", "ways", "pagination", "weak"),
        [
            pytest.param("token", {}, {}, False, id="token and total"),
            pytest.param("url", {}, {}, False, id="link and total", marks=pytest.mark.long),
            pytest.param("offset", {}, {}, False, id="offset and total"),
            pytest.param("page", {}, {}, False, id="page and total", marks=pytest.mark.long),
            pytest.param("token", {"total": "none"}, {}, True, id="token"),
            pytest.param("url", {"total": "none"}, {}, True, id="link", marks=pytest.mark.long),
            pytest.param(
                *("token", {"total": "none", "more": "right"}, {"has_more": "$.more"}, True), id="token and more"
            ),
            pytest.param("token", {"total": "rounded"}, {"total_kind": "ESTIMATE"}, True, id="token and an estimate"),
        ],
    )
    def test_an_end_by_one_weak_signal_is_marked(
        self, patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str, ways: Row, pagination: Row, weak: bool
    ) -> None:
        shelf.configure(shelf=ways)
        register(patra, tmp_path, shelf_document(kind, pagination=pagination))
        ending = harvest_day(patra, shelf)

        assert ending.succeeded
        assert ending.stats[-1]["weakEnd"] is weak
        assert ending.stats[-1]["endSignal"]
        assert_exact(patra, shelf)


class TestANextPlaceOfTheWrongType:
    """A next place is a plain value, null or absent; anything else fails the task and names the path."""

    @pytest.mark.parametrize("kind", LINKED_KINDS)
    @pytest.mark.parametrize("shape", ["href", "flag", "list"])
    @pytest.mark.parametrize("total", ["none", pytest.param("exact", marks=pytest.mark.long)])
    def test_it_fails_the_task(
        self, patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str, shape: str, total: str
    ) -> None:
        shelf.configure(shelf={"next_shape": shape, "total": total})
        register(patra, tmp_path, shelf_document(kind))
        ending = harvest_day(patra, shelf)

        assert ending.tasks == ["FAILED"]
        assert "$.next" in ending.messages
        assert ending.watermark != WATERMARK_AT_END

    @pytest.mark.parametrize("kind", LINKED_KINDS)
    def test_an_object_is_read_where_the_file_says_so(
        self, patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str
    ) -> None:
        shelf.configure(shelf={"next_shape": "href"})
        register(patra, tmp_path, shelf_document(kind, pagination={LINKED[kind]: "$.next.href"}))
        harvest_day(patra, shelf)

        assert_exact(patra, shelf)

    @pytest.mark.parametrize("kind", LINKED_KINDS)
    @pytest.mark.parametrize("end", ["null", "blank"])
    @pytest.mark.parametrize("total", ["none", pytest.param("exact", marks=pytest.mark.long)])
    def test_null_and_an_empty_text_end_the_result(
        self, patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str, end: str, total: str
    ) -> None:
        shelf.configure(shelf={"next_end": end, "total": total})
        register(patra, tmp_path, shelf_document(kind))
        ending = harvest_day(patra, shelf)

        assert ending.tasks == ["SUCCEEDED"]
        assert_exact(patra, shelf)
