"""ClinicalTrials.gov's `/api/v2/studies` as it is documented."""

import pytest

from deployments.sandbox.remote import Sandbox
from tests.sandbox.clinicaltrials.client import SOURCE, at, get, nct_ids, page, true_ids, window
from tests.sandbox.wire import CLIENT

DAY = window("2026-01-09", "2026-01-09")


def test_the_first_page_of_a_window_has_the_recorded_envelope(sandbox: Sandbox) -> None:
    response = get(sandbox, filter_advanced=DAY, pageSize=5, countTotal="true")
    body = response.json()

    assert response.headers["content-type"] == "application/json"
    assert list(body) == ["totalCount", "studies", "nextPageToken"]
    assert (body["totalCount"], len(body["studies"])) == (
        len(sandbox.truth(SOURCE, from_="2026-01-09", to="2026-01-10")),
        5,
    )
    assert body["nextPageToken"].startswith("ZVt07cGHkvI2wRk2CJf6")


def test_the_next_page_repeats_the_query_and_adds_the_token(sandbox: Sandbox) -> None:
    first = page(sandbox, filter_advanced=DAY, pageSize=5, countTotal="true")
    second = page(sandbox, filter_advanced=DAY, pageSize=5, countTotal="true", pageToken=first["nextPageToken"])

    assert list(second) == ["studies", "nextPageToken"]
    assert not set(nct_ids(first["studies"])) & set(nct_ids(second["studies"]))


def test_a_page_has_ten_studies_unless_asked_otherwise(sandbox: Sandbox) -> None:
    assert [len(page(sandbox, **asked)["studies"]) for asked in ({}, {"pageSize": 0}, {"pageSize": 7})] == [10, 10, 7]
    assert "totalCount" not in page(sandbox)


def test_a_range_has_open_ends_months_and_years(sandbox: Sandbox) -> None:
    def total(first: str, last: str) -> int:
        found: int = page(sandbox, filter_advanced=window(first, last), countTotal="true")["totalCount"]
        return found

    later = len(sandbox.truth(SOURCE, from_="2026-01-10"))
    assert total("2026-01-10", "MAX") == later
    assert total("MIN", "2026-01-09") == 240 - later
    assert total("2026-01", "2026-01") == total("2026", "2026") == total("MIN", "MAX") == 240


def test_expressions_combine(sandbox: Sandbox) -> None:
    def found(expression: str, **asked: object) -> set[str]:
        return set(nct_ids(page(sandbox, filter_advanced=expression, pageSize=1000, **asked)["studies"]))

    day, trials = found(DAY), found("AREA[StudyType]OBSERVATIONAL")
    assert found(f"{DAY} AND AREA[StudyType]OBSERVATIONAL") == day & trials
    assert found(f"({DAY} OR AREA[StudyType]OBSERVATIONAL)") == day | trials
    assert found(f"{DAY} AND NOT AREA[StudyType]OBSERVATIONAL") == day - trials
    assert found("AREA[Phase](PHASE2 OR PHASE3)") == found("AREA[Phase]PHASE2") | found("AREA[Phase]PHASE3")
    assert found(DAY, filter_overallStatus="RECRUITING,COMPLETED") < day


def test_searches_look_into_titles_conditions_and_numbers(sandbox: Sandbox) -> None:
    cases = (("query_cond", "phelan"), ("query_titles", "children"), ("query_term", '"growth hormone"'))
    for name, words in cases:
        studies = page(sandbox, **{name: words}, pageSize=1000)["studies"]
        assert studies
        assert all(words.strip('"') in str(study["protocolSection"]).lower() for study in studies)
    two = sorted(true_ids(sandbox))[:2]
    assert sorted(nct_ids(page(sandbox, filter_ids="|".join(two))["studies"])) == two


def test_a_study_is_found_by_its_number(sandbox: Sandbox) -> None:
    study = page(sandbox, pageSize=1)["studies"][0]
    number = nct_ids([study])[0]

    assert at(sandbox, f"/studies/{number}").json() == study
    missing = at(sandbox, "/studies/NCT99999999")
    assert (missing.status_code, missing.text) == (404, "NCT number NCT99999999 not found")
    assert at(sandbox, "/stats").status_code == 404
    assert list(at(sandbox, "/version").json()) == ["apiVersion", "dataTimestamp"]


REFUSED = [
    ({"query_recrs": "COMPLETED"}, "`query.recrs` is unknown parameter"),
    ({"filter_overallStatus": "RECRUITNG"}, "Invalid value in parameter overallStatus"),
    ({"pageSize": "many"}, "`pageSize`"),
    ({"pageToken": "x"}, "`pageToken`"),
    ({"pageToken": "ZVt07cGHkvI2wRk2CJf6_LLq14bEL8swAAAA"}, "`pageToken`"),
    ({"countTotal": "1"}, "`countTotal`"),
    ({"format": "csv"}, "`format`"),
    ({"sort": "Beauty:desc"}, "`sort`"),
    ({"fields": "NCTId,Wings"}, "Wings"),
    ({"filter_advanced": window("2026-02-30", "MAX")}, "2026-02-30"),
    ({"filter_advanced": "AREA[Wings]2"}, "Wings"),
    ({"filter_advanced": "AREA[Phase]RANGE[1,2]"}, "RANGE"),
    ({"filter_advanced": "(a OR"}, "syntax"),
    ({"filter_advanced": "(a"}, "syntax"),
    ({"filter_advanced": "a)"}, "syntax"),
    ({"filter_advanced": "AREA["}, "syntax"),
    ({"filter_advanced": "AND a"}, "syntax"),
    ({"query_term": "a " * 300}, "syntax"),
]


@pytest.mark.parametrize(("asked", "words"), REFUSED, ids=lambda part: str(part)[:40])
def test_a_bad_parameter_is_refused_in_plain_text(sandbox: Sandbox, asked: dict[str, str], words: str) -> None:
    response = get(sandbox, **asked)

    assert (response.status_code, response.headers["content-type"]) == (400, "text/plain;charset=utf-8")
    assert words in response.text


def test_only_reading_is_allowed(sandbox: Sandbox) -> None:
    assert CLIENT.post(f"{sandbox.url(SOURCE)}/api/v2/studies").status_code == 405


def test_a_rate_limit_is_held_in_plain_text(sandbox: Sandbox) -> None:
    sandbox.configure(rate_limit_per_second=2)
    answers = [get(sandbox, pageSize=1) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[2].headers["content-type"].startswith("text/plain")
    assert "retry-after" not in answers[2].headers
