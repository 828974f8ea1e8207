"""The API of bioRxiv and medRxiv as it is documented."""

import pytest

from deployments.sandbox.remote import Sandbox
from tests.sandbox.biorxiv.client import DAYS, answer, get, keys, true_ids
from tests.sandbox.wire import CLIENT

FIELDS = (
    "title authors author_corresponding author_corresponding_institution doi date version type license category"
    " jatsxml abstract funder published server"
)


@pytest.mark.parametrize(("server", "size"), [("biorxiv", 30), ("medrxiv", 100)])
def test_the_first_page_of_an_interval_has_the_documented_envelope(sandbox: Sandbox, server: str, size: int) -> None:
    response = get(sandbox, "2026-01-09/2026-01-10/0", server)
    body = response.json()

    assert response.headers["content-type"].startswith("application/json")
    assert list(body) == ["messages", "collection"]
    assert body["messages"] == [
        {
            "status": "ok",
            "category": "all",
            "interval": "2026-01-09:2026-01-10",
            "funder": "all",
            "cursor": 0,
            "count": size,
            "count_new_papers": "240",
            "total": str(len(sandbox.truth(server))),
        }
    ]
    assert len(body["collection"]) == size
    assert {" ".join(preprint) for preprint in body["collection"]} == {FIELDS}
    assert {preprint["server"].lower() for preprint in body["collection"]} == {server}


def test_the_next_page_begins_where_the_path_says(sandbox: Sandbox) -> None:
    first, second = (answer(sandbox, *DAYS, cursor) for cursor in (0, 30))

    assert second["messages"][0]["cursor"] == "30"
    assert not set(keys(first["collection"])) & set(keys(second["collection"]))
    assert answer(sandbox, *DAYS, 29)["collection"][0] == first["collection"][29]


@pytest.mark.parametrize("category", ["cell_biology", "cell%20biology", "Cell Biology"])
def test_a_subject_narrows_the_interval(sandbox: Sandbox, category: str) -> None:
    page = get(sandbox, f"2026-01-09/2026-01-10/0?category={category}").json()

    assert page["messages"][0]["category"] == "cell biology"
    assert {preprint["category"] for preprint in page["collection"]} == {"cell biology"}
    assert 30 < int(page["messages"][0]["total"]) < len(sandbox.truth("biorxiv")) / 2
    assert get(sandbox, "2026-01-09/2026-01-10/0?category=astrology").json() == {
        "messages": [{"status": "no posts found"}]
    }


def test_the_last_page_holds_the_rest(sandbox: Sandbox) -> None:
    total = len(sandbox.truth("biorxiv"))
    last = answer(sandbox, *DAYS, total - 7)

    assert last["messages"][0]["count"] == len(last["collection"]) == 7


def test_cursor_and_format_may_be_left_out(sandbox: Sandbox) -> None:
    pages = [get(sandbox, f"2026-01-09/2026-01-10{rest}").json() for rest in ("", "/0", "/0/json", "/")]

    assert pages[0] == pages[1] == pages[2] == pages[3]


def test_a_doi_brings_all_versions_and_no_counts(sandbox: Sandbox) -> None:
    often = max(sandbox.truth("biorxiv"), key=lambda row: int(row["version"]))
    doi = often["id"].rpartition("v")[0]
    body = get(sandbox, f"{doi}/na/json").json()

    assert body["messages"] == [{"status": "ok", "category": "all"}]
    assert keys(body["collection"]) == [f"{doi}v{number}" for number in range(1, often["version"] + 1)]
    assert len(body["collection"]) > 1
    assert get(sandbox, f"{doi}/na").json() == body
    assert get(sandbox, "10.1101/0/na/json").json()["collection"] == []


def test_dois_are_of_three_kinds(sandbox: Sandbox) -> None:
    ids = true_ids(sandbox)

    assert any(found.startswith("10.64898/20") for found in ids)
    assert any(found.startswith("10.1101/20") for found in ids)
    assert any(found.startswith("10.1101/1") for found in ids)


REFUSED = [
    "2026-01-09/2026-02-30/0",
    "2026-01-09T00:00:00/2026-01-10/0",
    "20260109/20260110/0",
    "yesterday/today/0",
    "2026-01-09/2026-01-10/first",
    "2026-01-09/2026-01-10/-1",
    "2026-01-09/2026-01-10/0/xml",
    "2026-01-09/2026-01-10/0/json/more",
    "2026-01-09",
]


@pytest.mark.parametrize("path", REFUSED)
def test_what_cannot_be_read_is_a_200_with_a_message(sandbox: Sandbox, path: str) -> None:
    response = get(sandbox, path)

    assert response.status_code == 200
    assert list(response.json()) == ["messages"]
    assert response.json()["messages"][0]["status"].startswith("Error : ")


def test_each_server_answers_for_itself(sandbox: Sandbox) -> None:
    for path in ("/details/medrxiv/2026-01-09/2026-01-10/0", "/pubs/biorxiv/2026-01-09/2026-01-10/0"):
        response = CLIENT.get(f"{sandbox.url('biorxiv')}{path}")
        assert response.json()["messages"][0]["status"].startswith("Error : unknown")
    assert CLIENT.post(f"{sandbox.url('biorxiv')}/details").status_code == 405


def test_a_rate_limit_is_held_with_html(sandbox: Sandbox) -> None:
    sandbox.configure(rate_limit_per_second=2)
    answers = [get(sandbox, "2026-01-09/2026-01-09/0") for _ in range(3)]

    assert [response.status_code for response in answers] == [200, 200, 429]
    assert answers[2].headers["content-type"] == "text/html"
