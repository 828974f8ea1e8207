"""Which signal ends a result (D14): has_more outranks a next place, and that an empty page and any total."""

from typing import Any

import pytest

from ingest_core.execution.paging import MAX_EMPTY_PAGES, Edge, Place, Step, paginator_of
from ingest_core.execution.paging.positions import counts_positions
from ingest_core.model.codes import EndSignal
from ingest_core.model.errors import EmptyPages
from ingest_core.model.slice_codes import ResliceReason
from ingest_core.model.spec import PaginationSpec
from tests.support.counted_pages import FULL, page, paging
from tests.support.specs import at

NEW_RULES = {"empty_page": "CONTINUE", "total_kind": "CHECKED"}


def config(kind: str, **changes: Any) -> PaginationSpec:
    """Paging of that kind as a new source file has it, three records a page."""
    base = {"page_base": 1} if kind == "PAGE" else {}
    return paging(kind, **{**NEW_RULES, **base, **changes})


def after(kind: str, token: str, distinct: int, *, empties: int = 0, before: int | None = None, **given: Any) -> Step:
    """What comes after a page at a token; `changes` are the source's, the rest is what the page says."""
    changes = given.pop("changes", {})
    return paginator_of(config(kind, **changes)).step(page(**given), Place(token, 2, distinct, before, empties=empties))


class TestEmptyPages:
    """Real providers send empty pages in the middle: withdrawn records leave their place."""

    @pytest.mark.parametrize("kind", ["TOKEN", "URL"])
    def test_a_new_token_outranks_an_empty_page(self, kind: str) -> None:
        assert after(kind, "t1", 6, records=0, next_token="t2") == Step("t2")

    @pytest.mark.parametrize("kind", ["TOKEN", "URL"])
    def test_the_token_it_was_asked_with_ends(self, kind: str) -> None:
        ended = after(kind, "t1", 6, records=0, next_token="t1")
        assert (ended.completes, ended.signal) == (True, EndSignal.EMPTY_PAGE)

    def test_no_token_ends(self) -> None:
        assert after("TOKEN", "t1", 6, records=0).signal == EndSignal.EMPTY_PAGE

    @pytest.mark.parametrize("has_more", [None, True])
    def test_a_source_may_say_that_they_end_whatever_has_more_says(self, has_more: bool | None) -> None:
        ends = {"empty_page": "END"}
        assert after("TOKEN", "t1", 6, records=0, next_token="t2", has_more=has_more, changes=ends).completes
        assert after("OFFSET", "6", 6, records=0, total=90, has_more=has_more, changes=ends).completes

    @pytest.mark.parametrize(("kind", "token", "onward"), [("OFFSET", "6", "9"), ("PAGE", "3", "4")])
    def test_a_counted_place_passes_over_them_while_the_total_says_more(
        self, kind: str, token: str, onward: str
    ) -> None:
        assert after(kind, token, 6, records=0, total=90) == Step(onward)
        assert after(kind, token, 6, records=0, before=90) == Step(onward)
        assert after(kind, token, 6, records=0, has_more=True) == Step(onward)
        assert after(kind, token, 6, records=0, total=6).completes
        assert after(kind, token, 6, records=0).completes

    @pytest.mark.parametrize(("kind", "token"), [("TOKEN", "t1"), ("OFFSET", "6")])
    def test_ten_in_a_row_are_an_error_that_names_the_setting(self, kind: str, token: str) -> None:
        given: dict[str, Any] = {"records": 0, "total": 900, "next_token": "t2" if kind == "TOKEN" else None}
        assert not after(kind, token, 6, empties=MAX_EMPTY_PAGES - 2, **given).ends
        with pytest.raises(EmptyPages, match="empty_page: END"):
            after(kind, token, 6, empties=MAX_EMPTY_PAGES - 1, **given)


class TestTotals:
    """A total checks a result; it ends one only where the source says that it is exact."""

    @pytest.mark.parametrize("records", [FULL, FULL - 1])
    def test_a_token_outranks_a_total_that_was_reached(self, records: int) -> None:
        assert after("TOKEN", "t1", 9, records=records, total=9, next_token="t2") == Step("t2")

    @pytest.mark.parametrize("records", [FULL, FULL - 1])
    def test_a_counted_place_looks_behind_the_total(self, records: int) -> None:
        onward = after("OFFSET", "6", 6 + records, records=records, total=6 + records)
        assert (onward, onward.beyond) == (Step(str(6 + records)), True)

    def test_only_behind_the_total_a_refusal_is_an_end(self) -> None:
        assert not after("OFFSET", "3", 6, total=9).beyond
        assert not after("OFFSET", "6", 8, total=9).beyond  # one of them has not come yet
        assert not after("OFFSET", "6", 9).beyond

    def test_an_exact_total_ends_a_short_page_though_there_is_a_token(self) -> None:
        exact = {"total_kind": "EXACT"}
        ended = after("TOKEN", "t1", 8, records=2, total=8, next_token="t2", changes=exact)
        assert (ended.completes, ended.signal) == (True, EndSignal.TOTAL_REACHED)
        assert after("OFFSET", "6", 9, total=9, changes=exact).completes
        assert not after("TOKEN", "t1", 8, records=2, total=9, next_token="t2", changes=exact).ends
        assert not after("TOKEN", "t1", 8, records=2, total=8, next_token="t2", has_more=True, changes=exact).ends


class TestAFullPageWithoutANextPlace:
    """A wrong path to the next place looks just like the end of the result."""

    @pytest.mark.parametrize("kind", ["TOKEN", "URL"])
    def test_it_is_no_end_without_a_total(self, kind: str) -> None:
        limited = after(kind, "t1", 6)
        assert (limited.completes, limited.reslice) == (False, ResliceReason.END_UNCERTAIN)
        assert "next_token or next_url" in str(limited.limit)

    def test_a_total_now_or_before_can_be_checked(self) -> None:
        assert after("TOKEN", "t1", 6, total=6).completes
        assert after("TOKEN", "t1", 6, total=90).completes  # completeness is judged next
        assert after("TOKEN", "t1", 6, before=6).completes

    def test_a_short_page_a_second_look_or_has_more_false_will_do(self) -> None:
        assert after("TOKEN", "t1", 5, records=2).signal == EndSignal.NO_NEXT_PLACE
        assert after("TOKEN", "t1", 6, changes={"tail_probe": True}).completes
        assert after("TOKEN", "t1", 6, has_more=False).signal == EndSignal.HAS_MORE_FALSE


class TestTheCap:
    """A provider gives only so many records of a query: no page is asked for beyond."""

    @pytest.mark.parametrize(("token", "size"), [("0", 35), ("280", 35), ("315", 15), ("329", 1)])
    def test_the_last_counted_page_is_shortened_to_it(self, token: str, size: int) -> None:
        assert paginator_of(config("OFFSET", page_size=35, max_records=330)).request(token).size == size

    def test_other_pages_are_not(self) -> None:
        assert paginator_of(config("OFFSET", page_size=35)).request("315").size == 35
        assert paginator_of(config("TOKEN", page_size=35, max_records=330)).request("315").size == 35

    def test_a_place_that_counts_from_an_instant_on_has_the_cap_for_itself(self) -> None:
        capped = config("OFFSET", page_size=35, max_records=330)
        assert paginator_of(capped).request("0@2026-01-01T00:00:00.000000Z+315").size == 35
        onward = paginator_of(capped).step(page(), Place("0@2026-01-01T00:00:00.000000Z+400", 2, 403))
        assert not onward.ends


class TestByTime:
    """Where pages come in ascending time, the next one begins at the time of the last record: nothing shifts there."""

    @pytest.mark.parametrize(("kind", "first"), [("OFFSET", "0"), ("PAGE", "1")])
    def test_a_page_that_reaches_a_later_unit_continues_there(self, kind: str, first: str) -> None:
        place = Place("3" if kind == "OFFSET" else "2", 2, distinct=6, edge=Edge(at("03:00"), records=2))
        onward = paginator_of(config(kind)).step(page(), place)
        assert onward.token == f"{first}@2026-03-10T03:00:00.000000Z+4"
        assert not onward.counts

    def test_within_one_unit_positions_are_counted(self) -> None:
        here = "0@2026-03-10T03:00:00.000000Z+4"
        onward = paginator_of(config("OFFSET")).step(
            page(), Place(here, 3, distinct=7, edge=Edge(at("03:00"), records=3))
        )
        assert (onward.token, onward.counts) == ("3@2026-03-10T03:00:00.000000Z+4", True)


@pytest.mark.parametrize(
    ("before", "after", "counts"),
    [
        ("https://x/a?page=2&size=5", "https://x/a?page=3&size=5", True),
        ("https://x/a?offset=20", "https://x/a?offset=40", True),
        ("https://x/a/2/list", "https://x/a/3/list", True),
        ("40", "60", True),
        (None, "https://x/a?size=5&page=2", True),
        (None, "20", True),
        (None, "https://x/a?cursor=2", False),
        ("https://x/a?page=3", "https://x/a?page=2", False),
        ("https://x/a?page=2&t=a", "https://x/a?page=3&t=b", False),
        ("https://x/a?cursor=abc", "https://x/a?cursor=abd", False),
        ("https://x/a?after=1767312000000", "https://x/a?after=1767398400000", False),
        ("t", "t", False),
        ("t", None, False),
    ],
)
def test_links_that_only_count_are_recognised(before: str | None, after: str | None, counts: bool) -> None:
    assert counts_positions(before, after) is counts
