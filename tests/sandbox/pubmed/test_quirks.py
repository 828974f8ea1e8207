"""Each quirk of PubMed breaks a naive harvester, and a careful one gets the truth."""

import re
from collections.abc import Iterator

import httpx
import pytest

from deployments.sandbox.remote import Sandbox
from deployments.sandbox.server import running
from deployments.sandbox.settings import Settings
from tests.sandbox.pubmed import careful, naive
from tests.sandbox.pubmed.client import changed, get, post, result, true_ids

REACH = 999
FIRST, LAST = "2026/01/09", "2026/01/10"
DAY = changed("2026/01/09", "2026/01/09")


@pytest.fixture(scope="module")
def busy_sandbox() -> Iterator[Sandbox]:
    """A sandbox with more records in a day than esearch can reach."""
    with running(Settings(works=1050, days=1, reach=REACH)) as sandbox:
        yield sandbox


def test_a_careful_harvest_gets_the_truth(sandbox: Sandbox) -> None:
    found = careful.harvest(sandbox, FIRST, LAST)
    true = {row["id"]: row for row in sandbox.truth("pubmed", record=True)}

    assert {pmid: careful.reason(record) for pmid, record in found.items()} == {
        pmid: row["reason"] for pmid, row in true.items()
    }
    assert all(
        careful.updated_at(record) == true[pmid]["updated_at"][:10]
        for pmid, record in found.items()
        if record is not None and careful.reason(record) is None
    )


def test_paging_to_the_count_loses_what_is_beyond_reach(busy_sandbox: Sandbox) -> None:
    naively = naive.page_to_the_count(busy_sandbox, rows=100, term="all[sb]", **changed("2026/01/10", "2026/01/10"))

    assert len(naively) == REACH
    assert len(true_ids(busy_sandbox)) == 1050
    assert sorted(careful.listed(busy_sandbox, "2026/01/10", "2026/01/10", REACH)) == sorted(true_ids(busy_sandbox))


def test_a_larger_retmax_does_not_reach_further(busy_sandbox: Sandbox) -> None:
    assert len(naive.all_at_once(busy_sandbox, **changed("2026/01/10", "2026/01/10"))) == REACH


def test_the_last_page_in_reach_is_short_and_not_the_end(busy_sandbox: Sandbox) -> None:
    page = result(busy_sandbox, retstart=990, retmax=1000)

    assert (len(page["idlist"]), page["count"]) == (9, "1050")


def test_the_error_beyond_reach_is_a_200_that_is_not_strict_json(busy_sandbox: Sandbox) -> None:
    response = get(busy_sandbox, "esearch", db="pubmed", retmode="json", term="all[sb]", retstart=REACH)
    with pytest.raises(ValueError, match="Invalid control character"):
        naive.ids_of(response)

    assert response.status_code == 200
    with pytest.raises(careful.LostAnswerError, match="cannot be larger than 998"):
        careful._search(busy_sandbox, term="all[sb]", retstart=REACH)


def test_an_error_in_a_200_has_no_ids(sandbox: Sandbox) -> None:
    with pytest.raises(KeyError, match="idlist"):
        naive.ids_of(get(sandbox, "esearch", db="pubmed", retmode="json", term="(("))


def test_numbers_are_strings(sandbox: Sandbox) -> None:
    with pytest.raises(TypeError, match="not supported between"):
        naive.stop_at_the_count(result(sandbox)["count"])


def test_windows_taken_as_half_open_double_their_seams(sandbox: Sandbox) -> None:
    naively = naive.adjacent_windows(sandbox, ["2026/01/09", "2026/01/10", "2026/01/11"])
    carefully = [
        *careful.listed(sandbox, "2026/01/09", "2026/01/09"),
        *careful.listed(sandbox, "2026/01/10", "2026/01/10"),
    ]

    assert len(naively) > len(set(naively))
    assert sorted(carefully) == sorted(true_ids(sandbox))


def test_a_window_with_one_bound_is_no_window(sandbox: Sandbox) -> None:
    naively = naive.window_from(sandbox, "2026/01/10")

    assert set(naively) == true_ids(sandbox)
    assert set(careful.listed(sandbox, "2026/01/10", "2026/01/10")) == true_ids(sandbox, "2026-01-10", "2026-01-11")


def test_a_window_without_datetype_is_one_of_entry(sandbox: Sandbox) -> None:
    assert result(sandbox, mindate=FIRST, maxdate=LAST)["count"] == "0"


def test_works_changing_between_pages_are_lost_by_offset(fresh_sandbox: Sandbox) -> None:
    there = true_ids(fresh_sandbox, "2026-01-09", "2026-01-10")
    fresh_sandbox.script({"kind": "touch", "works": 5, "match": {"cursor": "later"}})
    naively = set(naive.page_while_full(fresh_sandbox, 20, **DAY))

    still_there = true_ids(fresh_sandbox, "2026-01-09", "2026-01-10")
    assert len(there - still_there) == 5
    assert len(still_there - naively) == 5
    assert set(careful.listed(fresh_sandbox, "2026/01/09", "2026/01/09")) == still_there


def test_a_record_revised_after_it_was_listed_comes_with_its_new_day(fresh_sandbox: Sandbox) -> None:
    ids = careful.listed(fresh_sandbox, "2026/01/09", "2026/01/09")
    usable = [row["id"] for row in fresh_sandbox.truth("pubmed") if row["usable"] and row["id"] in ids]
    fresh_sandbox.move_clock("2026-02-01T12:00:00Z")
    asked = {"db": "pubmed", "retmode": "xml", "id": ",".join(usable[:3])}
    fresh_sandbox.script({"kind": "touch", "works": 1})
    body = post(fresh_sandbox, "efetch", **asked).text

    revised = re.findall(r"<DateRevised>\s*<Year>(\d+)</Year>\s*<Month>(\d+)</Month>\s*<Day>(\d+)", body)
    assert revised[0] == ("2026", "02", "01")
    assert set(revised[1:]) == {("2026", "01", "09")}


def test_a_long_list_in_a_url_is_a_414_in_html(sandbox: Sandbox) -> None:
    ids = [str(10_000_000 + number) for number in range(1000)]
    with pytest.raises(httpx.HTTPStatusError, match="414"):
        naive.fetch_by_url(sandbox, ids)

    assert "<h2>Error 414</h2>" in get(sandbox, "efetch", db="pubmed", id=",".join(ids)).text
    assert post(sandbox, "efetch", db="pubmed", id=",".join(ids)).status_code == 200


def test_records_taken_by_position_are_other_works(sandbox: Sandbox) -> None:
    ids = careful.listed(sandbox, FIRST, LAST)
    naively = naive.by_position(sandbox, ids)

    assert any(careful.pmid(record) != pmid for pmid, record in naively.items())
    missing = {pmid for pmid, record in careful.harvest(sandbox, FIRST, LAST).items() if record is None}
    assert missing == {row["id"] for row in sandbox.truth("pubmed", record=True) if row["reason"] == "DETAIL_MISSING"}
    assert 0.01 < len(missing) / len(ids) < 0.05


def test_more_than_500_summaries_are_an_error_in_a_200(sandbox: Sandbox) -> None:
    ids = [str(number) for number in range(1, 502)]
    with pytest.raises(KeyError, match="result"):
        naive.summaries(sandbox, ids)

    response = get(sandbox, "esummary", db="pubmed", retmode="json", id=",".join(ids))
    assert (response.status_code, "error" in response.json()) == (200, True)


def test_one_id_of_a_summary_may_be_an_error(sandbox: Sandbox) -> None:
    missing = next(row["id"] for row in sandbox.truth("pubmed", record=True) if row["reason"] == "DETAIL_MISSING")
    with pytest.raises(KeyError, match="title"):
        naive.summaries(sandbox, [missing])

    answer = get(sandbox, "esummary", db="pubmed", retmode="json", id=missing).json()
    assert answer["result"][missing] == {"uid": missing, "error": "cannot get document summary"}


def test_a_429_is_json_even_when_xml_was_asked(sandbox: Sandbox) -> None:
    sandbox.configure(rate_limit_per_second=1)
    answers = [get(sandbox, "efetch", db="pubmed", retmode="xml", id="1") for _ in range(2)]

    assert [answer.status_code for answer in answers] == [200, 429]
    assert answers[1].json() == {
        "error": "API rate limit exceeded",
        "api-key": "203.0.113.7",
        "count": "2",
        "limit": "1",
    }
    assert answers[1].headers["retry-after"] == "2"
    with pytest.raises(KeyError, match="esearchresult"):
        naive.ids_of(answers[1])


@pytest.mark.parametrize("fault", [{"kind": "html"}, {"kind": "cut"}, {"kind": "status", "status": 502}])
def test_a_lost_page_can_be_asked_again(sandbox: Sandbox, fault: dict[str, object]) -> None:
    sandbox.script(fault)
    with pytest.raises((httpx.HTTPError, ValueError)):
        naive.ids_of(get(sandbox, "esearch", db="pubmed", retmode="json", term="all[sb]").raise_for_status())

    sandbox.script(fault)
    assert set(careful.listed(sandbox, FIRST, LAST)) == true_ids(sandbox)


def test_ids_are_in_no_order_of_time(sandbox: Sandbox) -> None:
    days = {row["id"]: row["updated_at"] for row in sandbox.truth("pubmed")}
    ids = result(sandbox, retmax=1000)["idlist"]

    assert [int(pmid) for pmid in ids] == sorted(map(int, ids), reverse=True)
    assert [days[pmid] for pmid in ids] != sorted(days.values(), reverse=True)
    assert ids != sorted(ids, reverse=True)
