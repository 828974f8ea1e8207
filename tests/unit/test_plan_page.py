"""The page of a plan says what happened, how, and what to do next; nothing in a value is taken for markup."""

from typing import Any

import pytest

from flows.planning.page import plan_headline, plan_page, with_weak_ends
from ingest_core.model.codes import Operation, PlanStatus
from ingest_core.model.id_range import IdRange
from ingest_core.model.partition import Partition
from ingest_core.planning.arithmetic import Arithmetic
from ingest_core.planning.ports import StoredPlan
from ingest_core.planning.report import FIRST_SHOWN, LAST_SHOWN, PlanReport, Tally
from tests.support.specs import at, crossref_spec, drafted, span

PARTITION = Partition("crossref", "works", Operation.HARVEST)
DAY = span("00:00", "23:00")
OF_THREE = "3 slices, about 300 records in 3 requests"


def report(slices: int = 3, *, created: bool = True, dry_run: bool = False, **remarks: Any) -> PlanReport:
    """A plan of so many hours."""
    tally = Tally(crossref_spec(), DAY)
    hours = [f"{hour % 23:02}:00" for hour in range(slices + 1)]
    for _ in tally.watch(drafted(span(hour, "23:00"), records=100) for hour in hours[:slices]):
        pass
    sums = Arithmetic()
    sums.given("now", at("23:10"), "the moment of planning")
    sums.set("to", "SAME", "now", why="as far as is safe")
    said = {"sizes": tally.json(), "strategy": "TIME", "audit": sums.steps, **remarks}
    status = PlanStatus.DRAFT if dry_run else PlanStatus.READY
    plan = StoredPlan(0 if dry_run else 17, "key", status, DAY.start, DAY.end, slices, slices, said)
    return PlanReport(plan, "HARVEST", created=created, dry_run=dry_run)


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
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_line_says_what_happened(what: PlanReport, said: str) -> None:
    assert plan_headline(what) == said


def test_the_page_shows_the_arithmetic_the_slices_and_the_way_on() -> None:
    page = plan_page(report(campaign="winter", warnings=["a hole"], degradations=["no totals"]), PARTITION)

    assert page.startswith("# crossref.works.harvest: plan 17\n")
    assert "| to | 2026-03-10T23:10:00.000000Z | now | as far as is safe |" in page
    assert "| 1 | 2026-03-10 00:00..23:00 |  | 100 | CONSTANT |" in page
    assert "| largest slice | 100 records, 2026-03-10 00:00..23:00 |" in page
    assert "## Warnings\n\n- a hole" in page
    assert "## What the provider lacks\n\n- no totals" in page
    assert "`patra cancel --plan 17`" in page
    assert "under the campaign `winter`" in page


def test_of_many_slices_the_page_shows_both_ends() -> None:
    page = plan_page(report(1000), PARTITION)

    assert page.count("CONSTANT |") == FIRST_SHOWN + LAST_SHOWN
    assert "975 slices in between are not shown." in page
    assert "| 20 |" in page
    assert "| 1,000 |" in page


def test_a_part_of_a_slice_is_named() -> None:
    tally = Tally(crossref_spec(), DAY)
    for _ in tally.watch([drafted(DAY, range=IdRange("uid", None, 500))]):
        pass
    plan = StoredPlan(1, "key", PlanStatus.READY, DAY.start, DAY.end, 1, 1, {"sizes": tally.json(), "strategy": "TIME"})

    assert "| uid ..500 |" in plan_page(PlanReport(plan, "HARVEST", created=True), PARTITION)


def test_a_dry_run_says_that_nothing_was_written_and_how_to_go_on() -> None:
    page = plan_page(report(dry_run=True), PARTITION)

    assert "# crossref.works.harvest: dry run" in page
    assert "without *Dry run*" in page
    assert "patra cancel" not in page


def test_what_looks_like_markup_is_text() -> None:
    page = plan_page(report(campaign="a|b `c` <script>\n# d", warnings=["*x* | <b>"]), PARTITION)

    assert r"| campaign | a\|b \`c\` \<script\> \# d |" in page
    assert r"- \*x\* \| \<b\>" in page


def test_unconfirmed_ends_are_counted_on_the_page_when_it_is_made_and_later() -> None:
    page = plan_page(report(), PARTITION)
    later = with_weak_ends(page, 2)

    assert "unconfirmed" not in page
    assert "| unconfirmed ends | 2 slices: no total confirms that every record came |" in later
    assert with_weak_ends(later, 3).count("unconfirmed ends") == 1
    assert "| unconfirmed ends | 3 slices:" in with_weak_ends(later, 3)
    assert with_weak_ends(page, 0) == page
    assert sorted(with_weak_ends(page, 2).splitlines()) == sorted(
        plan_page(report(weak_ends=2), PARTITION).splitlines()
    )
