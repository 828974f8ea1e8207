"""TIME slices, example by example: `window-slicing` 5.2 and 5.3, D8.

The source filters by the hour and is cut every six hours; a slice should hold 100 records, and no query gives more
than 200. Times are of 10 March 2026.
"""

from datetime import datetime
from typing import Any

import pytest

from ingest_core.model.id_range import IdRange, unset_part
from ingest_core.model.slice_codes import EstimateMethod
from ingest_core.planning.estimate import Estimate, History, StoredEstimates, WindowPart
from ingest_core.planning.needs import Need
from ingest_core.planning.sizing import Sizing, sizing_of
from ingest_core.planning.strategies.strategy import Piece, SliceContext
from ingest_core.planning.strategies.time_slices import TimeCutter, TimeStrategy
from tests.models.planning_model import Cluster, Stubborn, Truthful
from tests.support.specs import at, crossref_spec, pubmed_spec, span

NOTHING_KNOWN = StoredEstimates(700)


def cut(
    records: dict[str, int] | None,
    *needs: tuple[str, str],
    split_field: str | None = None,
    newest_first: bool = False,
    **window: Any,
) -> list[str]:
    """The pieces of the needs, where so many records were published at these times; None: nobody knows."""
    estimator = NOTHING_KNOWN if records is None else Truthful([Cluster(at(t), 0, n) for t, n in records.items()])
    cutter = TimeCutter(crossref_spec(window=window).time, Sizing(100, 200, split_field, 1000), estimator, newest_first)
    return [shown(piece) for piece in cutter.pieces([Need(span(*need)) for need in needs])]


def shown(piece: Piece) -> str:
    """`00-06: 12`: the hours and the records; `05-06 uid 0..499: 90` a range of ids."""
    ids = f" uid {piece.range.start}..{piece.range.end}" if piece.range else ""
    ids = " without uid" if piece.range and piece.range.is_unset else ids
    return f"{_hour(piece.window.start)}-{_hour(piece.window.end)}{ids}: {piece.estimate.records}"


def _hour(moment: datetime) -> str:
    return f"{moment:%H:%M}".removesuffix(":00")


class TestWhereNothingIsKnown:
    """A constant says nothing: steps are all there is to go by."""

    def test_a_window_is_cut_at_every_step(self) -> None:
        assert cut(None, ("01:00", "15:00")) == ["01-06: 700", "06-12: 700", "12-15: 700"]

    def test_newest_first(self) -> None:
        assert cut(None, ("01:00", "09:00"), ("10:00", "15:00"), newest_first=True) == [
            "12-15: 700",
            "10-12: 700",
            "06-09: 700",
            "01-06: 700",
        ]

    def test_steps_begin_by_the_providers_clock(self) -> None:
        assert cut(None, ("00:30", "08:30"), time_zone="Asia/Kolkata") == [
            "00:30-06:30: 700",
            "06:30-08:30: 700",
        ]


class TestTooBig:
    """Halved, down to the provider's unit or min_window."""

    def test_what_fits_stays_one_step(self) -> None:
        assert cut({"01:00": 120}, ("00:00", "06:00")) == ["00-06: 120"]

    def test_above_the_target_by_a_fifth_it_is_halved(self) -> None:
        assert cut({"01:00": 60, "04:00": 61}, ("00:00", "06:00")) == ["00-03: 60", "03-06: 61"]

    def test_above_what_a_query_gives_it_is_halved_even_where_it_is_near_the_target(self) -> None:
        truth = Truthful([Cluster(at("01:00"), 0, 55), Cluster(at("04:00"), 0, 56)])
        cutter = TimeCutter(crossref_spec().time, Sizing(100, 110, None, 9), truth)

        assert [shown(piece) for piece in cutter.pieces([Need(span("00:00", "06:00"))])] == ["00-03: 55", "03-06: 56"]

    def test_halves_are_halved_again(self) -> None:
        assert cut({"00:00": 90, "01:30": 90, "04:00": 90}, ("00:00", "06:00")) == [
            "00-01: 90",
            "01-03: 90",
            "03-06: 90",
        ]

    def test_a_window_of_several_steps_is_cut_at_them_even_where_it_fits(self) -> None:
        assert cut({"01:00": 40, "08:00": 40}, ("00:00", "12:00")) == ["00-06: 40", "06-12: 40"]

    def test_a_unit_is_not_cut(self) -> None:
        assert cut({"01:10": 500, "01:50": 500}, ("01:00", "02:00")) == ["01-02: 1000"]

    def test_nor_is_min_window(self) -> None:
        assert cut({"00:30": 500, "03:30": 500}, ("00:00", "06:00"), min_window_seconds=7200) == [
            "00-03: 500",
            "03-06: 500",
        ]
        assert cut({"00:30": 500, "03:30": 500}, ("00:00", "06:00"), min_window_seconds=4 * 3600) == ["00-06: 1000"]

    def test_newest_first_halves_come_in_that_order(self) -> None:
        assert cut({"01:00": 90, "04:00": 90}, ("00:00", "06:00"), newest_first=True) == ["03-06: 90", "00-03: 90"]

    def test_what_was_counted_is_not_asked_for_twice(self) -> None:
        truth = Truthful([Cluster(at("01:00"), 0, 90), Cluster(at("04:00"), 0, 90)])
        list(TimeCutter(crossref_spec().time, Sizing(100, 200, None, 9), truth).pieces([Need(span("00:00", "06:00"))]))

        assert truth.calls == 2  # the whole and its first half: the second is the rest

    def test_history_is_asked_for_each_half(self) -> None:
        memory = StoredEstimates(700, history=History(1200, span("00:00", "12:00").length))
        pieces = TimeCutter(crossref_spec().time, Sizing(100, 200, None, 9), memory).pieces(
            [Need(span("00:00", "02:00"))]
        )

        assert [shown(piece) for piece in pieces] == ["00-01: 100", "01-02: 100"]

    def test_where_only_the_whole_is_known_halves_have_their_share(self) -> None:
        known: dict[WindowPart, Estimate] = {(span("00:00", "06:00"), None): Estimate(360, EstimateMethod.COUNT)}
        cutter = TimeCutter(crossref_spec().time, Sizing(200, None, None, 9), StoredEstimates(700, known))
        pieces = list(cutter.pieces([Need(span("00:00", "06:00"))]))

        assert [shown(piece) for piece in pieces] == ["00-03: 180", "03-06: 180"]
        assert {piece.estimate.method for piece in pieces} == {EstimateMethod.SHARE}


class TestAUnitThatIsStillTooBig:
    """Split by a second field."""

    def test_its_ids_are_halved_until_they_fit(self) -> None:
        assert cut({"01:10": 400}, ("01:00", "02:00"), split_field="uid") == [
            "01-02 uid None..62: 63",
            "01-02 uid 63..125: 63",
            "01-02 uid 126..188: 63",
            "01-02 uid 189..250: 62",
            "01-02 uid 251..313: 63",
            "01-02 uid 314..None: 86",
            "01-02 without uid: 0",
        ]

    def test_what_each_part_holds_is_asked_for_and_never_the_rest_of_the_whole(self) -> None:
        truth = Truthful([Cluster(at("01:10"), 0, 400), Cluster(at("01:20"), None, 70)])
        cutter = TimeCutter(crossref_spec().time, Sizing(100, 200, "uid", 1000), truth)
        pieces = list(cutter.pieces([Need(span("01:00", "02:00"))]))

        assert shown(pieces[-2]) == "01-02 uid 314..None: 86"
        assert shown(pieces[-1]) == "01-02 without uid: 70"
        assert {piece.estimate.method for piece in pieces} == {EstimateMethod.COUNT}

    def test_a_part_that_was_not_counted_is_a_share_and_no_count(self) -> None:
        hour = span("01:00", "02:00")
        counts = {None: 400, IdRange("uid", None, 500): 300}
        known: dict[WindowPart, Estimate] = {
            (hour, part): Estimate(n, EstimateMethod.COUNT) for part, n in counts.items()
        }
        cutter = TimeCutter(crossref_spec().time, Sizing(100, 200, "uid", 1000), StoredEstimates(700, known))
        above = [piece for piece in cutter.pieces([Need(hour)]) if piece.range and (piece.range.start or 0) > 500]

        assert [(piece.estimate.records, piece.estimate.method) for piece in above] == [(100, EstimateMethod.SHARE)]

    def test_records_that_cannot_be_read_alone_split_a_unit_only_above_the_cap(self) -> None:
        for records, pieces in ((150, 1), (201, 4)):
            truth = Truthful([Cluster(at("01:10"), 0, records)])
            sizing = Sizing(100, 200, "uid", 256, reads_unset=False)
            cutter = TimeCutter(crossref_spec().time, sizing, truth)
            assert len(list(cutter.pieces([Need(span("01:00", "02:00"))]))) == pieces

    def test_not_where_time_can_still_be_cut(self) -> None:
        assert cut({"01:10": 90, "02:10": 90}, ("01:00", "03:00"), split_field="uid") == ["01-02: 90", "02-03: 90"]

    def test_a_small_range_is_not_joined_to_the_hour_after_it(self) -> None:
        truth = Truthful([Cluster(at("01:10"), 0, 120), Cluster(at("01:20"), 900, 1), Cluster(at("02:30"), 0, 3)])
        cutter = TimeCutter(crossref_spec().time, Sizing(100, 200, "uid", 1000), truth)

        assert [shown(piece) for piece in cutter.pieces([Need(span("01:00", "03:00"))])] == [
            "01-02 uid None..500: 120",
            "01-02 uid 501..None: 1",
            "01-02 without uid: 0",
            "02-03: 3",
        ]

    def test_ids_above_split_max_are_in_the_last_range(self) -> None:
        truth = Truthful([Cluster(at("01:10"), 900, 300)])
        cutter = TimeCutter(crossref_spec().time, Sizing(100, 200, "uid", 1000), truth)
        pieces = list(cutter.pieces([Need(span("01:00", "02:00"))]))

        assert [piece.range for piece in pieces[-2:]] == [IdRange("uid", 1000, None), unset_part("uid")]
        assert pieces[-2].estimate.records == 200

    def test_a_range_that_is_missing_is_cut_like_a_window(self) -> None:
        truth = Truthful([Cluster(at("01:10"), 0, 400)])
        cutter = TimeCutter(crossref_spec().time, Sizing(100, 200, "uid", 1000), truth)
        need = Need(span("01:00", "02:00"), (IdRange("uid", 0, 99), IdRange("uid", 300, None)))

        assert [shown(piece) for piece in cutter.pieces([need])] == [
            "01-02 uid 0..99: 100",
            "01-02 uid 300..None: 100",
        ]

    def test_a_missing_range_that_answers_for_records_without_the_field_leaves_them_to_a_part(self) -> None:
        truth = Truthful([Cluster(at("01:10"), 0, 400)])
        cutter = TimeCutter(crossref_spec().time, Sizing(100, 200, "uid", 1000), truth)
        hole = IdRange("uid", None, 99)

        for missing, parts in (
            (hole, list(hole.apart())),
            (hole.apart()[0], [hole.apart()[0]]),
            (unset_part("uid"), [unset_part("uid")]),
        ):
            need = Need(span("01:00", "02:00"), (missing,))
            assert [piece.range for piece in cutter.pieces([need])] == parts


class TestTooSmall:
    """Neighbours that together are less than a quarter of the target are one."""

    def test_an_empty_window_is_one_slice(self) -> None:
        assert cut({}, ("00:00", "23:00")) == ["00-23: 0"]

    def test_up_to_32_steps_or_max_window(self) -> None:
        assert cut({}, ("2026-03-01", "2026-03-10")) == ["00-00: 0", "00-00: 0"]
        assert cut({}, ("00:00", "20:00"), max_window_seconds=12 * 3600) == ["00-12: 0", "12-20: 0"]

    def test_a_big_step_between_them_stays_alone(self) -> None:
        records = {"01:00": 3, "07:00": 2, "13:00": 100, "19:00": 4}

        assert cut(records, ("00:00", "23:00")) == ["00-12: 5", "12-18: 100", "18-23: 4"]

    def test_what_is_more_than_tiny_together_stays_apart(self) -> None:
        assert cut({"01:00": 13, "07:00": 13}, ("00:00", "12:00")) == ["00-06: 13", "06-12: 13"]
        assert cut({"01:00": 13, "07:00": 12}, ("00:00", "12:00")) == ["00-12: 25"]

    def test_needs_apart_stay_apart(self) -> None:
        assert cut({}, ("00:00", "01:00"), ("02:00", "03:00")) == ["00-01: 0", "02-03: 0"]

    def test_newest_first_too(self) -> None:
        records = {"01:00": 3, "07:00": 2, "13:00": 100, "19:00": 4}

        assert cut(records, ("00:00", "23:00"), newest_first=True) == ["18-23: 4", "12-18: 100", "00-12: 5"]


class TestTheStrategy:
    """What it is offered, and what it refuses."""

    def test_a_source_that_cannot_filter_is_read_once_for_all_needs(self) -> None:
        spec = crossref_spec(window={"supports_updated_since": False})
        needs = [Need(span("00:00", "01:00")), Need(span("05:00", "06:00"))]
        context = SliceContext(spec, spec.time, span("00:00", "12:00"), needs, NOTHING_KNOWN)

        assert [shown(piece) for piece in TimeStrategy().pieces(context)] == ["00-06: 700"]

    def test_nothing_needed_is_nothing_cut(self) -> None:
        for filters in (True, False):
            spec = crossref_spec(window={"supports_updated_since": filters})
            context = SliceContext(spec, spec.time, span("00:00", "12:00"), [], NOTHING_KNOWN)

            assert list(TimeStrategy().pieces(context)) == []

    def test_pieces_come_one_by_one(self) -> None:
        spec, stubborn = crossref_spec(), Stubborn(10**9, EstimateMethod.HISTORY)
        context = SliceContext(spec, spec.time, span("00:00", "12:00"), [Need(span("00:00", "12:00"))], stubborn)

        next(iter(TimeStrategy().pieces(context)))
        assert stubborn.calls < 12

    def test_a_refresh_by_id_has_no_time_to_be_cut_by(self) -> None:
        assert TimeStrategy().refusal(crossref_spec()) is None
        assert TimeStrategy().refusal(crossref_spec().model_copy(update={"window": None}))


@pytest.mark.parametrize(
    ("spec", "target", "cap"),
    [
        (crossref_spec(), 20 * 700, None),
        (crossref_spec(pagination={"page_size": 50}), 1000, None),
        (crossref_spec(pagination={"max_page": 10}), 7000, 7000),
        (pubmed_spec(), 9999, 9999),
        (pubmed_spec(pagination={"max_page": 3}), 3000, 3000),
        (pubmed_spec(slicing={"target_records": 500}), 500, 9999),
    ],
    ids=[
        "20 pages",
        "of another size",
        "no more than pages allow",
        "than a query gives",
        "the less of both",
        "as said",
    ],
)
def test_the_size_of_a_slice(spec: Any, target: int, cap: int | None) -> None:
    assert (sizing_of(spec).target, sizing_of(spec).cap) == (target, cap)
