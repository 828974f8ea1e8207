"""Law of stored XML: a record's payload parses alone, means what it meant in its page, and keeps the received hash."""

import re
from xml.etree import ElementTree as ET
from xml.sax.saxutils import quoteattr

import orjson
from hypothesis import example, given
from hypothesis import strategies as st

from ingest_core.execution.decode import decode_page
from ingest_core.execution.routing import Router
from ingest_core.model.canonical import hash_text
from tests.support.specs import at, crossref_spec

SPEC = crossref_spec(
    response={
        "format": "XML",
        "items_path": "$.feed.list.entry",
        "id_path": "$.@id",
        "updated_at_path": None,
        "total_path": None,
    },
    pagination={"next_token_path": "$.feed.next"},
    mapping={},
)
PREFIXES = ("", "a", "b", "xlink")
URIS = ("urn:1", "urn:2", 'http://x/?q="1"&r=<é>', "urn:it's")
GAPS = st.sampled_from([" ", "\n", "\t ", "\r\n  "])
INNER = (
    "text > text",
    "a &amp; b &#233;",
    "<![CDATA[<x> ]] > </entry>]]>",
    "<!-- xmlns:c='no' > -->",
    "<?pi a='>'?>",
    "",
)

Scope = dict[str, str]


@st.composite
def declarations(draw: st.DrawFn) -> Scope:
    """Some namespaces by prefix; the empty one is the default, which may be undeclared."""
    chosen = draw(st.lists(st.sampled_from(PREFIXES), unique=True, max_size=4))
    return {prefix: draw(st.sampled_from(URIS if prefix else (*URIS, ""))) for prefix in chosen}


@st.composite
def elements(draw: st.DrawFn, local: str, scope: Scope, own: Scope, inner: str | None, attributes: str = "") -> str:
    """An element whose name and extra attribute use prefixes in scope; None as `inner` closes it at once."""
    within = {**scope, **own}
    prefix = draw(st.sampled_from([one for one in sorted(within) if one] + [""]))
    name = f"{prefix}:{local}" if prefix else local
    parts = [f"xmlns{':' if one else ''}{one}={quoteattr(uri)}" for one, uri in own.items()]
    parts += [attributes] if attributes else []
    parts += [f"{prefix}:kind='1 > 0'"] if prefix and draw(st.booleans()) else []
    start = "".join(draw(GAPS) + part for part in draw(st.permutations(parts))) + draw(st.sampled_from(["", " ", "\n"]))
    return f"<{name}{start}/>" if inner is None else f"<{name}{start}>{inner}</{name}>"


@st.composite
def records(draw: st.DrawFn, scope: Scope, number: int) -> str:
    """A record with its own declarations, and children that use those in scope."""
    own = draw(declarations())
    inner = None
    if draw(st.booleans()):
        children = []
        for _ in range(draw(st.integers(0, 2))):
            more = draw(declarations())
            text = draw(st.sampled_from([None, *INNER]))
            children.append(draw(elements("child", {**scope, **own}, more, text)))
        inner = draw(st.sampled_from(INNER)) + "".join(children)
    return draw(elements("entry", scope, own, inner, f'id="{number}" note="/>"'))


@st.composite
def pages(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A page and the texts of its records."""
    root, middle = draw(declarations()), draw(declarations())
    scope = {**root, **middle}
    texts = [draw(records(scope, number)) for number in range(draw(st.integers(1, 3)))]
    listed = draw(elements("list", root, middle, "\n".join(texts)))
    return draw(elements("feed", {}, root, f"<next>x</next>{listed}")), texts


def infoset(element: ET.Element) -> tuple[object, ...]:
    """Expanded names, attributes and texts; not where the element stands."""
    inner = [(infoset(child), child.tail) for child in element]
    return element.tag, sorted(element.attrib.items()), element.text or "", inner


@given(pages())
@example(('<feed xmlns:a="urn:1"><list><entry id="1"/></list></feed>', ['<entry id="1"/>']))
def test_stored_xml_parses_alone_and_means_what_it_meant(page: tuple[str, list[str]]) -> None:
    body, texts = page
    routed = Router(SPEC).route(decode_page(body.encode(), SPEC), at("12:00"))
    in_page = [one for one in ET.fromstring(body).iter() if one.tag.rpartition("}")[2] == "entry"]

    assert routed.rejected == []
    assert [record.payload_hash for record in routed.records] == [hash_text(text) for text in texts]
    stored = [orjson.loads(record.payload)["xml"] for record in routed.records]
    assert [infoset(ET.fromstring(one)) for one in stored] == [infoset(one) for one in in_page]


@given(pages())
def test_stored_xml_is_the_received_text_with_declarations_behind_its_name(page: tuple[str, list[str]]) -> None:
    body, texts = page
    routed = Router(SPEC).route(decode_page(body.encode(), SPEC), at("12:00"))

    for record, text in zip(routed.records, texts, strict=True):
        stored = orjson.loads(record.payload)["xml"]
        name = re.match(r"<[^\s/>]+", text)
        assert name
        assert stored.startswith(name.group())
        assert stored.endswith(text[name.end() :])
        added = stored[name.end() : len(stored) - len(text) + name.end()]
        assert re.fullmatch(r"""( xmlns(:\w+)?=("[^"]*"|'[^']*'))*""", added)
