"""Getting one page: through the gate, again where that is safe."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from itertools import count

import pytest

from ingest_core.execution.fetch import CLOSED_JITTER, MAX_GATE_WAIT, FetchedPage, Fetcher, Spot
from ingest_core.execution.ports import AnswerLost, CredentialMissing, NotSent, Response
from ingest_core.execution.request import Caller, render_request
from ingest_core.gate.feedback import UNTOLD_COOL_DOWN
from ingest_core.gate.ports import GateDecision, Permit
from ingest_core.gate.state import CloseReason
from ingest_core.gate.taxonomy import UpstreamError
from ingest_core.model.codes import ErrorLevel
from ingest_core.model.spec import QueryCost, RateSpec
from tests.support.specs import at, crossref_spec, span
from tests.support.upstream import PAGE, ScriptedGate, ScriptedUpstream, status

SPEC = crossref_spec(retry={"max_attempts": 3, "initial_seconds": 0.0, "max_seconds": 0.0, "jitter": 0.0})
NOW = at("12:00")
REQUEST = render_request(SPEC, span("00:00", "06:00"), "*", Caller("c"))


class Bench:
    """A fetcher between a scripted gate and a scripted upstream."""

    def __init__(self, *answers: Response | Exception, waits: tuple[timedelta, ...] = ()) -> None:
        self.upstream = ScriptedUpstream(*answers)
        self.rate = RateSpec(requests_per_second=3, burst=2)
        self.gate = ScriptedGate(*waits, today=self.rate)
        self.slept: list[float] = []
        self.fetcher = Fetcher(SPEC, self.gate, self.upstream, sleep=self.slept.append)

    def fetch(self, *, repeatable: bool = True) -> FetchedPage:
        return self.fetcher.fetch(REQUEST, Spot(repeatable=repeatable))

    def failure(self, *, repeatable: bool = True) -> UpstreamError:
        with pytest.raises(UpstreamError) as failed:
            self.fetch(repeatable=repeatable)
        return failed.value

    @property
    def sent(self) -> int:
        return len(self.upstream.requests)


def test_a_page_comes_through_the_gate_at_todays_rate() -> None:
    bench = Bench()
    fetched = bench.fetch()

    assert fetched.page.items == [{"DOI": "a"}]
    assert bench.gate.turns == [("crossref:-", bench.rate)]
    assert bench.upstream.requests == [REQUEST]
    assert (bench.fetcher.tally.requests, bench.fetcher.tally.retries) == (1, 0)
    assert (bench.fetcher.tally.answers, bench.fetcher.tally.latency_max_ms) == (1, 250)


def test_the_rate_belongs_to_the_source_with_its_credential() -> None:
    spec, gate = crossref_spec(auth={"type": "API_KEY", "credential_ref": "env:KEY"}), ScriptedGate()
    Fetcher(spec, gate, ScriptedUpstream()).fetch(render_request(spec, span("00:00", "06:00"), "*", Caller("c")))

    assert [key for key, _ in gate.turns] == ["crossref:env:KEY"]


def test_a_slower_rate_that_was_asked_for_has_a_queue_of_its_own_before_the_common_one() -> None:
    """Its turns would slow everybody down in the common queue, where one of them lasts so long."""
    slow = SPEC.model_copy(update={"rate": RateSpec(requests_per_second=0.5, burst=4, asked_for=True)})
    today, slept = RateSpec(requests_per_second=3, burst=2), list[float]()
    gate = ScriptedGate(timedelta(seconds=2), today=today)
    fetcher = Fetcher(slow, gate, ScriptedUpstream(), sleep=slept.append)
    fetcher.fetch(REQUEST)

    own = (f"crossref:asked:{slow.fingerprint}", RateSpec(requests_per_second=0.5, burst=1, quota_cost=0))
    assert gate.turns == [own, ("crossref:-", today)]
    assert (slept, fetcher.tally.waited) == ([2.0], timedelta(seconds=2))


def test_a_turn_of_a_slower_rate_that_is_far_off_is_the_queues_to_wait_for() -> None:
    slow = SPEC.model_copy(update={"rate": RateSpec(requests_per_second=0.001, burst=1, asked_for=True)})
    gate, upstream = ScriptedGate(timedelta(seconds=1000)), ScriptedUpstream()

    with pytest.raises(UpstreamError) as refused:
        Fetcher(slow, gate, upstream).fetch(REQUEST)

    assert (refused.value.code, upstream.requests) == ("RATE_WAIT", [])


@pytest.mark.parametrize(("reference", "rate"), [("env:KNOWN", 10.0), ("env:NOT_SET", 3.0)])
def test_a_caller_the_provider_knows_may_ask_faster(reference: str, rate: float) -> None:
    spec = crossref_spec(auth={"type": "API_KEY", "credential_ref": reference, "name": "key", "optional": True})
    gate = ScriptedGate(today=RateSpec(requests_per_second=3, burst=2, with_credential_per_second=10))
    request = render_request(spec, span("00:00", "06:00"), "*", Caller("c"))
    Fetcher(spec, gate, ScriptedUpstream()).fetch(request)

    assert [turn.requests_per_second for _, turn in gate.turns] == [rate]


def test_a_missing_credential_stops_the_source_and_nothing_is_asked_again() -> None:
    bench = Bench(CredentialMissing("the credential 'env:KEY' is not there"))
    error = bench.failure()

    assert (error.level, error.code, error.moved, bench.sent) == (ErrorLevel.L4, "CREDENTIAL_MISSING", False, 1)
    assert "env:KEY" in str(error)


class TestAnEmptyPageBeforeTheTotal:
    """The provider states a total and gives nothing at a place below it: it stumbled, and is asked again."""

    EMPTY = b'{"message": {"items": [], "total-results": 9}}'

    def test_it_is_asked_for_again(self) -> None:
        bench = Bench(status(200, self.EMPTY), status(200, self.EMPTY))
        fetched = bench.fetcher.fetch(REQUEST, Spot(offset=6))

        assert (fetched.page.items, bench.sent) == ([{"DOI": "a"}], 3)

    def test_if_it_stays_so_it_is_an_error_not_an_end(self) -> None:
        total = 6 + SPEC.paging.page_size
        bench = Bench(*[status(200, self.EMPTY.replace(b"9", str(total).encode()))] * 4)
        with pytest.raises(UpstreamError) as failed:
            bench.fetcher.fetch(REQUEST, Spot(offset=6))

        assert (failed.value.level, failed.value.code) == (ErrorLevel.L1, "EMPTY_BEFORE_TOTAL")
        assert (f"at 6 of {total}" in str(failed.value), bench.sent) == (True, 3)

    def test_less_than_a_page_that_stays_missing_is_believed_in_the_end(self) -> None:
        bench = Bench(*[status(200, self.EMPTY)] * 4)
        fetched = bench.fetcher.fetch(REQUEST, Spot(offset=6))

        assert (fetched.page.items, fetched.page.total, bench.sent) == ([], 9, 4)

    @pytest.mark.parametrize("offset", [9, 10, None], ids=["at the total", "past it", "no place of ours"])
    def test_elsewhere_an_empty_page_is_the_end(self, offset: int | None) -> None:
        bench = Bench(status(200, self.EMPTY))

        assert bench.fetcher.fetch(REQUEST, Spot(offset=offset)).page.items == []
        assert bench.sent == 1


class TestWhatTheBodySays:
    """The Registry knows words that make a failure nothing, and a success a failure."""

    SPEC = crossref_spec(
        retry=SPEC.retry.model_dump(mode="json"),
        response={
            "errors": [{"path": "$.error", "matches": "slow down", "level": "L1"}, {"path": "$.error"}],
            "empty": [{"path": "$.message", "equals": "nothing found"}],
        },
    )

    def fetch(self, *answers: Response) -> FetchedPage:
        upstream = ScriptedUpstream(*answers)
        return Fetcher(self.SPEC, ScriptedGate(), upstream).fetch(REQUEST)

    def test_a_404_that_says_nothing_was_found_is_an_empty_page(self) -> None:
        fetched = self.fetch(status(404, b'{"message": "nothing found"}'))

        assert (fetched.page.items, fetched.page.total, fetched.response.status) == ([], None, 404)

    def test_a_403_that_says_slow_down_passes(self) -> None:
        assert self.fetch(status(403, b'{"error": "slow down"}')).page.items == [{"DOI": "a"}]

    def test_a_403_that_says_anything_else_does_not(self) -> None:
        with pytest.raises(UpstreamError) as failed:
            self.fetch(status(403, b'{"error": "no"}'))

        assert failed.value.level == ErrorLevel.L4

    def test_an_error_within_a_success_is_asked_again_only_if_it_passes(self) -> None:
        assert self.fetch(status(200, b'{"error": "slow down"}')).page.items == [{"DOI": "a"}]
        with pytest.raises(UpstreamError) as failed:
            self.fetch(status(200, b'{"error": "no such field"}'))

        assert (failed.value.level, failed.value.code, failed.value.status) == (ErrorLevel.L2, "STATED_ERROR", 200)

    @pytest.mark.parametrize("code", [200, 400, 500])
    def test_a_credential_the_provider_repeats_is_not_told(self, code: int) -> None:
        answer = Response("u", code, {}, b'{"error": "key s3cret is not valid"}', 0.1, secrets=("s3cret",))
        with pytest.raises(UpstreamError) as failed:
            self.fetch(*[answer] * 3)

        assert "key ***" in str(failed.value)
        assert "s3cret" not in json.dumps(failed.value.json())


CUTS = count(2)
"""Each answer is cut elsewhere: one that is cut at the same byte again is final."""

MOVED: dict[str, Callable[[], Response | Exception]] = {
    "answer lost": lambda: AnswerLost("cut"),
    "500": lambda: status(500),
    "503": lambda: status(503),
    "not json": lambda: status(200, b"<html>"),
    "cut json": lambda: status(200, PAGE[: -next(CUTS)]),
}
NOT_MOVED: dict[str, Callable[[], Response | Exception]] = {
    "not sent": lambda: NotSent("refused"),
    "429": lambda: status(429),
}


@pytest.mark.parametrize("fault", (MOVED | NOT_MOVED).values(), ids=(MOVED | NOT_MOVED).keys())
def test_what_can_be_asked_again_is_asked_again_in_place(fault: Callable[[], Response | Exception]) -> None:
    bench = Bench(fault(), fault())

    assert bench.fetch(repeatable=True).page.items == [{"DOI": "a"}]
    assert (bench.sent, bench.fetcher.tally.retries, len(bench.gate.turns)) == (3, 2, 3)


@pytest.mark.parametrize("fault", MOVED.values(), ids=MOVED.keys())
def test_where_the_provider_may_have_gone_on_nothing_is_asked_twice(fault: Callable[[], Response | Exception]) -> None:
    bench = Bench(fault())
    error = bench.failure(repeatable=False)

    assert (error.level, error.moved, bench.sent) == (ErrorLevel.L1, True, 1)


@pytest.mark.parametrize("fault", NOT_MOVED.values(), ids=NOT_MOVED.keys())
def test_where_the_provider_has_not_gone_on_even_a_scroll_is_asked_again(
    fault: Callable[[], Response | Exception],
) -> None:
    bench = Bench(fault(), fault())

    assert bench.fetch(repeatable=False).page.items == [{"DOI": "a"}]
    assert bench.sent == 3


def test_attempts_are_bounded_and_the_last_error_is_told() -> None:
    bench = Bench(*[status(503, b"one"), status(500, b"two"), status(502, b"three"), status(200)])
    error = bench.failure()

    assert (bench.sent, error.status, str(error)) == (3, 502, "the provider answered 502: three")


@pytest.mark.parametrize(
    ("code", "level"),
    [(400, ErrorLevel.L2), (404, ErrorLevel.L2), (301, ErrorLevel.L2), (401, ErrorLevel.L4), (403, ErrorLevel.L4)],
)
def test_a_refusal_is_not_asked_again(code: int, level: ErrorLevel) -> None:
    bench = Bench(status(code))
    error = bench.failure()

    assert (error.level, error.status, bench.sent) == (level, code, 1)


def test_a_page_without_records_where_they_belong_is_not_asked_again() -> None:
    bench = Bench(status(200, b'{"message": {}}'))
    error = bench.failure()

    assert (error.level, error.code, error.moved, bench.sent) == (ErrorLevel.L2, "ITEMS_MISSING", True, 1)


def test_a_garbled_page_is_a_passing_fault_of_its_own_code() -> None:
    error = Bench(status(200, b"<html>")).failure(repeatable=False)

    assert (error.level, error.code, error.status) == (ErrorLevel.L1, "NOT_JSON", 200)


BROKEN_JSON = PAGE[:-5]
MAINTENANCE = b"\n<!-- 1 --><!DOCTYPE html><html><body>back soon</body></html>"


def test_the_same_bytes_twice_are_final() -> None:
    error = Bench(status(200, BROKEN_JSON), status(200, BROKEN_JSON)).failure()

    assert (error.level, error.code) == (ErrorLevel.L2, "NOT_JSON")
    assert str(error).endswith("(the same bytes came twice)")


def test_they_are_final_though_other_answers_came_between() -> None:
    bench = Bench(status(200, BROKEN_JSON), status(503), status(200, BROKEN_JSON))

    assert (bench.failure().level, bench.sent) == (ErrorLevel.L2, 3)


@pytest.mark.parametrize("body", [MAINTENANCE, b"<HTML>", b"", b" \n"], ids=repr)
def test_a_web_page_or_an_empty_body_may_pass_however_often_it_comes(body: bytes) -> None:
    bench = Bench(*[status(200, body)] * 3)

    assert (bench.failure().level, bench.sent) == (ErrorLevel.L1, 3)


def test_a_provider_out_of_reach_is_said_to_be_so() -> None:
    error = Bench(*[NotSent("no route")] * 3).failure()

    assert (error.code, error.unreachable, error.moved) == ("UNREACHABLE", True, False)
    assert "no route" in str(error)


def test_an_answer_that_was_lost_is_not_out_of_reach() -> None:
    error = Bench(AnswerLost("cut")).failure(repeatable=False)

    assert (error.code, error.unreachable) == ("ANSWER_LOST", False)


@pytest.mark.parametrize("code", [429, 503])
def test_the_limiter_is_told_of_retry_after(code: int) -> None:
    bench = Bench(status(code, retry_after="7"))
    bench.fetch()

    told = bench.gate.heard[0]
    assert (told.closes, told.closing(NOW)) == (CloseReason.RETRY_AFTER, NOW + timedelta(seconds=7))


@pytest.mark.parametrize("headers", [{}, {"retry_after": "0"}, {"retry_after": "soon"}], ids=str)
def test_too_many_requests_close_the_limiter_also_where_no_wait_is_stated(headers: dict[str, str]) -> None:
    bench = Bench(status(429, b"", **headers))
    bench.fetch()

    assert bench.gate.heard[0].closing(NOW) == NOW + UNTOLD_COOL_DOWN


@pytest.mark.parametrize("code", [500, 503])
def test_another_failure_without_a_wait_closes_nothing(code: int) -> None:
    bench = Bench(status(code))
    bench.fetch()

    assert (bench.gate.heard[0].failed, bench.gate.heard[0].closes) == (True, None)


@pytest.mark.parametrize("fault", [NotSent("no route"), AnswerLost("cut")])
def test_the_limiter_is_told_that_no_answer_came(fault: Exception) -> None:
    bench = Bench(fault)
    bench.fetch()

    assert [(told.status, told.failed) for told in bench.gate.heard] == [(None, True), (200, False)]


def test_429_passes_whatever_the_sources_list_says() -> None:
    spec = SPEC.model_copy(update={"retry": SPEC.retry.model_copy(update={"retry_statuses": [500]})})
    upstream = ScriptedUpstream(status(429))

    assert Fetcher(spec, ScriptedGate(), upstream).fetch(REQUEST).page.items == [{"DOI": "a"}]


REFUSING = RateSpec(requests_per_second=3, burst=2, refusal_statuses=[403], remaining_header="x-left")


@pytest.mark.parametrize("headers", [{"retry_after": "7"}, {"x_left": "0"}], ids=str)
def test_a_403_is_a_refusal_of_our_rate_where_its_headers_say_so(headers: dict[str, str]) -> None:
    upstream, gate = ScriptedUpstream(status(403, b"", **headers)), ScriptedGate(today=REFUSING)

    assert Fetcher(SPEC, gate, upstream).fetch(REQUEST).page.items == [{"DOI": "a"}]
    assert gate.heard[0].refused


def test_a_403_without_such_headers_is_fatal() -> None:
    gate = ScriptedGate(today=REFUSING)
    with pytest.raises(UpstreamError) as failed:
        Fetcher(SPEC, gate, ScriptedUpstream(status(403, b"", x_left="3"))).fetch(REQUEST)

    assert (failed.value.level, gate.heard[0].refused) == (ErrorLevel.L4, False)


@pytest.mark.parametrize("code", [200, 403])
def test_words_that_refuse_our_rate_are_heard_by_the_limiter(code: int) -> None:
    spec = crossref_spec(
        retry=SPEC.retry.model_dump(mode="json"),
        response={"errors": [{"path": "$.error", "matches": "too fast", "effect": "RATE_LIMIT"}]},
    )
    gate = ScriptedGate()
    fetched = Fetcher(spec, gate, ScriptedUpstream(status(code, b'{"error": "too fast"}'))).fetch(REQUEST)

    assert fetched.page.items == [{"DOI": "a"}]
    assert [told.refused for told in gate.heard] == [True, False]


def test_in_an_outage_a_request_is_not_repeated_at_once() -> None:
    bench = Bench(status(503), status(503))
    bench.gate.permits = [Permit(GateDecision.ALLOW, failures=2)]
    error = bench.failure()

    assert (error.level, error.final, bench.sent) == (ErrorLevel.L1, True, 1)


def test_a_request_that_tries_an_open_circuit_is_not_repeated() -> None:
    bench = Bench(NotSent("no route"))
    bench.gate.permits = [Permit(GateDecision.ALLOW, probes=True)]

    assert (bench.failure().final, bench.sent) == (True, 1)


def test_a_closed_limiter_is_waited_for_if_it_opens_soon() -> None:
    bench = Bench()
    bench.gate.permits = [Permit(GateDecision.LATER, timedelta(seconds=4)), Permit(GateDecision.ALLOW)]
    bench.fetch()

    (slept,) = bench.slept
    assert 4 <= slept <= 4 * (1 + CLOSED_JITTER)


def test_a_closed_limiter_is_no_fault_of_the_task() -> None:
    bench = Bench()
    bench.gate.permits = [Permit(GateDecision.REJECT, timedelta(hours=1), CloseReason.CIRCUIT)]
    error = bench.failure()

    assert (error.code, error.closed, error.retry_after) == ("RATE_WAIT", CloseReason.CIRCUIT, timedelta(hours=1))
    assert "patra gate show crossref:-" in str(error)


def test_a_request_costs_what_the_first_rule_that_fits_says() -> None:
    costs = [QueryCost(param="search", quota_cost=10), QueryCost(param="filter", matches="[.]search:", cost=2)]
    gate = ScriptedGate(today=RateSpec(requests_per_second=3, burst=2, query_costs=costs))
    for query in ([("search", "x")], [("filter", "title.search:x")], [("filter", "from:1")]):
        Fetcher(SPEC, gate, ScriptedUpstream()).fetch(replace(REQUEST, query=query))

    assert [(rate.cost, rate.quota_cost) for _, rate in gate.turns] == [(1, 10), (2, 1), (1, 1)]


def test_too_many_requests_are_counted() -> None:
    bench = Bench(status(429), status(503))
    bench.fetch()

    assert bench.fetcher.tally.too_many == 1


def test_a_turn_is_waited_for_and_the_wait_is_counted() -> None:
    bench = Bench(status(429), waits=(timedelta(seconds=2), timedelta(seconds=3)))
    fetched = bench.fetch()

    assert bench.slept == [2, 3]
    assert fetched.permit is not None
    assert fetched.permit.granted.wait == timedelta(seconds=3)
    assert bench.fetcher.tally.waited == timedelta(seconds=5)


def test_the_longest_wait_is_waited_for() -> None:
    bench = Bench(waits=(MAX_GATE_WAIT,))
    bench.fetch()

    assert bench.slept == [90]


def test_a_longer_wait_is_the_queues_and_nothing_is_sent() -> None:
    wait = MAX_GATE_WAIT + timedelta(seconds=1)
    bench = Bench(waits=(wait,))
    error = bench.failure()

    assert (error.code, error.level, error.retry_after, error.moved) == ("RATE_WAIT", ErrorLevel.L1, wait, False)
    assert (bench.sent, bench.slept, len(bench.gate.turns)) == (0, [], 1)
    assert bench.fetcher.tally.requests == 0


def test_an_answer_that_no_rule_foresaw_fails_its_request_once_with_its_trace_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench = Bench(RuntimeError("a mistake"))

    with pytest.raises(UpstreamError, match="cannot be read: RuntimeError") as failed:
        bench.fetch()
    assert (failed.value.code, failed.value.level, bench.sent) == ("ANSWER_UNREADABLE", ErrorLevel.L2, 1)
    assert "a mistake" in caplog.text


def test_a_mistake_of_the_gate_is_not_taken_for_the_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    monkeypatch.setattr(bench.gate, "feedback", lambda *_given: 1 // 0)

    with pytest.raises(ZeroDivisionError):
        bench.fetch()
