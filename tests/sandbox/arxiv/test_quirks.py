"""Each quirk of arXiv breaks a naive harvester, and a careful one gets the truth."""

from datetime import datetime
from xml.etree import ElementTree as ET

import pytest

from deployments.sandbox.remote import Sandbox
from deployments.sandbox.server import running
from deployments.sandbox.settings import Settings
from tests.sandbox.arxiv import careful, naive
from tests.sandbox.arxiv.client import ATOM, EVERYTHING, SOURCE, bare_ids, feed, get, read_feed, true_ids, window

DAY = window("202601090000", "202601092359")


def test_an_error_is_an_entry_in_a_200(sandbox: Sandbox) -> None:
    wrong = "lastUpdatedDate:[2026-01-09 TO 2026-01-10]"

    assert naive.every_entry_is_a_paper(sandbox, wrong) == ["Error"]
    assert feed(sandbox, wrong).total == 1
    with pytest.raises(careful.RefusedError, match="incorrect date 2026-01-09"):
        careful.harvest(sandbox, wrong)


def test_throttling_is_plain_text(sandbox: Sandbox) -> None:
    sandbox.configure(rate_limit_per_second=1)
    refused = [get(sandbox, search_query=EVERYTHING, max_results=0) for _ in range(2)][1]
    with pytest.raises(ET.ParseError, match="syntax error"):
        naive.every_answer_is_a_feed(refused)

    assert (refused.status_code, refused.text) == (429, "Rate exceeded.")
    assert "retry-after" not in refused.headers


def test_a_page_may_come_empty_and_be_full_when_asked_again(sandbox: Sandbox) -> None:
    naively = bare_ids(naive.until_a_page_is_empty(sandbox, size=10))
    sandbox.expire_scrolls()

    assert set(naively) < true_ids(sandbox)
    assert sorted(bare_ids(careful.harvest(sandbox, size=10))) == sorted(true_ids(sandbox))
    empty = [request for request in sandbox.requests(SOURCE) if not request["items"]]
    assert empty
    assert all(request["status"] == 200 for request in empty)


def test_more_than_2000_entries_are_cut_without_a_word() -> None:
    with running(Settings(works=2100, days=2)) as sandbox:
        naively = naive.step_by_what_was_asked(sandbox, size=5000)

        assert len(naively) == 2000
        assert set(bare_ids(careful.harvest(sandbox, size=5000))) == true_ids(sandbox)


def test_an_id_names_the_version_too(sandbox: Sandbox) -> None:
    entries: list[ET.Element] = []
    for moment in ("2026-01-10T00:00:00Z", "2026-01-11T00:00:00Z"):
        sandbox.move_clock(moment)
        entries += careful.harvest(sandbox)

    assert len(naive.by_id(entries)) > len(true_ids(sandbox)) + 1
    assert set(bare_ids(entries)) == true_ids(sandbox)


def test_an_old_id_has_a_slash_in_it(sandbox: Sandbox) -> None:
    entries = careful.harvest(sandbox)
    naively = {naive.last_part_of_the_id(entry) for entry in entries} - {""}

    assert naively - true_ids(sandbox)
    assert {name.split("/")[0] for name in true_ids(sandbox) if "/" in name} >= {"math", "hep-th", "math.GT"}


def test_titles_have_line_ends_in_them(sandbox: Sandbox) -> None:
    entries = careful.harvest(sandbox)
    titles = {row["record"].get("title", "") for row in sandbox.truth(SOURCE, record=True) if row["record"]}

    assert any("\n  " in title for title in naive.titles(entries))
    assert not any("\n" in title or "  " in title for title in titles)
    assert "Inline markup nested in a title" in titles - set(naive.titles(entries))


def test_the_feed_itself_has_an_id_and_a_title(sandbox: Sandbox) -> None:
    page = feed(sandbox, max_results=5)

    assert len(naive.every_id(page)) == 6
    assert len(page.entries) == 5


def test_a_comment_may_hold_another_date(sandbox: Sandbox) -> None:
    text = get(sandbox, search_query=EVERYTHING, max_results=2000).text

    assert naive.published_anywhere(text) > len(read_feed(text).entries)
    assert all(len(entry.findall(f"{ATOM}published")) == 1 for entry in read_feed(text).entries)


def test_an_author_may_come_with_an_affiliation(sandbox: Sandbox) -> None:
    entries = careful.harvest(sandbox)

    assert any("Dept. of" in text for entry in entries for text in naive.author_texts(entry))
    for row in sandbox.truth(SOURCE, record=True):
        assert not any("Dept. of" in author["name"] for author in (row["record"] or {}).get("authors", ()))


def test_a_window_by_submission_loses_revisions(sandbox: Sandbox) -> None:
    submitted = set(bare_ids(careful.harvest(sandbox, window("202601090000", "202601092359", "submittedDate"))))
    updated = set(bare_ids(careful.harvest(sandbox, DAY)))

    assert updated == true_ids(sandbox, "2026-01-09", "2026-01-10")
    assert len(updated - submitted) > len(updated) / 4


def test_windows_taken_as_half_open_double_their_seams() -> None:
    with running(Settings(works=1500, days=0.05)) as sandbox:
        naively = bare_ids(naive.adjacent_windows(sandbox, ["202601102200", "202601102330", "202601110000"]))
        halves = [window("202601102200", "202601102329"), window("202601102330", "202601102359")]
        carefully = [name for half in halves for name in bare_ids(careful.harvest(sandbox, half, size=1000))]

        assert len(naively) > len(set(naively))
        assert sorted(carefully) == sorted(true_ids(sandbox))


def test_a_bound_to_the_second_is_refused(sandbox: Sandbox) -> None:
    with pytest.raises(careful.RefusedError, match="YYYYMMDDHHMM"):
        careful.harvest(sandbox, window("20260109000000", "20260109235959"))


def test_no_more_results_can_be_reached_than_arxiv_gives() -> None:
    with running(Settings(works=3050, days=2, reach=3000)) as sandbox:
        assert feed(sandbox, max_results=0).total == 3050
        refused = get(sandbox, search_query=EVERYTHING, start=3000, max_results=50)
        assert (refused.status_code, len(read_feed(refused.text).entries)) == (400, 1)

        days = [window(f"202601{day}0000", f"202601{day}2359") for day in ("09", "10")]
        assert sum(feed(sandbox, day, max_results=0).total for day in days) == 3050


def test_a_paper_may_not_say_when_it_was_updated(sandbox: Sandbox) -> None:
    entries = careful.harvest(sandbox)
    with pytest.raises(AttributeError, match="text"):
        naive.update_times(entries)

    undated = [entry for entry in entries if not entry.findtext(f"{ATOM}updated", "").strip()]
    assert set(bare_ids(undated)) == _ids(sandbox, "UPDATED_AT_MISSING")
    odd = [entry for entry in entries if entry not in undated and not _is_time(entry)]
    assert set(bare_ids(odd)) == _ids(sandbox, "UPDATED_AT_INVALID")
    assert len(entries) - len(bare_ids(entries)) == len(_ids(sandbox, "ID_MISSING")) == 2


def test_papers_changing_between_pages_shift_the_others(fresh_sandbox: Sandbox) -> None:
    fresh_sandbox.move_clock("2026-01-20T00:00:00Z")
    fresh_sandbox.script({"kind": "touch", "works": 30, "match": {"cursor": "later", "path": "/arxiv/*"}})
    naively = set(bare_ids(naive.page_by_offset(fresh_sandbox, size=50)))

    assert len(true_ids(fresh_sandbox) - naively) >= 20
    # Where nothing can be updated any more, nothing moves.
    fresh_sandbox.script({"kind": "touch", "works": 30, "match": {"cursor": "later", "path": "/arxiv/*"}})
    quiet = careful.harvest(fresh_sandbox, window("202601200000", "202601200000"), size=10)
    assert set(bare_ids(quiet)) == true_ids(fresh_sandbox, from_="2026-01-20")


def test_results_are_in_no_order_of_time_unless_sorted(sandbox: Sandbox) -> None:
    def times(**asked: object) -> list[str]:
        entries = feed(sandbox, EVERYTHING, max_results=2000, **asked).entries
        return [entry.findtext(f"{ATOM}updated", "") for entry in entries if _is_time(entry)]

    assert times() not in (sorted(times()), sorted(times(), reverse=True))
    assert times(sortBy="lastUpdatedDate") == sorted(times(), reverse=True)
    assert times(sortBy="lastUpdatedDate", sortOrder="ascending") == sorted(times())


def _ids(sandbox: Sandbox, reason: str) -> set[str]:
    return {row["id"] for row in sandbox.truth(SOURCE, record=True) if row["reason"] == reason}


def _is_time(entry: ET.Element) -> bool:
    try:
        return bool(datetime.fromisoformat(entry.findtext(f"{ATOM}updated", "")))
    except ValueError:
        return False
