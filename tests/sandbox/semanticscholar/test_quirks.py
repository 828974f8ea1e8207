"""Each quirk of Semantic Scholar breaks a naive harvester, and a careful one gets the truth."""

import httpx
import pytest

from deployments.sandbox.remote import Sandbox
from deployments.sandbox.server import running
from deployments.sandbox.settings import Settings
from tests.sandbox.semanticscholar import naive
from tests.sandbox.semanticscholar.client import fetch, list_ids, post, true_ids


def test_a_paper_that_is_not_there_is_null(sandbox: Sandbox) -> None:
    ids = list_ids(sandbox)
    with pytest.raises(TypeError, match="NoneType"):
        naive.every_entry_is_a_paper(post(sandbox, ids))

    found = fetch(sandbox, ids)
    assert {key for key, paper in found.items() if paper} == true_ids(sandbox, usable=True)
    assert {key for key, paper in found.items() if paper is None} == true_ids(sandbox, usable=False)
    assert {row["reason"] for row in sandbox.truth("semanticscholar", record=True)} == {None, "DETAIL_MISSING"}


def test_dropping_the_nulls_gives_papers_the_wrong_ids(sandbox: Sandbox) -> None:
    ids = list_ids(sandbox)

    assert any(asked != answered for asked, answered in naive.drop_the_nulls(sandbox, ids).items())
    assert all(paper is None or paper["paperId"] == asked for asked, paper in fetch(sandbox, ids).items())


def test_a_paper_answers_with_another_id_than_it_was_asked_by(sandbox: Sandbox) -> None:
    papers = [paper for paper in fetch(sandbox, list_ids(sandbox)).values() if paper]
    asked = [f"CorpusId:{paper['corpusId']}" for paper in papers]
    with pytest.raises(KeyError):
        naive.by_answered_id(sandbox, asked)

    assert list(fetch(sandbox, asked).values()) == papers


def test_a_batch_without_any_paper_is_an_error_and_no_list_of_nulls(sandbox: Sandbox) -> None:
    unknown = ["0" * 40, "DOI:10.5555/none"]
    with pytest.raises(TypeError, match="string indices"):
        naive.every_entry_is_a_paper(post(sandbox, unknown))

    assert fetch(sandbox, unknown) == dict.fromkeys(unknown)


def test_more_than_500_ids_are_refused() -> None:
    with running(Settings(works=1100, days=2)) as sandbox:
        ids = list_ids(sandbox)
        with pytest.raises(httpx.HTTPStatusError, match="400"):
            post(sandbox, ids).raise_for_status()

        assert {key for key, paper in fetch(sandbox, ids).items() if paper} == true_ids(sandbox, usable=True)


def test_the_total_is_an_estimate() -> None:
    with running(Settings(works=2300, days=2)) as sandbox:
        naively = [paper["paperId"] for paper in naive.go_on_until_the_total(sandbox)]
        ids = list_ids(sandbox)
        assert len(naively) > len(set(naively))
        assert len(ids) == len(set(ids))
        assert set(ids) == true_ids(sandbox)


def test_a_429_is_an_object_that_does_not_say_how_long_to_wait(sandbox: Sandbox) -> None:
    sandbox.configure(rate_limit_per_second=1)
    ids = sorted(true_ids(sandbox, usable=True))[:3]
    refused = [post(sandbox, ids) for _ in range(2)][-1]
    with pytest.raises(KeyError, match="retry-after"):
        naive.wait_as_told(refused)
    with pytest.raises(TypeError, match="string indices"):
        naive.every_entry_is_a_paper(refused)

    assert refused.status_code == 429
    assert refused.json()["code"] == "429"


def test_what_is_not_asked_for_is_not_told(sandbox: Sandbox) -> None:
    ids = sorted(true_ids(sandbox, usable=True))[:3]

    assert [set(paper) for paper in post(sandbox, ids, fields=None).json()] == [{"paperId", "title"}] * 3


def test_no_field_tells_when_a_paper_changed(sandbox: Sandbox) -> None:
    paper = next(paper for paper in fetch(sandbox, list_ids(sandbox)).values() if paper)

    assert not [name for name in paper if "update" in name.lower() or "modified" in name.lower()]
    for field in ("updated", "updatedDate", "lastModified"):
        assert post(sandbox, [paper["paperId"]], fields=field).status_code == 400


def test_a_paper_may_tell_only_its_year(sandbox: Sandbox) -> None:
    papers = [paper for paper in fetch(sandbox, list_ids(sandbox)).values() if paper]
    with pytest.raises(TypeError, match="NoneType"):
        naive.published_on(papers)

    assert any(paper["year"] and not paper["publicationDate"] for paper in papers)
