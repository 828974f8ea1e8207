"""Routing in two phases (D18), records that are errors, ids of several parts, and records of another time (D20)."""

import json
from typing import Any

import orjson
import pytest

from ingest_core.execution.decode import decode_detail
from ingest_core.execution.page import DecodedPage
from ingest_core.execution.routing import ID_HASH_BYTES, MAX_ID_CHARS, Routed, Router, short_hash
from ingest_core.model.canonical import hash_text
from ingest_core.model.codes import QuarantineReason
from ingest_core.model.spec import SpecSnapshot
from tests.support.specs import at, crossref_spec, page_of, pubmed_spec, span

ASKED_AT = at("12:00")
JSON_DETAILS = {
    "response": {"items_path": "$.papers", "id_path": "$.id", "updated_at_path": "$.at", "total_path": None},
}
SPEC = pubmed_spec(detail=JSON_DETAILS, mapping={"title": "$.title"})


def paper(number: Any, **more: Any) -> dict[str, Any]:
    """A whole record."""
    return {"id": number, "at": "2026-03-10", **more}


def page(*items: Any, listed: list[str], failed: dict[str, str] | None = None) -> DecodedPage:
    """A search page with the records that came for its ids."""
    raw = [json.dumps(item) for item in items]
    return page_of(list(items), raw=raw, listed=listed, failed=failed or {})


def route(*items: Any, listed: list[str], failed: dict[str, str] | None = None) -> Routed:
    return Router(SPEC).route(page(*items, listed=listed, failed=failed), ASKED_AT)


def reasons(routed: Routed) -> list[tuple[str | None, str]]:
    """Who is in quarantine and why."""
    return [(entry.provider_id, entry.reason.value) for entry in routed.rejected]


class TestIds:
    """The search lists ids; DETAIL gives the records."""

    def test_each_listed_id_whose_record_came_is_a_record(self) -> None:
        routed = route(paper("2"), paper("1"), listed=["1", "2"])

        assert [record.provider_id for record in routed.records] == ["2", "1"]
        assert routed.rejected == []

    def test_an_id_whose_record_did_not_come_is_in_quarantine(self) -> None:
        routed = route(paper("2"), listed=["1", "2", "3"])

        assert reasons(routed) == [("1", "DETAIL_MISSING"), ("3", "DETAIL_MISSING")]
        assert routed.rejected[0].json_path == "$.papers"
        assert json.loads(routed.rejected[0].fragment) == {"id": "1"}

    def test_an_id_the_provider_refuses_is_in_quarantine_with_its_words(self) -> None:
        routed = route(paper("2"), listed=["1", "2"], failed={"1": "answered 400: ask jane@example.org"})

        assert reasons(routed) == [("1", "DETAIL_FAILED")]
        assert "answered 400" in routed.rejected[0].fragment
        assert "jane" not in routed.rejected[0].fragment

    def test_a_record_nobody_asked_for_is_kept_as_one_too_many(self) -> None:
        routed = route(paper("1"), paper("9"), listed=["1"])

        assert [record.provider_id for record in routed.records] == ["1", "9"]
        assert routed.id_hashes == short_hash("1")

    def test_an_id_answered_under_another_id_is_missing_all_the_same(self) -> None:
        assert reasons(route(paper("9"), listed=["1"])) == [("1", "DETAIL_MISSING")]

    def test_an_id_whose_record_is_unusable_is_in_quarantine_once(self) -> None:
        routed = route({"id": "1", "at": "soon"}, paper("2"), listed=["1", "2"])

        assert reasons(routed) == [("1", "UPDATED_AT_INVALID")]

    def test_a_record_a_store_would_refuse_is_in_quarantine_once(self) -> None:
        routed = route(paper("1", title="a\x00b"), listed=["1"])

        assert reasons(routed) == [("1", "TEXT_INVALID")]

    def test_an_id_too_long_to_be_stored_is_not_asked_for(self) -> None:
        long = "9" * (MAX_ID_CHARS + 1)
        live, _ = Router(SPEC).split_hits(page_of([long, "1"]), [long, "1"])

        assert live == ["1"]
        assert reasons(route(paper("1"), listed=[long, "1"])) == [(long[:-1], "ID_TOO_LONG")]

    def test_an_id_listed_twice_is_missed_once(self) -> None:
        assert reasons(route(listed=["1", "1"])) == [("1", "DETAIL_MISSING")]

    def test_missing_ids_have_entries_of_their_own_in_quarantine(self) -> None:
        routed = route(listed=["1", "2"], failed={"2": "x"})

        assert len({entry.fragment_hash for entry in routed.rejected}) == 2

    def test_a_record_nobody_asked_for_is_kept(self) -> None:
        assert [record.provider_id for record in route(paper("9"), listed=[]).records] == ["9"]

    def test_what_counts_as_seen_are_the_listed_ids_whatever_became_of_them(self) -> None:
        routed = route(paper("2"), {"id": "1"}, listed=["1", "2", "3"])

        assert routed.id_hashes == b"".join(map(short_hash, ["1", "2", "3"]))
        assert len(routed.id_hashes) == 3 * ID_HASH_BYTES

    def test_the_page_moved_on_by_what_was_listed(self) -> None:
        assert page(paper("2"), listed=["1", "2", "3"]).count == 3
        assert page_of([1, 2]).count == 2

    def test_listed_ids_are_compared_in_normal_form(self) -> None:
        spec = pubmed_spec(detail=JSON_DETAILS, mapping={}, id_normalizer="DOI")
        router = Router(spec)
        listed = router.listed_ids(page_of([" 10.1/A ", 7]), "$")
        routed = router.route(page(paper("10.1/a"), paper("7"), listed=listed), ASKED_AT)

        assert listed == ["10.1/a", "7"]
        assert routed.rejected == []

    def test_ids_are_found_where_the_search_has_them(self) -> None:
        items = [{"pm": {"id": "1"}}, {"pm": {"id": 2}}]

        assert Router(SPEC).listed_ids(page_of(items), "$.pm.id") == ["1", "2"]
        assert Router(SPEC).listed_ids(page_of(items), {"all": [{"value": "PM"}, "$.pm.id"], "with": ":"}) == [
            "PM:1",
            "PM:2",
        ]


class TestXmlRecords:
    """PubMed's records: XML within JSON, dated by several elements."""

    BODY = """<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID Version="1">11</PMID>
        <DateRevised><Year>2026</Year><Month>03</Month><Day>09</Day></DateRevised>
        <Article><ArticleTitle>On <i>E. coli</i>.</ArticleTitle></Article></MedlineCitation></PubmedArticle>
        <PubmedBookArticle><BookDocument><PMID>12</PMID><DateRevised><Year>2026</Year><Month>3</Month></DateRevised>
        </BookDocument></PubmedBookArticle></PubmedArticleSet>"""

    @staticmethod
    def routed(body: str, listed: list[str]) -> Routed:
        found = decode_detail(body.encode(), pubmed_spec())
        return Router(pubmed_spec()).route(page_of(found.items, raw=found.raw, listed=listed), ASKED_AT)

    def test_they_have_id_time_and_fields(self) -> None:
        one, two = self.routed(self.BODY, ["11", "12"]).records

        assert (one.provider_id, one.updated_at) == ("11", at("2026-03-09"))
        assert one.fields["title"] == "On E. coli."
        assert one.fields["identifiers"] == {"pmid": "11"}
        assert (two.provider_id, two.updated_at) == ("12", at("2026-03-01"))

    def test_the_payload_is_the_xml_as_received(self) -> None:
        record = self.routed(self.BODY, ["11", "12"]).records[0]
        xml = orjson.loads(record.payload)["xml"]

        assert xml in self.BODY
        assert xml.startswith("<PubmedArticle>")
        assert xml.endswith("</PubmedArticle>")
        assert record.payload_hash == hash_text(xml)

    def test_a_record_too_large_is_turned_away(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("ingest_core.execution.routing.MAX_RECORD_BYTES", 100)

        assert {entry.reason for entry in self.routed(self.BODY, []).rejected} == {QuarantineReason.TOO_LARGE}

    def test_an_element_without_children_is_no_record(self) -> None:
        (entry,) = self.routed("<PubmedArticleSet><Note>hello</Note></PubmedArticleSet>", []).rejected

        assert entry.reason == QuarantineReason.NOT_AN_OBJECT


class TestARecordThatIsAnError:
    """Some providers put an error where a record belongs."""

    SPEC = pubmed_spec(
        detail={"response": {**JSON_DETAILS["response"], "record_error": {"path": "$.error"}}}, mapping={}
    )

    def test_it_goes_to_quarantine_under_its_id(self) -> None:
        routed = Router(self.SPEC).route(page({"id": "1", "error": "gone"}, paper("2"), listed=["1", "2"]), ASKED_AT)

        assert reasons(routed) == [("1", "RECORD_ERROR")]
        assert routed.rejected[0].json_path == "$.error"
        assert [record.provider_id for record in routed.records] == ["2"]

    def test_it_comes_before_a_missing_time(self) -> None:
        routed = Router(self.SPEC).route(page({"id": "1", "error": "gone"}, listed=["1"]), ASKED_AT)

        assert reasons(routed) == [("1", "RECORD_ERROR")]

    def test_a_value_tells_too(self) -> None:
        spec = crossref_spec(response={"record_error": {"path": "$.status", "equals": "deleted"}})
        good = {"DOI": "a", "indexed": {"date-time": "2026-03-10"}}
        items = [{**good, "status": "deleted"}, {**good, "DOI": "b", "status": "live"}, {**good, "DOI": "c"}]
        routed = Router(spec).route(page_of(items, raw=["{}"] * 3), ASKED_AT)

        assert reasons(routed) == [("a", "RECORD_ERROR")]
        assert [record.provider_id for record in routed.records] == ["b", "c"]


class TestIdsOfSeveralParts:
    """`{all: [$.source, $.id], with: /}`: together, or none."""

    SPEC = crossref_spec(response={"id_path": {"all": ["$.source", "$.id"], "with": "/"}}, id_normalizer="NONE")

    def route(self, **item: Any) -> Routed:
        record = {"indexed": {"date-time": "2026-03-10"}, **item}
        return Router(self.SPEC).route(page_of([record], raw=[json.dumps(record)]), ASKED_AT)

    def test_the_parts_stand_together(self) -> None:
        assert self.route(source="MED", id=7).records[0].provider_id == "MED/7"

    @pytest.mark.parametrize("item", [{"source": "MED"}, {"id": 7}, {}, {"source": "", "id": 7}], ids=str)
    def test_where_one_is_missing_there_is_no_id(self, item: dict[str, Any]) -> None:
        (entry,) = self.route(**item).rejected

        assert entry.reason == QuarantineReason.ID_MISSING
        assert json.loads(entry.json_path) == {"all": ["$.source", "$.id"], "with": "/"}

    def test_one_of_several_places_may_hold_the_id(self) -> None:
        spec = crossref_spec(response={"id_path": {"any": ["$.a", "$.b"]}})
        item = {"b": "X", "indexed": {"date-time": "2026-03-10"}}

        assert Router(spec).route(page_of([item], raw=["{}"]), ASKED_AT).records[0].provider_id == "x"


class TestRecordsOfAnotherTime:
    """Where the provider cannot filter, the slice keeps what is its own."""

    OWNED = span("06:00", "09:00")

    def route(self, *times: str, spec: SpecSnapshot | None = None) -> Routed:
        items = [{"DOI": str(n), "indexed": {"date-time": f"2026-03-10T{time}Z"}} for n, time in enumerate(times)]
        raw = [json.dumps(item) for item in items]
        return Router(spec or crossref_spec()).route(page_of(items, raw=raw), ASKED_AT, self.OWNED)

    def test_they_are_counted_and_not_kept(self) -> None:
        routed = self.route("05:59:59.999999", "06:00:00", "08:59:59.999999", "09:00:00")

        assert [record.provider_id for record in routed.records] == ["1", "2"]
        assert routed.outside == 2

    def test_they_count_as_seen(self) -> None:
        assert len(self.route("01:00:00", "07:00:00").id_hashes) == 2 * ID_HASH_BYTES

    def test_without_an_owned_window_all_are_kept(self) -> None:
        items = [{"DOI": "a", "indexed": {"date-time": "1999-01-01"}}]
        routed = Router(crossref_spec()).route(page_of(items, raw=["{}"]), ASKED_AT)

        assert (len(routed.records), routed.outside) == (1, 0)

    def test_the_zone_of_times_that_name_none_is_the_sources(self) -> None:
        spec = crossref_spec(response={"time_zone": "America/New_York"})
        items = [{"DOI": "a", "indexed": {"date-time": "2026-01-10T08:00:00"}}]
        (record,) = Router(spec).route(page_of(items, raw=["{}"]), ASKED_AT).records

        assert record.updated_at == at("2026-01-10T13:00:00Z")


def test_a_source_without_a_time_dates_its_records_by_when_they_were_asked_for() -> None:
    spec = crossref_spec(response={"updated_at_path": None})
    (record,) = Router(spec).route(page_of([{"DOI": "a"}], raw=["{}"]), ASKED_AT).records

    assert record.updated_at == ASKED_AT


def test_the_same_refusal_in_other_words_is_the_same_entry() -> None:
    first, second = (route(listed=["1"], failed={"1": words}).rejected[0] for words in ("request 111", "request 222"))

    assert first.fragment_hash == second.fragment_hash
    assert first.fragment != second.fragment


def test_an_id_no_store_would_take_is_a_hit_without_one() -> None:
    spec = pubmed_spec(detail=JSON_DETAILS, mapping={})

    assert Router(spec).listed_ids(page_of(["a\ud800", "b"]), "$") == ["", "b"]
