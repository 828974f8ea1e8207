"""The page of a plan says what happened, how, and what to do next; nothing in a value is taken for markup."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import cycle
from typing import Any

import pytest

from flows.planning.outcome import card_with_outcome, not_executed, outcome_line, outcome_part, with_outcome
from flows.planning.page import plan_headline, plan_message, plan_page
from ingest_core.model.codes import Operation, PlanStatus, TaskStatus
from ingest_core.model.id_range import IdRange
from ingest_core.model.partition import Partition
from ingest_core.model.progress import PlanOutcome
from ingest_core.model.record import Counts
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
ALL_GUESSES = "so the sizes are guesses (plan 17)"
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
        (report(), f"planned: {OF_THREE} (plan 17)"),
        (report(1), "planned: 1 slice, about 100 records in 1 request (plan 17)"),
        (report(created=False), f"planned before: {OF_THREE} (plan 17)"),
        (report(0, reason="all is settled"), "nothing to read: all is settled (plan 17)"),
        (report(dry_run=True), f"dry run, nothing was written: {OF_THREE}"),
        (report(0, dry_run=True, reason="all is settled"), "dry run, nothing was written: all is settled"),
        (
            report(stock={"short": True}, warnings=["too many tasks wait"]),
            f"planned: {OF_THREE} (plan 17); the queue is full, and a later run plans the rest",
        ),
        (report(warnings=["a", "b"]), f"planned: {OF_THREE} (plan 17); 2 warnings"),
        (report(methods=[HISTORY]), f"planned: {OF_THREE} (plan 17)"),
        (report(methods=[CONSTANT]), "planned: 3 slices of unknown size (plan 17)"),
        (report(methods=[CONSTANT, COUNT]), "planned: 3 slices, 2 of them of unknown size (plan 17)"),
        (
            report(asked=AWAY, methods=[CONSTANT]),
            f"planned: 3 slices; {NOT_REACHED}, {ALL_GUESSES}",
        ),
        (
            report(asked=AWAY, methods=[HISTORY]),
            f"planned: 3 slices; {NOT_REACHED}, {ALL_GUESSES}",
        ),
        (
            report(asked=AWAY, methods=[COUNT, HISTORY]),
            f"planned: 3 slices; {NOT_REACHED}, so 1 of 3 sizes is a guess (plan 17)",
        ),
        (report(asked=AWAY), f"planned: {OF_THREE} (plan 17)"),
        (
            report(asked=NO_ANSWER, methods=[CONSTANT]),
            f"planned: 3 slices; {NO_SIZE}, {ALL_GUESSES}",
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
    assert "## Missing capabilities of the provider\n\n- no totals" in page
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


def test_the_message_says_planned_and_where_the_execution_is_seen() -> None:
    said = f"planned: {OF_THREE} (plan 17). The runs tagged plan:17 execute it"

    assert plan_message(report(), "http://ui/") == f"{said}: http://ui/v2/runs?tags=plan:17"
    assert plan_message(report(), None) == said
    assert plan_message(report(0, reason="all is settled"), "http://ui") == "nothing to read: all is settled (plan 17)"
    assert "execute" not in plan_message(report(dry_run=True), "http://ui")


NOW = datetime(2026, 3, 11, 9, 30, tzinfo=UTC)


def outcome(status: PlanStatus, weak_ends: int = 0, **tasks: int) -> PlanOutcome:
    """A plan with this number of tasks in each state."""
    counts = Counts(received=312, inserted=300, skipped=12)
    return PlanOutcome(17, "run-1", status, {TaskStatus(one): n for one, n in tasks.items()}, counts, weak_ends)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (outcome(PlanStatus.READY, QUEUED=2, EXECUTING=1), "not executed yet"),
        (outcome(PlanStatus.READY, QUEUED=1, SUCCEEDED=2), "2 of 3 tasks ended so far, 300 records stored"),
        (outcome(PlanStatus.SUCCEEDED, SUCCEEDED=3), "SUCCEEDED: 3 of 3 tasks ended, 300 records stored"),
        (outcome(PlanStatus.SUCCEEDED, SUCCEEDED=1), "SUCCEEDED: 1 of 1 task ended, 300 records stored"),
        (outcome(PlanStatus.FAILED, FAILED=3), "FAILED: 3 of 3 tasks ended, 300 records stored"),
        (
            outcome(PlanStatus.READY, PARTIAL=3),
            "slices that were too big wait to be cut smaller: 3 of 3 tasks ended, 300 records stored",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_plans_outcome_fits_in_a_line(what: PlanOutcome, said: str) -> None:
    assert outcome_line(what) == said


def test_a_new_plans_page_says_that_nothing_is_executed_yet_and_where_it_will_be_seen() -> None:
    page = plan_page(report(), not_executed(17))

    assert "## Outcome\n\nNot executed yet" in page
    assert "[The runs that execute this plan](../../runs?tags=plan:17)" in page
    assert "`patra cancel --plan 17`" in page


def test_the_outcome_takes_its_part_of_the_page_and_nothing_else_changes() -> None:
    page = plan_page(report(campaign="winter"), not_executed(17))
    worked = with_outcome(page, outcome_part(outcome(PlanStatus.READY, 2, QUEUED=1, SUCCEEDED=2), NOW))
    over = with_outcome(worked, outcome_part(outcome(PlanStatus.PARTIAL, 2, FAILED=1, SUCCEEDED=2), NOW))

    assert "| status | under way |" in worked
    assert "| tasks | 1 QUEUED, 2 SUCCEEDED |" in worked
    assert "| records | 312 received: 300 inserted, 12 skipped |" in worked
    assert "| unconfirmed ends | 2 slices: no total confirms that every record came |" in worked
    assert "| as of | 2026-03-11 09:30 UTC |" in worked
    assert "`patra cancel --plan 17`" in worked
    assert "| status | PARTIAL |" in over
    assert ("under way" in over, "patra cancel" in over, over.count("## Outcome")) == (False, False, 1)
    assert "`patra retry --plan 17`" in over
    assert with_outcome(over, not_executed(17)) == page
    for kept in ("# crossref.works.harvest: plan 17", "under the campaign `winter`", "## Slices", "COUNT |"):
        assert kept in over


def test_a_page_of_an_earlier_version_gets_the_outcome_before_its_first_heading() -> None:
    page = "# title\n\nplan 17\n\n## Next steps\n\n- wait\n"
    shown = with_outcome(page, not_executed(17))

    assert shown.index("plan 17") < shown.index("## Outcome") < shown.index("## Next steps")
    assert with_outcome("# title\n", not_executed(17)).count("## Outcome") == 1


def test_the_card_that_leads_to_the_page_has_the_newest_outcome() -> None:
    first = card_with_outcome("crossref harvest: planned: 3 slices", outcome(PlanStatus.READY, QUEUED=1, SUCCEEDED=2))
    then = card_with_outcome(first, outcome(PlanStatus.SUCCEEDED, SUCCEEDED=3))

    assert first.endswith("; outcome: 2 of 3 tasks ended so far, 300 records stored")
    assert then == ("crossref harvest: planned: 3 slices; outcome: SUCCEEDED: 3 of 3 tasks ended, 300 records stored")


def test_a_refresh_by_id_shows_ids_and_no_window() -> None:
    spec = crossref_spec()
    tally = Tally(spec, None)
    for _ in tally.watch(drafted(DAY, records=number, ids=tuple("abc"[:number])) for number in (3, 2)):
        pass
    said = {"sizes": tally.json(NOTHING_ASKED), "strategy": "ID_RANGE", "audit": []}
    plan = StoredPlan(17, "key", PlanStatus.READY, DAY.start, DAY.end, 2, 2, said)
    refresh = PlanReport(plan, Partition("crossref", "works", Operation.UPDATE), created=True)
    page = plan_page(refresh, not_executed(17))

    assert plan_headline(refresh) == "planned: 2 slices, 5 ids (plan 17)"
    assert "| ids | 5 |" in page
    assert "| 1 | 3 |\n| 2 | 2 |" in page
    assert not any(word in page for word in ("window", "2026-03-10", "records"))
