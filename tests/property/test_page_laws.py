"""Promise 7, no silent loss: laws of pages. A body is a page or an error, a record goes one way, none slips past."""

import json
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from ingest_core.execution.decode import PageBroken, decode_page
from ingest_core.execution.paging import END, Place, paginator_of
from ingest_core.execution.routing import ID_HASH_BYTES, Router
from ingest_core.execution.xml_page import Reading, XmlBroken, read_xml
from ingest_core.model.numbers import holds_long_number
from ingest_core.model.spec import PaginationSpec
from tests.property.test_value_laws import record_values
from tests.support.specs import at, crossref_spec, page_of, span
from tests.support.strategies import json_values

XML = crossref_spec(
    response={"format": "XML", "items_path": "$.feed.entry", "errors": [{"path": "$.error"}]}, mapping={"a": "$.a[*]"}
)
JSON = crossref_spec(response={"errors": [{"path": "$.error"}], "empty": [{"path": "$.a"}]})
PLAIN = crossref_spec(response={"id_path": "$.a", "updated_at_path": "$.b"}, mapping={"title": "$.a", "all": "$.b[*]"})
WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), max_size=8)


@pytest.mark.parametrize("spec", [JSON, XML], ids=["json", "xml"])
@given(st.binary(max_size=60) | json_values().map(lambda value: json.dumps(value).encode()))
def test_any_body_is_a_page_or_an_error(spec: Any, body: bytes) -> None:
    try:
        page = decode_page(body, spec)
    except PageBroken:
        return
    assert len(page.items) == len(page.raw)


@given(st.lists(json_values(4), max_size=6), st.sampled_from([None, 2, " "]))
def test_the_records_of_a_page_are_the_records_sent(items: list[Any], indent: Any) -> None:
    body = json.dumps({"message": {"items": items, "total-results": len(items)}}, indent=indent, ensure_ascii=False)
    assume(not holds_long_number(body.encode("utf-8", "surrogatepass")))  # orjson reads more than 64 bits as a float
    page = decode_page(body.encode("utf-8", "surrogatepass"), crossref_spec())

    assert page.items == items
    assert [json.loads(raw) for raw in page.raw] == items
    assert page.total == len(items)


@given(st.lists(record_values() | st.dictionaries(st.sampled_from("ab"), record_values()), max_size=5))
@example([{"a": "1", "b": [10**20]}])
def test_each_record_goes_exactly_one_way(items: list[Any]) -> None:
    raw = [json.dumps(item) for item in items]
    routed = Router(PLAIN).route(page_of(items, raw=raw), at("12:00"), span("00:00", "12:00"))

    assert len(routed.records) + len(routed.rejected) + routed.outside == len(items)
    assert len(routed.id_hashes) == len(items) * ID_HASH_BYTES
    for record in routed.records:
        assert record.provider_id
        json.dumps(record.fields)


@st.composite
def elements(draw: st.DrawFn, depth: int = 2) -> tuple[str, str]:
    """An element as text, and the words in it."""
    name = draw(st.sampled_from("abc"))
    attributes = draw(st.dictionaries(st.sampled_from("xy"), WORDS, max_size=2))
    parts = draw(st.lists(WORDS.map(lambda word: (escape(word), word)) | _inner(depth), min_size=1, max_size=3))
    shown = "".join(f" {key}={quoteattr(value)}" for key, value in attributes.items())
    return f"<{name}{shown}>{''.join(text for text, _ in parts)}</{name}>", "".join(words for _, words in parts)


def _inner(depth: int) -> st.SearchStrategy[tuple[str, str]]:
    return elements(depth - 1) if depth else st.nothing()


@given(st.lists(elements(), max_size=4), WORDS)
def test_the_records_of_an_xml_page_are_the_texts_sent(inner: list[tuple[str, str]], words: str) -> None:
    entries = [f"<entry>{escape(words)}{text}</entry>" for text, _ in inner]
    document = read_xml(f"<feed>{' '.join(entries)}</feed>".encode(), Reading(("feed", "entry")))

    assert document.raw == entries
    for item, (_, text) in zip(document.items, inner, strict=True):
        if words.strip():
            assert item["#text"] == " ".join((words + text).split())


@given(st.lists(elements(), min_size=1, max_size=3), st.data())
def test_an_xml_page_that_is_cut_is_refused(inner: list[tuple[str, str]], data: st.DataObject) -> None:
    whole = f"<feed>{''.join(text for text, _ in inner)}</feed>".encode()
    with pytest.raises(XmlBroken):
        read_xml(whole[: data.draw(st.integers(0, len(whole) - 1))], Reading(("feed", "entry")))


def counted(kind: str, size: int) -> PaginationSpec:
    """Paging by a number of ours."""
    changes = {"type": kind, "position": "CLIENT", "page_size": size, "page_base": 1 if kind == "PAGE" else 0}
    return crossref_spec(pagination=changes).paging


@pytest.mark.parametrize("kind", ["OFFSET", "PAGE"])
@given(st.integers(0, 14), st.integers(1, 4), st.lists(st.sets(st.integers(0, 13), max_size=3), max_size=6))
@example(12, 3, [set(), {0, 1, 2}])
def test_what_stays_is_seen_whatever_leaves_while_we_page(
    kind: str, count: int, size: int, leaving: list[set[int]]
) -> None:
    config = counted(kind, size)
    books, seen, total, token = list(range(count)), set[int](), None, "1" if kind == "PAGE" else "0"
    for asked in range(200):
        gone = leaving[asked] if asked < len(leaving) else set()
        books = [book for book in books if book not in gone]
        start = (int(token) - 1) * size if kind == "PAGE" else int(token)
        page = page_of(books[start : start + size], total=len(books))
        seen |= set(page.items)
        step = paginator_of(config).step(page, Place(token, asked + 1, len(seen), total))
        total = page.total
        if step.token is None:
            break
        token = step.token
    assert step == END
    assert set(books) <= seen
