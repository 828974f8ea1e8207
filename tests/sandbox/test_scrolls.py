"""Scrolls: a position on the server, or in the token."""

import pytest

from deployments.sandbox.remote import Sandbox
from deployments.sandbox.server import running
from deployments.sandbox.settings import Settings
from tests.sandbox import careful
from tests.sandbox.client import dois, get, message, true_ids, window


def test_every_page_of_a_scroll_has_the_same_cursor_and_other_works(sandbox: Sandbox) -> None:
    first = message(sandbox, cursor="*", rows=30)
    second = message(sandbox, cursor=first["next-cursor"], rows=30)

    assert first["next-cursor"] == second["next-cursor"]
    assert not set(dois(first["items"])) & set(dois(second["items"]))


def test_asking_a_scroll_twice_skips_a_page(sandbox: Sandbox) -> None:
    in_order = dois(message(sandbox, rows=90)["items"])
    cursor = message(sandbox, cursor="*", rows=30)["next-cursor"]
    asked = [dois(message(sandbox, cursor=cursor, rows=30)["items"]) for _ in range(2)]

    assert asked == [in_order[30:60], in_order[60:90]]


def test_two_scrolls_do_not_disturb_each_other(sandbox: Sandbox) -> None:
    cursors = [message(sandbox, cursor="*", rows=30)["next-cursor"] for _ in range(2)]
    pages = [dois(message(sandbox, cursor=cursor, rows=30)["items"]) for cursor in cursors]

    assert cursors[0] != cursors[1]
    assert pages[0] == pages[1]


def test_an_empty_page_still_carries_the_cursor(sandbox: Sandbox) -> None:
    cursor = message(sandbox, cursor="*", rows=1000)["next-cursor"]
    beyond = message(sandbox, cursor=cursor, rows=1000)

    assert (beyond["items"], beyond["next-cursor"], beyond["total-results"]) == ([], cursor, 240)


def test_the_page_size_is_that_of_the_opening(sandbox: Sandbox) -> None:
    cursor = message(sandbox, cursor="*", rows=30)["next-cursor"]

    assert len(message(sandbox, cursor=cursor, rows=5)["items"]) == 30


def test_an_empty_window_opens_an_empty_scroll(sandbox: Sandbox) -> None:
    page = message(sandbox, cursor="*", filter=window("2020-01-01", "2020-01-01"))

    assert (page["items"], page["total-results"]) == ([], 0)
    assert page["next-cursor"]


def _invalid(sandbox: Sandbox, cursor: str) -> bool:
    response = get(sandbox, cursor=cursor)
    return response.status_code == 404 and response.json() == {
        "status": "failed",
        "message-type": "resource-failure",
        "message": [{"type": "cursor-invalid", "value": cursor, "message": "Cursor specified but it is invalid"}],
    }


@pytest.mark.parametrize("cursor", ["thing", "", "thing.1"])
def test_an_unknown_cursor_is_a_404(sandbox: Sandbox, cursor: str) -> None:
    assert _invalid(sandbox, cursor)


def test_a_scroll_expires_by_the_sandbox_clock(sandbox: Sandbox) -> None:
    sandbox.move_clock("2026-01-11T00:00:00Z")
    cursor = message(sandbox, cursor="*", rows=10)["next-cursor"]
    sandbox.move_clock("2026-01-11T00:05:00Z")
    assert message(sandbox, cursor=cursor, rows=10)["items"]
    sandbox.move_clock("2026-01-11T00:10:01Z")

    assert _invalid(sandbox, cursor)


@pytest.mark.parametrize("mode", ["server", "token"])
def test_scrolls_can_be_expired(sandbox: Sandbox, mode: str) -> None:
    sandbox.configure(scroll=mode)
    cursor = message(sandbox, cursor="*")["next-cursor"]

    assert sandbox.expire_scrolls() == 1
    assert _invalid(sandbox, cursor)


def test_only_so_many_scrolls_stay_open(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deployments.sandbox.crossref.scroll.MOST_OPEN", 2)
    cursors = [message(sandbox, cursor="*")["next-cursor"] for _ in range(3)]

    assert [_invalid(sandbox, cursor) for cursor in cursors] == [True, False, False]


def test_a_token_gives_the_same_page_each_time(sandbox: Sandbox) -> None:
    sandbox.configure(scroll="token")
    first = message(sandbox, cursor="*", rows=30)
    twice = [message(sandbox, cursor=first["next-cursor"], rows=30) for _ in range(2)]

    assert twice[0] == twice[1]
    assert twice[0]["next-cursor"] != first["next-cursor"]
    assert not set(dois(first["items"])) & set(dois(twice[0]["items"]))


def test_tokens_lead_through_the_whole_result_and_then_to_an_empty_page(sandbox: Sandbox) -> None:
    sandbox.configure(scroll="token", scroll_ttl_seconds=0)

    assert set(careful.scroll(sandbox, rows=100)) == true_ids(sandbox)
    last = [entry for entry in sandbox.requests() if entry["cursor"]][-1]
    assert (last["items"], last["page"]) == (0, 3)


def test_a_scroll_serves_what_was_there_at_its_opening(fresh_sandbox: Sandbox) -> None:
    asked = {"filter": window("2026-01-09", "2026-01-09"), "rows": 1000}
    before = {work["DOI"]: work for work in message(fresh_sandbox, **asked)["items"]}
    first = message(fresh_sandbox, cursor="*", **{**asked, "rows": 10})
    fresh_sandbox.script({"kind": "touch", "works": 200, "match": {"cursor": "later"}})
    second = message(fresh_sandbox, cursor=first["next-cursor"], **{**asked, "rows": 10})

    assert len(second["items"]) == 10
    assert all(work == before[work["DOI"]] for work in second["items"])
    assert message(fresh_sandbox, **asked)["total-results"] == 0


def test_pages_that_are_kept_are_the_pages_that_would_be_written() -> None:
    with running(Settings(works=60)) as usual, running(Settings(works=60, kept_pages=2)) as keeper:
        pages = [message(usual, rows=20, offset=offset)["items"] for offset in (0, 20, 40)]
        for _ in range(2):
            assert [message(keeper, rows=20, offset=offset)["items"] for offset in (0, 20, 40)] == pages
        keeper.script({"kind": "touch", "works": 5})
        changed = message(keeper, rows=20, cursor="*")["items"]
        assert changed != pages[0]
