"""How one page leads to the next (D14), what identifies it (D12), and where an attempt begins (D13, D22)."""

from dataclasses import replace
from typing import Any

import pytest

from ingest_core.execution.page import DecodedPage
from ingest_core.execution.paging import NextPageMissing, Place, Step, before_hash, paginator_of, resume_point
from ingest_core.model.checkpoint import Checkpoint
from ingest_core.model.slice_codes import ResliceReason
from ingest_core.model.spec import PaginationSpec
from tests.support.specs import at, crossref_spec, page_of

FULL = 3


def paging(**changes: Any) -> PaginationSpec:
    """Crossref's paging with three records a page, and other changes."""
    return crossref_spec(pagination={"page_size": FULL, **changes}).paging


def step(records: int = FULL, page_no: int = 1, distinct: int = 0, max_page: int | None = None, **page: Any) -> Step:
    """What comes after a page of that many records; it has a token unless the test says otherwise."""
    given = {"next_token": "t2", **page}
    return paginator_of(paging(max_page=max_page)).step(
        page_of(list(range(records)), **given), Place("t1", page_no, distinct)
    )


ENDS = Step(None)
GOES_ON = Step("t2")
LIMIT = Step("t2", limit="stopped at max_page 4", reslice=ResliceReason.PAGE_CAP)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, GOES_ON),
        ({"next_token": None, "records": 2}, ENDS),
        ({"next_token": None, "total": 3, "distinct": 3}, ENDS),
        ({"next_token": None, "total": 9, "distinct": 3}, ENDS),
        ({"has_more": False}, ENDS),
        ({"has_more": True}, GOES_ON),
        ({"has_more": False, "next_token": None}, ENDS),
        ({"records": 0}, ENDS),
        ({"records": 0, "has_more": True}, ENDS),
        ({"records": 0, "total": 9}, ENDS),
        ({"records": 2}, GOES_ON),
        ({"records": 2, "total": 9, "distinct": 8}, GOES_ON),
        ({"records": 2, "total": 9, "distinct": 9}, ENDS),
        ({"records": 2, "total": 9, "distinct": 10}, ENDS),
        ({"records": 2, "total": 9, "distinct": 9, "has_more": True}, GOES_ON),
        ({"records": FULL, "total": 3, "distinct": 3}, GOES_ON),
        ({"records": 5, "total": 5, "distinct": 5}, GOES_ON),
        ({"max_page": 4, "page_no": 3}, GOES_ON),
        ({"max_page": 4, "page_no": 4}, LIMIT),
        ({"max_page": 4, "page_no": 5}, LIMIT),
        ({"max_page": 4, "page_no": 4, "next_token": None, "total": 3}, ENDS),
        ({"max_page": 4, "page_no": 4, "records": 0}, ENDS),
        ({"max_page": 4, "page_no": 4, "records": 2, "total": 9, "distinct": 9}, ENDS),
        ({"max_page": 4, "page_no": 4, "has_more": True}, LIMIT),
    ],
    ids=str,
)
def test_what_comes_next(given: dict[str, Any], expected: Step) -> None:
    assert step(**given) == expected


def test_an_unchanged_token_is_no_end() -> None:
    tokens = ["t"]
    for page_no in range(1, 5):
        place = Place(tokens[-1], page_no, distinct=3 * page_no)
        after = paginator_of(paging()).step(page_of([1, 2, 3], next_token=tokens[-1]), place)
        assert not after.ends
        assert after.token is not None
        tokens.append(after.token)

    assert set(tokens) == {"t"}


def test_an_empty_page_ends_a_scroll_even_with_a_token() -> None:
    assert step(records=0, next_token="t2").ends


def test_only_our_own_limit_is_a_limit() -> None:
    assert step(max_page=1).limit
    assert not step(next_token=None, records=2).limit
    assert step(max_page=1).ends


def test_our_own_limit_completes_nothing_and_the_place_is_kept() -> None:
    limited = step(max_page=1)

    assert (limited.ends, limited.completes, limited.token) == (True, False, "t2")
    assert limited.reslice == ResliceReason.PAGE_CAP
    assert (step().reslice, step(next_token=None, records=2).reslice) == (None, None)
    assert step(next_token=None, records=2).completes
    assert not step().completes


class TestTheIdentityOfAPage:
    """The same page twice in one run is a loop, unless the provider keeps the place."""

    def test_on_our_side_it_is_the_token(self) -> None:
        client = paging(position="CLIENT")

        assert before_hash(client, "t", 1) == before_hash(client, "t", 2)
        assert before_hash(client, "t", 1) != before_hash(client, "u", 1)
        assert before_hash(client, None, 1) != before_hash(client, "", 1)

    def test_on_the_providers_side_it_is_the_token_and_the_number(self) -> None:
        server = paging(position="SERVER")

        assert before_hash(server, "t", 1) == before_hash(server, "t", 1)
        assert before_hash(server, "t", 1) != before_hash(server, "t", 2)
        assert before_hash(server, "t", 1) != before_hash(server, "u", 1)

    def test_a_long_token_has_a_short_hash(self) -> None:
        assert len(before_hash(paging(), "x" * 1512, 1)) == 64


READ = Checkpoint(page_no=4, token="t5", token_at=at("10:00"), as_of=at("09:00"), restarts=1, shortfall=2)


class TestWhereAnAttemptBegins:
    """At the checkpoint, or anew where the place is gone."""

    @pytest.mark.parametrize("position", ["CLIENT", "SERVER"])
    def test_a_slice_nobody_began_begins_at_its_start(self, position: str) -> None:
        assert resume_point(paging(position=position), Checkpoint(), at("12:00")) == Checkpoint()
        waiting = Checkpoint(restarts=3, shortfall=2)
        assert resume_point(paging(position=position), waiting, at("12:00")) == waiting

    @pytest.mark.parametrize("now", ["10:00", "10:05"], ids=["at once", "at the end of its life"])
    def test_a_token_that_lives_is_used(self, now: str) -> None:
        assert resume_point(paging(position="CLIENT", token_ttl_seconds=300), READ, at(now)) == READ

    def test_a_token_past_its_life_means_from_the_start(self) -> None:
        anew = resume_point(paging(position="CLIENT", token_ttl_seconds=300), READ, at("10:05:00.000001"))

        assert anew == Checkpoint(restarts=1, shortfall=2)
        assert not anew.started

    def test_a_token_dated_ahead_of_the_clock_means_from_the_start(self) -> None:
        anew = resume_point(paging(position="CLIENT", token_ttl_seconds=300), READ, at("09:00"))

        assert anew == Checkpoint(restarts=1, shortfall=2)

    @pytest.mark.parametrize("checkpoint", [READ, replace(READ, token_at=None)])
    def test_a_token_without_a_lifetime_does_not_age(self, checkpoint: Checkpoint) -> None:
        assert (
            resume_point(paging(position="CLIENT", token_ttl_seconds=None), checkpoint, at("2027-01-01")) == checkpoint
        )

    def test_a_place_the_provider_keeps_belongs_to_one_run(self) -> None:
        anew = resume_point(paging(position="SERVER", token_ttl_seconds=None), READ, at("10:00"))

        assert anew == Checkpoint(restarts=1, shortfall=2)

    @pytest.mark.parametrize("position", ["CLIENT", "SERVER"])
    def test_a_slice_read_to_its_end_is_not_asked_for_again(self, position: str) -> None:
        done = replace(READ, token=None, ended=True)

        assert resume_point(paging(position=position, token_ttl_seconds=1), done, at("2027-01-01")) == done

    def test_reading_anew_has_a_new_as_of(self) -> None:
        assert READ.anew().as_of is None


def test_more_to_come_without_a_token_is_an_error_not_an_end() -> None:
    page = DecodedPage(items=[{}], raw=["{}"], total=None, next_token=None, has_more=True)
    with pytest.raises(NextPageMissing):
        paginator_of(crossref_spec().paging).step(page, Place("*", 1, 1))
