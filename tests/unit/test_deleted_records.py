"""How a deleted record is recognised and read: by its id alone, whatever else it lacks."""

import json
from typing import Any

import pytest

from ingest_core.execution.decode import decode_page
from ingest_core.execution.page import DecodedPage
from ingest_core.execution.routing import FUTURE_TOLERANCE, MAX_ID_CHARS, Routed, Router, short_hash
from ingest_core.model.codes import GoneReason, QuarantineReason
from ingest_core.model.record import Gone
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.window import Window
from tests.support.specs import at, crossref_spec, page_of, pubmed_spec

ASKED_AT = at("12:00")
DELETED = {"path": "$.status", "matches": "^(deleted|merged)$"}
SPEC = crossref_spec(response={"deleted": DELETED, "merged_into_path": {"any": ["$.into", "$.replaced[*].id"]}})


def dead(**more: Any) -> dict[str, Any]:
    return {"DOI": "10.1/A", "status": "deleted", **more}


def page(*items: Any) -> DecodedPage:
    return page_of(list(items), raw=[json.dumps(item) for item in items])


def route(*items: Any, spec: SpecSnapshot = SPEC, owns: Window | None = None) -> Routed:
    return Router(spec).route(page(*items), ASKED_AT, owns)


def read(**more: Any) -> Gone:
    """The deletion of a record with these values."""
    routed = route(dead(**more))
    assert (routed.records, routed.rejected, routed.outside) == ([], [], 0)
    return routed.gone[0]


def test_a_deleted_record_needs_only_its_id_which_is_normalised() -> None:
    assert read() == Gone("10.1/a", None, GoneReason.DELETED)


def test_its_time_is_the_provider_s_where_it_can_be_read() -> None:
    assert read(indexed={"date-time": "2026-03-10T08:00:00Z"}).at == at("08:00")


@pytest.mark.parametrize("value", ["soon", "", [], {}, None, 10**30, "2026-02-30"])
def test_a_time_that_cannot_be_read_is_none_and_no_problem(value: Any) -> None:
    assert read(indexed={"date-time": value}).at is None


def test_a_time_in_the_future_is_none() -> None:
    late = ASKED_AT + FUTURE_TOLERANCE
    assert read(indexed={"date-time": late.isoformat()}).at == late
    assert read(indexed={"date-time": (late.replace(microsecond=1)).isoformat()}).at is None


@pytest.mark.parametrize(
    ("values", "target"),
    [
        ({"into": " 10.1/B "}, "10.1/b"),
        ({"into": 17}, "17"),
        ({"replaced": [{"id": "10.1/C"}, {"id": "10.1/D"}]}, "10.1/c"),
        ({"into": "10.1/a"}, None),
        ({"into": "x" * (MAX_ID_CHARS + 1)}, None),
        ({"into": "a\x00b"}, None),
        ({"into": {"no": "id"}}, None),
        ({"into": []}, None),
    ],
)
def test_it_is_merged_where_the_target_is_another_id(values: dict[str, Any], target: str | None) -> None:
    gone = read(**values)
    assert (gone.merged_into, gone.reason) == (target, GoneReason.MERGED if target else GoneReason.DELETED)


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ({"status": "deleted"}, QuarantineReason.ID_MISSING),
        (dead(DOI=" "), QuarantineReason.ID_MISSING),
        (dead(DOI="x" * (MAX_ID_CHARS + 1)), QuarantineReason.ID_TOO_LONG),
        (dead(DOI=[1]), QuarantineReason.ID_INVALID),
        (dead(DOI="a\x00"), QuarantineReason.TEXT_INVALID),
    ],
)
def test_without_a_usable_id_it_goes_to_quarantine(item: Any, reason: QuarantineReason) -> None:
    routed = route(item)
    assert ([one.reason for one in routed.rejected], routed.gone) == ([reason], [])


def test_a_record_error_and_a_failing_mapping_do_not_matter() -> None:
    spec = crossref_spec(response={"deleted": DELETED, "record_error": {"path": "$.error"}})
    assert len(route(dead(error="it is not here", author=17, title={"x": 1}), spec=spec).gone) == 1


def test_a_live_record_of_the_same_page_is_a_record_and_both_are_counted() -> None:
    alive = {"DOI": "10.1/b", "indexed": {"date-time": "2026-03-10T08:00:00Z"}, "status": "active"}
    routed = route(alive, dead())
    assert ([one.provider_id for one in routed.records], [one.provider_id for one in routed.gone]) == (
        ["10.1/b"],
        ["10.1/a"],
    )
    assert routed.id_hashes == short_hash("10.1/b") + short_hash("10.1/a")


def test_a_deletion_of_another_time_is_not_this_slice_s() -> None:
    stamped = [dead(DOI=str(hour), indexed={"date-time": f"2026-03-10T{hour:02}:00:00Z"}) for hour in (7, 8, 9)]
    routed = route(*stamped, dead(DOI="untimed"), owns=Window(at("08:00"), at("09:00")))
    assert ([one.provider_id for one in routed.gone], routed.outside) == (["8", "untimed"], 2)


def test_without_a_predicate_nothing_is_deleted() -> None:
    assert route(dead(), spec=crossref_spec()).gone == []


OAI = b"""<?xml version="1.0"?>
<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><ListRecords>
<record><header status="deleted"><identifier>oai:x:1</identifier><datestamp>2026-03-10</datestamp></header></record>
<record><header><identifier>oai:x:2</identifier><datestamp>2026-03-09</datestamp></header>
<metadata><dc><title>Here</title></dc></metadata></record>
<record><header status="deleted"><identifier>oai:x:3</identifier><datestamp>2026-03-08</datestamp>
<setSpec>merged:oai:x:2</setSpec></header></record>
</ListRecords></OAI-PMH>"""


def test_in_xml_an_attribute_says_it_and_lists_are_read_as_their_paths_expect() -> None:
    spec = crossref_spec(
        id_normalizer="NONE",
        mapping={"title": "$.metadata.dc.title"},
        response={
            "format": "XML",
            "items_path": "$.OAI-PMH.ListRecords.record",
            "id_path": "$.header.identifier",
            "updated_at_path": "$.header.datestamp",
            "total_path": None,
            "deleted": {"path": "$.header['@status']", "equals": "deleted"},
            "merged_into_path": "$.header.setSpec[0]",
        },
        pagination={"next_token_path": None},
    )
    routed = Router(spec).route(decode_page(OAI, spec), ASKED_AT)
    assert routed.gone == [
        Gone("oai:x:1", at("00:00"), GoneReason.DELETED),
        Gone("oai:x:3", at("2026-03-08"), GoneReason.MERGED, "merged:oai:x:2"),
    ]
    assert [one.fields for one in routed.records] == [{"title": "Here"}]


def test_in_xml_a_list_that_the_predicate_expects_is_one_though_it_stands_alone() -> None:
    body = b"<list><book><id>1</id><flag>gone</flag></book><book><id>2</id><flag>new</flag></book></list>"
    response = {
        "format": "XML",
        "items_path": "$.list.book",
        "id_path": "$.id",
        "updated_at_path": None,
        "total_path": None,
        "deleted": {"path": "$.flag[0]", "equals": "gone"},
    }
    spec = crossref_spec(response=response, mapping={}, pagination={"next_token_path": None})
    routed = Router(spec).route(decode_page(body, spec), ASKED_AT)
    assert ([one.provider_id for one in routed.gone], len(routed.records)) == (["1"], 1)


class TestTwoPhases:
    """The search may report deletions, and so may the details."""

    SPEC = pubmed_spec(
        response={"id_path": "$.id", "deleted": DELETED, "updated_at_path": "$.at"},
        detail={
            "response": {
                "format": "JSON",
                "items_path": "$.papers",
                "id_path": "$.id",
                "updated_at_path": "$.at",
                "total_path": None,
                "deleted": {"path": "$.withdrawn"},
            }
        },
        mapping={},
    )

    def split(self, *hits: Any) -> tuple[list[str], list[Gone]]:
        router, found = Router(self.SPEC), page(*hits)
        return router.split_hits(found, router.listed_ids(found, "$.id"))

    def test_only_live_hits_are_asked_for_each_once(self) -> None:
        hits = ({"id": "1"}, {"id": "2", "status": "deleted", "at": "2026-03-10"}, {"id": "1"}, {"status": "deleted"})
        assert self.split(*hits) == (["1"], [Gone("2", at("00:00"), GoneReason.DELETED)])

    def test_a_hit_of_plain_text_is_alive(self) -> None:
        router = Router(self.SPEC)
        assert router.split_hits(page("1", "2"), ["1", "2"]) == (["1", "2"], [])

    def test_details_report_deletions_by_their_own_predicate(self) -> None:
        details = page(
            {"id": "1", "at": "2026-03-09"}, {"id": "2", "withdrawn": True}, {"id": "3", "status": "deleted"}
        )
        search = [Gone("4", None, GoneReason.DELETED)]
        listed = DecodedPage(
            details.items, details.raw, None, None, None, listed=["1", "2", "3", "4", "5"], gone=search
        )
        routed = Router(self.SPEC).route(listed, ASKED_AT)
        assert [one.provider_id for one in routed.gone] == ["4", "2"]
        assert [one.provider_id for one in routed.records] == ["1"]
        assert {one.provider_id: one.reason for one in routed.rejected} == {
            "3": QuarantineReason.UPDATED_AT_MISSING,
            "5": QuarantineReason.DETAIL_MISSING,
        }
        assert routed.id_hashes == b"".join(map(short_hash, "12345"))
