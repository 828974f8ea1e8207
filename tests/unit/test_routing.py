"""Each record of a page goes one way: to the store, or to quarantine with a reason."""

import hashlib
import json
from typing import Any

import pytest

from ingest_core.execution import routing
from ingest_core.execution.decode import decode_page
from ingest_core.execution.page import DecodedPage
from ingest_core.execution.records import Unreadable
from ingest_core.execution.routing import ID_HASH_BYTES, MAX_ID_CHARS, Routed, Router, short_hash
from ingest_core.execution.unusable import FRAGMENT_BYTES
from ingest_core.model.codes import QuarantineReason
from ingest_core.model.instant import format_instant
from ingest_core.model.record import Record, Rejected
from ingest_core.model.redaction import redact
from ingest_core.model.spec import SpecSnapshot
from tests.support.specs import at, crossref_spec, page_of

ASKED_AT = at("12:00")
GOOD: dict[str, Any] = {"DOI": "10.1/a", "indexed": {"date-time": "2026-03-10T08:00:00Z"}}


def work(**changes: Any) -> dict[str, Any]:
    """A usable work with other values."""
    return {**GOOD, **changes}


def indexed(value: Any) -> dict[str, Any]:
    """A work with that index time."""
    return work(indexed={"date-time": value})


def page(*items: Any) -> DecodedPage:
    """A page as it would have been received."""
    return page_of(list(items), raw=[json.dumps(item) for item in items])


def route(*items: Any, spec: SpecSnapshot | None = None) -> Routed:
    return Router(spec or crossref_spec()).route(page(*items), ASKED_AT)


def stored(item: Any, spec: SpecSnapshot | None = None) -> Record:
    """The record, which must be usable."""
    routed = route(item, spec=spec)
    assert (routed.rejected, routed.outside) == ([], 0)
    return routed.records[0]


def turned_away(item: Any, spec: SpecSnapshot | None = None) -> Rejected:
    """The entry in quarantine of a record that must not be usable."""
    routed = route(item, spec=spec)
    assert routed.records == []
    return routed.rejected[0]


def test_a_usable_record_keeps_its_text_time_and_mapped_fields() -> None:
    item = work(title=["T"], author=[{"family": "Li"}, {"name": "Group"}], publisher="", ISSN=[])
    record = stored(item)

    assert record.provider_id == "10.1/a"
    assert record.updated_at == at("08:00")
    assert record.payload == json.dumps(item)
    assert record.fields == {
        "title": "T",
        "authors": [{"name": "Li"}, {"name": "Group"}],
        "identifiers": {"doi": "10.1/a"},
    }


def test_a_doi_is_lower_cased_and_the_payload_is_not() -> None:
    record = stored(work(DOI=" 10.1016/S0140-6736(20)XYZ "))

    assert record.provider_id == "10.1016/s0140-6736(20)xyz"
    assert "(20)XYZ" in record.payload


def test_without_a_normaliser_an_id_keeps_its_case() -> None:
    assert stored(work(DOI="GT"), crossref_spec(id_normalizer="NONE")).provider_id == "GT"


def test_a_number_may_be_an_id() -> None:
    assert stored(work(DOI=37)).provider_id == "37"
    assert stored(work(DOI=0)).provider_id == "0"


REASONS = [
    (work(DOI=None), QuarantineReason.ID_MISSING, "$.DOI", None),
    (work(DOI=""), QuarantineReason.ID_MISSING, "$.DOI", None),
    (work(DOI=" \t"), QuarantineReason.ID_MISSING, "$.DOI", None),
    ({"indexed": GOOD["indexed"]}, QuarantineReason.ID_MISSING, "$.DOI", None),
    (work(DOI="x" * (MAX_ID_CHARS + 1)), QuarantineReason.ID_TOO_LONG, "$.DOI", None),
    (work(DOI=["10.1/a"]), QuarantineReason.ID_INVALID, "$.DOI", None),
    (work(DOI={"v": 1, "w": 2}), QuarantineReason.ID_INVALID, "$.DOI", None),
    (work(DOI={}), QuarantineReason.ID_INVALID, "$.DOI", None),
    (work(DOI=True), QuarantineReason.ID_INVALID, "$.DOI", None),
    (work(DOI=1.5), QuarantineReason.ID_INVALID, "$.DOI", None),
    ({"DOI": "10.1/A"}, QuarantineReason.UPDATED_AT_MISSING, "$.indexed.date-time", "10.1/a"),
    (indexed(""), QuarantineReason.UPDATED_AT_MISSING, "$.indexed.date-time", "10.1/a"),
    (work(indexed=None), QuarantineReason.UPDATED_AT_MISSING, "$.indexed.date-time", "10.1/a"),
    (indexed("soon"), QuarantineReason.UPDATED_AT_INVALID, "$.indexed.date-time", "10.1/a"),
    (indexed("2026-02-30T00:00:00Z"), QuarantineReason.UPDATED_AT_INVALID, "$.indexed.date-time", "10.1/a"),
    (indexed([2026, 13]), QuarantineReason.UPDATED_AT_INVALID, "$.indexed.date-time", "10.1/a"),
    (work(title=["a\x00b"]), QuarantineReason.TEXT_INVALID, "$", "10.1/a"),
    (work(**{"a\x00": 1}), QuarantineReason.TEXT_INVALID, "$", "10.1/a"),
    (work(title=["\ud800"]), QuarantineReason.TEXT_INVALID, "$", "10.1/a"),
    (work(**{"\udfff": 1}), QuarantineReason.TEXT_INVALID, "$", "10.1/a"),
    (work(DOI="10.1/\ud800"), QuarantineReason.TEXT_INVALID, "$", None),
    (work(DOI="10.1/\x00"), QuarantineReason.TEXT_INVALID, "$", None),
    ("10.1/a", QuarantineReason.NOT_AN_OBJECT, "$.message.items", None),
    (None, QuarantineReason.NOT_AN_OBJECT, "$.message.items", None),
    ([GOOD], QuarantineReason.NOT_AN_OBJECT, "$.message.items", None),
]


@pytest.mark.parametrize(("item", "reason", "path", "provider_id"), REASONS, ids=lambda value: str(value)[:40])
def test_an_unusable_record_is_turned_away_with_reason_place_and_id(
    item: Any, reason: QuarantineReason, path: str, provider_id: str | None
) -> None:
    entry = turned_away(item)

    assert (entry.reason, entry.json_path, entry.provider_id) == (reason, path, provider_id)


def test_an_object_of_one_key_is_no_id_in_json() -> None:
    assert turned_away(work(DOI={"v": 1})).reason == QuarantineReason.ID_INVALID


def test_every_reason_is_in_the_table() -> None:
    elsewhere = {
        QuarantineReason.TOO_LARGE,  # below
        QuarantineReason.PATTERN_TIMEOUT,  # test_mapping_bounds
        QuarantineReason.UNREADABLE,  # below
        QuarantineReason.RECORD_ERROR,  # test_two_phase
        QuarantineReason.DETAIL_MISSING,  # test_two_phase
        QuarantineReason.DETAIL_FAILED,  # test_two_phase
        QuarantineReason.SHORTFALL,  # of a slice, not of a record
    }

    assert {reason for _, reason, _, _ in REASONS} == set(QuarantineReason) - elsewhere


@pytest.mark.parametrize("rest", [{"DOI": "10.1/A", "n": None}, None, {"DOI": "\x00"}, {"DOI": ["a"]}], ids=str)
def test_a_record_that_could_not_be_read_keeps_its_reason_and_where_it_can_its_id(rest: Any) -> None:
    item = Unreadable(QuarantineReason.UNREADABLE, rest)
    (entry,) = Router(crossref_spec()).route(page_of([item], raw=["{"]), ASKED_AT).rejected

    named = "10.1/a" if rest and rest["DOI"] == "10.1/A" else None
    assert (entry.reason, entry.json_path, entry.provider_id) == (QuarantineReason.UNREADABLE, "$", named)


@pytest.mark.parametrize("inmost", ["1", '"\\u0000"', '"\\ud800"'])
def test_a_record_of_many_levels_spoils_only_itself(inmost: str) -> None:
    deep = json.dumps(work())[:-1] + f', "a": {"[" * 900}{inmost}{"]" * 900}}}'
    routed = Router(crossref_spec()).route(page_of([json.loads(deep), work()], raw=[deep, "{}"]), ASKED_AT)

    assert [one.reason for one in routed.rejected] == [QuarantineReason.UNREADABLE]
    assert len(routed.records) == 1


def test_a_record_too_large_for_the_store_is_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """In bytes, and the common fields count too: the title is in both."""
    monkeypatch.setattr(routing, "MAX_RECORD_BYTES", 300)

    assert turned_away(work(title=["x" * 300])).reason == QuarantineReason.TOO_LARGE
    assert turned_away(work(title=["x" * 110])).reason == QuarantineReason.TOO_LARGE
    assert turned_away(work(title=["書" * 50])).reason == QuarantineReason.TOO_LARGE
    assert stored(work(title=["x" * 50]))


@pytest.mark.parametrize(
    "inmost",
    ["x", pytest.param("\x00"), 12345678901234567890123],
    ids=["text", "nul", "long number"],
)
def test_a_record_nested_without_end_spoils_only_itself(inmost: Any) -> None:
    deep: Any = inmost
    for _ in range(900):
        deep = {"a": deep}
    nested = "{" + '"a":{' * 900 + json.dumps({"a": inmost})[1:] + "}" * 900
    items, raw = [work(abstract=deep), work(DOI="b")], [nested, json.dumps(work(DOI="b"))]
    routed = Router(crossref_spec()).route(page_of(items, raw=raw), ASKED_AT)

    assert len(routed.records) + len(routed.rejected) == 2
    assert routed.records[-1].provider_id == "b"


def test_the_longest_id_still_fits() -> None:
    assert len(stored(work(DOI="x" * MAX_ID_CHARS)).provider_id) == MAX_ID_CHARS


def test_a_written_backslash_is_no_nul() -> None:
    record = stored(work(title=["see \\u0000 there"]))

    assert "\\\\u0000" in record.payload


def test_a_pair_of_surrogates_is_a_character() -> None:
    assert stored(work(title=["😀"])).fields["title"] == "😀"


class TestATimeInTheFuture:
    """It is stored as asked-at and flagged, or it would keep every later version out."""

    def test_up_to_a_day_ahead_is_a_clock_that_differs(self) -> None:
        record = stored(indexed("2026-03-11T12:00:00Z"))

        assert record.updated_at == at("2026-03-11T12:00:00Z")
        assert "flags" not in record.fields

    @pytest.mark.parametrize("value", ["2026-03-11T12:00:00.000001Z", "9999-12-31T23:59:59Z", 9_999_999_999])
    def test_further_ahead_is_stored_as_asked_at_and_flagged(self, value: Any) -> None:
        record = stored(indexed(value))

        assert record.updated_at == ASKED_AT
        assert record.fields["flags"] == ["UPDATED_AT_IN_FUTURE"]
        assert str(value) in record.payload


class TestTheFragment:
    """What quarantine shows of a record: short, masked, with the hash of the whole."""

    @pytest.mark.parametrize(
        "personal",
        [
            "jane.doe+x@mail.example.org",
            "11010519491231002X",
            "110105194912310021",
            "+49 170 1234567",
            "+1 (555) 123-4567",
        ],
    )
    def test_personal_data_is_masked(self, personal: str) -> None:
        entry = turned_away({"DOI": None, "author": [{"note": f"write to {personal} please"}]})

        assert personal not in entry.fragment
        assert "***" in entry.fragment
        assert "write to" in entry.fragment

    @pytest.mark.parametrize(
        "harmless", ["10.1016/S0140-6736(20)30183-5", "0000-0002-1825-0097", "2026-03-10T08:00:00Z"]
    )
    def test_what_only_looks_like_it_is_kept(self, harmless: str) -> None:
        assert harmless in turned_away({"DOI": None, "note": harmless}).fragment

    @pytest.mark.parametrize("size", [10, 999, 1000, 1001, 5000, 100_000])
    def test_it_is_at_most_a_kilobyte_and_the_hash_is_of_the_whole(self, size: int) -> None:
        item = {"DOI": None, "abstract": "é" * size}
        raw = json.dumps(item, ensure_ascii=False)
        (entry,) = Router(crossref_spec()).route(page_of([item], raw=[raw]), ASKED_AT).rejected

        assert len(entry.fragment.encode()) <= FRAGMENT_BYTES
        assert raw.startswith(entry.fragment.removesuffix("…"))
        assert len(entry.fragment) > min(len(raw), FRAGMENT_BYTES // 2) - 2
        assert entry.fragment_hash == hashlib.sha256(raw.encode()).hexdigest()

    def test_masking_comes_before_cutting(self) -> None:
        item = {"DOI": None, "note": "x" * 960 + " jane.doe@example.org"}
        entry = turned_away(item)

        assert "jane" not in entry.fragment

    def test_an_address_at_the_cut_is_masked_though_masking_shortened_the_text(self) -> None:
        for padding in range(33):
            entry = turned_away({"DOI": None, "x" * padding: ["jane.doe@hospital.example.org"] * 100})
            assert "jane" not in entry.fragment

    def test_a_store_can_take_it(self) -> None:
        entry = turned_away(json.loads('{"DOI": null, "x": "\\ud800\\u0000"}'))
        raw = Router(crossref_spec()).route(page_of([{"DOI": None}], raw=['{"x": "\ud800\x00"}']), ASKED_AT)

        for fragment in (entry.fragment, raw.rejected[0].fragment):
            fragment.encode()
            assert "\x00" not in fragment

    def test_redacting_leaves_other_text_alone(self) -> None:
        assert redact("Die 学習 of 12 mice, p < 0.05") == "Die 学習 of 12 mice, p < 0.05"
        assert redact("a@b.org,c@d.org") == "***,***"


class TestTheContentHash:
    """It says whether the content changed, whatever the order of the keys."""

    @staticmethod
    def digest(raw: str) -> str:
        body = f'{{"message": {{"items": [{raw}]}}}}'.encode()
        spec = crossref_spec()
        return Router(spec).route(decode_page(body, spec), ASKED_AT).records[0].payload_hash

    STAMP = '"indexed": {"date-time": "2026-03-10T08:00:00Z"}'

    def test_key_order_and_space_do_not_matter(self) -> None:
        one = self.digest(f'{{"DOI": "a", {self.STAMP}, "x": {{"p": 1, "q": 2}}}}')
        other = self.digest(f'{{"x":{{"q":2,"p":1}},{self.STAMP},"DOI":"a"}}')

        assert one == other

    @pytest.mark.parametrize("x", ["2", '"1"', "[1]", "null", '{"p": 1}', "1.5"])
    def test_any_other_content_does(self, x: str) -> None:
        assert self.digest(f'{{"DOI": "a", {self.STAMP}, "x": 1}}') != self.digest(
            f'{{"DOI": "a", {self.STAMP}, "x": {x}}}'
        )

    def test_the_order_of_a_list_matters(self) -> None:
        assert self.digest(f'{{"DOI": "a", {self.STAMP}, "x": [1, 2]}}') != self.digest(
            f'{{"DOI": "a", {self.STAMP}, "x": [2, 1]}}'
        )

    def test_numbers_beyond_64_bits_differ_in_their_last_digit(self) -> None:
        assert self.digest(f'{{"DOI": "a", {self.STAMP}, "x": 123456789012345678901}}') != self.digest(
            f'{{"DOI": "a", {self.STAMP}, "x": 123456789012345678902}}'
        )


def test_each_record_goes_exactly_one_way_in_order_with_one_hash() -> None:
    items = [work(DOI="B"), work(DOI=None), work(DOI="a"), "text", work(DOI="b"), indexed("soon")]
    routed = route(*items)
    hashes = routed.id_hashes

    assert [record.provider_id for record in routed.records] == ["b", "a", "b"]
    assert [entry.reason.value for entry in routed.rejected] == ["ID_MISSING", "NOT_AN_OBJECT", "UPDATED_AT_INVALID"]
    assert len(hashes) == ID_HASH_BYTES * len(items)
    each = [hashes[index : index + ID_HASH_BYTES] for index in range(0, len(hashes), ID_HASH_BYTES)]
    assert each[0] == each[4] == short_hash("b")
    assert each[2] == short_hash("a")
    assert len(set(each)) == 5


def test_an_unusable_record_has_the_same_hash_when_it_comes_again() -> None:
    assert route(work(DOI=None)).id_hashes == route(work(DOI=None)).id_hashes
    assert route(work(DOI=None)).id_hashes != route(work(DOI=None, x=1)).id_hashes


def test_an_unusable_record_whose_text_changes_is_one_record_if_it_has_an_id() -> None:
    undated = {"indexed": {"date-time": "one day"}}
    first, second = (route(work(**undated, score=score)).id_hashes for score in (1, 2))
    assert first == second == short_hash(stored(work()).provider_id)


def test_an_empty_page_routes_nothing() -> None:
    assert route() == Routed([], [], b"")


def test_a_time_without_a_zone_is_utc() -> None:
    assert format_instant(stored(indexed("2026-03-10T08:00:00")).updated_at) == "2026-03-10T08:00:00.000000Z"
