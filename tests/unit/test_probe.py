"""Asking a provider for sizes: one small request through the gate, and no more than that."""

import json
from datetime import timedelta
from typing import Any

import pytest

from ingest_core.execution.ports import NotSent, Response
from ingest_core.gate.chain import Limits
from ingest_core.inspection.probe import CORRELATION, MOST_CREDIBLE, UpstreamProbe
from ingest_core.model.codes import Operation
from ingest_core.model.id_range import IdRange
from ingest_core.model.partition import Partition
from ingest_core.model.slice_codes import EstimateMethod
from ingest_core.model.spec import RateSpec, SpecSnapshot
from ingest_core.planning.estimate import Estimate, ProbingEstimator, SizesAsked, SizeUnknown, StoredEstimates
from tests.support.specs import crossref_spec, pubmed_spec, span
from tests.support.upstream import ScriptedGate, ScriptedUpstream, status

DAY = span("2026-03-10", "2026-03-11")
MORNING = span("00:00", "12:00")
COUNTED = crossref_spec(retry={"max_attempts": 3, "initial_seconds": 0.0, "max_seconds": 0.0, "jitter": 0.0})
UNCOUNTED = crossref_spec(response={"total_path": None}, pagination={"page_size": 4})
LIVE = RateSpec(requests_per_second=7, burst=1)


class LiveGate(ScriptedGate):
    """A gate that also notes whose limits are asked for."""

    def __init__(self, *waits: timedelta) -> None:
        super().__init__(*waits, today=LIVE)
        self.asked: list[tuple[Partition, RateSpec]] = []

    def limits(self, partition: Partition, planned: RateSpec) -> Limits:
        """Today's rate, whatever was planned."""
        self.asked.append((partition, planned))
        return super().limits(partition, planned)


class Bench:
    """A probe between a scripted gate and a scripted upstream."""

    def __init__(self, *answers: Response | Exception, waits: tuple[timedelta, ...] = ()) -> None:
        self.upstream = ScriptedUpstream(*answers)
        self.gate = LiveGate(*waits)
        self.probe = UpstreamProbe(self.gate, self.upstream, "ops@example.org")

    def ask(self, spec: SpecSnapshot = COUNTED, part: IdRange | None = None) -> Estimate | None:
        return self.probe.ask(spec, DAY, part)

    @property
    def query(self) -> dict[str, str]:
        (request,) = self.upstream.requests
        return dict(request.query)


def page(*times: str, total: Any = None) -> Response:
    """A page of records updated at these times of the day, with a total if one is given."""
    items = [
        {"DOI": f"10.1/{number}", "indexed": {"date-time": f"2026-03-10T{time}Z"}} for number, time in enumerate(times)
    ]
    stated = {} if total is None else {"total-results": total}
    return status(200, json.dumps({"message": {"items": items, **stated}}).encode())


class TestATotalThatIsStated:
    """The provider counts."""

    def test_one_record_is_asked_for_and_the_total_is_the_answer(self) -> None:
        bench = Bench(page("01:00:00", total=40_000))

        assert bench.ask() == Estimate(40_000, EstimateMethod.COUNT)
        assert bench.query["rows"] == "1"
        assert bench.query["cursor"] == "*"
        assert bench.query["filter"] == "from-index-date:2026-03-10T00,until-index-date:2026-03-11T00"

    def test_none_is_a_count_too(self) -> None:
        assert Bench(page(total=0)).ask() == Estimate(0, EstimateMethod.COUNT)

    @pytest.mark.parametrize("total", [-1, 10**18])
    def test_a_total_that_cannot_be_is_not_believed(self, total: int) -> None:
        assert Bench(page("01:00:00", total=total)).ask() is None

    def test_of_a_search_that_lists_ids_only_the_list_is_asked(self) -> None:
        body = {"esearchresult": {"count": "12345", "idlist": ["7"]}}
        bench = Bench(status(200, json.dumps(body).encode()))

        assert bench.ask(pubmed_spec()) == Estimate(12_345, EstimateMethod.COUNT)
        assert (bench.query["retmax"], bench.query["retstart"], bench.query["term"]) == ("1", "0", "all[sb]")

    def test_a_range_of_a_second_field_is_counted_alone(self) -> None:
        body = {"esearchresult": {"count": "5", "idlist": ["7"]}}
        bench = Bench(status(200, json.dumps(body).encode()))

        assert bench.ask(pubmed_spec(), IdRange("uid", 100, None)) == Estimate(5, EstimateMethod.COUNT)
        assert bench.query["term"] == "100:999999999[UID]"
        assert (bench.query["mindate"], bench.query["maxdate"]) == ("2026/03/10", "2026/03/10")

    def test_an_answer_that_says_nothing_was_found_is_an_empty_window(self) -> None:
        spec = crossref_spec(response={"empty": [{"path": "$.message", "equals": "nothing found"}]})
        bench = Bench(status(404, b'{"message": "nothing found"}'))
        size = bench.ask(spec)

        assert size is not None
        assert (size.records, size.known) == (0, True)


class TestNoTotal:
    """The first page says how much there may be."""

    def test_a_whole_page_is_asked_for(self) -> None:
        bench = Bench(page("01:00:00"))
        bench.ask(UNCOUNTED)

        assert bench.query["rows"] == "4"

    @pytest.mark.parametrize("times", [(), ("01:00:00", "02:00:00", "23:00:00")], ids=["nothing", "three of four"])
    def test_a_short_page_is_all_there_is(self, times: tuple[str, ...]) -> None:
        assert Bench(page(*times)).ask(UNCOUNTED) == Estimate(len(times), EstimateMethod.FIRST_PAGE)

    def test_a_full_page_is_spread_over_the_window(self) -> None:
        """Four records in an hour and a half make 64 in a day."""
        full = page("00:00:00", "00:30:00", "01:00:00", "01:30:00")

        assert Bench(full).ask(UNCOUNTED) == Estimate(64, EstimateMethod.FIRST_PAGE)

    def test_what_does_not_come_out_even_is_rounded_up(self) -> None:
        full = page("00:00:00", "00:30:00", "01:00:00", "07:00:00")

        assert Bench(full).ask(UNCOUNTED) == Estimate(14, EstimateMethod.FIRST_PAGE)

    @pytest.mark.parametrize(
        "times",
        [("00:00:00", "08:00:00", "16:00:00", "23:59:59"), ("05:00:00",) * 4],
        ids=["spread over all of it", "all at one moment"],
    )
    def test_after_a_full_page_there_is_at_least_another(self, times: tuple[str, ...]) -> None:
        assert Bench(page(*times)).ask(UNCOUNTED) == Estimate(8, EstimateMethod.FIRST_PAGE)

    def test_records_without_a_time_count_and_say_nothing_of_the_spread(self) -> None:
        items = [{"DOI": f"10.1/{number}"} for number in range(4)]
        undated = status(200, json.dumps({"message": {"items": items}}).encode())

        assert Bench(undated).ask(UNCOUNTED) == Estimate(8, EstimateMethod.FIRST_PAGE)

    def test_a_total_that_is_missing_this_time_makes_no_window_tiny(self) -> None:
        """Of the one record that was asked for nothing can be told."""
        size = Bench(page("01:00:00")).ask()

        assert size is None or size.records > 2


class TestTheGate:
    """A probe takes turns like any request."""

    def test_it_takes_a_turn_at_todays_rate(self) -> None:
        bench = Bench(page("01:00:00", total=1))
        bench.ask()

        assert bench.gate.turns == [("crossref:-", LIVE)]
        assert bench.gate.asked == [(Partition("crossref", "works", Operation.HARVEST), COUNTED.rate)]

    def test_it_says_what_it_is_for_and_who_asks(self) -> None:
        bench = Bench(page("01:00:00", total=1))
        bench.ask()
        (request,) = bench.upstream.requests

        assert request.headers["X-Ingest-Correlation-Id"] == CORRELATION
        assert bench.query["mailto"] == "ops@example.org"

    def test_a_turn_that_is_too_far_off_is_not_waited_for(self) -> None:
        bench = Bench(waits=(timedelta(hours=1),))

        with pytest.raises(SizeUnknown, match="the next permit"):
            bench.ask()
        assert bench.upstream.requests == []

    def test_the_limiter_is_told_of_too_many_requests(self) -> None:
        bench = Bench(status(429, retry_after="7"))

        with pytest.raises(SizeUnknown, match="429"):
            bench.ask()
        assert [(told.refused, told.retry_after) for told in bench.gate.heard] == [(True, timedelta(seconds=7))]


FAILURES: dict[str, Response | Exception] = {
    "unreachable": NotSent("no route"),
    "503": status(503),
    "429": status(429),
    "400": status(400),
    "403": status(403),
    "a garbled body": status(200, b"<html>"),
    "no records where they belong": status(200, b'{"message": {}}'),
}


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_a_provider_that_fails_is_asked_once_and_says_nothing(failure: Response | Exception) -> None:
    bench = Bench(failure)

    with pytest.raises(SizeUnknown):
        bench.ask()
    assert (len(bench.upstream.requests), len(bench.gate.turns)) == (1, 1)


def test_after_a_failure_a_plan_asks_no_more() -> None:
    bench = Bench(status(503))
    estimator = ProbingEstimator(COUNTED, StoredEstimates(constant=700), bench.probe, budget=10)
    sizes = [estimator.estimate(window) for window in (DAY, MORNING)]

    assert sizes == [Estimate(700, EstimateMethod.CONSTANT)] * 2
    assert (len(bench.upstream.requests), estimator.exhausted, estimator.found) == (1, True, {})


def test_a_failure_is_a_warning_of_the_plan_that_names_its_cause() -> None:
    estimator = ProbingEstimator(
        COUNTED, StoredEstimates(constant=700), Bench(status(503, b"at lunch")).probe, budget=10
    )
    estimator.estimate(DAY)

    (warning,) = estimator.asked.warnings
    assert warning.startswith("the provider gave no size: ")
    assert warning.endswith("the provider answered 503: at lunch")


def test_a_provider_that_was_not_reached_is_told_from_one_that_gave_no_size() -> None:
    away = ProbingEstimator(COUNTED, StoredEstimates(700), Bench(NotSent("no route")).probe, budget=10)
    away.estimate(DAY)

    assert away.asked == SizesAsked(0, "upstream unreachable: no route", reached=False)
    assert away.asked.warnings[0].startswith("the provider was not reached: ")


DEEP = 990
ODD: dict[str, bytes] = {
    "deep lists": b'{"message": {"items": ' + b"[" * DEEP + b"]" * DEEP + b"}}",
    "deeper lists": b"[" * 100_000,
    "deep objects": b'{"message": ' + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b"}",
    "a huge total": b'{"message": {"items": [], "total-results": ' + b"9" * 5000 + b"}}",
    "a total of the wrong type": b'{"message": {"items": [], "total-results": {"a": []}}}',
    "an infinite total": b'{"message": {"items": [], "total-results": 1e999}}',
    "items of the wrong type": b'{"message": {"items": [1, null, [], "a"], "total-results": null}}',
    "a bare number": b"1",
    "a null": b"null",
    "no text": b"\xff\xfe\x00",
    "nothing": b"",
}


@pytest.mark.parametrize("spec", [COUNTED, UNCOUNTED], ids=["counted", "uncounted"])
@pytest.mark.parametrize("body", ODD.values(), ids=ODD)
def test_no_answer_can_crash_a_plan(body: bytes, spec: SpecSnapshot) -> None:
    estimator = ProbingEstimator(spec, StoredEstimates(constant=700), Bench(status(200, body)).probe, budget=10)

    assert 0 <= estimator.estimate(DAY).records <= MOST_CREDIBLE


def test_times_at_one_instant_of_a_long_window_make_no_size_beyond_belief() -> None:
    near = page(*(f"00:00:00.00000{number}" for number in range(4)))
    size = Bench(near).ask(UNCOUNTED)

    assert size is not None
    assert size.records <= MOST_CREDIBLE


def test_an_answer_that_no_rule_foresaw_is_no_size_and_its_trace_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(SizeUnknown, match="the answer cannot be read: RecursionError"):
        Bench(RecursionError("too deep")).ask()

    assert "too deep" in caplog.text


def test_records_that_cannot_be_mapped_are_no_size(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_deep(*_given: object) -> None:
        raise RecursionError

    monkeypatch.setattr("ingest_core.inspection.probe.Router.route", too_deep)
    with pytest.raises(SizeUnknown, match="first page cannot be read: RecursionError"):
        Bench(page("00:00:00", "00:30:00", "01:00:00", "01:30:00")).ask(UNCOUNTED)


@pytest.mark.parametrize("broken", ["limits", "acquire", "feedback"])
def test_a_mistake_of_our_own_store_is_not_taken_for_the_providers(
    monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    def mistaken(*_given: object) -> None:
        raise RuntimeError("a mistake")

    bench = Bench(page(total=1))
    monkeypatch.setattr(bench.gate, broken, mistaken)
    with pytest.raises(RuntimeError, match="a mistake"):
        bench.ask()
