"""arXiv's `/api/query` as it is documented."""

import pytest

from deployments.sandbox.remote import Sandbox
from tests.sandbox.arxiv.client import (
    ATOM,
    EVERYTHING,
    OPENSEARCH,
    SOURCE,
    bare_ids,
    feed,
    get,
    read_feed,
    true_ids,
    versioned,
    window,
)
from tests.sandbox.wire import CLIENT

DAY = window("202601090000", "202601092359")


def test_the_first_page_of_a_window_has_the_recorded_envelope(sandbox: Sandbox) -> None:
    sandbox.move_clock("2026-04-12T22:09:26Z")
    response = get(sandbox, search_query=DAY, start=0, max_results=5, sortBy="lastUpdatedDate", sortOrder="ascending")
    page = read_feed(response.text)

    assert response.headers["content-type"] == "application/atom+xml; charset=utf-8"
    assert [child.tag.rpartition("}")[2] for child in page.root][:8] == [
        *("id", "title", "updated", "link", "itemsPerPage", "totalResults", "startIndex", "entry")
    ]
    assert page.root.findtext(f"{ATOM}title") == f"arXiv Query: search_query={DAY}&id_list=&start=0&max_results=5"
    assert page.root.findtext(f"{ATOM}updated") == "2026-04-12T22:09:26Z"
    assert (len(page.entries), page.total) == (5, len(sandbox.truth(SOURCE, from_="2026-01-09", to="2026-01-10")))


def test_the_next_page_begins_at_start(sandbox: Sandbox) -> None:
    first, second = (feed(sandbox, DAY, start=start, max_results=5, sortBy="submittedDate") for start in (0, 5))
    both = feed(sandbox, DAY, max_results=10, sortBy="submittedDate")

    assert [versioned(e) for e in first.entries + second.entries] == [versioned(e) for e in both.entries]
    assert second.root.findtext(f"{OPENSEARCH}startIndex") == "5"


def test_a_page_has_ten_entries_unless_asked_otherwise(sandbox: Sandbox) -> None:
    assert len(feed(sandbox).entries) == 10
    assert (len(feed(sandbox, max_results=0).entries), feed(sandbox, max_results=0).total) == (0, 240)


def test_queries_combine(sandbox: Sandbox) -> None:
    def found(query: str) -> set[str]:
        return {versioned(entry) for entry in feed(sandbox, query, max_results=2000).entries}

    day, lg, title = found(DAY), found("cat:cs.LG"), found('ti:"deep learning"')
    assert day
    assert lg
    assert title
    assert found(f"{DAY} AND cat:cs.LG") == day & lg
    assert found(f"({DAY} OR cat:cs.LG)") == day | lg
    assert found(f"{DAY} ANDNOT cat:cs.LG") == day - lg
    assert found(f'{DAY} AND (cat:cs.LG OR ti:"deep learning")') == day & (lg | title)
    assert found("cat:cs.*") > lg
    assert found('all:"deep learning"') >= title
    assert found("deep OR weibo") == found("all:deep OR all:weibo") == found("deep weibo")
    assert found('wings:"deep learning"') == found('all:"deep learning"')


def test_ids_are_listed_with_or_without_a_version(sandbox: Sandbox) -> None:
    old, new = (next(name for name in sorted(true_ids(sandbox)) if ("/" in name) == is_old) for is_old in (True, False))
    listed = read_feed(get(sandbox, id_list=f"{old},{new}v1,9999.99999").text)

    assert sorted(bare_ids(listed.entries)) == sorted([old, new])
    assert listed.total == 2
    assert read_feed(get(sandbox, id_list="9999.99999").text).total == 0


def test_a_query_may_come_as_a_form(sandbox: Sandbox) -> None:
    url = f"{sandbox.url(SOURCE)}/api/query"
    posted = CLIENT.post(url, data={"search_query": DAY, "max_results": "3"})

    assert read_feed(posted.text).total == feed(sandbox, DAY).total
    assert CLIENT.put(url).status_code == 405
    assert CLIENT.get(f"{sandbox.url(SOURCE)}/api/other").status_code == 404


REFUSED = [
    ({"start": "foo"}, 200, "start must be an integer"),
    ({"start": "-1"}, 200, "start must be non-negative"),
    ({"max_results": "foo"}, 200, "max_results must be an integer"),
    ({"max_results": "-1"}, 200, "max_results must be non-negative"),
    ({"max_results": "30001"}, 400, "start and max_results reach beyond the first 30000 results"),
    ({"sortBy": "beauty"}, 200, "sortBy must be in: relevance, lastUpdatedDate, submittedDate"),
    ({"sortOrder": "up"}, 200, "sortOrder must be in: descending, ascending"),
    ({"id_list": "1234.12345,bogus"}, 200, "incorrect id format for bogus"),
    ({"search_query": "submittedDate:[2007 TO 2008]"}, 200, "incorrect date 2007, expected YYYYMMDDHHMM"),
    ({"search_query": "submittedDate:2007*"}, 200, "incorrect date 2007*, expected YYYYMMDDHHMM"),
    ({"search_query": "submittedDate:[209913320000 TO 209913320000]"}, 200, "incorrect date 209913320000"),
    ({"search_query": "(ti:a"}, 200, "incorrect query syntax"),
    ({"search_query": "ti:a)"}, 200, "incorrect query syntax"),
    ({"search_query": "ti:a AND"}, 200, "incorrect query syntax"),
    ({"search_query": "OR ti:a"}, 200, "incorrect query syntax"),
    ({"search_query": "ti:[a TO b]"}, 200, "incorrect query syntax"),
    ({"search_query": 'ti:"a'}, 200, "incorrect query syntax"),
    ({"search_query": "a " * 300}, 200, "incorrect query syntax"),
    ({"search_query": ""}, 400, "search_query or id_list must be given"),
]


@pytest.mark.parametrize(("asked", "status", "summary"), REFUSED, ids=lambda part: str(part)[:40])
def test_a_bad_parameter_is_an_entry_titled_error(
    sandbox: Sandbox, asked: dict[str, str], status: int, summary: str
) -> None:
    response = get(sandbox, **{"search_query": EVERYTHING, **asked})
    page = read_feed(response.text)

    assert (response.status_code, page.total, len(page.entries)) == (status, 1, 1)
    entry = page.entries[0]
    assert entry.findtext(f"{ATOM}title") == "Error"
    assert entry.findtext(f"{ATOM}summary", "").startswith(summary)
    assert entry.findtext(f"{ATOM}id", "").startswith("http://arxiv.org/api/errors#" + summary.replace(" ", "_"))
    assert entry.findtext(f"{ATOM}updated")
