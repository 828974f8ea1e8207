"""The page of a plan says what happened, how, and what to do next; nothing in a value is taken for markup."""

from collections.abc import Sequence
from itertools import cycle
from typing import Any

import pytest

from flows.planning.page import plan_headline, plan_page, with_weak_ends
from ingest_core.model.codes import Operation, PlanStatus
from ingest_core.model.id_range import IdRange
from ingest_core.model.partition import Partition
from ingest_core.model.slice_codes import EstimateMethod
from ingest_core.planning.arithmetic import Arithmetic
from ingest_core.planning.estimate import NOTHING_ASKED, SizesAsked
from ingest_core.planning.ports import StoredPlan
from ingest_core.planning.report import FIRST_SHOWN, LAST_SHOWN, PlanReport, Tally
from tests.support.specs import at, crossref_spec, drafted, span

PARTITION = Partition("crossref", "works", Operation.HARVEST)
DAY = span("00:00", "23:00")
COUNT, CONSTANT, HISTORY = EstimateMethod.COUNT, EstimateMethod.CONSTANT, EstimateMethod.HISTORY
AWAY = SizesAsked(failure="upstream unreachable: no route", reached=False)
NO_ANSWER = SizesAsked(failure="the provider answered 503")
NO_SIZE = "the provider gave no size"
NOT_REACHED = "the provider was not reached"
OF_THREE = "3 slices, about 300 records in 3 requests"


def report(
    slices: int = 3,
    *,
    methods: Sequence[EstimateMethod] = (EstimateMethod.COUNT,),
    asked: SizesAsked = NOTHING_ASKED,
    created: bool = True,
    dry_run: bool = False,
    **remarks: Any,
) -> PlanReport:
    """A plan of that many hours, whose sizes are known in these ways."""
    tally = Tally(crossref_spec(), DAY)
    hours = [span(f"{hour % 23:02}:00", "23:00") for hour in range(slices)]
    drafts = zip(hours, cycle(methods), strict=False)
    for _ in tally.watch(drafted(hour, records=100, method=method) for hour, method in drafts):
        pass
    sums = Arithmetic()
    sums.given("now", at("23:10"), "the moment of planning")
    sums.set("to", "SAME", "now", why="as far as is safe")
    said = {"sizes": tally.json(asked), "strategy": "TIME", "audit": sums.steps, **remarks}
    status = PlanStatus.DRAFT if dry_run else PlanStatus.READY
    plan = StoredPlan(0 if dry_run else 17, "key", status, DAY.start, DAY.end, slices, slices, said)
    return PlanReport(plan, PARTITION, created=created, dry_run=dry_run)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (report(), f"plan 17: {OF_THREE}"),
        (report(1), "plan 17: 1 slice, about 100 records in 1 request"),
        (report(created=False), f"plan 17, which was there already: {OF_THREE}"),
        (report(0, reason="all is settled"), "plan 17: nothing to read: all is settled"),
        (report(dry_run=True), f"dry run, nothing was written: {OF_THREE}"),
        (report(0, dry_run=True, reason="all is settled"), "dry run, nothing was written: all is settled"),
        (
            report(stock={"short": True}, warnings=["too many tasks wait"]),
            f"plan 17: {OF_THREE}; too many tasks wait, and the rest is planned by a later run",
        ),
        (report(warnings=["a", "b"]), f"plan 17: {OF_THREE}; 2 warnings"),
        (report(methods=[HISTORY]), f"plan 17: {OF_THREE}"),
        (report(methods=[CONSTANT]), "plan 17: 3 slices of unknown size"),
        (report(methods=[CONSTANT, COUNT]), "plan 17: 3 slices, 2 of them of unknown size"),
        (report(asked=AWAY, methods=[CONSTANT]), f"plan 17: 3 slices; {NOT_REACHED}, so the sizes are guesses"),
        (report(asked=AWAY, methods=[HISTORY]), f"plan 17: 3 slices; {NOT_REACHED}, so the sizes are guesses"),
        (
            report(asked=AWAY, methods=[COUNT, HISTORY]),
            f"plan 17: 3 slices; {NOT_REACHED}, so 1 of 3 sizes is a guess",
        ),
        (report(asked=AWAY), f"plan 17: {OF_THREE}"),
        (
            report(asked=NO_ANSWER, methods=[CONSTANT]),
            f"plan 17: 3 slices; {NO_SIZE}, so the sizes are guesses",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_line_says_what_happened(what: PlanReport, said: str) -> None:
    assert plan_headline(what) == said


def test_the_page_shows_the_arithmetic_the_slices_and_the_way_on() -> None:
    page = plan_page(report(campaign="winter", warnings=["a hole"], degradations=["no totals"]))

    assert page.startswith("# crossref.works.harvest: plan 17\n")
    assert "| to | 2026-03-10T23:10:00.000000Z | now | as far as is safe |" in page
    assert "| 1 | 2026-03-10 00:00..23:00 |  | 100 | COUNT |" in page
    assert "| largest slice | 100 records, 2026-03-10 00:00..23:00 |" in page
    assert "## Warnings\n\n- a hole" in page
    assert "## What the provider lacks\n\n- no totals" in page
    assert "`patra cancel --plan 17`" in page
    assert "under the campaign `winter`" in page


def test_sizes_that_are_guesses_are_no_numbers_on_the_page() -> None:
    page = plan_page(report(asked=AWAY, methods=[CONSTANT]))

    assert "| sizes | the provider was not reached, so the sizes are guesses |" in page
    assert "| records expected | not known (slices sized: 3 by CONSTANT) |" in page
    assert "| 1 | 2026-03-10 00:00..23:00 |  | not known | CONSTANT |" in page
    assert "a slice that turns out too big is cut again" in page
    assert "a slice that turns out too big" not in plan_page(report())
    assert "smallest slice" not in page
    assert "requests expected" not in page
    assert "300" not in page


@pytest.mark.parametrize(("methods", "drawn"), [([COUNT], True), ([CONSTANT], False), ([COUNT, HISTORY], False)])
def test_a_timeline_is_kept_only_of_sizes_that_a_provider_gave(methods: list[EstimateMethod], *, drawn: bool) -> None:
    assert any(report(methods=methods).json()["sizes"]["timeline"]) is drawn


def test_of_many_slices_the_page_shows_both_ends() -> None:
    page = plan_page(report(1000))

    assert page.count("COUNT |") == FIRST_SHOWN + LAST_SHOWN
    assert "975 slices in between are not shown." in page
    assert "| 20 |" in page
    assert "| 1,000 |" in page


def test_a_part_of_a_slice_is_named() -> None:
    tally = Tally(crossref_spec(), DAY)
    for _ in tally.watch([drafted(DAY, range=IdRange("uid", None, 500))]):
        pass
    plan = StoredPlan(
        1, "key", PlanStatus.READY, DAY.start, DAY.end, 1, 1, {"sizes": tally.json(NOTHING_ASKED), "strategy": "TIME"}
    )

    assert "| uid ..500 |" in plan_page(PlanReport(plan, PARTITION, created=True))


def test_a_dry_run_says_that_nothing_was_written_and_how_to_go_on() -> None:
    page = plan_page(report(dry_run=True))

    assert "# crossref.works.harvest: dry run" in page
    assert "without *Dry run*" in page
    assert "patra cancel" not in page


def test_what_looks_like_markup_is_text() -> None:
    page = plan_page(report(campaign="a|b `c` <script>\n# d", warnings=["*x* | <b>"]))

    assert r"| campaign | a\|b \`c\` \<script\> \# d |" in page
    assert r"- \*x\* \| \<b\>" in page


def test_unconfirmed_ends_are_counted_on_the_page_when_it_is_made_and_later() -> None:
    page = plan_page(report())
    later = with_weak_ends(page, 2)

    assert "unconfirmed" not in page
    assert "| unconfirmed ends | 2 slices: no total confirms that every record came |" in later
    assert with_weak_ends(later, 3).count("unconfirmed ends") == 1
    assert "| unconfirmed ends | 3 slices:" in with_weak_ends(later, 3)
    assert with_weak_ends(page, 0) == page
    assert sorted(with_weak_ends(page, 2).splitlines()) == sorted(plan_page(report(weak_ends=2)).splitlines())
