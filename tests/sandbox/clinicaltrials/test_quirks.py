"""Each quirk of ClinicalTrials.gov breaks a naive harvester, and a careful one gets the truth."""

import pytest

from deployments.sandbox.remote import Sandbox
from deployments.sandbox.server import running
from deployments.sandbox.settings import Settings
from tests.sandbox.clinicaltrials import careful, naive
from tests.sandbox.clinicaltrials.client import SOURCE, get, nct_ids, page, true_ids, updated, window


def test_the_second_page_does_not_state_the_total(sandbox: Sandbox) -> None:
    with pytest.raises(KeyError, match="totalCount"):
        naive.until_the_total_is_reached(sandbox, size=50)

    assert set(nct_ids(careful.harvest(sandbox, pageSize=50, countTotal="true"))) == true_ids(sandbox)


def test_the_last_page_has_no_token(sandbox: Sandbox) -> None:
    with pytest.raises(KeyError, match="nextPageToken"):
        naive.until_a_page_is_empty(sandbox, size=50)

    assert set(nct_ids(careful.harvest(sandbox, pageSize=50))) == true_ids(sandbox)


def test_an_empty_page_may_carry_a_token(sandbox: Sandbox) -> None:
    for asked in ({"size": 60}, {"size": 50, "filter_advanced": window("2025-06-01", "2025-06-30")}):
        with pytest.raises(naive.NeverEndsError):
            naive.while_there_is_a_token(sandbox, **asked)

    assert len(careful.harvest(sandbox, pageSize=60)) == 240
    assert careful.harvest(sandbox, filter_advanced=window("2025-06-01", "2025-06-30")) == []


def test_a_page_size_above_1000_is_cut_without_a_word() -> None:
    with running(Settings(works=1200, days=2)) as sandbox:
        naively = naive.until_a_page_is_short(sandbox, size=5000)

        assert len(naively) == 1000
        assert set(nct_ids(careful.harvest(sandbox, pageSize=5000))) == true_ids(sandbox)


def test_windows_taken_as_half_open_double_their_seams(sandbox: Sandbox) -> None:
    naively = nct_ids(naive.adjacent_windows(sandbox, ["2026-01-08", "2026-01-09", "2026-01-10"]))
    days = [window(day, day) for day in ("2026-01-08", "2026-01-09", "2026-01-10")]
    carefully = [number for day in days for number in nct_ids(careful.harvest(sandbox, filter_advanced=day))]

    assert len(naively) > len(set(naively))
    assert sorted(carefully) == sorted(true_ids(sandbox))


def test_a_bound_finer_than_a_day_is_refused(sandbox: Sandbox) -> None:
    refused = get(sandbox, filter_advanced=window("2026-01-09T10:00:00Z", "2026-01-09T14:00:00Z"))

    assert (refused.status_code, refused.headers["content-type"]) == (400, "text/plain;charset=utf-8")
    day = careful.harvest(sandbox, filter_advanced=window("2026-01-09", "2026-01-09"), pageSize=1000)
    assert set(nct_ids(day)) == true_ids(sandbox, "2026-01-09", "2026-01-10")


def test_a_date_may_not_exist(sandbox: Sandbox) -> None:
    studies = careful.harvest(sandbox, pageSize=1000)
    with pytest.raises(ValueError, match=r"month must be in 1\.\.12"):
        naive.days(studies)

    undated = {number for study in studies if updated(study) == "2024-13-45" for number in nct_ids([study])}
    assert undated == _ids(sandbox, "UPDATED_AT_INVALID") != set()


def test_a_study_may_not_say_when_it_was_updated(sandbox: Sandbox) -> None:
    studies = careful.harvest(sandbox, pageSize=1000)
    with pytest.raises(KeyError, match="lastUpdatePostDateStruct"):
        naive.update_dates(studies)

    undated = {number for study in studies if not updated(study) for number in nct_ids([study])}
    assert undated == _ids(sandbox, "UPDATED_AT_MISSING")


def test_a_study_may_have_no_number(sandbox: Sandbox) -> None:
    studies = careful.harvest(sandbox, pageSize=1000)
    with pytest.raises(KeyError, match="nctId"):
        {study["protocolSection"]["identificationModule"]["nctId"] for study in studies}

    assert len(studies) - len(nct_ids(studies)) == len(_ids(sandbox, "ID_MISSING")) == 2
    assert len({str(study) for study in studies}) == len(studies)


def test_fields_not_named_are_not_there(sandbox: Sandbox) -> None:
    with pytest.raises(KeyError, match="lastUpdatePostDateStruct"):
        naive.update_dates(naive.only_what_is_needed(sandbox))

    studies = careful.harvest(sandbox, fields="NCTId|LastUpdatePostDate", pageSize=1000)
    usable = {row["id"] for row in sandbox.truth(SOURCE) if row["usable"]}
    dated = [study for study in studies if (updated(study) or "").startswith("2026")]
    assert set(nct_ids(dated)) == usable


def test_an_error_is_plain_text(sandbox: Sandbox) -> None:
    with pytest.raises(ValueError, match="Expecting value"):
        naive.reason_of_refusal(sandbox, filter_phase="PHASE3")

    assert get(sandbox, filter_phase="PHASE3").text == "`filter.phase` is unknown parameter"


def test_a_token_needs_the_query_it_was_given_for(sandbox: Sandbox) -> None:
    with pytest.raises(AssertionError, match="pageToken"):
        naive.next_page_of_a_changed_query(sandbox)

    # Only what is about paging may change.
    first = page(sandbox, pageSize=40)
    rest = page(sandbox, pageSize=1000, countTotal="true", pageToken=first["nextPageToken"])
    assert set(nct_ids(first["studies"] + rest["studies"])) == true_ids(sandbox)


def test_what_is_updated_between_pages_moves_no_other_study(fresh_sandbox: Sandbox) -> None:
    asked = {"filter_advanced": window("2026-01-09", "2026-01-09"), "pageSize": 20}
    fresh_sandbox.script({"kind": "touch", "works": 5, "match": {"cursor": "later", "path": "/clinicaltrials/*"}})
    found = nct_ids(careful.harvest(fresh_sandbox, **asked))

    still_there = true_ids(fresh_sandbox, "2026-01-09", "2026-01-10")
    assert len(set(found) - still_there) == 5
    assert still_there <= set(found)
    assert len(found) == len(set(found))


def test_results_are_in_no_order_of_time_unless_sorted(sandbox: Sandbox) -> None:
    def dates(**asked: object) -> list[str]:
        studies = careful.harvest(sandbox, pageSize=100, **asked)
        return [date for study in studies if (date := updated(study) or "").startswith("2026")]

    assert dates() not in (sorted(dates()), sorted(dates(), reverse=True))
    assert dates(sort="LastUpdatePostDate") == sorted(dates(), reverse=True)
    assert dates(sort="LastUpdatePostDate:asc") == sorted(dates())


def _ids(sandbox: Sandbox, reason: str) -> set[str]:
    return {row["id"] for row in sandbox.truth(SOURCE, record=True) if row["reason"] == reason}
