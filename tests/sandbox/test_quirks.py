"""Each quirk of Crossref breaks a naive harvester, and a careful one gets the truth."""

from itertools import pairwise

import httpx
import pytest

from deployments.sandbox.remote import Sandbox
from tests.sandbox import careful, naive
from tests.sandbox.client import dois, get, indexed_at, message, true_ids, window

DAY = window("2026-01-09", "2026-01-09")
LOST_ANSWERS = [
    {"kind": "timeout", "seconds": 5},
    {"kind": "cut"},
    {"kind": "drop"},
    {"kind": "status", "status": 500},
    {"kind": "status", "status": 504},
]


def test_stopping_at_an_unchanged_cursor_loses_pages(sandbox: Sandbox) -> None:
    naively = dois(naive.stop_when_the_cursor_repeats(sandbox, rows=50))

    assert len(naively) == 2 * 50
    assert set(careful.harvest(sandbox, rows=50)) == true_ids(sandbox)


@pytest.mark.parametrize("fault", LOST_ANSWERS, ids=lambda fault: f"{fault['kind']}-{fault.get('status', '')}")
def test_asking_a_lost_page_again_skips_it(sandbox: Sandbox, fault: dict[str, object]) -> None:
    sandbox.script({**fault, "match": {"cursor": "later"}})
    naively = dois(naive.ask_the_same_page_again(sandbox, rows=50))
    sandbox.script({**fault, "match": {"cursor": "later"}})

    assert len(true_ids(sandbox) - set(naively)) == 50
    assert set(careful.harvest(sandbox, rows=50)) == true_ids(sandbox)


def test_waiting_for_a_page_without_cursor_never_ends(sandbox: Sandbox) -> None:
    with pytest.raises(naive.NeverEndsError):
        naive.go_on_while_there_is_a_cursor(sandbox, rows=50)

    assert set(careful.harvest(sandbox, rows=50)) == true_ids(sandbox)


def test_windows_taken_as_half_open_double_their_seams(sandbox: Sandbox) -> None:
    bounds = ["2026-01-09T00", "2026-01-09T08", "2026-01-09T16", "2026-01-10T00"]
    naively = dois(naive.adjacent_windows(sandbox, bounds))
    seams = [hour for hour in bounds[1:-1] if message(sandbox, filter=window(hour, hour), rows=0)["total-results"]]
    inclusive = [
        ("2026-01-09T00", "2026-01-09T07"),
        ("2026-01-09T08", "2026-01-09T15"),
        ("2026-01-09T16", "2026-01-09T23"),
    ]
    carefully = [doi for first, last in inclusive for doi in careful.harvest(sandbox, filter=window(first, last))]

    assert seams
    assert len(naively) > len(set(naively))
    assert sorted(carefully) == sorted(true_ids(sandbox, "2026-01-09", "2026-01-10"))


def test_a_bound_finer_than_an_hour_brings_the_whole_hour(sandbox: Sandbox) -> None:
    first, last = "2026-01-09T10:20:00Z", "2026-01-09T13:40:00Z"
    naively = naive.exact_window(sandbox, first, last)
    carefully = [work for work in naively if first <= indexed_at(work) < last]

    assert set(dois(naively)) == true_ids(sandbox, "2026-01-09T10:00:00", "2026-01-09T14:00:00")
    assert len(carefully) < len(naively)
    assert set(dois(carefully)) == true_ids(sandbox, first, last)


def test_selecting_only_doi_and_title_loses_the_update_time(sandbox: Sandbox) -> None:
    with pytest.raises(KeyError, match="indexed"):
        naive.update_times(naive.only_what_is_needed(sandbox))

    selected = careful.harvest(sandbox, select="DOI,title,indexed")
    usable = {row["id"] for row in sandbox.truth() if row["usable"]}
    assert {doi for doi, work in selected.items() if careful.updated_at(work)} == usable


def test_taking_every_200_for_json_crashes_on_a_maintenance_page(sandbox: Sandbox) -> None:
    sandbox.script({"kind": "html"})
    with pytest.raises(ValueError, match="Expecting value"):
        naive.every_200_is_json(sandbox)

    sandbox.script({"kind": "html", "match": {"cursor": "later"}})
    assert set(careful.harvest(sandbox, rows=100)) == true_ids(sandbox)


def test_taking_every_work_for_dated_crashes(sandbox: Sandbox) -> None:
    works = careful.harvest(sandbox)
    with pytest.raises(KeyError, match="date-time"):
        naive.update_times(works.values())

    undated = {doi for doi, work in works.items() if careful.updated_at(work) is None}
    assert undated == {row["id"] for row in sandbox.truth() if not row["usable"]}
    assert 0.02 < len(undated) / len(works) < 0.06


def test_a_scroll_left_idle_expires(sandbox: Sandbox) -> None:
    sandbox.configure(scroll_ttl_seconds=0.05)
    with pytest.raises(AssertionError, match="cursor-invalid"):
        naive.pause_between_pages(sandbox, rows=100, seconds=0.15)

    assert set(careful.harvest(sandbox, rows=100)) == true_ids(sandbox)


def test_a_429_does_not_say_how_long_to_wait(sandbox: Sandbox) -> None:
    sandbox.script({"kind": "status", "status": 429, "times": 2})
    refused = get(sandbox, cursor="*")
    with pytest.raises(KeyError, match="retry-after"):
        naive.wait_as_told(refused)
    with pytest.raises(ValueError, match="Expecting value"):
        naive.message_is_an_object(refused)

    assert set(careful.harvest(sandbox)) == true_ids(sandbox)


def test_the_message_of_a_400_is_a_list(sandbox: Sandbox) -> None:
    refused = get(sandbox, rows="things")
    with pytest.raises(TypeError, match="list indices"):
        naive.message_is_an_object(refused)

    assert [entry["type"] for entry in refused.json()["message"]] == ["integer-not-valid"]


def test_a_doi_as_spelled_is_no_key(sandbox: Sandbox) -> None:
    moments = ("2026-01-10T00:00:00Z", "2026-01-11T00:00:00Z")
    works = []
    for moment in moments:
        sandbox.move_clock(moment)
        works += message(sandbox, rows=1000)["items"]

    assert len(naive.by_spelling(works)) > len(true_ids(sandbox))
    assert {work["DOI"].lower() for work in works} == true_ids(sandbox)


def test_works_changing_between_pages_are_lost_by_offset_and_kept_by_scroll(fresh_sandbox: Sandbox) -> None:
    there = true_ids(fresh_sandbox, "2026-01-09", "2026-01-10")
    fresh_sandbox.script({"kind": "touch", "works": 5, "match": {"cursor": "later"}})
    naively = set(dois(naive.page_by_offset(fresh_sandbox, rows=20, filter=DAY)))

    still_there = true_ids(fresh_sandbox, "2026-01-09", "2026-01-10")
    assert len(there - still_there) == 5
    assert len(still_there - naively) == 5

    fresh_sandbox.script({"kind": "touch", "works": 5, "match": {"cursor": "later"}})
    assert set(careful.harvest(fresh_sandbox, filter=DAY, rows=20)) == still_there


def test_offset_paging_is_refused_beyond_its_reach(crowded_sandbox: Sandbox) -> None:
    with pytest.raises(AssertionError, match="integer-not-valid"):
        naive.page_by_offset(crowded_sandbox, rows=100, select="DOI")

    assert set(careful.harvest(crowded_sandbox, rows=1000, select="DOI,indexed")) == true_ids(crowded_sandbox)


def test_results_are_in_no_order_of_time_unless_sorted(sandbox: Sandbox) -> None:
    def stamps(**parameters: object) -> list[int]:
        return [work["indexed"]["timestamp"] for work in message(sandbox, rows=1000, **parameters)["items"]]

    newest_so_far = max(stamps()[:100])
    assert any(stamp < newest_so_far for stamp in stamps()[100:])
    assert all(first <= second for first, second in pairwise(stamps(sort="indexed", order="asc")))
    assert all(first >= second for first, second in pairwise(stamps(sort="indexed", order="desc")))


def test_a_dropped_connection_is_no_answer_at_all(sandbox: Sandbox) -> None:
    sandbox.script({"kind": "drop"})
    with pytest.raises(httpx.RemoteProtocolError, match="without sending a response"):
        get(sandbox)
