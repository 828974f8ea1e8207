"""Empty pages in the middle of a result: followed where the provider names a next place."""

import json
from pathlib import Path

import pytest

from deployments.sandbox.remote import Sandbox
from tests.support.patra import Patra, Row
from tests.support.shelf_endings import COUNTED_KINDS, LINKED_KINDS, harvest_day, missing, shortfall_rows
from tests.support.shelf_source import SIZE, assert_exact, register, shelf_document

EVERY = 2 * SIZE
SAID: Row = {"more": "right", "total": "none"}


def empty_pages(in_a_row: int = 1, **ways: object) -> Row:
    """Behind every second full page, so many empty ones."""
    return {"withdrawn_every": EVERY, "withdrawn": in_a_row * SIZE, **ways}


@pytest.mark.parametrize(
    ("kind", "ways", "pagination"),
    [
        pytest.param("token", {"total": "none"}, {}, id="token"),
        pytest.param("token", {}, {}, id="token and total"),
        pytest.param("url", {"total": "none"}, {}, id="link"),
        pytest.param("url", {}, {}, id="link and total", marks=pytest.mark.long),
        pytest.param("offset", {}, {}, id="offset and total"),
        pytest.param("offset", SAID, {"has_more": "$.more"}, id="offset and more"),
        pytest.param("page", {}, {}, id="page and total"),
        pytest.param("page", SAID, {"has_more": "$.more"}, id="page and more", marks=pytest.mark.long),
    ],
)
def test_an_empty_page_that_is_not_the_last_is_followed(
    patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str, ways: Row, pagination: Row
) -> None:
    shelf.configure(shelf=empty_pages(**ways))
    register(patra, tmp_path, shelf_document(kind, pagination=pagination))
    ending = harvest_day(patra, shelf)

    assert missing(patra, shelf) == set()
    assert (ending.succeeded, shortfall_rows(patra)) == (True, [])
    assert_exact(patra, shelf)


@pytest.mark.parametrize("kind", COUNTED_KINDS)
def test_without_a_total_a_counted_empty_page_is_a_weak_end(
    patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str
) -> None:
    shelf.configure(shelf=empty_pages(total="none"))
    register(patra, tmp_path, shelf_document(kind))
    ending = harvest_day(patra, shelf)

    # Nothing in the answer tells this empty page from the one behind the last record.
    assert not missing(patra, shelf) or (ending.stats[-1]["endSignal"], ending.stats[-1]["weakEnd"]) == (
        "EMPTY_PAGE",
        True,
    )


def test_nine_empty_pages_in_a_row_are_followed(patra: Patra, shelf: Sandbox, tmp_path: Path) -> None:
    shelf.configure(shelf=empty_pages(9, total="none"))
    register(patra, tmp_path, shelf_document("token"))
    harvest_day(patra, shelf)

    assert missing(patra, shelf) == set()
    assert_exact(patra, shelf)


@pytest.mark.parametrize(
    ("kind", "total"),
    [
        ("token", "none"),
        pytest.param("url", "exact", marks=pytest.mark.long),
    ],
)
def test_ten_empty_pages_in_a_row_fail_the_task_and_name_the_key(
    patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str, total: str
) -> None:
    shelf.configure(shelf=empty_pages(10, total=total))
    register(patra, tmp_path, shelf_document(kind))
    ending = harvest_day(patra, shelf)

    assert set(ending.tasks) == {"FAILED"}
    assert "empty_page" in ending.messages
    assert not ending.succeeded


@pytest.mark.long
@pytest.mark.parametrize("kind", COUNTED_KINDS)
def test_counted_empty_pages_up_to_the_total_cut_the_slice(
    patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str
) -> None:
    """Positions beyond the total are the end of the result: what is missing then is found in smaller slices."""
    shelf.configure(shelf=empty_pages(10))
    register(patra, tmp_path, shelf_document(kind, pagination={"max_shortfall": 0}))
    ending = harvest_day(patra, shelf)

    assert set(ending.tasks) == {"PARTIAL", "SUCCEEDED"}
    assert (missing(patra, shelf), shortfall_rows(patra)) == (set(), [])
    assert_exact(patra, shelf)


@pytest.mark.long
@pytest.mark.parametrize("kind", COUNTED_KINDS)
def test_a_record_left_out_within_the_shortfall_is_recorded(
    patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str
) -> None:
    shelf.configure(shelf=empty_pages(10))
    register(patra, tmp_path, shelf_document(kind))
    harvest_day(patra, shelf)

    notes = [json.loads(row["fragment"]) for row in shortfall_rows(patra)]
    assert len(missing(patra, shelf)) == sum(note["total"] - note["received"] for note in notes)


class TestASourceThatSaysEnd:
    """`empty_page: END`: an empty page ends the result, whatever else the answer says."""

    @pytest.mark.parametrize("kind", LINKED_KINDS)
    def test_the_result_ends_there(self, patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str) -> None:
        shelf.configure(shelf=empty_pages(total="none", more="always"))
        pagination = {"empty_page": "END", "has_more": "$.more"}
        register(patra, tmp_path, shelf_document(kind, pagination=pagination))
        ending = harvest_day(patra, shelf)

        assert ending.tasks == ["SUCCEEDED"]
        assert (len(patra.items()), ending.requests) == (EVERY, EVERY // SIZE + 1)

    @pytest.mark.parametrize("kind", ["token", "offset"])
    def test_with_a_total_what_is_missing_is_seen(
        self, patra: Patra, shelf: Sandbox, tmp_path: Path, kind: str
    ) -> None:
        shelf.configure(shelf=empty_pages())
        register(patra, tmp_path, shelf_document(kind, pagination={"empty_page": "END"}))
        ending = harvest_day(patra, shelf, cuts=False)

        assert len(patra.items()) == EVERY
        assert ending.tasks in (["PARTIAL"], ["FAILED"])
        assert not ending.succeeded

    def test_slices_that_are_cut_smaller_get_it_all(self, patra: Patra, shelf: Sandbox, tmp_path: Path) -> None:
        shelf.configure(shelf=empty_pages())
        register(patra, tmp_path, shelf_document("token", pagination={"empty_page": "END", "max_shortfall": 0}))
        harvest_day(patra, shelf)

        assert missing(patra, shelf) == set()
        assert_exact(patra, shelf)
