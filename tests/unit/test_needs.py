"""What of a window still needs reading (D6): not settled, not in a live task, not just read, in whole units."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

import pytest

from ingest_core.cursor.frontier import fold_frontier
from ingest_core.model.cursor import Coverage, CursorState
from ingest_core.model.id_range import IdRange
from ingest_core.model.namespace import Namespace
from ingest_core.model.record import Arrivals
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.window import Window
from ingest_core.planning.estimate import StoredEstimates
from ingest_core.planning.needs import Ground, Need, needs_by_range, needs_reading, settled_until, survey
from ingest_core.planning.ports import PlanTransaction
from ingest_core.planning.proposal import Proposer
from ingest_core.planning.request import PlanRequest
from ingest_core.planning.strategies.strategy import SliceContext
from ingest_core.planning.strategies.time_slices import TimeStrategy
from ingest_core.registry.compile import Compiled
from tests.support.specs import at, crossref_spec, read_at, span, watermark

# lag 10 min + lookback 2 h: an instant is settled once it was read 2 h 10 min after it, or later; recheck is 30 min.
WINDOW = span("00:00", "12:00")


def needs(ground: Ground, now: str = "12:30", **window: Any) -> list[tuple[str, str]]:
    """The needs of 00:00-12:00, as pairs of clock times."""
    found = needs_reading(WINDOW, ground, crossref_spec(window=window).time, at(now))
    return [(f"{part.start:%H:%M}", f"{part.end:%H:%M}") for part in found]


def test_ground_nobody_read_needs_reading_whole() -> None:
    assert needs(Ground()) == [("00:00", "12:00")]


def test_settled_ground_is_not_read_again() -> None:
    assert needs(Ground(coverage=[read_at("00:00", "06:00", as_of="08:10")])) == [("06:00", "12:00")]


def test_ground_read_too_early_is_read_again_in_whole_units() -> None:
    # read at 07:00: settled up to 04:50, so the hour from 04:00 is read again
    assert needs(Ground(coverage=[read_at("00:00", "06:00", as_of="07:00")])) == [("04:00", "12:00")]


@pytest.mark.parametrize(
    ("as_of", "first_need"),
    [("08:09:59.998", "05:00"), ("08:09:59.999", "06:00"), ("08:10", "06:00")],
    ids=["a millisecond short", "the last millisecond is just settled", "settled"],
)
def test_an_instant_is_settled_when_it_was_read_lag_and_lookback_after_it(as_of: str, first_need: str) -> None:
    assert needs(Ground(coverage=[read_at("00:00", "06:00", as_of=as_of)])) == [(first_need, "12:00")]


def test_a_finer_unit_reads_less_again() -> None:
    ground = Ground(coverage=[read_at("00:00", "06:00", as_of="07:00")])

    assert needs(ground, unit="MINUTE") == [("04:50", "12:00")]


def test_live_ground_is_left_to_its_task() -> None:
    assert needs(Ground(live=[span("03:00", "06:00")])) == [("00:00", "03:00"), ("06:00", "12:00")]


def test_whole_units_do_not_grow_into_a_live_task() -> None:
    ground = Ground(coverage=[read_at("00:00", "06:00", as_of="07:00")], live=[span("04:00", "04:55")])

    assert needs(ground) == [("04:55", "12:00")]


def test_a_live_task_does_not_make_its_unit_be_read_again() -> None:
    ground = Ground(coverage=[read_at("00:00", "12:00", as_of="14:00")], live=[span("11:50", "12:00")])

    assert needs(ground, now="2026-03-11") == []


@pytest.mark.parametrize(
    ("now", "found"),
    [("12:29:59.999999", [("00:00", "06:00")]), ("12:30", [("00:00", "06:00"), ("09:00", "12:00")])],
    ids=["within recheck", "recheck is over"],
)
def test_ground_just_read_rests_until_recheck_is_over(now: str, found: list[tuple[str, str]]) -> None:
    assert needs(Ground(coverage=[read_at("06:00", "12:00", as_of="12:00")]), now=now) == found


def test_recheck_defaults_to_a_quarter_of_lookback() -> None:
    assert crossref_spec().time.recheck_seconds == 30 * 60


def test_without_recheck_unsettled_ground_is_read_by_every_plan() -> None:
    ground = Ground(coverage=[read_at("00:00", "12:00", as_of="12:30")])

    assert needs(ground, recheck_seconds=0) == [("10:00", "12:00")]


def test_a_failed_slice_alone_is_read_again_not_all_above_it() -> None:
    coverage = [read_at("00:00", "03:00", as_of="12:00"), read_at("04:00", "12:00", as_of="12:20")]

    assert needs(Ground(coverage=coverage)) == [("03:00", "04:00")]


def test_two_readings_settle_together() -> None:
    coverage = [read_at("00:00", "06:00", as_of="06:10"), read_at("03:00", "12:00", as_of="11:00")]

    # the first settles up to 04:00, the second from 03:00 to 08:50
    assert needs(Ground(coverage=coverage)) == [("08:00", "12:00")]


def test_everything_settled_or_live_needs_nothing() -> None:
    ground = Ground(coverage=[read_at("00:00", "09:00", as_of="11:10")], live=[span("09:00", "2026-03-11")])

    assert needs(ground) == []


def test_neighbours_that_meet_in_a_unit_become_one_need() -> None:
    coverage = [read_at("00:00", "03:30", as_of="12:00"), read_at("03:40", "12:00", as_of="2026-03-11")]

    assert needs(Ground(coverage=coverage)) == [("03:00", "04:00")]


def test_a_window_that_ends_inside_a_unit_is_not_passed() -> None:
    window = span("00:30", "11:30")
    ground = Ground(coverage=[read_at("01:00", "11:00", as_of="2026-03-11")])

    found = needs_reading(window, ground, crossref_spec().time, at("12:30"))

    assert found == [span("00:30", "01:00"), span("11:00", "11:30")]


def test_a_unit_of_the_providers_own_clock_is_read_whole() -> None:
    window = span("2026-03-27T23:00Z", "2026-03-30T22:00Z")
    ground = Ground(coverage=[read_at("2026-03-27T23:00Z", "2026-03-29T01:30Z", as_of="2026-04-05")])
    config = crossref_spec(window={"unit": "DAY", "time_zone": "Europe/Berlin"}).time

    # the clock was put forward on the 29th, which began at 23:00 UTC
    assert needs_reading(window, ground, config, at("2026-04-06")) == [span("2026-03-28T23:00Z", "2026-03-30T22:00Z")]


def test_what_is_read_once_is_read_once_however_early() -> None:
    ground = Ground(coverage=[read_at("00:00", "06:00", as_of="06:00")], live=[span("06:00", "07:00")])
    config = crossref_spec().time

    assert needs_reading(WINDOW, ground, config, at("2026-03-11"), once=True) == [span("07:00", "12:00")]
    assert needs_reading(WINDOW, ground, config, at("2026-03-11")) == [span("03:00", "06:00"), span("07:00", "12:00")]


@pytest.mark.parametrize(
    ("coverage", "until"),
    [
        ([], "00:00"),
        ([read_at("00:00", "06:00", as_of="08:10")], "06:00"),
        ([read_at("00:00", "06:00", as_of="07:00")], "04:50:00.001"),
        ([read_at("00:00", "03:00", as_of="12:00"), read_at("04:00", "06:00", as_of="12:00")], "03:00"),
        ([read_at("03:00", "06:00", as_of="12:00"), read_at("00:00", "03:00", as_of="12:00")], "06:00"),
    ],
    ids=["nothing read", "all settled", "read too early", "a hole", "any order"],
)
def test_settled_ground_reaches_up_to_its_first_hole(coverage: list[Coverage], until: str) -> None:
    assert settled_until(at("00:00"), coverage, crossref_spec().time) == at(until)


def in_part(number: int | None, end: int | None, as_of: str, hours: tuple[str, str] = ("03:00", "04:00")) -> Coverage:
    """A range of an hour that was read at a time."""
    return Coverage(span(*hours), at(as_of), IdRange("uid", number, end))


class TestWhatIsKnownOfAWindow:
    """Streams of events and tasks become a ground that does not grow with them."""

    def test_settled_neighbours_become_one_and_unsettled_readings_stay_as_they_are(self) -> None:
        settled = [read_at(f"{hour:02}:00", f"{hour + 1:02}:00", as_of=f"{12 + hour}:00") for hour in range(6)]
        fresh = read_at("06:00", "07:00", as_of="08:00")
        ground = survey([*settled, fresh], [], crossref_spec().time)

        assert [one.window for one in ground.coverage] == [span("00:00", "06:00"), span("06:00", "07:00")]
        assert ground.coverage[1] == fresh
        assert needs_reading(WINDOW, ground, crossref_spec().time, at("2026-03-11")) == needs_reading(
            WINDOW, Ground([*settled, fresh]), crossref_spec().time, at("2026-03-11")
        )

    def test_a_hole_between_settled_readings_stays_a_hole(self) -> None:
        coverage = [read_at("00:00", "03:00", as_of="12:00"), read_at("04:00", "06:00", as_of="12:00")]
        ground = survey(coverage, [], crossref_spec().time)

        assert [one.window for one in ground.coverage] == [span("00:00", "03:00"), span("04:00", "06:00")]

    def test_live_neighbours_become_one(self) -> None:
        live = [span("01:00", "02:00"), span("02:00", "03:00"), span("04:00", "05:00")]

        assert survey([], live, crossref_spec().time).live == [span("01:00", "03:00"), span("04:00", "05:00")]

    def test_a_window_read_range_by_range_is_read_when_none_is_missing(self) -> None:
        half, rest = in_part(None, 9, as_of="12:00"), in_part(10, None, as_of="11:00")
        config = crossref_spec().time

        assert survey([half], [], config).coverage == []
        assert survey([half, rest], [], config).coverage == [read_at("03:00", "04:00", as_of="11:00")]
        assert survey([half, rest], [], config).parts == {span("03:00", "04:00"): [half, rest]}


class TestMissingRanges:
    """Of a window that was split and read in part, only the missing ranges are read again."""

    @staticmethod
    def needs(*events: Coverage, now: str = "2026-03-11", once: bool = False) -> list[Need]:
        """The needs of 02:00-05:00."""
        config, window = crossref_spec().time, span("02:00", "05:00")
        ground = survey(events, [], config)
        return needs_by_range(
            needs_reading(window, ground, config, at(now), once=once), ground, config, at(now), once=once
        )

    def test_only_they_are_read_and_what_is_around_whole(self) -> None:
        assert self.needs(in_part(None, 9, as_of="12:00")) == [
            Need(span("02:00", "03:00")),
            Need(span("03:00", "04:00"), (IdRange("uid", 10, None),)),
            Need(span("04:00", "05:00")),
        ]

    def test_ranges_read_too_early_are_read_again_and_with_none_that_rests_the_window_whole(self) -> None:
        early, late = in_part(None, 9, as_of="05:00"), in_part(10, None, as_of="12:00")

        assert self.needs(early, late)[1] == Need(span("03:00", "04:00"), (IdRange("uid", None, 9),))
        assert self.needs(early) == [Need(span("02:00", "05:00"))]

    def test_a_range_just_read_rests(self) -> None:
        early = in_part(None, 9, as_of="05:00")

        assert self.needs(early, now="05:29")[1].ranges == (IdRange("uid", 10, None),)
        assert self.needs(early, now="05:30") == [Need(span("02:00", "05:00"))]

    def test_a_range_read_once_is_read_once_however_early(self) -> None:
        assert self.needs(in_part(None, 9, as_of="05:00"), once=True)[1].ranges == (IdRange("uid", 10, None),)

    def test_a_window_whose_ranges_are_all_read_needs_nothing(self) -> None:
        read = [in_part(None, 9, as_of="12:00"), in_part(10, None, as_of="12:00")]

        assert self.needs(*read) == [Need(span("02:00", "03:00")), Need(span("04:00", "05:00"))]


@dataclass(frozen=True)
class KnownGround:
    """A PlanTransaction that knows a watermark and a ground, and writes nothing."""

    cursor: CursorState
    known: Ground

    def lock_cursor(self, _namespace: Namespace) -> CursorState:
        return self.cursor

    def arrivals(self, _namespace: Namespace, _since: datetime, _clock_since: datetime) -> Arrivals:
        return Arrivals()

    def coverage(self, _namespace: Namespace, window: Window) -> Iterator[Coverage]:
        """What touches the window, as a store would find it."""
        found = (one for one in self.known.coverage if touch(one.window, window))
        yield from sorted(found, key=lambda one: one.window.end)

    def live(self, _namespace: Namespace, window: Window) -> Iterator[Window]:
        yield from sorted(one for one in self.known.live if touch(one, window))


def touch(one: Window, other: Window) -> bool:
    """Whether they have an instant in common."""
    return one.end > other.start and one.start < other.end


def planned(known: KnownGround, spec: SpecSnapshot, request: PlanRequest, now: datetime) -> list[Window]:
    """The slices a plan would have now, were nothing known of their sizes."""
    compiled = Compiled(spec, settings=[], warnings=[], degradations=[])
    proposal = Proposer(cast(PlanTransaction, known), request, compiled, now).propose()
    assert proposal.decision.window is not None
    context = SliceContext(spec, proposal.config, proposal.decision.window, proposal.needs, StoredEstimates(0))
    return [piece.window for piece in TimeStrategy().pieces(context)]


def proposed(known: KnownGround, now: str, user_from: str | None = None, user_to: str | None = None) -> set[str]:
    """The hours, by their start, that a plan of the shipped Crossref would read now."""
    bounds = [at(bound) if bound else None for bound in (user_from, user_to)]
    request = PlanRequest("crossref", user_from=bounds[0], user_to=bounds[1])
    slices = planned(known, crossref_spec(), request, at(now))
    hours = timedelta(hours=1)
    return {f"{one.start + hours * n:%H:%M}" for one in slices for n in range(one.length // hours)}


# A harvest at 12:10 read all up to 12:00, which settled what is below 10:00. The next, at 13:15, read the
# new hour, but its lookback slice 10:00-12:00 failed. Now the watermark is at 13:00.
FAILED_LOOKBACK = KnownGround(
    watermark("13:00", anchor="00:00"),
    Ground([read_at("00:00", "12:00", as_of="12:10"), read_at("12:00", "13:00", as_of="13:16")]),
)


def test_a_plan_reads_the_window_of_its_lookback() -> None:
    assert proposed(FAILED_LOOKBACK, now="15:20") >= {"11:00", "12:00", "13:00", "14:00"}


def test_a_failed_lookback_slice_is_not_forgotten_when_the_watermark_has_moved_on() -> None:
    assert "10:00" in proposed(FAILED_LOOKBACK, now="15:20")


def test_with_the_users_bounds_no_older_ground_is_added() -> None:
    assert proposed(FAILED_LOOKBACK, now="15:20", user_from="12:00", user_to="15:00") == {"12:00", "13:00", "14:00"}


@pytest.mark.parametrize("tick", [10, 7, 25, 60])
def test_every_instant_is_settled_in_the_end_however_often_harvests_run(tick: int) -> None:
    spec = crossref_spec(window={"unit": "MINUTE", "step_seconds": 600})
    anchor, now, end = at("00:00"), at("00:20"), at("12:00")
    coverage: list[Coverage] = []
    value = anchor
    while now < end:
        store = KnownGround(CursorState(value, anchor), Ground(coverage))
        coverage += [Coverage(one, now) for one in planned(store, spec, PlanRequest("crossref"), now)]
        value = fold_frontier(value, [one.window for one in coverage])
        now += timedelta(minutes=tick)

    assert needs_reading(span("00:00", "06:00"), Ground(coverage), spec.time, at("2026-03-11")) == []
