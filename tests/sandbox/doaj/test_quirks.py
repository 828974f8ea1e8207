"""Each quirk of DOAJ breaks a naive harvester, and a careful one gets the truth."""

from datetime import datetime
from itertools import pairwise

import pytest

from deployments.sandbox.remote import Sandbox
from deployments.sandbox.server import running
from deployments.sandbox.settings import Settings
from tests.sandbox.doaj.client import MOST_RECORDS, Article, ask, careful, follow, ids, true_ids, updated_at, window
from tests.sandbox.wire import fetch, page

DAY = window("2026-01-09T00:00:00Z", "2026-01-09T23:59:59Z")
ALL = window("2026-01-01T00:00:00Z", "2026-01-31T00:00:00Z")


def test_next_leads_beyond_the_first_1000_records_and_is_refused_there() -> None:
    with running(Settings(works=1500, days=2)) as sandbox:
        with pytest.raises(AssertionError, match="You cannot access results beyond 1000 records via this API"):
            follow(sandbox, ALL, size=100)

        hours = [f"2026-01-{day:02}T{hour:02}" for day in (9, 10) for hour in (0, 6, 12, 18)]
        windows = [window(f"{first}:00:00Z", f"{first[:11]}{int(first[11:]) + 5:02}:59:59Z") for first in hours]
        assert all(page(ask(sandbox, query))["total"] <= MOST_RECORDS for query in windows)
        assert {key for query in windows for key in careful(sandbox, query)} == true_ids(sandbox)


def test_counting_pages_of_the_size_asked_for_loses_records(sandbox: Sandbox) -> None:
    total = page(ask(sandbox, ALL, pageSize=240))["total"]
    pages = -(-total // 240)
    naively = [
        article
        for number in range(1, pages + 1)
        for article in page(ask(sandbox, ALL, pageSize=240, page=number))["results"]
    ]

    assert page(ask(sandbox, ALL, pageSize=240))["pageSize"] == 100
    assert len(set(ids(naively))) == 100
    assert set(careful(sandbox, ALL, size=240)) == true_ids(sandbox)


def test_windows_taken_as_half_open_double_their_seams(sandbox: Sandbox) -> None:
    seams = sorted(str(row["updated_at"])[:19] + "Z" for row in sandbox.truth("doaj"))[80:160:40]
    bounds = ["2026-01-09T00:00:00Z", *seams, "2026-01-11T00:00:00Z"]
    naively = [key for first, last in pairwise(bounds) for key in careful(sandbox, window(first, last))]
    carefully = [
        key for first, last in pairwise(bounds) for key in careful(sandbox, f"last_updated:[{first} TO {last}}}")
    ]

    assert len(naively) > len(set(naively))
    assert sorted(carefully) == sorted(true_ids(sandbox, "2026-01-09", "2026-01-11"))


def test_an_open_window_is_refused_as_a_wildcard(sandbox: Sandbox) -> None:
    refused = ask(sandbox, window("2026-01-10T00:00:00Z", "*"))

    assert refused.status_code == 400
    assert refused.json()["error"].startswith("Query contains disallowed Lucene features")
    closed = careful(sandbox, window("2026-01-10T00:00:00Z", "9999-12-31T00:00:00Z"))
    assert set(closed) == true_ids(sandbox, "2026-01-10")


def test_a_question_mark_in_a_title_is_a_wildcard_unless_escaped(sandbox: Sandbox) -> None:
    assert ask(sandbox, 'bibjson.title:"a/b?c=d"').status_code == 400
    assert ask(sandbox, r'bibjson.title:"a/b\?c=d"').status_code == 200


def test_not_without_and_turns_the_field_after_it_into_text(sandbox: Sandbox) -> None:
    without = f'{DAY} AND NOT bibjson.title:"Plasmodium genomes"'
    carefully, whole = set(careful(sandbox, without)), set(careful(sandbox, DAY))
    soil = set(careful(sandbox, f'{DAY} AND bibjson.title:"Plasmodium genomes"'))
    naively = set(careful(sandbox, f'{DAY} NOT bibjson.title:"Plasmodium genomes"'))

    assert soil
    assert carefully == whole - soil
    assert naively != carefully


def test_taking_every_article_for_dated_crashes(sandbox: Sandbox) -> None:
    def update_times(articles: list[Article]) -> list[datetime]:
        return [datetime.fromisoformat(article["last_updated"]) for article in articles]

    articles = list(careful(sandbox, ALL).values())
    with pytest.raises((KeyError, ValueError)):
        update_times(articles)

    unusable = {row["id"]: row["reason"] for row in sandbox.truth("doaj", record=True) if not row["usable"]}
    assert {article["id"] for article in articles if updated_at(article) is None} == set(unusable)
    assert set(unusable.values()) == {"UPDATED_AT_MISSING", "UPDATED_AT_INVALID"}
    assert 0.02 < len(unusable) / len(articles) < 0.07


def test_months_are_numbers_names_or_nonsense(sandbox: Sandbox) -> None:
    articles = careful(sandbox, ALL)
    with pytest.raises(ValueError, match="invalid literal"):
        [int(article["bibjson"]["month"]) for article in articles.values() if "month" in article["bibjson"]]

    dates = {
        (articles[row["id"]]["bibjson"].get("year"), articles[row["id"]]["bibjson"].get("month")): row["record"]
        .get("dates", {})
        .get("published")
        for row in sandbox.truth("doaj", record=True)
    }
    assert dates["2017", "March"] == "2017-03"
    assert {len(published) for published in dates.values() if published} == {4, 7}
    assert None in dates.values()


def test_articles_updated_between_pages_push_others_out(fresh_sandbox: Sandbox) -> None:
    fresh_sandbox.script({"kind": "touch", "works": 5, "match": {"cursor": "later"}})
    naively, totals = follow(fresh_sandbox, DAY, 20)
    there = true_ids(fresh_sandbox, "2026-01-09", "2026-01-10")

    assert len(totals) == 2
    assert len(there - set(naively)) == 5
    fresh_sandbox.script({"kind": "touch", "works": 5, "match": {"cursor": "later"}})
    assert set(careful(fresh_sandbox, DAY, 20)) == true_ids(fresh_sandbox, "2026-01-09", "2026-01-10")


def test_results_are_in_no_order_of_time_unless_sorted(sandbox: Sandbox) -> None:
    def times(**parameters: object) -> list[datetime]:
        articles = page(ask(sandbox, ALL, pageSize=100, **parameters))["results"]
        return [moment for article in articles if (moment := updated_at(article))]

    assert times() != sorted(times())
    assert times(sort="last_updated:asc") == sorted(times(sort="last_updated:asc"))
    assert times(sort="last_updated:desc") == sorted(times(sort="last_updated:desc"), reverse=True)


def test_a_query_pasted_into_a_path_is_cut_at_its_hash(sandbox: Sandbox) -> None:
    query = f'{DAY} AND bibjson.title:"a#b"'
    pasted = fetch(f"{sandbox.url('doaj')}/api/search/articles/{query}")

    assert pasted.status_code == 400
    assert page(ask(sandbox, query))["query"] == query


def test_a_429_is_html_and_does_not_say_how_long_to_wait(sandbox: Sandbox) -> None:
    sandbox.configure(rate_limit_per_second=2)
    refused = [ask(sandbox, DAY) for _ in range(4)][-1]

    assert refused.status_code == 429
    assert "retry-after" not in refused.headers
    with pytest.raises(ValueError, match="Expecting value"):
        refused.json()
