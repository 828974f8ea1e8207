"""Ranges of ids in a term: inclusive, and as good a part of it as any other."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deployments.sandbox.provider import Request
from deployments.sandbox.pubmed.catalogue import MOST_PMIDS
from deployments.sandbox.remote import Sandbox
from deployments.sandbox.settings import Settings
from deployments.sandbox.state import open_state
from tests.sandbox.pubmed.client import changed, result, true_ids

DAY = changed("2026/01/09", "2026/01/09")
API = open_state(Settings(works=300, days=3)).providers["pubmed"]
TERMS = ("all[sb]", "yeast[tiab]", "journal article[pt]", "2026/01/09[mdat]", "2025/03:2025/09[edat]")

NONSENSE = (
    *("9:8[UID]", "41000000:1[UID]", "a:b[UID]", "1:2:3[UID]", "-1:41000000[UID]", "1:41e6[UID]", ":[UID]"),
    *('"1:41000000"[UID]', "1 : 41000000[UID]", "1:*[UID]", "1:41000000"),
)


def _there(sandbox: Sandbox) -> list[int]:
    """Every number there is, ascending."""
    return sorted(map(int, true_ids(sandbox)))


def _asked(sandbox: Sandbox, term: str, **asked: object) -> list[int]:
    """The numbers a term finds."""
    return [int(pmid) for pmid in result(sandbox, term=term, retmax=1000, **asked)["idlist"]]


def _found(term: str) -> set[int]:
    """The works a term finds, without a server."""
    query = {"db": "pubmed", "retmode": "json", "term": term}
    return {version.work for version in API.asked(Request("GET", "/esearch.fcgi", query, {}))}


@pytest.mark.parametrize(
    "form", ["{}:{}[UID]", "{}:{}[uid]", "{}:{} [UID]", "({}:{}[Uid])", "{}:{}[PMID]", "0{}:00{}[UID]"]
)
def test_a_range_finds_both_its_ends_and_what_is_between(sandbox: Sandbox, form: str) -> None:
    there = _there(sandbox)

    assert _asked(sandbox, form.format(there[40], there[90])) == there[40:91][::-1]
    assert _asked(sandbox, form.format(there[40] + 1, there[90] - 1)) == there[41:90][::-1]
    assert _asked(sandbox, form.format(there[40] - 1, there[90] + 1)) == there[40:91][::-1]


def test_one_number_finds_one_record(sandbox: Sandbox) -> None:
    there = _there(sandbox)

    assert _asked(sandbox, f"{there[7]}[UID]") == _asked(sandbox, f"{there[7]}:{there[7]}[UID]") == [there[7]]
    assert _asked(sandbox, f"{there[7]}[uid] OR {there[3]}[UID]") == [there[7], there[3]]
    assert _asked(sandbox, f"{there[7] + 1}[UID]") == []


@pytest.mark.parametrize("ends", [(0, MOST_PMIDS), (1, 10**17)])
def test_a_range_may_be_wider_than_what_is_there(sandbox: Sandbox, ends: tuple[int, int]) -> None:
    assert len(_asked(sandbox, f"{ends[0]}:{ends[1]}[UID]")) == 240


@pytest.mark.parametrize("retmax", [0, 1, 7])
def test_the_count_of_a_range_is_the_whole_range_however_little_is_asked(sandbox: Sandbox, retmax: int) -> None:
    there = _there(sandbox)
    on_the_day = sorted(map(int, true_ids(sandbox, "2026-01-09", "2026-01-10")))
    part = f"all[sb] AND {there[30]}:{there[200]}[UID]"
    all_days, one_day = result(sandbox, term=part, retmax=retmax), result(sandbox, term=part, retmax=retmax, **DAY)
    within = [number for number in on_the_day if there[30] <= number <= there[200]]

    assert (all_days["count"], len(all_days["idlist"])) == ("171", retmax)
    assert (one_day["count"], len(one_day["idlist"])) == (str(len(within)), retmax)
    assert 0 < len(within) < min(171, len(on_the_day))


@pytest.mark.parametrize("nonsense", NONSENSE)
def test_a_range_without_sense_finds_nothing_and_spoils_nothing(sandbox: Sandbox, nonsense: str) -> None:
    found = result(sandbox, term=nonsense)

    assert (found["count"], found["idlist"]) == ("0", [])
    assert found["warninglist"]["outputmessages"] == ["No items found."]
    assert result(sandbox, term=f"all[sb] NOT ({nonsense})")["count"] == "240"


@given(st.sampled_from(TERMS), st.lists(st.integers(1, MOST_PMIDS), max_size=6), st.booleans())
def test_ranges_side_by_side_part_any_search_without_loss_or_overlap(term: str, cuts: list[int], first: bool) -> None:
    bounds = [0, *sorted(cuts), MOST_PMIDS]
    ranges = [f"{low + 1}:{high}[UID]" for low, high in pairwise(bounds)]
    parts = [_found(f"{one} AND {term}" if first else f"{term} AND {one}") for one in ranges]

    assert sum(map(len, parts)) == len(_found(term)) > 0
    assert set().union(*parts) == _found(term)


@given(st.sampled_from(TERMS), *[st.integers(0, MOST_PMIDS)] * 2)
def test_a_range_combines_with_and_or_and_not(term: str, one: int, other: int) -> None:
    part = f"{min(one, other)}:{max(one, other)}[UID]"
    within, matching = _found(part), _found(term)

    assert _found(f"{part} AND {term}") == within & matching
    assert _found(f"{term} OR {part}") == within | matching
    assert _found(f"{part} NOT {term}") == within - matching
    assert _found(f"{term} NOT ({part} NOT {term})") == matching
