"""From a body to a page: payloads as received, and a body that does not parse is an error, never an empty page."""

import json
from typing import Any

import pytest

from ingest_core.execution.decode import PageBroken, decode_page
from ingest_core.execution.page import DecodedPage
from ingest_core.execution.records import Unreadable
from ingest_core.model.codes import ErrorLevel
from ingest_core.model.spec import SpecSnapshot
from tests.support.specs import crossref_spec

SPEC = crossref_spec(pagination={"has_more_path": "$.message.more"})


def body_of(items: str, rest: str = "") -> bytes:
    """A page whose records are written exactly so."""
    return f'{{"status": "ok", "message": {{ "items" : [{items}]{rest} }} }}'.encode()


def decode(items: str, rest: str = "", spec: SpecSnapshot = SPEC) -> DecodedPage:
    return decode_page(body_of(items, rest), spec)


@pytest.mark.parametrize(
    "record",
    [
        '{"a": 1.10}',
        '{"a": 1E5, "b": -0.0, "c": 1e-7}',
        '{"a": 123456789012345678901234567890}',
        '{"a": 0.1000000000000000055511151231257827}',
        '{ "b" : 1 ,\n\t"a" : [ 1 , 2 ] }',
        '{"z": 1, "a": 2, "z2": {"y": 1, "b": 2}}',
        '{"a": "\\u00e9\\/é学\\ud83d\\ude00"}',
        '{"a": 1, "a": 2}',
        '{"a": {"items": [{"deep": 1.10}]}}',
        "{}",
        "1.10",
        '"text"',
        "null",
        "[1.10]",
    ],
)
def test_a_record_is_kept_byte_for_byte(record: str) -> None:
    page = decode(f'{{"first": 1.0}} , {record},{{"last":2}}')

    assert page.raw == ['{"first": 1.0}', record, '{"last":2}']
    assert page.items[1] == pytest.approx(json.loads(record)) if record == "1.10" else len(page.items) == 3


def test_a_page_says_what_comes_next() -> None:
    page = decode('{"DOI": "x"}', ', "total-results": 12, "next-cursor": "abc", "more": true')

    assert (page.total, page.next_token, page.has_more) == (12, "abc", True)
    assert page.items == [{"DOI": "x"}]


def test_a_page_may_be_empty_and_say_nothing() -> None:
    assert decode("") == DecodedPage([], [], None, None, None)


@pytest.mark.parametrize(
    ("total", "meant"), [("7", 7), ('"7"', 7), ("0", 0), ("null", None), ('""', None), ("-1", None)]
)
def test_a_total_may_be_written_as_text(total: str, meant: int | None) -> None:
    assert decode("", f', "total-results": {total}').total == meant


@pytest.mark.parametrize(
    ("rest", "code", "key"),
    [
        ('"next-cursor": {"href": "x"}', "NEXT_PLACE_INVALID", "pagination.next_token $.message.next-cursor"),
        ('"next-cursor": true', "NEXT_PLACE_INVALID", "pagination.next_token $.message.next-cursor"),
        ('"next-cursor": "a\\u0000b"', "NEXT_TOKEN_INVALID", "pagination.next_token $.message.next-cursor"),
        (f'"total-results": {"9" * 400}', "TOTAL_INVALID", "response.total $.message.total-results"),
        ('"total-results": 1e999', "TOTAL_INVALID", "response.total $.message.total-results"),
        ('"total-results": {"value": 7}', "TOTAL_INVALID", "response.total $.message.total-results"),
        ('"more": "perhaps"', "HAS_MORE_INVALID", "pagination.has_more $.message.more"),
        ('"moved": -3', "STEP_INVALID", "pagination.step $.message.moved"),
    ],
)
def test_a_page_that_says_what_cannot_be_meant_is_an_error_that_does_not_pass(rest: str, code: str, key: str) -> None:
    spec = crossref_spec(pagination={"has_more_path": "$.message.more", "step_path": "$.message.moved"})
    with pytest.raises(PageBroken) as broken:
        decode("{}", f", {rest}", spec)

    assert (broken.value.code, broken.value.level) == (code, ErrorLevel.L2)
    assert str(broken.value).startswith(f"{key} found ")


def test_a_url_of_the_wrong_type_is_an_error_too() -> None:
    spec = crossref_spec(pagination={"type": "URL", "next_token_path": None, "next_url_path": "$.message.links.next"})
    assert decode("{}", ', "links": {"next": "https://x/2"}', spec).next_token == "https://x/2"
    assert decode("{}", ', "links": {}', spec).next_token is None
    with pytest.raises(PageBroken, match=r"pagination\.next_url \$\.message\.links\.next found"):
        decode("{}", ', "links": {"next": {"href": "https://x/2"}}', spec)


@pytest.mark.parametrize(("token", "meant"), [('""', None), ("null", None), ('"*"', "*"), ("17", "17"), ("0", "0")])
def test_an_empty_token_is_none(token: str, meant: str | None) -> None:
    assert decode("{}", f', "next-cursor": {token}').next_token == meant


@pytest.mark.parametrize(("more", "meant"), [("true", True), ("false", False), ("null", None)])
def test_more_is_said_or_unsaid(more: str, *, meant: bool | None) -> None:
    assert decode("{}", f', "more": {more}').has_more is meant


LONE_SURROGATE = '{"DOI": "bad", "title": "\\ud800"}'


def test_a_lone_surrogate_does_not_spoil_the_page() -> None:
    page = decode(f'{{"DOI":"good"}},{LONE_SURROGATE}', ', "total-results": 2')

    assert page.items == [{"DOI": "good"}, {"DOI": "bad", "title": "\ud800"}]
    assert page.total == 2
    assert json.loads(page.raw[0]) == {"DOI": "good"}


def test_a_lone_surrogate_does_not_change_how_its_neighbours_are_kept() -> None:
    assert decode(f'{{"n": 1.10}},{LONE_SURROGATE}').raw[0] == '{"n": 1.10}'


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html><body>Service unavailable</body></html>",
        b"Resource not found.",
        body_of('{"a": 1}, {"b": 2}')[:-20],
        body_of('{"a": 1}')[:-1],
        body_of("{}", ', "a": NaN'),
        body_of("{}", ', "a": "X"').replace(b"X", b"\xff"),
        body_of("{'a': 1}"),
        body_of('{"a": 1},'),
        body_of('{"a": 1},, {"a": 2}'),
        body_of('{"a": 1} {"a": 2}'),
        body_of('{"a": NaN} {"a": 2}'),
        body_of('{"a": NaN}}'),
        body_of('{"a": NaN}')[:-3],
        body_of('{"a": "NaN}'),
        body_of("{}") + body_of("{}"),
        b"\x1f\x8b\x08\x00",
    ],
    ids=lambda body: repr(body[:40]),
)
def test_what_is_not_json_is_garbled(body: bytes) -> None:
    with pytest.raises(PageBroken) as broken:
        decode_page(body, SPEC)

    assert broken.value.code == "NOT_JSON"
    assert broken.value.level == ErrorLevel.L1
    assert len(str(broken.value)) < 1000


UNREADABLE = {
    "not a number": '{"DOI": "bad", "n": NaN}',
    "infinity": '{"DOI": "bad", "n": Infinity}',
    "minus infinity": '{"DOI": "bad", "n": -Infinity}',
    "5,000 digits": f'{{"DOI": "bad", "n": {"9" * 5000}}}',
    "a trailing comma": '{"DOI": "bad",}',
    "a key without quotes": '{DOI: "bad"}',
    "a leading zero": '{"DOI": "bad", "n": 01}',
    "nesting of 5,000 levels": f'{{"DOI": "bad", "n": {"[" * 5000}{"]" * 5000}}}',
    "brackets that do not match": '{"DOI": "bad", "n": [}}',
    "a lone surrogate behind an equal key": '{"DOI": "\\ud800", "DOI": "bad"}',
    "a line break behind a backslash": '{"DOI": "bad", "n": "a\\\nb"}',
    "NUL": '{"DOI": "bad", "n": "\x00"}',
}
SPELT = ['{"DOI": "a",  "n": 1.10}', '{ "DOI":"b", "t":"é\\u00e9 \\"]},[{" }']


@pytest.mark.parametrize("record", UNREADABLE.values(), ids=UNREADABLE.keys())
@pytest.mark.parametrize("path", ["$.message.items", "$.lists[1].items", "$"])
def test_a_record_that_cannot_be_read_spoils_only_itself(record: str, path: str) -> None:
    items = f"[{SPELT[0]} ,\n{record},{SPELT[1]} ]"
    body = {
        "$": items,
        "$.message.items": f'{{"message": {{"items": "no"}}, "message": {{"total-results": 3, "items": {items}}}}}',
        "$.lists[1].items": f'{{"lists": [{{"items": []}}, {{"items": {items}}}, 1]}}',
    }[path]
    page = decode_page(body.encode(), crossref_spec(response={"items_path": path}))

    assert page.raw == [SPELT[0], record, SPELT[1]]
    assert [item["DOI"] for item in (page.items[0], page.items[2])] == ["a", "b"]
    assert isinstance(page.items[1], Unreadable)
    assert page.total == (3 if path == "$.message.items" else None)


def test_line_breaks_within_strings_are_escaped_and_all_else_stays_as_it_was() -> None:
    page = decode('{"n": 1.10,\n"t": "a\n\\"b\t", "u": "\\\\",\t"v": "\r"}, {"n":\n1.10}')

    assert page.raw == ['{"n": 1.10,\n"t": "a\\u000a\\"b\\u0009", "u": "\\\\",\t"v": "\\u000d"}', '{"n":\n1.10}']
    assert page.items[0] == {"n": 1.1, "t": 'a\n"b\t', "u": "\\", "v": "\r"} == json.loads(page.raw[0])


@pytest.mark.parametrize("start", [65_530, 65_535, 65_536])
def test_line_breaks_within_strings_are_escaped_wherever_in_a_long_text(start: int) -> None:
    words = [f"a\nb{number}" for number in range(20)] * 700
    text = json.dumps({"pad": " " * start, "words": words}).replace("\\n", "\n")
    page = decode(text)

    assert json.loads(page.raw[0])["words"] == page.items[0]["words"] == words


def test_a_record_of_invalid_utf_8_spoils_only_itself() -> None:
    body = body_of(f'{SPELT[0]}, {{"DOI": "bad", "t": "X"}}, {SPELT[1]}').replace(b"X", b"\xff\xc3")
    page = decode_page(body, SPEC)

    assert [page.raw[0], page.raw[2]] == SPELT
    assert page.items[1] == {"DOI": "bad", "t": "\udcff\udcc3"}  # which the router turns away


def test_paths_into_the_records_find_those_that_can_be_read() -> None:
    spec = crossref_spec(response={"errors": [{"path": "$.message.items[1].error"}]})
    with pytest.raises(PageBroken, match="busy"):
        decode('{"n": NaN}, {"error": "busy"}', spec=spec)
    assert isinstance(decode('{"n": NaN}, {"n": 1}', spec=spec).items[0], Unreadable)


def test_a_page_nested_too_deep_is_an_error_that_does_not_pass() -> None:
    deep = f"{'[' * 5000}{']' * 5000}"
    for body in (body_of("{}", f', "a": {deep}'), deep.encode(), b"[" * 100_000):
        with pytest.raises(PageBroken, match="nested too deep") as broken:
            decode_page(body, SPEC)
        assert (broken.value.code, broken.value.level) == ("TOO_DEEP", ErrorLevel.L2)


def test_a_stated_error_nested_too_deep_to_be_shown_is_one_all_the_same() -> None:
    spec = crossref_spec(response={"errors": [{"path": "$.error"}]})
    with pytest.raises(PageBroken) as broken:
        decode_page(f'{{"error": {"[" * 990}1{"]" * 990}}}'.encode(), spec)
    assert (broken.value.code, broken.value.level) == ("STATED_ERROR", ErrorLevel.L2)


@pytest.mark.parametrize(
    "body",
    [
        body_of(",".join(["{}"] * 51)),
        body_of(f'{{"a": [{",".join("1" * 501)}]}}'),
        body_of("", f', "a": [{",".join(["[]"] * 251)}]'),
        b"[" + b'{"a":1},' * 251 + b"{}]",
    ],
    ids=["records", "in a record", "outside", "elsewhere"],
)
def test_more_values_than_the_source_allows_are_not_parsed(body: bytes) -> None:
    spec = crossref_spec(http={"max_values": 500})
    with pytest.raises(PageBroken, match=r"http\.max_values") as broken:
        decode_page(body, spec)
    assert (broken.value.code, broken.value.level) == ("TOO_MANY_VALUES", ErrorLevel.L2)


def test_values_within_texts_are_not_counted() -> None:
    spec = crossref_spec(http={"max_values": 100})
    text = '\\"' + "[{,\\\\" * 1000
    assert len(decode(f'{{"DOI": "a", "t": "{text}"}}', spec=spec).items) == 1


@pytest.mark.parametrize("pad", range(4))
def test_a_text_longer_than_a_chunk_is_not_counted_either(pad: int) -> None:
    spec = crossref_spec(http={"max_values": 100})
    text = "x" * pad + ",[" * 400_000
    assert len(decode(f'{{"a": "{text}", "b": "{text}"}}', spec=spec).items) == 1


@pytest.mark.parametrize(
    "document",
    [
        {},
        [],
        None,
        "ok",
        {"message": None},
        {"message": {}},
        {"message": {"items": None}},
        {"message": {"items": {"a": 1}}},
        {"message": {"items": "a"}},
        {"message": [{"items": []}]},
        {"status": "failed", "message": [{"type": "cursor-invalid"}]},
    ],
    ids=json.dumps,
)
def test_json_without_the_list_of_records_is_an_error_of_another_kind(document: Any) -> None:
    with pytest.raises(PageBroken) as broken:
        decode_page(json.dumps(document).encode(), SPEC)

    assert broken.value.code == "ITEMS_MISSING"
    assert broken.value.level == ErrorLevel.L2
    assert "$.message.items" in str(broken.value)


@pytest.mark.parametrize("document", [{}, {"message": {"items": None}}, {"error": "busy"}], ids=json.dumps)
def test_a_path_over_all_does_not_turn_a_page_without_records_into_an_empty_one(document: Any) -> None:
    with pytest.raises(PageBroken):
        decode_page(json.dumps(document).encode(), crossref_spec(response={"items_path": "$.message.items[*]"}))


@pytest.mark.parametrize("path", ["$", "$.items", "$['the items']", "$.a.b.c", "$.results[0].items", "$.items[*]"])
def test_records_are_found_wherever_the_registry_says(path: str) -> None:
    spec = crossref_spec(response={"items_path": path})
    body = {
        "$": '[{"n": 1}, {"n": 2}]',
        "$.items": '{"items": [{"n": 1}, {"n": 2}]}',
        "$.items[*]": '{"items": [{"n": 1}, {"n": 2}]}',
        "$['the items']": '{"the items": [{"n": 1}, {"n": 2}]}',
        "$.a.b.c": '{"a": {"b": {"x": 1, "c": [{"n": 1}, {"n": 2}]}}}',
        "$.results[0].items": '{"results": [{"items": [{"n": 1}, {"n": 2}]}]}',
    }[path]

    page = decode_page(body.encode(), spec)

    assert page.items == [{"n": 1}, {"n": 2}]
    assert [json.loads(raw) for raw in page.raw] == page.items


def test_the_last_of_two_equal_keys_counts_for_both_readings() -> None:
    page = decode_page(b'{"message": {"items": [{"n": 1}]}, "message": {"items": [{"n": 2}, {"n": 3}]}}', SPEC)

    assert page.items == [{"n": 2}, {"n": 3}]
    assert page.raw == ['{"n": 2}', '{"n": 3}']


@pytest.mark.parametrize("path", ["$", "$.results[0].items"])
def test_numbers_keep_their_spelling_wherever_the_records_are(path: str) -> None:
    body = {"$": b'[{"n": 1.10}]', "$.results[0].items": b'{"results": [{"items": [{"n": 1.10}]}]}'}[path]

    assert decode_page(body, crossref_spec(response={"items_path": path})).raw == ['{"n": 1.10}']
