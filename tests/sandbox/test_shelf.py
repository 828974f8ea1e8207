"""Each switch of the shelf breaks a harvester that believes what is usual; the shelf without switches breaks none."""

from collections.abc import Iterator
from typing import Any

import pytest

from deployments.sandbox.remote import Sandbox
from tests.sandbox.naive import NeverEndsError
from tests.sandbox.shelf_clients import (
    SIZE,
    ask,
    by_offset,
    by_page_until_empty,
    truth,
    while_more_is_said,
    while_there_is_a_token,
)
from tests.sandbox.wire import CLIENT, page, true_ids


@pytest.fixture(autouse=True)
def _as_it_was(sandbox: Sandbox) -> Iterator[None]:
    sandbox.configure(shelf={})
    yield
    sandbox.configure(shelf={})


def test_without_switches_every_belief_holds(sandbox: Sandbox) -> None:
    sandbox.configure(shelf={"more": "right"})

    for ids in (
        by_offset(sandbox),
        by_offset(sandbox, until_total=True),
        by_offset(sandbox, until_short=True),
        by_page_until_empty(sandbox),
        while_there_is_a_token(sandbox),
        while_more_is_said(sandbox),
    ):
        assert sorted(ids) == sorted(truth(sandbox))


def test_a_result_that_shrinks_loses_what_moved_up(fresh_sandbox: Sandbox) -> None:
    sandbox = fresh_sandbox
    sandbox.script({"kind": "touch", "works": 5, "match": {"path": "/shelf/offset", "cursor": "later"}})
    bounded = {"from": "2026-01-09", "to": "2026-01-11"}
    ids = [
        item["id"]
        for offset in range(0, 400, SIZE)
        for item in ask(sandbox, "/offset", offset=offset, **bounded)["items"]
    ]

    assert len(true_ids("shelf", sandbox, "2026-01-09", "2026-01-11") - set(ids)) == 5


@pytest.mark.parametrize("switch", [{"reach": 100, "total_cap": 100}, {"short_every": 2}], ids=["cut off", "short"])
def test_a_total_or_a_short_page_ends_a_naive_harvest_too_soon(sandbox: Sandbox, switch: dict[str, Any]) -> None:
    sandbox.configure(shelf=switch)
    naively = by_offset(sandbox, until_total="reach" in switch, until_short="short_every" in switch)

    assert len(set(naively)) < len(truth(sandbox))


def test_the_last_page_repeated_never_ends(sandbox: Sandbox) -> None:
    sandbox.configure(shelf={"reach": 100, "beyond": "repeated"})
    with pytest.raises(NeverEndsError):
        by_page_until_empty(sandbox)


def test_a_token_that_is_lost_ends_too_soon_and_one_on_an_empty_page_never(sandbox: Sandbox) -> None:
    sandbox.configure(shelf={"lose_next": 1})
    assert len(while_there_is_a_token(sandbox)) == SIZE
    assert set(while_there_is_a_token(sandbox)) == truth(sandbox)

    sandbox.configure(shelf={"empty_end": True})
    with pytest.raises(NeverEndsError):
        while_there_is_a_token(sandbox)


@pytest.mark.parametrize("switch", [{"overlap": 3}, {"stutters": True}], ids=["overlap", "stutter"])
def test_pages_that_repeat_records_count_them_twice(sandbox: Sandbox, switch: dict[str, Any]) -> None:
    sandbox.configure(shelf=switch)
    naively = while_there_is_a_token(sandbox)

    assert len(naively) > len(set(naively)) == len(truth(sandbox))


def test_a_flag_that_lies_ends_at_once_or_never(sandbox: Sandbox) -> None:
    sandbox.configure(shelf={"more": "never"})
    assert len(while_more_is_said(sandbox)) == SIZE
    sandbox.configure(shelf={"more": "always"})
    with pytest.raises(NeverEndsError):
        while_more_is_said(sandbox)


def test_records_that_are_passed_over_make_counting_by_what_came_wrong(sandbox: Sandbox) -> None:
    sandbox.configure(shelf={"hidden_every": 5})
    first = ask(sandbox, "/offset")

    assert (first["moved"], len(first["items"]) < SIZE) == (SIZE, True)
    following = ask(sandbox, "/offset", offset=len(first["items"]))["items"]
    assert {item["id"] for item in following} & {item["id"] for item in first["items"]}


def test_the_total_is_told_as_the_switch_says(sandbox: Sandbox) -> None:
    there = len(truth(sandbox))
    told: dict[str, list[int | None]] = {}
    for kind in ("exact", "first", "none", "wobbles", "over", "under", "rounded"):
        sandbox.configure(shelf={"total": kind})
        told[kind] = [ask(sandbox, "/offset", offset=offset).get("total") for offset in (0, SIZE)]

    assert told == {
        "exact": [there, there],
        "first": [there, None],
        "none": [None, None],
        "wobbles": [there + 3, there],
        "over": [there + 2, there + 2],
        "under": [there - 2, there - 2],
        "rounded": [-(-there // 100) * 100] * 2,
    }


def test_the_total_is_wrong_by_as_much_as_the_switch_says(sandbox: Sandbox) -> None:
    there = len(truth(sandbox))
    for kind, said in (("over", there + 340), ("under", there - 60)):
        sandbox.configure(shelf={"total": kind, "total_off": 340 if kind == "over" else 60})
        assert ask(sandbox, "/offset")["total"] == said


def test_a_token_grows_old(sandbox: Sandbox) -> None:
    sandbox.move_clock("2026-01-12T00:00:00Z")
    sandbox.configure(shelf={"token_ttl_seconds": 60})
    token = ask(sandbox, "/token")["next"]
    sandbox.move_clock("2026-01-12T00:01:01Z")

    assert CLIENT.get(f"{sandbox.url('shelf')}/token", params={"token": token}).status_code == 410


def test_a_switch_there_is_none_of_is_refused(sandbox: Sandbox) -> None:
    with pytest.raises(ValueError, match="sideways"):
        sandbox.configure(shelf={"total": "sideways"})
    with pytest.raises(ValueError, match="no_such"):
        sandbox.configure(shelf={"no_such": 1})


def test_one_bad_id_spoils_its_batch(sandbox: Sandbox) -> None:
    sandbox.configure(shelf={"bad_every": 31, "lost_every": 11})
    url = f"{sandbox.url('shelf')}/details"

    assert CLIENT.post(url, json={"ids": ["book-00001", "book-00003"]}).status_code == 400
    assert page(CLIENT.post(url, json={"ids": ["book-00002", "book-00003"]}))["items"][0]["id"] == "book-00003"


def test_ranges_of_a_field_that_some_records_lack_do_not_add_up(sandbox: Sandbox) -> None:
    def total(filter_text: str) -> int:
        return int(ask(sandbox, "/offset", filter=filter_text)["total"])

    halves = ("number:[* TO 99]", "number:[100 TO *]")
    assert sum(map(total, halves)) == len(truth(sandbox))

    sandbox.configure(shelf={"unnumbered_every": 24})
    lacking = total("all NOT _exists_:number")
    assert lacking == total("all NOT number:[* TO *]") > 0
    assert sum(map(total, halves)) == total("_exists_:number") == len(truth(sandbox)) - lacking
