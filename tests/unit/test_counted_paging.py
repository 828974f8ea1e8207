"""Paging by offset, page number, URL and time (D14, D22): no record slips by when the result shrinks."""

from typing import Any

import pytest

from ingest_core.execution.decode import decode_page
from ingest_core.execution.paging import (
    Place,
    Step,
    before_hash,
    paginator_of,
    resume_point,
)
from ingest_core.model.checkpoint import Checkpoint
from ingest_core.model.slice_codes import ResliceReason
from ingest_core.model.spec import PaginationSpec
from tests.support.counted_pages import END, FULL, OFFSET, PAGE, after, paging
from tests.support.specs import at, crossref_spec


@pytest.mark.parametrize(
    ("config", "token"),
    [
        (OFFSET, "0"),
        (PAGE, "1"),
        (paging("PAGE", page_base=0), "0"),
        (paging("URL"), None),
        (paging("TIME"), None),
        (paging("TOKEN", initial_token="*"), "*"),
    ],
    ids=["offset", "page from 1", "page from 0", "url", "time", "token"],
)
def test_each_kind_begins_at_its_own_place(config: PaginationSpec, token: str | None) -> None:
    assert paginator_of(config).first() == token


@pytest.mark.parametrize(
    ("config", "token", "skipped"),
    [
        (OFFSET, "0", 0),
        (OFFSET, "7", 7),
        (PAGE, "1", 0),
        (PAGE, "4", 9),
        (paging("PAGE", page_base=0), "4", 12),
        (OFFSET, None, None),
        (paging("TOKEN"), "7", None),
        (paging("URL"), "https://x/7", None),
        (paging("TIME"), "", None),
    ],
    ids=str,
)
def test_how_many_records_a_page_skips_is_known_where_we_count(
    config: PaginationSpec, token: str | None, skipped: int | None
) -> None:
    assert paginator_of(config).offset(token) == skipped


class TestByOffset:
    """The place is ours: it moves by what came."""

    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            ({"token": "0", "distinct": 3, "total": 9}, Step("3")),
            ({"token": "3", "distinct": 6, "total": 9}, Step("6")),
            ({"token": "6", "distinct": 9, "total": 9}, END),
            ({"token": "6", "distinct": 9, "total": 8}, END),
            ({"token": "0", "distinct": 2, "total": 9, "records": 2}, Step("2")),
            ({"token": "0", "distinct": 2, "records": 2}, Step("2")),
            ({"token": "6", "distinct": 6, "records": 0}, END),
            ({"token": "6", "distinct": 9, "total": 9, "has_more": True}, Step("9")),
            ({"token": "0", "distinct": 3, "total": 9, "has_more": False}, END),
            ({"token": "6", "distinct": 8, "total": 9}, Step("9")),
        ],
        ids=str,
    )
    def test_what_comes_next(self, given: dict[str, Any], expected: Step) -> None:
        assert after(OFFSET, **given) == expected

    def test_where_the_provider_says_how_far_it_moved_that_counts(self) -> None:
        """Some skip what they cannot show: the page is shorter than the way it went."""
        config = paging("OFFSET", step_path="$.moved")
        body = b'{"message": {"items": [{}, {}], "total-results": 90}, "moved": 5}'
        decoded = decode_page(body, crossref_spec(pagination=config.model_dump(mode="json")))

        assert decoded.step == 5
        assert paginator_of(config).step(decoded, Place("10", 3, 12)) == Step("15")

    @pytest.mark.parametrize("step", [0, -3])
    def test_a_step_that_leads_nowhere_is_ignored_and_the_records_are_counted(self, step: int) -> None:
        assert after(OFFSET, "6", 6, total=90, step=step) == Step("9")


class TestRewinding:
    """Records that left the result moved the rest up: those that slipped past are asked for again."""

    def test_a_total_that_fell_by_d_goes_back_by_d(self) -> None:
        assert after(OFFSET, "6", 9, before=20, total=18) == Step("4", rewound=True)

    def test_not_below_the_start(self) -> None:
        assert after(OFFSET, "3", 6, before=20, total=10) == Step("0", rewound=True)

    @pytest.mark.parametrize("total", [20, 21, None], ids=["same", "grown", "unsaid"])
    def test_a_total_that_did_not_fall_goes_on(self, total: int | None) -> None:
        assert after(OFFSET, "6", 9, before=20, total=total) == Step("9")

    def test_the_first_page_has_nothing_to_fall_from(self) -> None:
        assert after(OFFSET, "0", 3, before=None, total=20) == Step("3")

    def test_it_comes_before_every_reason_to_end(self) -> None:
        """An empty page at the end of a shrunken result is where the slipped records are missed."""
        assert after(OFFSET, "9", 9, before=12, total=9, records=0) == Step("6", rewound=True)
        assert after(OFFSET, "9", 12, before=12, total=11, has_more=False) == Step("8", rewound=True)

    @pytest.mark.parametrize(("token", "fell", "back"), [("4", 1, "3"), ("4", 3, "3"), ("4", 4, "2"), ("2", 9, "1")])
    def test_pages_go_back_by_whole_pages_and_not_below_the_first(self, token: str, fell: int, back: str) -> None:
        assert after(PAGE, token, 9, before=30, total=30 - fell) == Step(back, rewound=True)

    @pytest.mark.parametrize("kind", ["TOKEN", "URL"])
    def test_a_place_that_is_not_ours_cannot_be_moved_back(self, kind: str) -> None:
        assert after(paging(kind), "t1", 6, before=20, total=18, next_token="t2") == Step("t2")

    def test_going_back_does_not_end_and_does_not_complete(self) -> None:
        back = after(OFFSET, "6", 9, before=20, total=18)

        assert (back.ends, back.completes) == (False, False)

    def test_the_same_place_after_a_rewind_is_no_loop(self) -> None:
        assert before_hash(OFFSET, "6", 4, rewinds=0) == before_hash(OFFSET, "6", 3, rewinds=0)
        assert before_hash(OFFSET, "6", 4, rewinds=1) != before_hash(OFFSET, "6", 3, rewinds=0)
        assert before_hash(OFFSET, "6", 4, rewinds=2) != before_hash(OFFSET, "6", 4, rewinds=1)


class TestByPageNumber:
    """The next page has the next number."""

    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            ({"token": "1", "distinct": 3, "total": 9}, Step("2")),
            ({"token": "3", "distinct": 9, "total": 9}, END),
            ({"token": "2", "distinct": 5, "records": 2}, Step("3")),
            ({"token": "2", "distinct": 5, "records": 2, "total": 5}, END),
            ({"token": "3", "distinct": 6, "records": 0}, END),
            ({"token": "9", "distinct": 27, "has_more": True}, Step("10")),
        ],
        ids=str,
    )
    def test_what_comes_next(self, given: dict[str, Any], expected: Step) -> None:
        assert after(PAGE, **given) == expected

    def test_page_nought_is_followed_by_page_one(self) -> None:
        assert after(paging("PAGE", page_base=0), "0", 3) == Step("1")


class TestByUrl:
    """The answer says where the next page is."""

    CONFIG = paging("URL", next_url_path="$.links.next")

    def test_it_goes_where_the_answer_says_and_ends_where_it_says_nothing(self) -> None:
        assert after(self.CONFIG, "u1", 3, next_token="https://x/2") == Step("https://x/2")
        assert after(self.CONFIG, "u1", 2, records=2) == END

    def test_the_place_is_read_from_the_urls_path(self) -> None:
        spec = crossref_spec(pagination=self.CONFIG.model_dump(mode="json"), response={"items_path": "$.items"})
        decoded = decode_page(b'{"items": [1], "links": {"next": "https://x/?page=2"}, "message": {}}', spec)

        assert decoded.next_token == "https://x/?page=2"

    @pytest.mark.parametrize("rel", ["next", "self"])
    def test_the_link_may_be_found_by_a_filter(self, rel: str) -> None:
        links = paging("URL", next_url_path="$.links[?(@.rel=='next')].href").model_dump(mode="json")
        spec = crossref_spec(pagination=links, response={"items_path": "$.items"})
        body = f'{{"items": [1], "links": [{{"rel": "first", "href": "a"}}, {{"rel": "{rel}", "href": "b"}}]}}'

        assert decode_page(body.encode(), spec).next_token == ("b" if rel == "next" else None)

    @pytest.mark.parametrize(
        ("url", "kept"),
        [
            ("https://x/?api_key=s3cret&page=2", "https://x/?page=2"),
            ("https://x/?page=2&API_KEY=s3cret", "https://x/?page=2"),
            ("https://x/?page=2&my_api_key=1", "https://x/?page=2&my_api_key=1"),
            ("https://x/", "https://x/"),
        ],
    )
    def test_a_credential_the_provider_repeats_in_it_is_left_out(self, url: str, kept: str) -> None:
        auth = {"type": "API_KEY", "credential_ref": "env:KEY", "location": "QUERY", "name": "api_key"}
        spec = crossref_spec(
            pagination=self.CONFIG.model_dump(mode="json"), response={"items_path": "$.items"}, auth=auth
        )

        assert decode_page(f'{{"items": [1], "links": {{"next": "{url}"}}}}'.encode(), spec).next_token == kept


class TestByTime:
    """One page per slice: a full one may hide more, so the slice must be cut smaller."""

    CONFIG = paging("TIME")

    @pytest.mark.parametrize("records", [0, 1, FULL - 1])
    def test_a_page_that_is_not_full_is_all_there_is(self, records: int) -> None:
        assert after(self.CONFIG, "", records, records=records) == END

    @pytest.mark.parametrize("records", [FULL, FULL + 1])
    def test_a_full_page_ends_without_completing(self, records: int) -> None:
        full = after(self.CONFIG, "", records, records=records)

        assert (full.ends, full.completes) == (True, False)
        assert str(records) in str(full.limit)
        assert full.reslice == ResliceReason.PAGE_FULL

    def test_a_short_page_that_says_more_is_no_end(self) -> None:
        said = after(self.CONFIG, "", 1, records=1, has_more=True)

        assert (said.completes, said.reslice) == (False, ResliceReason.PAGE_FULL)
        assert after(self.CONFIG, "", 1, records=1, has_more=False).completes

    def test_a_full_page_is_a_limit_even_where_the_total_says_that_all_came(self) -> None:
        assert not after(self.CONFIG, "", FULL, total=FULL).completes


class TestOurLimits:
    """What the provider gives at most per query, and what we ask for at most."""

    def test_a_place_past_what_the_provider_gives_is_not_asked_for(self) -> None:
        config = paging("OFFSET", max_records=9)
        assert after(config, "3", 6, total=20) == Step("6")
        limited = after(config, "6", 9, total=20)

        assert (limited.token, limited.ends, limited.completes) == ("9", True, False)
        assert "9" in str(limited.limit)
        assert limited.reslice == ResliceReason.RECORD_CAP

    def test_pages_are_counted_in_records(self) -> None:
        config = paging("PAGE", page_base=1, max_records=9)

        assert after(config, "2", 6, total=20) == Step("3")
        assert after(config, "3", 9, total=20).limit
        assert after(config, "3", 9, total=20).reslice == ResliceReason.RECORD_CAP

    def test_a_result_below_the_cap_is_complete(self) -> None:
        assert after(paging("OFFSET", max_records=9), "6", 8, total=8, records=2) == END

    @pytest.mark.parametrize("kind", ["OFFSET", "TOKEN", "URL"])
    def test_a_total_that_equals_the_cap_may_be_cut_off_there_and_is_not_believed(self, kind: str) -> None:
        capped = after(paging(kind, max_records=9), "6", 9, total=9)

        assert (capped.completes, capped.reslice) == (False, ResliceReason.RECORD_CAP)

    @pytest.mark.parametrize("kind", ["TOKEN", "URL"])
    @pytest.mark.parametrize("total", [None, 20], ids=["unsaid", "larger"])
    def test_where_the_place_is_not_ours_the_records_that_came_are_counted(self, kind: str, total: int | None) -> None:
        config = paging(kind, max_records=9)

        assert after(config, "t2", 8, total=total, next_token="t3") == Step("t3")
        assert after(config, "t3", 9, total=total, next_token="t4").reslice == ResliceReason.RECORD_CAP
        assert after(config, "t3", 9, total=total).reslice == ResliceReason.RECORD_CAP
        assert after(config, "t3", 9, total=total, has_more=False).reslice == ResliceReason.RECORD_CAP

    @pytest.mark.parametrize("kind", ["TOKEN", "URL"])
    def test_a_total_below_the_cap_is_believed(self, kind: str) -> None:
        assert after(paging(kind, max_records=9), "t3", 8, total=8) == END

    @pytest.mark.parametrize("kind", ["TOKEN", "URL"])
    def test_a_total_below_the_records_that_came_does_not_hide_the_cap(self, kind: str) -> None:
        assert after(paging(kind, max_records=9), "t3", 9, total=8).reslice == ResliceReason.RECORD_CAP

    def test_going_back_is_never_past_the_limit(self) -> None:
        assert after(paging("OFFSET", max_records=9), "9", 12, before=12, total=11) == Step("8", rewound=True)

    def test_max_page_counts_too(self) -> None:
        limited = after(paging("OFFSET", max_page=2), "3", 6, total=20)

        assert (limited.limit, limited.reslice) == ("stopped at max_page 2", ResliceReason.PAGE_CAP)


def test_a_place_of_ours_is_gone_on_from_by_another_attempt() -> None:
    read = Checkpoint(page_no=4, token="12", token_at=at("10:00"), total=20, rewinds=2)

    assert resume_point(OFFSET, read, at("2027-01-01")) == read


def test_a_slice_that_begins_anew_forgets_its_total_and_its_rewinds() -> None:
    read = Checkpoint(page_no=4, token="12", total=20, rewinds=2, restarts=1, shortfall=3)

    assert read.anew() == Checkpoint(restarts=1, shortfall=3)
