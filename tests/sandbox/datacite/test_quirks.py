"""Each quirk of DataCite breaks a naive harvester, and a careful one gets the truth."""

import re
from itertools import pairwise

import pytest

from deployments.sandbox.remote import Sandbox
from deployments.sandbox.server import running
from deployments.sandbox.settings import Settings
from tests.sandbox.datacite import naive
from tests.sandbox.datacite.client import ask, careful, ids, true_ids, updated_at, window
from tests.sandbox.wire import page

DAY = window("2026-01-09T00:00:00Z", "2026-01-09T23:59:59Z")


def test_a_cursor_that_is_counted_begins_anew_for_ever(sandbox: Sandbox) -> None:
    with pytest.raises(naive.NeverEndsError):
        naive.count_the_cursor(sandbox, size=50)

    first, second = (ids(page(ask(sandbox, cursor=cursor, size=50))["data"]) for cursor in (1, 2))
    assert first == second
    assert set(careful(sandbox, size=50)) == true_ids(sandbox)


def test_pages_by_number_end_at_their_reach_and_the_last_one_repeats(crowded_sandbox: Sandbox) -> None:
    followed = naive.follow_the_pages(crowded_sandbox, size=100)
    assert len(set(ids(followed))) == 1000
    with pytest.raises(naive.NeverEndsError):
        naive.count_the_pages(crowded_sandbox, size=100, first=10)
    assert ids(page(ask(crowded_sandbox, number=11, size=100))["data"]) == ids(followed)[-100:]

    assert set(careful(crowded_sandbox, size=100)) == true_ids(crowded_sandbox)


def test_by_cursor_sort_is_ignored(sandbox: Sandbox) -> None:
    since = "2026-01-10T00:00:00"
    naively = set(ids(naive.newest_first_until(sandbox, since, size=50)))
    recent = true_ids(sandbox, since)

    assert recent - naively
    assert set(careful(sandbox, query=window(since, "*"), size=50)) == recent


def test_a_page_is_silently_no_larger_than_1000() -> None:
    with running(Settings(works=1200)) as sandbox:
        assert len(naive.one_large_page(sandbox, size=2000)) == 1000
        assert set(careful(sandbox, size=2000)) == true_ids(sandbox)


def test_windows_taken_as_half_open_double_their_seams(sandbox: Sandbox) -> None:
    seams = sorted(str(row["updated_at"])[:19] + "Z" for row in sandbox.truth("datacite"))[80:160:40]
    bounds = ["2026-01-09T00:00:00Z", *seams, "2026-01-11T00:00:00Z"]
    naively = ids(naive.adjacent_windows(sandbox, bounds))
    half_open = [f"updated:[{first} TO {last}}}" for first, last in pairwise(bounds)]
    carefully = [doi for query in half_open for doi in careful(sandbox, query=query)]

    assert len(naively) > len(set(naively))
    assert sorted(carefully) == sorted(true_ids(sandbox, "2026-01-09", "2026-01-11"))


def test_a_window_of_one_day_is_the_truth_of_that_day(sandbox: Sandbox) -> None:
    by_day = careful(sandbox, query=window("2026-01-09", "2026-01-09"), size=30)

    assert set(by_day) == set(careful(sandbox, query=DAY, size=30)) == true_ids(sandbox, "2026-01-09", "2026-01-10")


def test_taking_every_doi_for_dated_crashes(sandbox: Sandbox) -> None:
    dois = list(careful(sandbox).values())
    with pytest.raises((KeyError, TypeError, ValueError)):
        naive.update_times(dois)

    unusable = {row["id"]: row["reason"] for row in sandbox.truth("datacite", record=True) if not row["usable"]}
    assert {doi["id"] for doi in dois if updated_at(doi) is None} == set(unusable)
    assert set(unusable.values()) == {"UPDATED_AT_MISSING", "UPDATED_AT_INVALID"}
    assert 0.02 < len(unusable) / len(dois) < 0.07


def test_after_a_full_last_page_comes_an_empty_one(sandbox: Sandbox) -> None:
    with pytest.raises(IndexError):
        naive.every_page_has_data(sandbox, size=60)

    assert len(true_ids(sandbox)) % 60 == 0
    assert set(careful(sandbox, size=60)) == true_ids(sandbox)


def test_errors_is_an_object_when_the_search_engine_refused(sandbox: Sandbox) -> None:
    refused = ask(sandbox, query="updated:[2026-01-09 TO")
    with pytest.raises(KeyError):
        naive.first_error(refused)

    assert refused.status_code == 400
    assert refused.json() == {"errors": {"title": "Failed to parse query [updated:[2026-01-09 TO]"}}


def test_dois_updated_between_pages_push_none_out_of_a_walk_by_cursor(fresh_sandbox: Sandbox) -> None:
    there = true_ids(fresh_sandbox, "2026-01-09", "2026-01-10")
    fresh_sandbox.script({"kind": "touch", "works": 5, "match": {"cursor": "later"}})
    carefully = set(careful(fresh_sandbox, query=DAY, size=20))

    still_there = true_ids(fresh_sandbox, "2026-01-09", "2026-01-10")
    assert len(there - still_there) == 5
    assert still_there <= carefully <= there


def test_dois_updated_between_pages_push_others_out_of_pages_by_number(fresh_sandbox: Sandbox) -> None:
    first = page(ask(fresh_sandbox, query=DAY, size=20, number=1))
    fresh_sandbox.script({"kind": "touch", "works": 5})
    rest = [page(ask(fresh_sandbox, query=DAY, size=20, number=number))["data"] for number in range(2, 8)]
    naively = set(ids(first["data"])) | {doi["id"] for data in rest for doi in data}

    assert len(true_ids(fresh_sandbox, "2026-01-09", "2026-01-10") - naively) == 5


def test_an_orcid_comes_in_three_spellings_and_not_always_first(sandbox: Sandbox) -> None:
    dois = careful(sandbox)
    bare = re.compile(r"\d{4}-\d{4}-\d{4}-\d{3}[\dX]")
    rows = sandbox.truth("datacite", record=True)
    true = [author["orcid"] for row in rows for author in row["record"].get("authors", ()) if "orcid" in author]

    assert not all(bare.fullmatch(orcid) for orcid in naive.orcids(list(dois.values())))
    assert true
    assert all(bare.fullmatch(orcid) for orcid in true)


def test_a_429_is_html_and_does_not_say_how_long_to_wait(sandbox: Sandbox) -> None:
    sandbox.configure(rate_limit_per_second=1)
    replies = [ask(sandbox) for _ in range(3)]
    refused = replies[-1]

    assert refused.status_code == 429
    assert "retry-after" not in refused.headers
    with pytest.raises(ValueError, match="Expecting value"):
        refused.json()
