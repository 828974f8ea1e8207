"""Warnings about a first page: each names the setting, what the page shows, and what to do."""

import json
from typing import Any

import pytest

from ingest_core.execution.decode import decode_page, parse_document
from ingest_core.execution.ports import Request
from ingest_core.inspection.check_source import CheckRequest, SourceCheck
from ingest_core.inspection.local_gate import LocalGate
from ingest_core.inspection.page_warnings import FirstPage, page_warnings
from ingest_core.model.spec import SpecSnapshot
from tests.support.small_source import rows_from, small_document, small_endpoint
from tests.support.specs import NOW, at, crossref_spec, page_of
from tests.support.upstream import ScriptedUpstream, status

SIZE = 3


def spec_of(*, total: str | None = None, **pagination: Any) -> SpecSnapshot:
    """Crossref's works, three a page, with these paths."""
    paging = {"page_size": SIZE, "next_token_path": "$.message.next", "has_more_path": None, **pagination}
    return crossref_spec(response={"total_path": total}, pagination=paging)


COUNTED = spec_of(total="$.message.total")


def warnings(spec: SpecSnapshot, records: int = SIZE, times: tuple[str, ...] = (), **message: Any) -> list[str]:
    """What is said of a page of so many records with this around them."""
    body = json.dumps({"message": {"items": [{}] * records, **message}}).encode()
    return page_warnings(
        spec, FirstPage(decode_page(body, spec), parse_document(body, spec), [at(one) for one in times])
    )


def one(spec: SpecSnapshot, **page: Any) -> str:
    """The only warning."""
    (warning,) = warnings(spec, **page)
    return warning


def test_a_page_that_says_all_gives_no_warning() -> None:
    assert warnings(COUNTED, total=9, next="x") == []
    assert warnings(COUNTED, total=3) == []
    assert warnings(COUNTED, records=2, total=2) == []
    assert warnings(COUNTED, records=0, total=0) == []
    assert warnings(spec_of(has_more_path="$.message.more"), more=True, next="x") == []
    assert warnings(spec_of(has_more_path="$.message.more"), more=False) == []


class TestNoNextPlace:
    """A next place that is missing although there are more records, or may be."""

    @pytest.mark.parametrize(
        ("kind", "key"),
        [
            ({"type": "TOKEN", "next_token_path": "$.message.nxt"}, "pagination.next_token $.message.nxt"),
            ({"type": "URL", "next_url_path": "$.message.nxt"}, "pagination.next_url $.message.nxt"),
        ],
    )
    def test_a_full_page_without_one_and_without_a_total(self, kind: Any, key: str) -> None:
        weak, *others = warnings(spec_of(**kind), links=1)[::-1]

        assert "neither a total" in weak
        full = f"{key} found no next page on a full page of 3 records: a harvest would end here as PARTIAL."
        assert others == [f"{full} Check the path."]
        assert len(warnings(spec_of(**kind), records=2, links=1)) == 1

    def test_a_total_that_is_not_reached(self) -> None:
        assert one(COUNTED, total=9) == (
            "pagination.next_token $.message.next found no next page after 3 of 9 records. Check the path."
        )

    @pytest.mark.parametrize("kind", ["OFFSET", "PAGE", "TIME"])
    def test_other_ways_of_paging_need_none(self, kind: str) -> None:
        assert warnings(spec_of(total="$.message.total", type=kind, next_token_path=None), total=9) == []


class TestPathsThatFindNothing:
    """The total's always; the others' where the page shows that the path is wrong."""

    def test_a_total(self) -> None:
        expected = (
            "response.total $.message.total found no total on the page. Check the path, or remove `response.total`."
        )

        assert warnings(COUNTED, records=1) == [expected]
        assert warnings(COUNTED, records=1, total=-1) == [expected]

    @pytest.mark.parametrize(
        ("setting", "key"),
        [
            ({"next_token_path": "$.meta.next"}, "pagination.next_token $.meta.next"),
            ({"has_more_path": "$.meta.more"}, "pagination.has_more $.meta.more"),
            ({"step_path": "$.meta.moved"}, "pagination.step $.meta.moved"),
            ({"type": "URL", "next_url_path": "$.meta.next['#text']"}, "pagination.next_url $.meta.next['#text']"),
            (
                {"type": "URL", "next_url_path": "$.meta[?(@.rel=='next')].href"},
                "pagination.next_url $.meta[?(@.rel=='next')].href",
            ),
        ],
    )
    def test_a_path_whose_parent_is_absent(self, setting: Any, key: str) -> None:
        spec = spec_of(total="$.message.total", **setting)

        assert one(spec, total=3) == f"{key} found nothing: the page has no $.meta. Check the path."

    def test_a_path_with_a_name_much_like_another(self) -> None:
        spec = spec_of(total="$.message.total", next_token_path="$.message.next_curser")

        assert one(spec, total=3, next_cursor=None) == (
            "pagination.next_token $.message.next_curser found nothing: the page has $.message.next_cursor. "
            "Check the path."
        )

    @pytest.mark.parametrize("path", ["$.message.next", "$.message.links[?(@.rel=='next')].href", "$..next"])
    def test_a_last_page_has_no_value_where_the_parent_is(self, path: str) -> None:
        spec = spec_of(total="$.message.total", next_token_path=path)

        assert warnings(spec, total=3, links=[{"rel": "self", "href": "x"}]) == []

    def test_a_value_that_is_null_is_there(self) -> None:
        spec = spec_of(total="$.message.total", next_token_path="$.message.next_page")

        assert warnings(spec, total=3, next_page=None, next_pages=2) == []


class TestShortPages:
    """Fewer records than were asked for, while the total says that there are more."""

    def test_a_provider_that_caps_its_pages(self) -> None:
        assert one(COUNTED, records=2, total=9, next="x") == (
            "the page holds 2 records, 3 were asked for and the total is 9: the provider may give at most 2 per page. "
            "Set `pagination.max_page_size` to that."
        )

    def test_an_empty_page_of_many(self) -> None:
        assert "records are missing" in one(COUNTED, records=0, total=9, next="x")

    def test_a_provider_that_says_how_far_it_moved(self) -> None:
        spec = spec_of(total="$.message.total", type="OFFSET", next_token_path=None, step_path="$.message.moved")

        assert warnings(spec, records=2, total=9, moved=2) == []


class TestOrder:
    """`ascending` is what a harvest trusts when a long slice is cut at its last record."""

    ASCENDING = spec_of(total="$.message.total", ascending=True)

    def test_records_that_go_back_in_time(self) -> None:
        assert one(self.ASCENDING, total=3, times=("10:00", "11:00", "10:30", "10:20")) == (
            "pagination.ascending is true, but a record of 2026-03-10T10:30:00.000000Z follows one of "
            "2026-03-10T11:00:00.000000Z. Ask the provider for that order, or remove `pagination.ascending`."
        )

    def test_records_that_came_by_id_show_no_order(self) -> None:
        page = page_of([{}, {}], total=2, listed=["1", "2"])

        assert page_warnings(self.ASCENDING, FirstPage(page, {"message": {}}, [at("11:00"), at("10:00")])) == []

    def test_records_in_order_and_sources_that_promise_none(self) -> None:
        assert warnings(self.ASCENDING, total=3, times=("10:00", "10:00", "11:00")) == []
        assert warnings(COUNTED, total=3, times=("11:00", "10:00")) == []


class TestWeakEnds:
    """Nothing on the page confirms the end."""

    def test_neither_a_total_nor_whether_more_follows(self) -> None:
        assert one(spec_of(), next="x") == (
            "the page states neither a total nor whether more follows: a missing next place is the only sign of the "
            "end, and records lost before it go unnoticed. Set `response.total` or `pagination.has_more` if the "
            "provider states one."
        )
        assert "a short or empty page is the only sign" in one(spec_of(type="PAGE", next_token_path=None))

    def test_a_path_to_whether_more_follows_that_finds_nothing(self) -> None:
        assert "neither a total" in one(spec_of(has_more_path="$.message.more"), next="x")

    def test_a_slice_of_one_page_needs_neither(self) -> None:
        assert warnings(spec_of(type="TIME", next_token_path=None)) == []


class ShownUpstream(ScriptedUpstream):
    """A VisibleUpstream."""

    def preview(self, request: Request) -> dict[str, Any]:
        """The request's address."""
        return {"url": request.path}


def sent(body: Any, code: int = 200, response: Any = None, **pagination: Any) -> list[str]:
    """What `source check --send` warns of when the small source answers so."""
    document = small_document(
        endpoints=[small_endpoint(response={"total": "$.total", **(response or {})})],
        pagination={"max_page_size": SIZE, **pagination},
    )
    upstream = ShownUpstream(status(code, json.dumps(body).encode()))
    check = SourceCheck(rows_from(document), CheckRequest(), upstream, NOW)
    return check.send(LocalGate())[1]


def test_a_check_that_sends_warns_of_the_page_that_came() -> None:
    record = {"id": "1", "updated": "2026-03-10T00:00:00Z"}
    earlier = {"id": "2", "updated": "2026-03-09T00:00:00Z"}
    later = {"id": "3", "updated": "2999-03-09T00:00:00Z"}

    assert sent({"items": [record], "total": 1}) == []
    assert "no next page after 1 of 9" in sent({"items": [record], "total": 9})[0]
    assert "follows one of" in sent({"items": [record, earlier], "total": 2}, ascending=True)[0]
    # A time in the future is not the record's own any more.
    assert sent({"items": [later, record], "total": 2}, ascending=True) == []


def test_an_answer_that_only_says_there_is_nothing_is_no_reason_to_warn() -> None:
    assert sent({"error": "nothing found"}, 404, response={"empty": {"path": "$.error"}}) == []
