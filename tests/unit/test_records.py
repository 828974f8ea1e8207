"""Records of a page that are parsed one by one, and pages that must be read whole."""

import orjson
import pytest

from ingest_core.execution.decode import decode_page
from ingest_core.execution.records import Records, cut_out
from tests.support.specs import crossref_spec

SPEC = crossref_spec()


def body(items: str, after: str = "") -> bytes:
    return f'{{"status":"ok","message":{{"total-results":2,"items":[{items}],"next-cursor":"n"{after}}}}}'.encode()


def test_records_stay_text_until_they_are_looked_at() -> None:
    page = decode_page(body('{"DOI":"a"},{"DOI":"b"}'), SPEC)
    assert isinstance(page.items, Records)
    assert page.items == [{"DOI": "a"}, {"DOI": "b"}]
    assert (page.items[1], page.items[:1], len(page.items)) == ({"DOI": "b"}, [{"DOI": "a"}], 2)
    assert (page.raw, page.total, page.next_token) == (['{"DOI":"a"}', '{"DOI":"b"}'], 2, "n")


@pytest.mark.parametrize(
    "page",
    [
        body('{"DOI":"a"}', ',"copy":{"DOI":"a"}'),
        body('{"DOI":"a"},{"DOI":"b"}', ',"last":{"DOI":"b"}'),
        body('{"DOI":"a"},  {"DOI":"b"}'),
        body('{"DOI":"a"},\n{"DOI":"b"}'),
        body(""),
        b'{"echo":{"DOI":"a"},' + body('{"DOI":"a"}')[1:],
    ],
    ids=["copy after", "last after", "spaces", "lines", "nothing", "copy before"],
)
def test_a_page_whose_records_cannot_be_cut_out_for_certain_is_read_whole(page: bytes) -> None:
    decoded, whole = decode_page(page, SPEC), orjson.loads(page)["message"]
    assert isinstance(decoded.items, list)
    assert (decoded.items, decoded.next_token, decoded.total) == (whole["items"], "n", 2)


def test_a_page_that_is_judged_by_its_records_is_read_whole() -> None:
    within = SPEC.response.model_copy(update={"total_path": "$.message.items[0].total"})
    page = decode_page(body('{"DOI":"a","total":7}'), SPEC.model_copy(update={"response": within}))
    assert (isinstance(page.items, list), page.total) == (True, 7)


def test_a_record_the_quick_parser_refuses_is_parsed_all_the_same() -> None:
    page = decode_page(body('{"DOI":"a","x":1e999}'), SPEC)
    assert page.items[0]["x"] == float("inf")


def test_what_is_cut_out_is_the_list_alone() -> None:
    assert cut_out(b'{"items":[{"a":1},{"b":2}],"n":1}', [b'{"a":1}', b'{"b":2}']) == b'{"items":[],"n":1}'
    assert cut_out(b'{"items":[{"a":1}],"n":{"a":1}}', [b'{"a":1}']) is None
