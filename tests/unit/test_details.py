"""The second phase (D18): ids in batches, a refused batch halved down to the one bad id, passing faults left alone."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from ingest_core.execution.details import Details, fetch_details, fetch_listed, fetch_whole
from ingest_core.execution.fetch import FetchedPage, Fetcher, Spot
from ingest_core.execution.ports import Request, Response
from ingest_core.execution.request import Caller, render_request
from ingest_core.execution.routing import Router
from ingest_core.gate.taxonomy import UpstreamError
from ingest_core.model.codes import ErrorLevel, GoneReason, QuarantineState
from ingest_core.model.record import BadId, Witnesses
from ingest_core.model.spec import AuthSpec, SpecSnapshot
from tests.support.specs import at, pubmed_spec, span
from tests.support.upstream import ScriptedGate, status

CALLER = Caller("c")
PATIENT = {"max_attempts": 3, "initial_seconds": 0.0, "max_seconds": 0.0, "jitter": 0.0}
RESPONSE = {"items_path": "$.papers", "id_path": "$.id", "updated_at_path": "$.at", "total_path": None}


def spec_of(size: int, **response: Any) -> SpecSnapshot:
    """PubMed's search with details in JSON, so many ids at once."""
    detail = {"id_batch_size": size, "response": {**RESPONSE, **response}}
    return pubmed_spec(detail=detail, retry=PATIENT, mapping={})


class Library:
    """An Upstream of two phases: it lists ids, and gives their records unless a rule says otherwise."""

    def __init__(self, rule: Callable[[list[str]], Response | None] = lambda _ids: None, listed: Any = ()) -> None:
        self.rule = rule
        self.listed = listed
        self.batches: list[list[str]] = []

    def send(self, request: Request) -> Response:
        """The list, or the records of the ids in the body."""
        if request.body is None:
            return status(200, json.dumps({"esearchresult": {"idlist": list(self.listed), "count": "99"}}).encode())
        ids = str(request.body["id"]).split(",")
        self.batches.append(ids)
        papers = [{"id": one, "at": "2026-03-10"} for one in ids]
        return self.rule(ids) or status(200, json.dumps({"papers": papers}).encode())

    def knows(self, auth: AuthSpec) -> bool:
        """Whether the secret is there."""
        return auth.credential_ref == "env:KNOWN"


def fetcher_of(library: Library, spec: SpecSnapshot) -> Fetcher:
    return Fetcher(spec, ScriptedGate(), library)


def details(library: Library, ids: list[str], spec: SpecSnapshot) -> Details:
    return fetch_details(fetcher_of(library, spec), ids, CALLER)


def came(found: Details) -> list[str]:
    """The ids of the records that came, in order."""
    return [item["id"] for item in found.items]


def numbers(count: int) -> list[str]:
    return [str(number) for number in range(1, count + 1)]


@pytest.mark.parametrize(
    ("count", "size", "sizes"),
    [(0, 3, []), (1, 3, [1]), (3, 3, [3]), (4, 3, [3, 1]), (7, 3, [3, 3, 1]), (5, 1, [1] * 5), (5, 100, [5])],
)
def test_ids_are_asked_for_in_batches_in_order(count: int, size: int, sizes: list[int]) -> None:
    library = Library()
    found = details(library, numbers(count), spec_of(size))

    assert [len(batch) for batch in library.batches] == sizes
    assert came(found) == numbers(count)
    assert [json.loads(raw) for raw in found.raw] == found.items
    assert [entry["asked"] for entry in found.evidence] == sizes


def refuses(*bad: str, code: int = 400, body: bytes = b"bad id") -> Callable[[list[str]], Response | None]:
    """A provider that refuses a whole batch for one of these ids."""
    return lambda ids: status(code, body) if set(bad) & set(ids) else None


class TestABatchTheProviderRefuses:
    """It is halved until the bad id stands alone."""

    @pytest.mark.parametrize("bad", numbers(8))
    def test_the_one_bad_id_spoils_only_itself(self, bad: str) -> None:
        library = Library(refuses(bad))
        found = details(library, numbers(8), spec_of(8))

        assert came(found) == [one for one in numbers(8) if one != bad]
        assert list(found.failed) == [bad]
        assert "bad id" in found.failed[bad]

    def test_it_takes_about_two_requests_per_halving(self) -> None:
        library = Library(refuses("1"))
        details(library, numbers(64), spec_of(64))

        assert [len(batch) for batch in library.batches] == [64, 32, 16, 8, 4, 2, 1, 1, 2, 4, 8, 16, 32]

    def test_several_bad_ids_are_all_found(self) -> None:
        found = details(Library(refuses("2", "3", "7")), numbers(7), spec_of(5))

        assert came(found) == ["1", "4", "5", "6"]
        assert sorted(found.failed) == ["2", "3", "7"]

    def test_all_may_be_bad(self) -> None:
        found = details(Library(refuses(*numbers(4))), numbers(4), spec_of(4))

        assert (came(found), sorted(found.failed)) == ([], numbers(4))

    def test_other_batches_do_not_suffer(self) -> None:
        library = Library(refuses("4"))
        found = details(library, numbers(6), spec_of(3))

        assert library.batches[0] == ["1", "2", "3"]
        assert came(found) == ["1", "2", "3", "5", "6"]

    def test_an_error_within_a_success_is_a_refusal_too(self) -> None:
        rule = refuses("2", code=200, body=b'{"error": "no such id"}')
        found = details(Library(rule), numbers(3), spec_of(3, errors=[{"path": "$.error"}]))

        assert (came(found), list(found.failed)) == (["1", "3"], ["2"])

    def test_words_of_the_registry_turn_a_404_into_no_record(self) -> None:
        rule = refuses("2", code=404, body=b'{"message": "none"}')
        found = details(Library(rule), numbers(2), spec_of(1, empty=[{"path": "$.message", "equals": "none"}]))

        assert (came(found), found.failed) == (["1"], {})


class TestAFaultThatIsNotTheIds:
    """It is asked again, and then the task is given back: halving would only ask more."""

    @pytest.mark.parametrize("code", [429, 500, 503])
    def test_a_passing_fault_is_not_halved(self, code: int) -> None:
        library = Library(lambda _ids: status(code))
        with pytest.raises(UpstreamError) as failed:
            details(library, numbers(4), spec_of(4))

        assert (failed.value.level, failed.value.status) == (ErrorLevel.L1, code)
        assert library.batches == [numbers(4)] * 3

    def test_a_fault_that_passes_is_no_fault(self) -> None:
        answers = iter([status(503), status(500)])
        library = Library(lambda _ids: next(answers, None))

        assert came(details(library, numbers(4), spec_of(4))) == numbers(4)
        assert library.batches == [numbers(4)] * 3

    @pytest.mark.parametrize("code", [401, 403])
    def test_a_refused_credential_stops_at_once(self, code: int) -> None:
        library = Library(lambda _ids: status(code))
        with pytest.raises(UpstreamError) as failed:
            details(library, numbers(4), spec_of(2))

        assert (failed.value.level, len(library.batches)) == (ErrorLevel.L4, 1)

    def test_one_record_that_spoils_its_batchs_text_every_time_spoils_only_itself(self) -> None:
        found = details(Library(refuses("2", code=200, body=b'{"papers": [{]}')), numbers(4), spec_of(4))

        assert (came(found), list(found.failed)) == (["1", "3", "4"], ["2"])


def whole(library: Library, spec: SpecSnapshot) -> FetchedPage:
    """A search page with its details."""
    request = render_request(spec, span("00:00", "06:00"), "0", CALLER)
    return fetch_whole(fetcher_of(library, spec), Router(spec), request, CALLER, Spot(offset=0))


class TestASearchPageWithItsDetails:
    """One page of the ledger, whatever it took."""

    def test_it_has_the_searchs_total_and_place_and_the_details_records(self) -> None:
        fetched = whole(Library(listed=numbers(5)), spec_of(2))

        assert [item["id"] for item in fetched.page.items] == numbers(5)
        assert (fetched.page.listed, fetched.page.total, fetched.page.count) == (numbers(5), 99, 5)
        assert [entry["asked"] for entry in fetched.details] == [2, 2, 1]
        assert b"idlist" in fetched.response.body

    def test_what_would_not_come_is_told(self) -> None:
        fetched = whole(Library(refuses("2"), listed=numbers(3)), spec_of(3))

        assert fetched.page.listed == numbers(3)
        assert list(fetched.page.failed) == ["2"]
        assert [item["id"] for item in fetched.page.items] == ["1", "3"]

    def test_a_page_that_lists_nothing_asks_for_nothing(self) -> None:
        spec = spec_of(3)
        library = Library(listed=[])
        request = render_request(spec, span("00:00", "06:00"), "0", CALLER)
        fetched = fetch_whole(fetcher_of(library, spec), Router(spec), request, CALLER)

        assert (fetched.page.items, fetched.page.listed, library.batches) == ([], [], [])

    def test_an_id_that_is_listed_twice_counts_as_listed(self) -> None:
        assert whole(Library(listed=["1", "1"]), spec_of(3)).page.count == 2

    def test_a_hit_without_an_id_is_not_lost_in_silence(self) -> None:
        spec = spec_of(3)
        page = whole(Library(listed=["1", None, "3"]), spec).page
        routed = Router(spec).route(page, at("12:00"))

        assert len(routed.records) + len(routed.rejected) == 3

    def test_in_one_phase_nothing_is_asked_twice(self) -> None:
        value = spec_of(3).json_value()
        del value["detail"]
        spec = SpecSnapshot.from_json(value)
        library = Library(listed=numbers(3))
        fetched = whole(library, spec)

        assert (fetched.page.items, fetched.page.listed, library.batches) == (numbers(3), None, [])


def test_a_refresh_by_id_is_a_page_of_its_own() -> None:
    found = details(Library(refuses("2")), numbers(3), spec_of(3))
    fetched = found.as_page(numbers(3))
    routed = Router(spec_of(3)).route(fetched.page, at("12:00"))

    assert [record.provider_id for record in routed.records] == ["1", "3"]
    assert [(entry.provider_id, entry.reason.value) for entry in routed.rejected] == [("2", "DETAIL_FAILED")]
    assert fetched.response.status == 200


def test_a_refresh_of_nothing_has_no_answer() -> None:
    assert details(Library(), [], spec_of(3)).as_page([]).response.status == 0


def test_every_detail_request_waits_for_its_turn() -> None:
    spec = spec_of(1)
    fetcher = fetcher_of(Library(), spec)
    fetch_details(fetcher, numbers(4), CALLER)

    assert isinstance(fetcher.gate, ScriptedGate)
    assert len(fetcher.gate.turns) == fetcher.tally.requests == 4


class TestWhereHalvingEnds:
    """When it is not single ids, halving on would only ask more: the page fails as the drift rule would have it."""

    def test_an_endpoint_that_refuses_everything_is_not_asked_for_every_id(self) -> None:
        library = Library(lambda _ids: status(400))
        with pytest.raises(UpstreamError) as failed:
            details(library, numbers(1000), spec_of(200))

        assert failed.value.in_detail
        assert len(library.batches) < 40

    def test_a_few_bad_ids_among_many_are_found(self) -> None:
        bad = {"7", "90", "155"}
        found = details(Library(lambda ids: status(400) if bad & set(ids) else None), numbers(200), spec_of(100))

        assert set(found.failed) == bad
        assert len(found.items) == 197


def test_an_id_listed_twice_is_asked_for_once() -> None:
    library = Library(listed=["1", "2", "1", "2", "3"])
    found = whole(library, spec_of(2))

    assert library.batches == [["1", "2"], ["3"]]
    assert found.page.listed == ["1", "2", "1", "2", "3"]


def test_details_cost_what_their_own_rate_says() -> None:
    spec = spec_of(2)
    assert spec.detail is not None
    own = spec.rate.model_copy(update={"cost": 5})
    spec = spec.model_copy(update={"detail": spec.detail.model_copy(update={"rate": own})})
    gate = ScriptedGate()
    fetcher = Fetcher(spec, gate, Library(listed=["1", "2", "3"]))
    request = render_request(spec, span("00:00", "06:00"), "0", CALLER)
    fetch_whole(fetcher, Router(spec), request, CALLER)

    assert [rate.cost for _, rate in gate.turns] == [1, 5, 5]
    assert len({key for key, _ in gate.turns}) == 1


class TestIdsKnownToBeBad:
    """They do not spoil a batch again, and one that failed too often is left alone."""

    OPEN, RETRYING, DISCARDED = QuarantineState.OPEN, QuarantineState.RETRYING, QuarantineState.DISCARDED

    def whole(self, library: Library, known: dict[str, BadId], size: int = 3) -> FetchedPage:
        spec = spec_of(size)
        request = render_request(spec, span("00:00", "06:00"), "0", CALLER)
        fetcher = fetcher_of(library, spec)
        return fetch_whole(
            fetcher,
            Router(spec),
            request,
            CALLER,
            bad_ids=lambda ids: {k: known[k] for k in ids if k in known},
        )

    def test_they_are_asked_for_alone_and_last(self) -> None:
        library = Library(refuses("2"), listed=numbers(7))
        fetched = self.whole(library, {"2": BadId(1, self.OPEN), "5": BadId(2, self.OPEN)})

        assert library.batches == [["1", "3", "4"], ["6", "7"], ["2"], ["5"]]
        assert list(fetched.page.failed) == ["2"]
        assert [item["id"] for item in fetched.page.items] == ["1", "3", "4", "6", "7", "5"]

    @pytest.mark.parametrize(
        ("times", "state", "asked"),
        [(2, OPEN, True), (3, OPEN, False), (9, OPEN, False), (9, RETRYING, True), (1, DISCARDED, False)],
        ids=["failed twice", "failed three times", "failed often", "somebody retries", "discarded"],
    )
    def test_one_that_failed_too_often_is_not_asked_for(self, times: int, state: QuarantineState, asked: bool) -> None:
        library = Library(listed=numbers(3))
        fetched = self.whole(library, {"2": BadId(times, state)})

        assert (["2"] in library.batches) is asked
        assert list(fetched.page.failed) == ([] if asked else ["2"])

    def test_one_that_is_left_out_is_in_quarantine_all_the_same(self) -> None:
        fetched = self.whole(Library(listed=numbers(3)), {"2": BadId(3, self.OPEN)})
        routed = Router(spec_of(3)).route(fetched.page, at("12:00"))

        assert [(entry.provider_id, entry.reason.value) for entry in routed.rejected] == [("2", "DETAIL_FAILED")]
        assert len(routed.records) + len(routed.rejected) == fetched.page.count == 3

    def test_a_page_of_nothing_else_asks_for_nothing(self) -> None:
        library = Library(listed=numbers(2))
        self.whole(library, dict.fromkeys(numbers(2), BadId(3, self.OPEN)))

        assert library.batches == []

    def test_a_list_somebody_gave_is_asked_for_whole(self) -> None:
        library, known = Library(), {"1": BadId(9, self.OPEN), "2": BadId(1, self.DISCARDED)}
        spec = spec_of(3).model_copy(update={"paging": spec_of(3).paging.model_copy(update={"page_size": 3})})
        fetched = fetch_listed(fetcher_of(library, spec), numbers(3), 0, CALLER, lambda _ids: known)

        assert library.batches == [["3"], ["1"], ["2"]]
        assert (fetched.page.listed, fetched.page.failed) == (numbers(3), {})


def test_each_record_of_each_batch_keeps_the_declarations_its_text_lacks() -> None:
    def answer(ids: list[str]) -> Response:
        records = "".join(f"<p><m:id>{one}</m:id></p>" for one in ids)
        return status(200, f'<all xmlns:m="urn:{ids[0]}">{records}</all>'.encode())

    spec = spec_of(2, format="XML", items_path="$.all.p", updated_at_path=None)
    router = Router(spec)
    fetcher = fetcher_of(Library(answer, listed=numbers(3)), spec)
    found = fetch_whole(
        fetcher,
        router,
        render_request(spec, span("2026-03-01", "2026-03-02"), "0", CALLER),
        CALLER,
    )
    refreshed = fetch_details(fetcher, numbers(3), CALLER).as_page(numbers(3))

    for page in (found.page, refreshed.page):
        stored = [json.loads(one.payload)["xml"] for one in router.route(page, at("12:00")).records]
        assert stored == [
            f'<p xmlns:m="urn:{batch}"><m:id>{one}</m:id></p>' for one, batch in (("1", "1"), ("2", "1"), ("3", "3"))
        ]


class TestAnIdThatIsNotFound:
    """A refresh by id takes 404 and 410 for an answer: the record is gone."""

    @staticmethod
    def fetch(
        library: Library, ids: list[str], size: int, known: Witnesses | None = None, **response: Any
    ) -> FetchedPage:
        fetcher = fetcher_of(library, spec_of(size, **response).model_copy(update={"pagination": None}))
        return fetch_listed(fetcher, ids, 0, CALLER, witnesses=lambda _ids: known or Witnesses())

    @staticmethod
    def gone(fetched: FetchedPage) -> list[str]:
        assert {one.reason for one in fetched.page.gone} <= {GoneReason.NOT_FOUND}
        return [one.provider_id for one in fetched.page.gone]

    @pytest.mark.parametrize("code", [404, 410])
    @pytest.mark.parametrize("size", [1, 8])
    def test_it_is_found_out_by_asking_for_it_alone(self, code: int, size: int) -> None:
        fetched = self.fetch(Library(refuses("1", code=code)), numbers(size), size)

        assert (self.gone(fetched), fetched.page.failed) == (["1"], {})
        assert len(fetched.page.items) == size - 1

    @pytest.mark.parametrize("code", [400, 422, 451])
    def test_another_refusal_is_a_failure(self, code: int) -> None:
        fetched = self.fetch(Library(refuses("3", code=code)), numbers(4), 4)

        assert (self.gone(fetched), list(fetched.page.failed)) == ([], ["3"])

    def test_words_of_the_registry_that_make_the_404_an_empty_answer_say_the_same(self) -> None:
        rule = refuses("2", code=404, body=b'{"message": "none"}')
        empty = [{"path": "$.message", "equals": "none"}]

        assert self.gone(self.fetch(Library(rule), ["2"], 1, empty=empty)) == ["2"]

    def test_words_that_make_it_a_fault_of_the_source_win(self) -> None:
        rule = refuses("1", code=404, body=b'{"error": "this version of the API has ended"}')
        with pytest.raises(UpstreamError) as raised:
            self.fetch(Library(rule), ["1"], 1, errors=[{"path": "$.error", "level": "L4"}])

        assert (raised.value.code, raised.value.level) == ("HTTP_404", ErrorLevel.L4)

    def test_in_a_harvest_it_is_a_failure(self) -> None:
        found = details(Library(refuses("2", code=404)), numbers(3), spec_of(3))

        assert (list(found.failed), found.not_found) == (["2"], [])

    @pytest.mark.parametrize(
        ("known", "asked_also", "believed"),
        [
            (Witnesses(0, ("7", "8")), [], True),
            (Witnesses(1, ("7", "8")), [["7"]], True),
            (Witnesses(1, ("9", "7", "8")), [["9"], ["7"]], True),
            (Witnesses(1, ("9",)), [["9"]], False),
            (Witnesses(9, ()), [], True),
            (Witnesses(10, ()), [], False),
        ],
        ids=["nothing at stake", "another is found", "the second is", "no other is", "few and no other", "ten"],
    )
    def test_it_is_believed_if_the_provider_finds_another_record(
        self, *, known: Witnesses, asked_also: list[list[str]], believed: bool
    ) -> None:
        library = Library(refuses("1", "9", code=404))
        if believed:
            assert self.gone(self.fetch(library, ["1"], 1, known)) == ["1"]
        else:
            with pytest.raises(UpstreamError) as raised:
                self.fetch(library, ["1"], 1, known)
            assert (raised.value.code, raised.value.level) == ("ALL_GONE", ErrorLevel.L4)
        assert library.batches == [["1"], *asked_also]

    def test_a_page_with_a_record_needs_no_witness(self) -> None:
        library = Library(refuses("1", code=404))
        self.fetch(library, numbers(2), 2, Witnesses(50, ("9",)))

        assert library.batches == [["1", "2"], ["1"], ["2"]]
