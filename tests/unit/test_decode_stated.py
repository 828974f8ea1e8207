"""Pages as XML, and what an answer says of itself: errors within a success, and nothing within a failure."""

import json
from typing import Any

import pytest

from ingest_core.execution.decode import PageBroken, decode_detail, decode_page, says_empty, stated_error
from ingest_core.execution.page import DecodedPage
from ingest_core.model.codes import ErrorLevel
from ingest_core.model.spec import SpecSnapshot
from tests.support.specs import crossref_spec, pubmed_spec

FEED = """<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:os="urn:opensearch">
  <os:totalResults>2</os:totalResults>
  <os:more>false</os:more>
  <next>abc</next>
  <entry><id>1</id><author><name>A</name></author></entry>
  <entry><id>2</id><author><name>B</name></author><author><name>C</name></author></entry>
</feed>"""


def xml_spec(**response: Any) -> SpecSnapshot:
    """A source that answers in XML."""
    return crossref_spec(
        response={
            "format": "XML",
            "namespaces": {"os": "urn:opensearch"},
            "items_path": "$.feed.entry",
            "id_path": "$.id",
            "updated_at_path": "$.updated",
            "total_path": "$.feed['os:totalResults']",
            **response,
        },
        pagination={"next_token_path": "$.feed.next", "has_more_path": "$.feed['os:more']"},
        mapping={"authors": {"each": "$.author[*]", "name": "$.name"}},
    )


def decode(text: str, **response: Any) -> DecodedPage:
    return decode_page(text.encode(), xml_spec(**response))


def broken(body: str | bytes, spec: SpecSnapshot) -> PageBroken:
    """Why the body is no page."""
    with pytest.raises(PageBroken) as caught:
        decode_page(body.encode() if isinstance(body, str) else body, spec)
    return caught.value


class TestXml:
    """The same questions, asked of XML."""

    def test_a_page_says_its_records_total_and_what_comes_next(self) -> None:
        page = decode(FEED)

        assert [item["id"] for item in page.items] == ["1", "2"]
        assert page.raw[0] == "<entry><id>1</id><author><name>A</name></author></entry>"
        assert (page.total, page.next_token, page.has_more) == (2, "abc", False)

    def test_what_the_mapping_goes_over_is_a_list_though_it_stands_once(self) -> None:
        assert [len(item["author"]) for item in decode(FEED).items] == [1, 2]
        assert isinstance(decode(FEED).items[0]["author"], list)

    def test_long_numbers_are_text_and_need_no_care(self) -> None:
        assert not decode("<feed><entry><id>12345678901234567890123</id></entry></feed>").long_numbers

    @pytest.mark.parametrize(
        "start", ["", "\ufeff", "<?xml version='1.0'?>\n<!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0'>", "<!-- a -->\n"]
    )
    def test_a_web_page_in_place_of_xml_may_pass_though_it_is_well_formed(self, start: str) -> None:
        error = broken(f"{start}<html xmlns='http://www.w3.org/1999/xhtml'><body>maintenance</body></html>", xml_spec())

        assert (error.code, error.level) == ("NOT_XML", ErrorLevel.L1)

    @pytest.mark.parametrize("body", ["", "<feed><entry>", "busy", "<!DOCTYPE f [<!ENTITY a 'b'>]><feed/>"], ids=repr)
    def test_what_is_not_xml_may_pass(self, body: str) -> None:
        error = broken(body, xml_spec())

        assert (error.code, error.level) == ("NOT_XML", ErrorLevel.L1)

    def test_xml_without_the_place_for_records_is_an_error_of_another_kind(self) -> None:
        error = broken("<answer><text>maintenance, write to jane@example.org</text></answer>", xml_spec())

        assert (error.code, error.level) == ("ITEMS_MISSING", ErrorLevel.L2)
        assert "$.feed.entry" in str(error)
        assert "jane@" not in str(error)

    def test_an_empty_feed_is_an_empty_page(self) -> None:
        assert decode("<feed/>").items == []

    def test_an_error_dressed_up_as_a_record_is_one(self) -> None:
        feed = "<feed><entry><id>http://x/errors#7</id><summary>bad id</summary></entry></feed>"
        stated = [{"path": "$.items[0].id", "matches": "/errors#", "message": "$.items[0].summary"}]

        assert decode(feed).items
        error = broken(feed, xml_spec(errors=stated))
        assert (error.code, error.level) == ("STATED_ERROR", ErrorLevel.L2)
        assert "bad id" in str(error)

    def test_a_total_may_have_attributes(self) -> None:
        assert decode('<feed><total exact="yes">7</total></feed>', total_path="$.feed.total").total == 7

    def test_a_token_may_have_attributes(self) -> None:
        assert decode('<feed><next expires="soon">abc</next><entry/></feed>').next_token == "abc"

    def test_a_token_with_attributes_alone_is_the_last_ones(self) -> None:
        assert decode('<feed><next completeListSize="6"/><entry/></feed>').next_token is None

    def test_a_link_in_an_attribute_that_the_path_lacks_is_an_error(self) -> None:
        paging = {"type": "URL", "next_token_path": None, "next_url_path": "$.feed.link[?(@.@rel=='next')]"}
        spec = xml_spec().model_copy(update={"pagination": crossref_spec(pagination=paging).pagination})
        error = broken('<feed><link rel="next" href="http://x/2"/><entry/></feed>', spec)

        assert (error.code, error.level) == ("NEXT_PLACE_INVALID", ErrorLevel.L2)

    @pytest.mark.parametrize("path", ["$.feed.total[0]", "$.feed.total['#text']", "$.feed.total[*]"])
    def test_the_path_of_a_total_may_expect_a_list_or_a_text(self, path: str) -> None:
        assert decode("<feed><total>7</total></feed>", total_path=path).total == 7

    def test_so_may_the_paths_of_the_other_statements(self) -> None:
        paging = {"has_more_path": "$.feed.more[0]", "step_path": "$.feed.moved[0]", "next_token_path": "$.feed.to[0]"}
        spec = xml_spec().model_copy(update={"pagination": crossref_spec(pagination=paging).pagination})
        page = decode_page(b"<feed><more>true</more><moved>3</moved><to>x</to><entry/></feed>", spec)

        assert (page.has_more, page.step, page.next_token) == (True, 3, "x")

    def test_what_a_predicate_goes_over_is_a_list_though_it_stands_once(self) -> None:
        stated = [{"path": "$.feed.problem[?(@.@level=='error')]"}]

        assert decode('<feed><problem level="hint">x</problem></feed>', errors=stated).items == []
        assert broken('<feed><problem level="error">x</problem></feed>', xml_spec(errors=stated)).code == "STATED_ERROR"


class TestErrorsWithinASuccess:
    """The status says 200, the body says no: it is an error of the level the Registry gives."""

    SPEC = crossref_spec(
        response={
            "errors": [
                {"path": "$.error", "matches": "limit", "level": "L1"},
                {"path": "$.error", "message": "$.hint"},
                {"path": "$.message.status", "equals": "gone", "level": "L4"},
            ]
        }
    )

    @pytest.mark.parametrize(
        ("said", "level"),
        [
            ({"error": "rate limit exceeded"}, ErrorLevel.L1),
            ({"error": "unknown field"}, ErrorLevel.L2),
            ({"message": {"items": [{"DOI": "a"}], "status": "gone"}}, ErrorLevel.L4),
            ({"message": {"items": []}, "error": "unknown field"}, ErrorLevel.L2),
        ],
        ids=str,
    )
    def test_it_is_raised_with_its_level_though_records_came_along(self, said: Any, level: ErrorLevel) -> None:
        error = broken(json.dumps(said), self.SPEC)

        assert (error.code, error.level) == ("STATED_ERROR", level)

    def test_the_providers_words_are_told_short_and_without_addresses(self) -> None:
        said = {"error": "x", "hint": "ask jane@example.org " + "y" * 500}
        error = broken(json.dumps(said), self.SPEC)

        assert "ask ***" in str(error)
        assert len(str(error)) < 300

    def test_a_page_that_says_none_of_it_is_a_page(self) -> None:
        page = decode_page(b'{"message": {"items": [{"DOI": "a"}], "status": "ok"}, "error": null}', self.SPEC)

        assert len(page.items) == 1

    @pytest.mark.parametrize(
        ("body", "level"),
        [(b'{"error": "rate limit"}', ErrorLevel.L1), (b'{"ok": 1}', None), (b"<html>", None), (b"", None)],
        ids=repr,
    )
    def test_the_same_words_tell_how_bad_a_failure_is(self, body: bytes, level: ErrorLevel | None) -> None:
        stated = stated_error(body, self.SPEC.response)
        assert (stated.level if stated else None) == level
        assert stated_error(body, crossref_spec().response) is None


class TestNothingWithinAFailure:
    """Some providers answer 404 where nothing was found, or leave the list out."""

    SPEC = crossref_spec(response={"empty": [{"path": "$.message", "matches": "(?i)no results"}]})

    @pytest.mark.parametrize(
        ("body", "status", "expected"),
        [
            (b'{"message": "No results found"}', 404, True),
            (b'{"message": "No results found"}', 400, True),
            (b'{"message": "No results found"}', 200, False),
            (b'{"message": "wrong id"}', 404, False),
            (b"No results found", 404, False),
            (b"", 404, False),
        ],
        ids=repr,
    )
    def test_only_the_registrys_words_make_a_failure_an_empty_page(
        self, body: bytes, status: int, *, expected: bool
    ) -> None:
        assert says_empty(body, self.SPEC.response, status) is expected

    def test_a_success_without_a_list_is_empty_where_it_says_so_and_broken_otherwise(self) -> None:
        assert decode_page(b'{"message": "no results"}', self.SPEC).items == []
        assert broken(b'{"message": "something"}', self.SPEC).code == "ITEMS_MISSING"

    def test_words_do_not_hide_records_that_came(self) -> None:
        spec = crossref_spec(response={"empty": [{"path": "$.note"}]})

        assert len(decode_page(b'{"message": {"items": [{}]}, "note": "no results"}', spec).items) == 1


class TestDetails:
    """The answer of the second phase: records alone."""

    SPEC = pubmed_spec(
        detail={"response": {"items_path": "$.papers", "id_path": "$.id", "updated_at_path": None, "total_path": None}}
    )

    def test_records_come_with_their_text(self) -> None:
        page = decode_detail(b'{"papers": [{"id": 1.10}, {"id": 2}]}', self.SPEC)

        assert (page.items, page.raw) == ([{"id": 1.1}, {"id": 2}], ['{"id": 1.10}', '{"id": 2}'])
        assert (page.total, page.next_token, page.has_more, page.listed) == (None, None, None, None)

    def test_an_id_that_was_not_found_may_be_answered_by_null(self) -> None:
        page = decode_detail(b'{"papers": [null, {"id": 2}, null]}', self.SPEC)

        assert (page.items, page.raw) == ([{"id": 2}], ['{"id": 2}'])

    def test_xml_of_pubmed_has_articles_and_books(self) -> None:
        body = b"""<PubmedArticleSet>
            <PubmedArticle><MedlineCitation><PMID Version="1">1</PMID></MedlineCitation></PubmedArticle>
            <PubmedBookArticle><BookDocument><PMID Version="1">2</PMID></BookDocument></PubmedBookArticle>
        </PubmedArticleSet>"""
        page = decode_detail(body, pubmed_spec())

        assert [list(item) for item in page.items] == [["MedlineCitation"], ["BookDocument"]]

    def test_an_error_is_one_here_too(self) -> None:
        assert broken_detail(b'{"error": "no"}', self.SPEC) == "ITEMS_MISSING"
        assert broken_detail(b"<eFetchResult><ERROR>ID list is empty</ERROR></eFetchResult>", pubmed_spec()) == (
            "ITEMS_MISSING"
        )
        assert broken_detail(b"<PubmedArticleSet>", pubmed_spec()) == "NOT_XML"


def broken_detail(body: bytes, spec: SpecSnapshot) -> str:
    """The code of why a body holds no details."""
    with pytest.raises(PageBroken) as caught:
        decode_detail(body, spec)
    return caught.value.code


class TestOddPages:
    """Pages that are right, though not as one would write them."""

    def test_a_byte_order_mark_is_no_part_of_the_page(self) -> None:
        spec = crossref_spec(response={"items_path": "$.items"})
        page = decode_page(b'\xef\xbb\xbf{"items": [{"n": 1.10}]}', spec)

        assert (page.items, page.raw) == ([{"n": 1.1}], ['{"n": 1.10}'])

    @pytest.mark.parametrize("kept", [1, 2])
    def test_a_filter_finds_a_list_of_one_too(self, kept: int) -> None:
        spec = crossref_spec(response={"items_path": "$.items[?(@.kind != 'deleted')]"})
        items = [{"kind": "deleted"}, *({"kind": "book", "n": number} for number in range(kept))]

        assert len(decode_page(json.dumps({"items": items}).encode(), spec).items) == kept
