"""Each quirk of bioRxiv and medRxiv breaks a naive harvester, and a careful one gets the truth."""

import pytest

from deployments.sandbox.remote import Sandbox
from tests.sandbox.biorxiv import careful, naive
from tests.sandbox.biorxiv.client import DAYS, answer, keys, true_ids

SERVERS = ("biorxiv", "medrxiv")


def test_a_step_of_100_skips_what_a_page_of_30_leaves(sandbox: Sandbox) -> None:
    naively = keys(naive.step_by(sandbox, 100, "biorxiv"))

    assert len(naively) < len(true_ids(sandbox)) / 2
    assert sorted(keys(careful.harvest(sandbox))) == true_ids(sandbox)


def test_a_step_of_30_doubles_what_a_page_of_100_holds(sandbox: Sandbox) -> None:
    naively = keys(naive.step_by(sandbox, 30, "medrxiv"))

    assert len(naively) > 2 * len(set(naively))
    assert sorted(keys(careful.harvest(sandbox, server="medrxiv"))) == true_ids(sandbox, server="medrxiv")


def test_the_total_is_text(sandbox: Sandbox) -> None:
    with pytest.raises(TypeError, match="str"):
        naive.pages_to_ask(sandbox)

    assert int(answer(sandbox, *DAYS, 0)["messages"][0]["total"]) == len(sandbox.truth("biorxiv"))


@pytest.mark.parametrize("server", SERVERS)
def test_several_versions_share_a_doi(sandbox: Sandbox, server: str) -> None:
    preprints = careful.harvest(sandbox, server=server)

    assert len(naive.by_doi(preprints)) < len(preprints)
    assert sorted(keys(preprints)) == true_ids(sandbox, server=server)


def test_the_total_counts_versions_not_preprints(sandbox: Sandbox) -> None:
    message = answer(sandbox, *DAYS, 0)["messages"][0]
    versions = [row["version"] for row in sandbox.truth("biorxiv")]

    assert int(message["total"]) == len(versions) > 240
    assert int(message["count_new_papers"]) == versions.count(1) == 240


def test_a_later_version_leaves_the_earlier_where_it_was(sandbox: Sandbox) -> None:
    sandbox.move_clock("2026-01-10T00:00:00Z")
    then = true_ids(sandbox)
    sandbox.move_clock("2026-01-11T00:00:00Z")

    assert true_ids(sandbox, to="2026-01-10") == then
    assert sorted(keys(careful.harvest(sandbox, last="2026-01-09"))) == then


def test_where_nothing_was_posted_there_is_no_collection(sandbox: Sandbox) -> None:
    with pytest.raises(KeyError, match="collection"):
        naive.read_collection(sandbox, "2025-06-01", "2025-06-02")

    assert careful.harvest(sandbox, "2025-06-01", "2025-06-02") == []


def test_past_the_end_nothing_is_counted(sandbox: Sandbox) -> None:
    with pytest.raises(KeyError, match="count"):
        naive.until_the_collection_is_empty(sandbox, *DAYS)

    assert answer(sandbox, *DAYS, 10_000) == {"messages": [{"status": "no posts found"}], "collection": []}


def test_the_cursor_is_a_number_first_and_text_later(sandbox: Sandbox) -> None:
    assert naive.next_cursor(sandbox, 0) == 30
    with pytest.raises(TypeError, match="str"):
        naive.next_cursor(sandbox, 30)


def test_intervals_taken_as_half_open_double_their_seams(sandbox: Sandbox) -> None:
    naively = keys(naive.adjacent_windows(sandbox, ["2026-01-08", "2026-01-09", "2026-01-10"]))
    carefully = [found for day in DAYS for found in keys(careful.harvest(sandbox, day, day))]

    assert len(naively) > len(set(naively))
    assert sorted(carefully) == true_ids(sandbox)


@pytest.mark.parametrize("server", SERVERS)
def test_a_date_may_be_missing_or_none(sandbox: Sandbox, server: str) -> None:
    preprints = careful.harvest(sandbox, server=server)
    with pytest.raises((ValueError, TypeError), match=r"isoformat|out of range"):
        naive.update_days(preprints)

    rows = sandbox.truth(server, record=True)
    for reason, dates in (("UPDATED_AT_MISSING", ("", None)), ("UPDATED_AT_INVALID", ("0000-00-00",))):
        expected = sorted(row["id"] for row in rows if row["reason"] == reason)
        assert expected
        assert sorted(keys([preprint for preprint in preprints if preprint["date"] in dates])) == expected


def test_a_preprint_may_lack_its_doi_or_its_version(sandbox: Sandbox) -> None:
    preprints = careful.harvest(sandbox)
    unnamed = [row for row in sandbox.truth("biorxiv", record=True) if row["reason"] == "ID_MISSING"]

    assert len(preprints) - len(keys(preprints)) == len(unnamed) >= 4
    assert len({str(preprint) for preprint in preprints}) == len(preprints)


def test_semicolons_do_not_only_stand_between_names(sandbox: Sandbox) -> None:
    preprints = {found: preprint for preprint in careful.harvest(sandbox) if (found := (keys([preprint]) or [""])[0])}
    named = [preprint for preprint in preprints.values() if preprint["authors"] is not None]
    with pytest.raises(AttributeError, match="split"):
        [naive.authors(preprint) for preprint in preprints.values()]

    assert any(name != name.strip(" ;") for preprint in named for name in naive.authors(preprint))
    for row in sandbox.truth("biorxiv", record=True):
        for author in (row["record"] or {}).get("authors", ()):
            assert author["name"] == author["name"].strip(" ;") != ""


def test_a_day_that_is_not_over_shifts_under_its_pages(fresh_sandbox: Sandbox) -> None:
    fresh_sandbox.move_clock("2026-01-10T20:00:00Z")
    fresh_sandbox.script(
        {"kind": "touch", "works": 40, "match": {"path": "/biorxiv/details/biorxiv/2026-01-09/2026-01-10/180"}}
    )
    naively = keys(careful.harvest(fresh_sandbox))

    assert len(true_ids(fresh_sandbox)) > len(set(naively))
    fresh_sandbox.move_clock("2026-01-12T00:00:00Z")
    assert sorted(keys(careful.harvest(fresh_sandbox))) == true_ids(fresh_sandbox)
