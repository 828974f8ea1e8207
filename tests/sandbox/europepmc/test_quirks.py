"""Each quirk of Europe PMC breaks a naive harvester, and a careful one gets the truth."""

import pytest

from deployments.sandbox.remote import Sandbox
from tests.sandbox.europepmc import naive
from tests.sandbox.europepmc.client import (
    EVERYTHING,
    SearchFailedError,
    days,
    get,
    harvest,
    key,
    page,
    true_ids,
    updated_on,
)


def test_waiting_for_a_page_without_mark_never_ends(sandbox: Sandbox) -> None:
    with pytest.raises(naive.NeverEndsError):
        naive.go_on_while_there_is_a_mark(sandbox, size=50)

    assert set(harvest(sandbox, size=50)) == true_ids(sandbox)


def test_a_result_of_one_page_has_no_mark(sandbox: Sandbox) -> None:
    with pytest.raises(KeyError, match="nextCursorMark"):
        naive.every_page_has_a_mark(sandbox)

    assert set(harvest(sandbox)) == true_ids(sandbox)


def test_after_the_last_record_the_mark_comes_back_with_an_empty_list(sandbox: Sandbox) -> None:
    first = page(sandbox, EVERYTHING, pageSize=239)
    second = page(sandbox, EVERYTHING, pageSize=239, cursorMark=first["nextCursorMark"])
    third = page(sandbox, EVERYTHING, pageSize=239, cursorMark=second["nextCursorMark"])

    assert len(second["resultList"]["result"]) == 1
    assert third["resultList"]["result"] == []
    assert third["nextCursorMark"] == second["nextCursorMark"]


def test_the_number_of_a_page_is_ignored(sandbox: Sandbox) -> None:
    with pytest.raises(naive.NeverEndsError):
        naive.page_by_number(sandbox, size=100)

    assert set(harvest(sandbox, size=100)) == true_ids(sandbox)


@pytest.mark.parametrize("asked", [{"pageSize": 5000}, {"cursorMark": "nonsense"}, {"resultType": "everything"}])
def test_an_error_in_a_200_looks_like_an_empty_result(sandbox: Sandbox, asked: dict[str, object]) -> None:
    assert naive.errors_have_a_status(sandbox, **asked) == []
    with pytest.raises(SearchFailedError):
        page(sandbox, EVERYTHING, **asked)

    assert set(harvest(sandbox)) == true_ids(sandbox)


def test_without_a_format_the_answer_is_xml(sandbox: Sandbox) -> None:
    response = get(sandbox, EVERYTHING, format=None)

    with pytest.raises(ValueError, match="Expecting value"):
        response.json()
    assert response.text.startswith("<?xml")


def test_the_lite_result_does_not_tell_the_revision(sandbox: Sandbox) -> None:
    lite, core = harvest(sandbox, kind="lite"), harvest(sandbox)
    true = {row["id"]: row["updated_at"][:10] for row in sandbox.truth("europepmc") if row["usable"]}

    assert sum(updated_on(lite[name]) != day for name, day in true.items()) > len(true) / 2
    assert {name: updated_on(core[name]) for name in true} == true


def test_a_mark_must_be_encoded(sandbox: Sandbox) -> None:
    assert naive.pasted_mark(sandbox, size=5) < len(true_ids(sandbox)) // 5

    assert set(harvest(sandbox, size=5)) == true_ids(sandbox)


def test_an_id_alone_names_several_records(sandbox: Sandbox) -> None:
    records = harvest(sandbox)

    assert len(naive.by_id(records.values())) < len([record for record in records.values() if "id" in record])
    assert set(records) == true_ids(sandbox)


def test_windows_taken_as_half_open_double_their_seams(sandbox: Sandbox) -> None:
    naively = [key(record) for record in naive.adjacent_windows(sandbox, ["2026-01-09", "2026-01-10", "2026-01-11"])]
    carefully = [name for day in ("2026-01-09", "2026-01-10") for name in harvest(sandbox, days(day, day))]

    assert len(naively) - len(set(naively)) == len(true_ids(sandbox, "2026-01-10", "2026-01-11"))
    assert sorted(carefully) == sorted(true_ids(sandbox))


def test_taking_every_record_for_revised_crashes(sandbox: Sandbox) -> None:
    records = harvest(sandbox)
    with pytest.raises((KeyError, ValueError)):
        naive.revised_on(records.values())

    reasons = {row["id"]: row["reason"] for row in sandbox.truth("europepmc", record=True) if not row["usable"]}
    assert {name for name, record in records.items() if "id" not in record or (updated_on(record) or "0") < "1"} == set(
        reasons
    )
    assert set(reasons.values()) == {"ID_MISSING", "UPDATED_AT_MISSING", "UPDATED_AT_INVALID"}
    assert 0.02 < len(reasons) / len(records) < 0.07


def test_a_field_nobody_knows_finds_nothing_and_is_no_error(sandbox: Sandbox) -> None:
    assert page(sandbox, "UPDATED:[2026-01-09 TO 2026-01-09]")["hitCount"] == 0
    assert page(sandbox, days("2026-01-09", "2026-01-09"))["hitCount"] > 0


def test_no_is_a_word(sandbox: Sandbox) -> None:
    records = harvest(sandbox).values()
    carefully = [record for record in records if record["isOpenAccess"] == "Y"]

    assert 0 < len(carefully) < len(naive.open_access(records)) == len(records)


def test_records_changing_between_pages_are_kept(fresh_sandbox: Sandbox) -> None:
    day = days("2026-01-09", "2026-01-09")
    fresh_sandbox.script({"kind": "touch", "works": 5, "match": {"path": "/europepmc/search", "cursor": "later"}})
    found = set(harvest(fresh_sandbox, day, size=20))

    assert len(found - true_ids(fresh_sandbox, "2026-01-09", "2026-01-10")) == 5
    assert found >= true_ids(fresh_sandbox, "2026-01-09", "2026-01-10")
