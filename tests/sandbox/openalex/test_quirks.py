"""Each quirk of OpenAlex breaks a naive harvester, and a careful one gets the truth."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest

from deployments.sandbox.remote import Sandbox
from tests.sandbox.openalex import naive
from tests.sandbox.openalex.client import Work, get, harvest, page, true_ids, updated_at, window


def test_the_cursor_after_the_last_work_leads_to_an_empty_page(sandbox: Sandbox) -> None:
    with pytest.raises(IndexError):
        naive.every_page_has_a_last_work(sandbox)

    assert set(harvest(sandbox)) == true_ids(sandbox)


def test_asking_with_the_null_cursor_is_refused(sandbox: Sandbox) -> None:
    with pytest.raises(AssertionError, match="Cursor is null"):
        naive.ask_until_refused(sandbox)

    assert set(harvest(sandbox)) == true_ids(sandbox)


def test_pages_beyond_their_reach_are_refused_and_cursors_go_on(crowded_sandbox: Sandbox) -> None:
    with pytest.raises(AssertionError, match="of 1,000 records is exceeded"):
        naive.page_by_number(crowded_sandbox, per_page=10, first=100, select="id")

    assert set(harvest(crowded_sandbox, select="id")) == true_ids(crowded_sandbox)


def test_days_taken_as_half_open_come_twice(sandbox: Sandbox) -> None:
    naively = naive.adjacent_windows(sandbox, ["2026-01-09", "2026-01-10", "2026-01-11"])
    carefully = [key for day in ("2026-01-09", "2026-01-10") for key in harvest(sandbox, filter=window(day, day))]

    assert len(naively) - len({work["id"] for work in naively}) == len(true_ids(sandbox, "2026-01-10", "2026-01-11"))
    assert sorted(carefully) == sorted(true_ids(sandbox))


def test_seconds_taken_as_half_open_double_their_seams(sandbox: Sandbox) -> None:
    seam = sandbox.truth("openalex")[120]["updated_at"][:19]
    after = (datetime.fromisoformat(seam) + timedelta(seconds=1)).isoformat()
    before = (datetime.fromisoformat(seam) - timedelta(seconds=1)).isoformat()
    naively = naive.adjacent_windows(sandbox, ["2026-01-09T00:00:00", seam, "2026-01-11T00:00:00"])
    inclusive = [("2026-01-09T00:00:00", before), (seam, seam), (after, "2026-01-10T23:59:59Z")]
    carefully = [key for first, last in inclusive for key in harvest(sandbox, filter=window(first, last))]

    assert len(naively) > len({work["id"] for work in naively})
    assert sorted(carefully) == sorted(true_ids(sandbox))


def test_an_update_time_without_offset_cannot_be_compared(sandbox: Sandbox) -> None:
    works = harvest(sandbox)
    dated = [work for work in works.values() if updated_at(work)]
    with pytest.raises(TypeError, match="offset-naive"):
        naive.newer_than(dated, datetime(2026, 1, 9, tzinfo=UTC))

    served = {work["id"]: updated_at(work) for work in dated}
    true = {r["id"]: datetime.fromisoformat(r["updated_at"]) for r in sandbox.truth("openalex") if r["usable"]}
    assert served == true


def test_taking_every_work_for_dated_crashes(sandbox: Sandbox) -> None:
    works = harvest(sandbox)
    with pytest.raises((TypeError, KeyError, ValueError)):
        naive.newer_than(list(works.values()), datetime(2026, 1, 9))  # noqa: DTZ001 - as naive as the times

    undated = {key for key, work in works.items() if updated_at(work) is None}
    rows = {row["id"]: row["reason"] for row in sandbox.truth("openalex", record=True) if not row["usable"]}
    assert undated == set(rows)
    assert set(rows.values()) == {"UPDATED_AT_MISSING", "UPDATED_AT_INVALID"}
    assert 0.02 < len(undated) / len(works) < 0.06


def test_an_abstract_is_no_list_of_its_words(sandbox: Sandbox) -> None:
    works = harvest(sandbox)
    true = {r["id"]: r["record"] for r in sandbox.truth("openalex", record=True) if r["usable"]}
    told = {key: record["abstract"] for key, record in true.items() if "abstract" in record}

    assert sum(naive.abstract(works[key]) != abstract for key, abstract in told.items()) > len(told) / 2
    assert told == {key: text for key, work in works.items() if key in true and (text := read_abstract(work))}


def read_abstract(work: Work) -> str:
    """The words by their positions, which may have gaps."""
    index = work["abstract_inverted_index"] or {}
    places = {place: word for word, positions in index.items() for place in positions}
    return " ".join(places[place] for place in sorted(places))


def test_a_work_may_have_appeared_nowhere(sandbox: Sandbox) -> None:
    with pytest.raises(TypeError):
        [naive.journal(work) for work in harvest(sandbox).values()]


def test_reset_is_seconds_and_no_instant(sandbox: Sandbox) -> None:
    sandbox.move_clock("2026-01-11T09:00:00Z")
    response = get(sandbox)

    assert naive.reset_at(response) < datetime(1971, 1, 1, tzinfo=UTC)
    assert response.headers["x-ratelimit-reset"] == str(15 * 3600)


def test_a_spent_budget_asks_to_wait_for_hours(sandbox: Sandbox) -> None:
    sandbox.move_clock("2026-01-11T09:00:00Z")
    spent = get(sandbox, api_key="spent-key")

    assert spent.status_code == 429
    assert naive.seconds_to_wait(spent) == 15 * 3600
    assert spent.headers["x-ratelimit-remaining"] == "0"
    assert spent.json()["message"].startswith("Insufficient budget")
    assert set(harvest(sandbox)) == true_ids(sandbox)


def test_too_many_requests_a_second_ask_to_wait_for_one(sandbox: Sandbox) -> None:
    sandbox.configure(rate_limit_per_second=2)
    refused = [get(sandbox, per_page=1) for _ in range(3)][-1]

    assert (refused.status_code, naive.seconds_to_wait(refused)) == (429, 1)
    assert refused.json()["error"] == "Rate limit exceeded"
    assert refused.headers["ratelimit-remaining"] == "0"


def test_a_window_asked_by_nobody_is_forbidden(sandbox: Sandbox) -> None:
    refused = get(sandbox, api_key=None, filter=window("2026-01-09", "2026-01-09"))

    assert (refused.status_code, refused.json()["error"]) == (403, "Forbidden")
    assert page(sandbox, api_key=None, mailto="me@example.org", filter=window("2026-01-09", "2026-01-09"))["results"]


def test_a_comma_ends_a_title_that_is_searched(sandbox: Sandbox) -> None:
    title = next(t for work in harvest(sandbox).values() if "," in (t := work["title"] or "") and "|" not in t)
    with pytest.raises(AssertionError, match="not a valid field"):
        naive.search_title(sandbox, title)

    words = title.replace(",", " ").replace(":", " ")
    assert title in {work["title"] for work in page(sandbox, filter=f"title.search:{words}")["results"]}


def test_more_than_100_ids_are_refused(sandbox: Sandbox) -> None:
    ids = sorted(true_ids(sandbox))
    with pytest.raises(httpx.HTTPStatusError, match="400"):
        naive.by_ids(sandbox, ids)

    batches = [ids[at : at + 100] for at in range(0, len(ids), 100)]
    assert sorted(work["id"] for batch in batches for work in naive.by_ids(sandbox, batch)) == ids


def test_works_changing_between_pages_are_lost_by_page_and_kept_by_cursor(fresh_sandbox: Sandbox) -> None:
    day = window("2026-01-09", "2026-01-09")
    fresh_sandbox.script({"kind": "touch", "works": 5, "match": {"path": "/openalex/works", "cursor": "later"}})
    naively = {work["id"] for work in naive.page_by_number(fresh_sandbox, 20, filter=day)}
    still_there = true_ids(fresh_sandbox, "2026-01-09", "2026-01-10")

    assert len(still_there - naively) == 5

    fresh_sandbox.script({"kind": "touch", "works": 5, "match": {"path": "/openalex/works", "cursor": "later"}})
    carefully = set(harvest(fresh_sandbox, 20, filter=day))
    assert carefully >= true_ids(fresh_sandbox, "2026-01-09", "2026-01-10")


def test_a_lost_page_can_be_asked_again(sandbox: Sandbox) -> None:
    sandbox.script({"kind": "status", "status": 503, "times": 2, "match": {"cursor": "later"}})

    assert set(harvest(sandbox, 50)) == true_ids(sandbox)
