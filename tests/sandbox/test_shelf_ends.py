"""The shelf's habits at the ends of pages and results: each makes a client that trusts one signal lose records."""

from collections.abc import Iterator
from typing import Any

import pytest

from deployments.sandbox.remote import Sandbox
from tests.sandbox.naive import MOST_PAGES, NeverEndsError
from tests.sandbox.shelf_clients import (
    SIZE,
    ask,
    by_offset,
    by_page_until_empty,
    truth,
    while_there_is_a_token,
)
from tests.sandbox.wire import CLIENT, true_ids

WINDOW = {"from": "2026-01-09", "to": "2026-01-11"}


@pytest.fixture(autouse=True)
def _as_it_was(sandbox: Sandbox) -> Iterator[None]:
    yield
    sandbox.configure(shelf={})


def until_an_empty_page(sandbox: Sandbox, route: str) -> list[str]:
    """Believes: an empty page is the end, whatever it says of a next one."""
    ids: list[str] = []
    place: dict[str, Any] = {}
    for number in range(1, MOST_PAGES):
        found = ask(sandbox, route, **place)
        ids += [item["id"] for item in found["items"]]
        place = {"token": found.get("next")} if route == "/token" else {"page": number + 1}
        if not found["items"] or place == {"token": None}:
            return ids
    raise NeverEndsError


def status_of(sandbox: Sandbox, route: str, **asked: object) -> int:
    """The status of an answer."""
    parameters = {name: str(value) for name, value in {"size": SIZE, **asked}.items()}
    return CLIENT.get(f"{sandbox.url('shelf')}{route}", params=parameters).status_code


@pytest.mark.parametrize("route", ["/token", "/page"])
def test_an_empty_page_in_the_middle_ends_a_naive_harvest(sandbox: Sandbox, route: str) -> None:
    sandbox.configure(shelf={"withdrawn_every": 2 * SIZE, "withdrawn": SIZE})

    assert len(until_an_empty_page(sandbox, route)) == 2 * SIZE
    assert set(while_there_is_a_token(sandbox)) == truth(sandbox)


def test_empty_pages_in_a_row_each_name_a_new_place(sandbox: Sandbox) -> None:
    sandbox.configure(shelf={"withdrawn_every": 2 * SIZE, "withdrawn": 11 * SIZE, "total": "none"})
    token, sizes, tokens = "", [], []
    for _ in range(14):
        found = ask(sandbox, "/token", token=token)
        token = found["next"]
        sizes.append(len(found["items"]))
        tokens.append(token)

    assert sizes == [SIZE, SIZE, *[0] * 11, SIZE]
    assert len(set(tokens)) == len(tokens)


def test_a_withdrawn_block_needs_both_switches(sandbox: Sandbox) -> None:
    with pytest.raises(ValueError, match="withdrawn_every"):
        sandbox.configure(shelf={"withdrawn": 20})


def test_a_total_that_is_too_small_ends_a_naive_harvest(sandbox: Sandbox) -> None:
    sandbox.configure(shelf={"total": "under", "total_off": 60})

    assert len(truth(sandbox)) - len(by_offset(sandbox, until_total=True)) >= 60 - SIZE


@pytest.mark.parametrize("total", ["exact", "none"])
def test_churn_keeps_the_total_and_loses_what_moved_up(fresh_sandbox: Sandbox, total: str) -> None:
    sandbox = fresh_sandbox
    before = true_ids("shelf", sandbox, *WINDOW.values())
    sandbox.configure(shelf={"total": total})
    sandbox.script({"kind": "churn", "works": 1, "times": 3, "match": {"path": "/shelf/page", "cursor": "later"}})
    pages = [ask(sandbox, "/page", page=number, **WINDOW) for number in range(1, 6)]
    ids = {item["id"] for page in pages for item in page["items"]}
    after = true_ids("shelf", sandbox, *WINDOW.values())

    assert {page.get("total") for page in pages} == ({len(before)} if total == "exact" else {None})
    assert (len(before - after), len(after - before)) == (3, 3)
    assert len((before & after) - ids) == 3


def test_offset_and_size_together_must_not_exceed_the_cap(sandbox: Sandbox) -> None:
    sandbox.configure(shelf={"cap": 2 * SIZE + 10})

    assert status_of(sandbox, "/offset", offset=2 * SIZE) == 400
    assert len(ask(sandbox, "/offset", offset=2 * SIZE, size=10)["items"]) == 10
    assert status_of(sandbox, "/page", page=3) == 400


@pytest.mark.parametrize(("how", "status"), [("gone", 410), ("refused", 400), ("unprocessable", 422), ("in_200", 200)])
def test_tokens_die_together_and_stay_dead(sandbox: Sandbox, how: str, status: int) -> None:
    sandbox.configure(shelf={"token_answers": 2, "dead_token": how})
    second = ask(sandbox, "/token", token=ask(sandbox, "/token")["next"])
    answers = [CLIENT.get(f"{sandbox.url('shelf')}/token", params={"token": second["next"]}) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [status] * 2
    assert answers[0].json() == {"error": {"code": "badResumptionToken", "message": "this token has expired"}}
    assert set(while_there_is_a_token(sandbox)) == truth(sandbox)


@pytest.mark.parametrize(("shape", "kind"), [("href", dict), ("flag", bool), ("list", list), ("renamed", type(None))])
def test_a_next_place_of_another_shape_is_no_place(sandbox: Sandbox, shape: str, kind: type) -> None:
    sandbox.configure(shelf={"next_shape": shape})
    found = ask(sandbox, "/token")

    assert isinstance(found.get("next"), kind)
    assert ("continue" in found) == (shape == "renamed")


@pytest.mark.parametrize(("end", "said"), [("absent", {}), ("null", {"next": None}), ("blank", {"next": ""})])
def test_the_last_page_names_no_next_place(sandbox: Sandbox, end: str, said: dict[str, Any]) -> None:
    sandbox.configure(shelf={"next_end": end, "total": "none"})
    found = ask(sandbox, "/token", size=100, **{"from": "2026-01-09", "to": "2026-01-09T06:00:00"})

    assert {name: value for name, value in found.items() if name != "items"} == said


@pytest.mark.parametrize("endless", ["cycle", "new"])
def test_an_endless_result_has_new_tokens_for_ever(sandbox: Sandbox, endless: str) -> None:
    sandbox.configure(shelf={"endless": endless})
    with pytest.raises(NeverEndsError):
        while_there_is_a_token(sandbox)
    pages = [tuple(item["id"] for item in ask(sandbox, "/page", page=number)["items"]) for number in range(1, 16)]

    assert len(truth(sandbox)) == 240
    assert len(set(pages)) == (5 if endless == "cycle" else 15)
    assert len({one for page in pages for one in page}) == (240 if endless == "cycle" else 15 * SIZE)


def test_results_come_in_the_order_of_the_switch(sandbox: Sandbox) -> None:
    orders = {}
    for order in ("ascending", "descending", "unsorted"):
        sandbox.configure(shelf={"order": order})
        orders[order] = [item["updated"] for item in ask(sandbox, "/offset", size=100)["items"]]
        assert set(by_offset(sandbox)) == truth(sandbox)

    assert orders["ascending"] == sorted(orders["ascending"])
    assert orders["descending"] == sorted(orders["descending"], reverse=True)
    assert orders["unsorted"] not in (sorted(orders["unsorted"]), sorted(orders["unsorted"], reverse=True))


@pytest.mark.parametrize(("past_end", "status"), [("not_found", 404), ("refused", 400)])
def test_a_page_behind_the_end_is_an_error(sandbox: Sandbox, past_end: str, status: int) -> None:
    sandbox.configure(shelf={"past_end": past_end})
    with pytest.raises(AssertionError):
        by_page_until_empty(sandbox)

    assert status_of(sandbox, "/offset", offset=1000) == status
    assert ask(sandbox, "/page", **{"from": "2025-01-01", "to": "2025-01-02"})["items"] == []
