"""Each quirk of Zenodo breaks a naive harvester, and a careful one gets the truth."""

import time
from datetime import datetime
from itertools import pairwise

import pytest

from deployments.sandbox.remote import Sandbox
from tests.sandbox.wire import page
from tests.sandbox.zenodo.client import TOKEN, Upload, ask, careful, follow, ids, true_ids, updated_at, window

DAY = window("2026-01-09T00:00:00Z", "2026-01-09T23:59:59Z")
ALL = window("2026-01-01T00:00:00Z", "2026-01-31T00:00:00Z")


def test_without_all_versions_older_versions_are_left_out(sandbox: Sandbox) -> None:
    naively, _ = follow(sandbox, q=ALL, size=100)
    carefully = careful(sandbox, ALL)
    left_out = [upload for key, upload in carefully.items() if key not in naively]

    assert len(left_out) == 48
    assert not any(upload["metadata"]["relations"]["version"][0]["is_last"] for upload in left_out)
    assert {upload["conceptrecid"] for upload in left_out} <= {upload["conceptrecid"] for upload in naively.values()}
    assert set(carefully) == true_ids(sandbox)


def test_the_concept_is_no_key(sandbox: Sandbox) -> None:
    carefully = careful(sandbox, ALL)

    assert len({upload["conceptrecid"] for upload in carefully.values()}) < len(carefully) == len(true_ids(sandbox))


def test_without_a_token_more_than_25_a_page_are_refused(sandbox: Sandbox) -> None:
    refused = ask(sandbox, q=ALL, size=100)

    assert refused.status_code == 400
    assert refused.json()["errors"][0]["messages"] == [
        "Page size cannot be greater than 25. Please use authenticated requests to increase the limit to 100."
    ]
    assert len(page(ask(sandbox, TOKEN, q=ALL, size=100))["hits"]["hits"]) == 100
    assert ask(sandbox, TOKEN, q=ALL, size=101).json()["errors"][0]["messages"] == [
        "Page size cannot be greater than 100."
    ]


def test_next_leads_beyond_the_reachable_records_and_is_refused_there(crowded_sandbox: Sandbox) -> None:
    last = page(ask(crowded_sandbox, TOKEN, q=ALL, size=100, page=10, all_versions="true"))
    assert last["links"]["next"]
    refused = ask(crowded_sandbox, TOKEN, q=ALL, size=100, page=11, all_versions="true")
    assert refused.json() == {"status": 400, "message": "Invalid querystring parameters."}

    days = [window(f"2026-01-{day:02}", f"2026-01-{day:02}") for day in (9, 10)]
    assert {key for query in days for key in careful(crowded_sandbox, query)} == true_ids(crowded_sandbox)


def test_windows_taken_as_half_open_double_their_seams(sandbox: Sandbox) -> None:
    seams = sorted(str(row["updated_at"])[:19] + "Z" for row in sandbox.truth("zenodo"))[80:160:40]
    bounds = ["2026-01-09T00:00:00Z", *seams, "2026-01-11T00:00:00Z"]
    naively = [key for first, last in pairwise(bounds) for key in careful(sandbox, window(first, last))]
    carefully = [key for first, last in pairwise(bounds) for key in careful(sandbox, f"updated:[{first} TO {last}}}")]

    assert len(naively) > len(set(naively))
    assert sorted(carefully) == sorted(true_ids(sandbox, "2026-01-09", "2026-01-11"))


def test_an_upper_bound_to_the_second_holds_the_whole_second(sandbox: Sandbox) -> None:
    row = next(row for row in sandbox.truth("zenodo") if not str(row["updated_at"]).endswith(".000000Z"))
    second = f"{str(row['updated_at'])[:19]}Z"

    assert row["id"] in careful(sandbox, window(second, second))


def test_a_space_between_clauses_means_or(sandbox: Sandbox) -> None:
    naively = careful(sandbox, f"{DAY} metadata.resource_type.id:dataset")
    carefully = careful(sandbox, f"{DAY} AND metadata.resource_type.id:dataset")

    assert set(naively) - true_ids(sandbox, "2026-01-09", "2026-01-10")
    assert set(carefully) < true_ids(sandbox, "2026-01-09", "2026-01-10")
    assert {upload["metadata"]["resource_type"]["type"] for upload in carefully.values()} == {"dataset"}


def test_a_misspelled_field_finds_nothing_and_is_no_error(sandbox: Sandbox) -> None:
    assert careful(sandbox, "resource_type.id:dataset") == {}
    assert careful(sandbox, "modified:[2026-01-01 TO 2026-01-31]") == {}
    assert careful(sandbox, "metadata.resource_type.id:dataset")


def test_a_query_that_cannot_be_read_is_searched_for_as_words(sandbox: Sandbox) -> None:
    broken = ask(sandbox, TOKEN, q="updated:[2026-01-09 TO 2026-01-10", all_versions="true", size=100)

    assert broken.status_code == 200
    assert set(ids(broken.json()["hits"]["hits"])) != true_ids(sandbox, "2026-01-09", "2026-01-11")


def test_taking_every_record_for_dated_crashes(sandbox: Sandbox) -> None:
    def update_times(uploads: list[Upload]) -> list[datetime]:
        return [datetime.fromisoformat(upload["updated"]) for upload in uploads]

    uploads = list(careful(sandbox, ALL).values())
    with pytest.raises((KeyError, TypeError, ValueError)):
        update_times(uploads)

    unusable = {row["id"]: row["reason"] for row in sandbox.truth("zenodo", record=True) if not row["usable"]}
    assert {str(upload["id"]) for upload in uploads if updated_at(upload) is None} == set(unusable)
    assert set(unusable.values()) == {"UPDATED_AT_MISSING", "UPDATED_AT_INVALID"}
    assert 0.02 < len(unusable) / len(uploads) < 0.07


def test_records_updated_between_pages_push_others_out(fresh_sandbox: Sandbox) -> None:
    fresh_sandbox.script({"kind": "touch", "works": 5, "match": {"cursor": "later"}})
    naively, totals = follow(fresh_sandbox, q=DAY, size=20, all_versions="true")

    assert len(totals) == 2
    assert len(true_ids(fresh_sandbox, "2026-01-09", "2026-01-10") - set(naively)) == 5
    fresh_sandbox.script({"kind": "touch", "works": 5, "match": {"cursor": "later"}})
    assert set(careful(fresh_sandbox, DAY, 20)) == true_ids(fresh_sandbox, "2026-01-09", "2026-01-10")


def test_the_reset_of_a_429_is_a_time_and_not_seconds_left(sandbox: Sandbox) -> None:
    sandbox.configure(rate_limit_per_second=1)
    refused = [ask(sandbox, q=DAY) for _ in range(3)][-1]
    wait = int(refused.headers["x-ratelimit-reset"])

    assert refused.status_code == 429
    assert refused.json() == {"status": 429, "message": "1 per 1 second"}
    assert refused.headers["x-ratelimit-remaining"] == "0"
    assert "retry-after" not in refused.headers
    assert wait > 365 * 86_400
    time.sleep(max(wait - time.time(), 0))
    assert ask(sandbox, q=DAY).status_code == 200
