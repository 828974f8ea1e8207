"""Pages that repeat, ends that are in doubt, and records that leave meanwhile."""

from dataclasses import replace
from typing import Any

import pytest

from ingest_core.execution.page import DecodedPage
from ingest_core.execution.paging import (
    MAX_REPEATS,
    MAX_REWINDS,
    Place,
    Repetition,
    Step,
    paginator_of,
)
from ingest_core.model.errors import PagingLoop
from ingest_core.model.slice_codes import ResliceReason
from ingest_core.model.spec import PaginationSpec
from tests.support.counted_pages import END, FULL, OFFSET, PAGE, page, paging
from tests.support.specs import page_of


class TestAPageThatRepeats:
    """Once is a mistake; again and again, nothing new can be reached."""

    def step(self, config: PaginationSpec, repeats: int, **said: Any) -> Step:
        return paginator_of(config).step(page(**said), Place("6", 7, 9, repeats=repeats))

    @pytest.mark.parametrize("config", [OFFSET, PAGE], ids=["offset", "page"])
    def test_a_page_that_comes_twice_is_passed_over(self, config: PaginationSpec) -> None:
        assert not self.step(config, 1).ends
        assert not self.step(config, MAX_REPEATS - 1, total=20).ends

    @pytest.mark.parametrize("config", [OFFSET, PAGE], ids=["offset", "page"])
    def test_over_and_over_it_is_the_end_unless_a_total_says_otherwise(self, config: PaginationSpec) -> None:
        assert self.step(config, MAX_REPEATS) == END
        assert self.step(config, MAX_REPEATS, total=9) == END
        out_of_reach = self.step(config, MAX_REPEATS, total=20)
        assert (out_of_reach.ends, out_of_reach.completes) == (True, False)
        assert out_of_reach.reslice == ResliceReason.RECORD_CAP

    @pytest.mark.parametrize("kind", ["TOKEN", "URL"])
    def test_behind_ever_new_tokens_it_is_a_loop(self, kind: str) -> None:
        assert self.step(paging(kind), MAX_REPEATS - 1, next_token="t9") == Step("t9")
        with pytest.raises(PagingLoop, match="page 7 holds the same records as the 3 before it"):
            self.step(paging(kind), MAX_REPEATS, next_token="t9")

    def test_only_the_same_page_in_a_row_counts_and_going_back_does_not(self) -> None:
        once = Repetition().after(b"ab", 0)

        assert once.times == 0
        assert (once.after(b"ab", 0).times, once.after(b"ab", 0).after(b"ab", 0).times) == (1, 2)
        assert once.after(b"ab", 1).times == 0
        assert once.after(b"ac", 0).after(b"ab", 0).times == 0
        assert Repetition().after(b"", 0).times == 0


class TestADoubtfulTail:
    """A full page that names no next one, where such pages are known to lie."""

    @pytest.mark.parametrize(
        ("config", "said", "doubtful"),
        [
            ({}, {}, True),
            ({"type": "URL"}, {}, True),
            ({"tail_probe": False}, {}, False),
            ({"position": "SERVER"}, {}, False),
            ({"type": "OFFSET"}, {}, False),
            ({"type": "TIME"}, {}, False),
            ({}, {"next_token": "t2"}, False),
            ({}, {"has_more": False}, False),
            ({}, {"records": FULL - 1}, False),
        ],
        ids=str,
    )
    def test_is_asked_for_once_more(self, config: dict[str, Any], said: dict[str, Any], doubtful: bool) -> None:
        kind = {"kind": config.pop("type", "TOKEN"), "tail_probe": True, **config}

        assert paginator_of(paging(**kind)).tail_is_doubtful(page(**said)) is doubtful


class Shelf:
    """A provider that pages by offset over books, some of which are taken away while it is read."""

    def __init__(self, count: int, taken: dict[int, list[int]]) -> None:
        self.books = list(range(count))
        self.taken = taken

    def ask(self, asked: int, offset: int) -> DecodedPage:
        """The books from an offset on; before that, whatever is taken away by now."""
        self.books = [book for book in self.books if book not in self.taken.get(asked, [])]
        return page_of(self.books[offset : offset + FULL], total=len(self.books))


@pytest.mark.parametrize(
    "taken",
    [
        {},
        {2: [0]},
        {3: [1, 4]},
        {2: [0, 1, 2]},
        {2: [0], 3: [1], 4: [3]},
        {4: [9, 10]},
        {4: [11]},
        {2: [0], 5: [5, 6]},
    ],
    ids=str,
)
def test_every_record_that_stays_is_seen_whatever_leaves_meanwhile(taken: dict[int, list[int]]) -> None:
    shelf, seen, token, total = Shelf(12, taken), set[int](), "0", None
    for asked in range(1, 40):
        got = shelf.ask(asked, int(token))
        seen |= set(got.items)
        step = paginator_of(OFFSET).step(got, Place(token, asked, len(seen), total))
        total = got.total
        if step.token is None:
            break
        token = step.token
    assert set(shelf.books) <= seen
    assert step == END


def test_a_total_that_goes_up_and_down_does_not_go_round_for_ever() -> None:
    place = Place("3", 2, 3, 36, rewinds=MAX_REWINDS)

    assert paginator_of(OFFSET).step(page(total=30), place).token == "6"
    assert paginator_of(OFFSET).step(page(total=30), replace(place, rewinds=0)).rewound
