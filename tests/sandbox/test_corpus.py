"""The corpus: a function of its seed, seen through a clock."""

from datetime import timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from deployments.sandbox.corpus import Corpus, Version
from deployments.sandbox.crossref.catalogue import Catalogue
from deployments.sandbox.crossref.template import TEMPLATES
from deployments.sandbox.instant import DAY_MS, to_ms
from deployments.sandbox.remote import Sandbox
from deployments.sandbox.server import running
from deployments.sandbox.settings import UNTIL, Settings
from tests.sandbox.client import get, message, true_ids

END_MS = to_ms(UNTIL)
instants = st.integers(END_MS - 11 * DAY_MS, END_MS + DAY_MS)
seeds = st.integers(0, 2**32)


def _states(corpus: Corpus, now_ms: int) -> list[tuple[int, int, int]]:
    return [(v.work, v.number, v.at_ms) for v in corpus.window(None, None, now_ms)]


@given(seeds, st.integers(0, 60))
def test_the_same_seed_makes_the_same_corpus(seed: int, works: int) -> None:
    first, second = (Corpus(Settings(seed=seed, works=works)) for _ in range(2))

    assert _states(first, END_MS) == _states(second, END_MS)
    assert len(_states(first, END_MS)) == works


@given(seeds)
def test_another_seed_makes_another_corpus(seed: int) -> None:
    first, second = Corpus(Settings(seed=seed, works=20)), Corpus(Settings(seed=seed + 1, works=20))

    assert _states(first, END_MS) != _states(second, END_MS)


@given(seeds, st.integers(1, 50), st.integers(50, 100))
def test_a_larger_corpus_holds_the_smaller_one(seed: int, small: int, large: int) -> None:
    few, many = Corpus(Settings(seed=seed, works=small)), Corpus(Settings(seed=seed, works=large))

    assert _states(few, END_MS) == [state for state in _states(many, END_MS) if state[0] < small]


@given(seeds, instants, instants, instants, st.lists(st.tuples(st.integers(0, 39), instants), max_size=10))
def test_a_window_holds_each_work_at_most_once_and_what_is_visible(
    seed: int, from_ms: int, to_ms_: int, now_ms: int, touched: list[tuple[int, int]]
) -> None:
    corpus = Corpus(Settings(seed=seed, works=40))
    for work, at_ms in touched:
        corpus.touch(work, at_ms)
    current = [corpus.current(work, now_ms) for work in range(40)]
    expected = {v for v in current if v and from_ms <= v.at_ms < to_ms_}
    found = corpus.window(from_ms, to_ms_, now_ms)

    assert set(found) == expected
    assert len(found) == len(expected)
    assert [v.at_ms for v in found] == sorted(v.at_ms for v in found)


@given(seeds, instants)
def test_the_current_version_is_the_latest_that_has_appeared(seed: int, now_ms: int) -> None:
    corpus = Corpus(Settings(seed=seed, works=40))
    for work in range(40):
        appeared: list[Version] = [v for v in corpus._histories[work] if v.at_ms <= now_ms]
        assert corpus.current(work, now_ms) is (appeared[-1] if appeared else None)


def test_index_times_fill_the_days_before_until() -> None:
    corpus = Corpus(Settings(works=2000, days=4))
    per_day = [len(corpus.window(END_MS - n * DAY_MS, END_MS - (n - 1) * DAY_MS, END_MS)) for n in range(1, 5)]

    assert sum(per_day) == 2000
    # The last day holds more: what is indexed again ends up late.
    assert all(350 < day < 700 for day in per_day)


def test_one_work_in_ten_is_indexed_again() -> None:
    corpus = Corpus(Settings(works=3000))
    again = [v for v in corpus.window(None, None, END_MS) if v.number > 1]

    assert 0.08 < len(again) / 3000 < 0.12


def test_a_version_indexed_again_differs_from_the_one_before() -> None:
    corpus = Corpus(Settings(works=300))
    catalogue = Catalogue(corpus)
    for work in range(300):
        bodies = [catalogue.body(version) for version in corpus._histories[work]]
        assert len({body.get("is-referenced-by-count") for body in bodies}) == len(bodies)
        assert {body["DOI"].lower() for body in bodies} == {catalogue.key(work)}


def test_every_doi_is_its_own() -> None:
    catalogue = Catalogue(Corpus(Settings(works=2000)))
    keys = [catalogue.key(work) for work in range(2000)]

    assert len(set(keys)) == 2000
    assert [catalogue.find(key.upper()) for key in keys] == list(range(2000))


def test_the_recorded_works_are_unlike_and_small() -> None:
    packed = Path(__file__).parents[2] / "deployments" / "sandbox" / "crossref" / "works.jsonl.gz"

    assert len(TEMPLATES.templates) == 300
    assert sum(not template.dated for template in TEMPLATES.templates) == 12
    assert packed.stat().st_size < 500_000


def test_two_sandboxes_of_one_seed_answer_alike_to_the_byte(sandbox: Sandbox) -> None:
    with running(Settings(works=240, days=2)) as twin, running(Settings(works=240, days=2, seed=2)) as other:
        pages = [get(box, rows=1000).content for box in (sandbox, twin, other)]

    assert pages[0] == pages[1]
    assert pages[0] != pages[2]


def test_the_past_shows_fewer_works_in_older_versions(sandbox: Sandbox) -> None:
    now = sandbox.truth()
    sandbox.move_clock("2026-01-10T00:00:00Z")
    then = sandbox.truth()
    versions = {row["id"]: row["version"] for row in now}

    assert 0 < len(then) < len(now) == 240
    assert message(sandbox, rows=0)["total-results"] == len(then)
    assert all(row["version"] <= versions[row["id"]] for row in then)
    assert any(row["version"] < versions[row["id"]] for row in then)
    assert all(row["updated_at"] < "2026-01-10" for row in then)


def test_a_clock_that_runs_again_shows_everything(sandbox: Sandbox) -> None:
    assert sandbox.move_clock("2026-01-01T00:00:00Z") == {"now": "2026-01-01T00:00:00.000000Z", "frozen": True}
    assert sandbox.truth() == []
    assert sandbox.move_clock(None)["frozen"] is False
    assert len(true_ids(sandbox)) == 240


def test_the_truth_has_what_is_served(sandbox: Sandbox) -> None:
    truth = {row["id"]: row for row in sandbox.truth()}
    for work in message(sandbox, rows=1000)["items"]:
        row = truth[work["DOI"].lower()]
        served = work["indexed"].get("date-time")
        assert row["usable"] is (served is not None)
        assert served is None or row["updated_at"] == served.replace("Z", ".000000Z")


def test_the_truth_of_adjacent_windows_adds_up(sandbox: Sandbox) -> None:
    seam = sandbox.truth()[100]["updated_at"]
    before, after = sandbox.truth(to=seam), sandbox.truth(from_=seam)

    assert before + after == sandbox.truth()
    assert after[0]["updated_at"] == seam


def test_a_corpus_ends_where_it_is_told() -> None:
    until = UNTIL + timedelta(days=3)
    with running(Settings(works=50, days=1, until=until)) as sandbox:
        assert len(true_ids(sandbox, "2026-01-13", "2026-01-14")) == 50


def test_the_works_are_as_hostile_as_the_real_ones(sandbox: Sandbox) -> None:
    works = message(sandbox, rows=1000)["items"]

    assert any(work.get("issued", {}).get("date-parts") == [[None]] for work in works)
    assert any(not work.get("title") for work in works)
    assert any(len(work.get("author", ())) > 500 for work in works)
    assert {"<", ">", ";", "(", ")"} <= {sign for work in works for sign in work["DOI"]}
