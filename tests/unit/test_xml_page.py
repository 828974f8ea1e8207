"""XML as plain values: text as it reads, records as they were sent, and nothing fetched, expanded or guessed."""

import socket
import tracemalloc
from typing import Any, NoReturn
from xml.parsers import expat

import pytest

from ingest_core.execution.records import Unreadable
from ingest_core.execution.xml_page import (
    MAX_DEPTH,
    OLDEST_EXPAT,
    Reading,
    XmlBroken,
    XmlDocument,
    declared_alone,
    read_xml,
)
from ingest_core.execution.xml_text import collapsed

ATOM = "http://www.w3.org/2005/Atom"
DTD = '<!DOCTYPE feed SYSTEM "http://dtd.example/feed.dtd">'


def read(text: str | bytes, items: str = "feed.entry", repeated: str = "", **namespaces: str) -> XmlDocument:
    """The document, with its records at a dotted way."""
    body = text.encode() if isinstance(text, str) else text
    return read_xml(body, Reading(tuple(items.split(".")), namespaces, frozenset(repeated.split())))


def value(inner: str, repeated: str = "") -> Any:
    """What a record of this content is."""
    (item,) = read(f"<feed><entry>{inner}</entry></feed>", repeated=repeated).items
    return item


def refusal(text: str | bytes) -> str:
    """Why the document is not taken."""
    with pytest.raises(XmlBroken) as broken:
        read(text)
    return str(broken.value)


class TestElements:
    """An element is its text, or an object of its attributes, children and text."""

    @pytest.mark.parametrize(
        ("inner", "expected"),
        [
            ("<t>one</t>", {"t": "one", "#text": "one"}),
            ("<t/>", {"t": ""}),
            ("<t></t>", {"t": ""}),
            ("<t>  one \n\t two </t>", {"t": "one two", "#text": "one two"}),
            ('<t lang="en">one</t>', {"t": {"@lang": "en", "#text": "one"}}),
            ('<t lang="en"/>', {"t": {"@lang": "en"}}),
            ('<t lang=" a  b "/>', {"t": {"@lang": " a  b "}}),
            ("<a><b>1</b></a>", {"a": {"b": "1", "#text": "1"}}),
            ("<t>1</t> <t>2</t>", {"t": ["1", "2"], "#text": "1 2"}),
            ("<t>1</t><u>x</u><t>2</t><t>3</t>", {"t": ["1", "2", "3"], "u": "x", "#text": "1x23"}),
            ("<t>&lt;b&gt; &amp; &#233; &#x5b66;</t>", {"t": "<b> & é 学", "#text": "<b> & é 学"}),
            ("<t><![CDATA[<b> & </b>]]></t>", {"t": "<b> & </b>", "#text": "<b> & </b>"}),
            ("<t>a<!-- not this -->b<?nor this?></t>", {"t": "ab", "#text": "ab"}),
        ],
    )
    def test_it_is_its_text_or_an_object(self, inner: str, expected: Any) -> None:
        assert value(inner) == expected

    def test_mixed_content_reads_as_one_text_with_its_parts_beside_it(self) -> None:
        assert value("<t>Growth of <i>E. coli</i> in H<sub>2</sub>O.</t>") == {
            "t": {"i": "E. coli", "sub": "2", "#text": "Growth of E. coli in H2O."}
        }

    def test_markup_within_markup_is_in_the_text_of_all_around_it(self) -> None:
        assert value("<t>a <b>b <i>c</i></b> d</t>")["t"]["#text"] == "a b c d"
        assert value("<t>a <b>b <i>c</i></b> d</t>")["t"]["b"] == {"i": "c", "#text": "b c"}

    def test_an_element_that_is_all_markup_still_has_its_text(self) -> None:
        assert value("<t><i>E. coli</i></t>")["t"]["#text"] == "E. coli"

    def test_an_element_that_is_all_repeated_markup_has_its_text_too(self) -> None:
        assert value("<t><i>E.</i> <i>coli</i></t>")["t"]["#text"] == "E. coli"

    def test_an_element_whose_text_a_path_wants_has_it_whatever_is_in_it(self) -> None:
        body = b"<feed><entry><t><b><i>a</i> <i>b</i></b> <u x='1'>c</u></t></entry></feed>"
        wanted = read_xml(body, Reading(("feed", "entry"), texts=frozenset({"t"})))
        unasked = read_xml(body, Reading(("feed", "entry")))

        assert wanted.items[0]["t"]["#text"] == "a b c"
        assert "#text" not in unasked.items[0]["t"]

    def test_an_element_that_holds_others_together_has_no_text_of_its_own(self) -> None:
        assert "#text" not in value("<list><a><b>1</b></a><a><b>2</b></a></list>")["list"]

    def test_a_name_a_path_expects_a_list_at_is_one_though_it_stands_once(self) -> None:
        assert value("<a><b>1</b></a>", repeated="a") == {"a": [{"b": "1", "#text": "1"}]}
        assert value("<a>1</a><a>2</a>", repeated="a")["a"] == ["1", "2"]
        assert value("<c/>", repeated="a") == {"c": ""}


class TestNamespaces:
    """Declared ones have the prefix the Registry gives, all others none."""

    def test_a_name_has_the_registrys_prefix_whatever_the_documents_is(self) -> None:
        text = (
            f'<feed xmlns="{ATOM}" xmlns:zz="urn:arxiv"><entry><zz:doi zz:kind="x" kind="y">1</zz:doi></entry></feed>'
        )
        document = read(text, arxiv="urn:arxiv")

        assert document.items == [{"arxiv:doi": {"@arxiv:kind": "x", "@kind": "y", "#text": "1"}}]

    def test_a_namespace_the_registry_does_not_name_is_left_out(self) -> None:
        document = read(f'<a:feed xmlns:a="{ATOM}"><a:entry><a:id>1</a:id></a:entry></a:feed>')

        assert document.items == [{"id": "1", "#text": "1"}]

    def test_two_names_alike_in_different_namespaces_stay_apart(self) -> None:
        text = '<feed><entry xmlns:d="urn:d"><title>plain</title><d:title>other</d:title></entry></feed>'

        assert read(text, dc="urn:d").items[0] | {"#text": ""} == {"title": "plain", "dc:title": "other", "#text": ""}

    def test_the_way_to_the_records_may_have_prefixes(self) -> None:
        text = '<o:list xmlns:o="urn:o"><o:record><id>1</id></o:record><record><id>2</id></record></o:list>'
        document = read(text, "oai:list.oai:record", oai="urn:o")

        assert [item["id"] for item in document.items] == ["1"]
        assert document.value["oai:list"]["record"]["id"] == "2"

    def test_the_language_of_a_text_is_an_attribute_like_any_other(self) -> None:
        assert value('<t xml:lang="de">ein</t>')["t"] == {"@lang": "de", "#text": "ein"}


class TestRecords:
    """The elements at the way named, apart from all else, with their own text."""

    def test_they_are_taken_out_of_the_document(self) -> None:
        document = read("<feed><total>2</total><entry><id>1</id></entry><entry><id>2</id></entry></feed>")

        assert [item["id"] for item in document.items] == ["1", "2"]
        assert document.value == {"feed": {"total": "2"}}
        assert document.found

    def test_elements_of_that_name_elsewhere_are_none(self) -> None:
        document = read("<feed><entry><entry><id>inner</id></entry></entry><other><entry>x</entry></other></feed>")

        assert len(document.items) == 1
        assert document.items[0]["entry"]["id"] == "inner"

    def test_a_wildcard_takes_elements_of_every_name(self) -> None:
        document = read("<set><Article><id>1</id></Article><Book><id>2</id></Book></set>", "set.*")

        assert [item["id"] for item in document.items] == ["1", "2"]
        assert read("<set><Article><id>1</id></Article></set>", "set.Article").items == document.items[:1]

    def test_they_are_kept_exactly_as_received(self) -> None:
        records = [
            "<entry><t>a &amp; b</t>\n  <u  x='1'\n y=\"2\"/></entry >",
            "<entry><![CDATA[</entry>]]><t>é学😀</t><!-- > --></entry>",
            '<entry a=">"><t/></entry>',
        ]
        document = read(f'<?xml version="1.0"?>\n<feed>{"  ".join(records)}</feed>')

        assert document.raw == records

    def test_one_without_content_is_kept_exactly_too(self) -> None:
        records = ['<entry id="1"/>', '<entry id="2" />', '<entry id="3"></entry>']

        assert read(f"<feed>{' '.join(records)}<total>3</total></feed>").raw == records

    def test_there_may_be_none_where_they_would_be(self) -> None:
        for text in ("<feed/>", "<feed></feed>", "<feed><total>0</total></feed>"):
            document = read(text)
            assert (document.items, document.raw, document.found) == ([], [], True)

    @pytest.mark.parametrize("text", ["<error>busy</error>", "<html><body><feed/></body></html>", "<Feed/>"])
    def test_a_document_without_the_place_for_them_says_so(self, text: str) -> None:
        assert not read(text).found

    def test_a_record_in_a_foreign_way_is_not_found(self) -> None:
        assert read("<other><entry><id>1</id></entry></other>").items == []


class TestDeclarations:
    """A record's text lacks the namespaces declared around it: they are given beside it."""

    @pytest.mark.parametrize(
        ("around", "record", "lacking"),
        [
            ("", "<entry/>", ""),
            ("", "<entry xmlns:a='urn:1'/>", ""),
            ("xmlns='urn:1'", "<entry/>", ' xmlns="urn:1"'),
            (
                "xmlns:b='urn:2' xmlns='urn:0' xmlns:a='urn:1'",
                "<entry/>",
                ' xmlns="urn:0" xmlns:a="urn:1" xmlns:b="urn:2"',
            ),
            ("xmlns:a='urn:1' xmlns:b='urn:2'", "<entry\n xmlns:a\t=\n'urn:9'/>", ' xmlns:b="urn:2"'),
            ("xmlns='urn:1'", "<entry xmlns=''/>", ""),
            ("xmlns='urn:1'", "<entry><t xmlns='urn:2'/></entry>", ' xmlns="urn:1"'),
            ("xmlns:a='urn:1'", "<entry t='xmlns:a=\"urn:9\"'/>", ' xmlns:a="urn:1"'),
            ("xmlns:a='urn:1'", "<entry t='>' xmlns:a='urn:2'/>", ""),
            ("xmlns:a='x?b=1&amp;c=&quot;&lt;'", "<entry/>", """ xmlns:a='x?b=1&amp;c="&lt;'"""),
        ],
    )
    def test_they_are_those_in_scope_that_its_own_tag_lacks(self, around: str, record: str, lacking: str) -> None:
        document = read(f"<feed {around}>{record}</feed>")

        assert (document.raw, document.declarations) == ([record], [lacking])

    def test_the_nearest_declaration_wins_and_ends_with_its_element(self) -> None:
        text = (
            "<feed xmlns='urn:0' xmlns:a='urn:1'>"
            "<list xmlns='' xmlns:a='urn:2'><entry/></list><list><entry/></list>"
            "</feed>"
        )

        assert read(text, "feed.list.entry").declarations == [' xmlns:a="urn:2"', ' xmlns="urn:0" xmlns:a="urn:1"']

    @pytest.mark.parametrize(
        ("raw", "alone"),
        [
            ("<entry/>", "<entry x='1'/>"),
            ("<entry>a</entry>", "<entry x='1'>a</entry>"),
            ("<a:entry\n b='>' />", "<a:entry x='1'\n b='>' />"),
        ],
    )
    def test_they_go_behind_the_records_name(self, raw: str, alone: str) -> None:
        assert declared_alone(raw, " x='1'") == alone
        assert declared_alone(raw, "") == raw


class TestEncodings:
    """Whatever the encoding, values and texts are what the provider meant."""

    TEXT = "<feed><entry><t>é学</t></entry></feed>"

    @pytest.mark.parametrize(
        "body",
        [
            TEXT.encode(),
            b"\xef\xbb\xbf" + TEXT.encode(),
            f'<?xml version="1.0" encoding="utf-8"?>{TEXT}'.encode(),
            f'<?xml version="1.0" encoding="UTF-16"?>{TEXT}'.encode("utf-16"),
            f"<?xml version='1.0' encoding='UTF-16'?>{TEXT}".encode("utf-16"),
            f'<?xml version="1.0"?>{TEXT}'.encode("utf-16"),
            f'<?xml version="1.0" encoding="utf-16"?>{TEXT}'.encode("utf-16"),
            f'<?xml version="1.0" encoding="utf-16"?>{TEXT}'.encode("utf-16-le"),
            TEXT.encode("utf-16-be"),
            f'<?xml version="1.0" encoding="us-ascii"?>{TEXT}'.encode(),
        ],
        ids=["unsaid", "mark", "utf-8", "UTF-16", "single quotes", "UTF-16 unsaid", "utf-16", "LE", "BE", "ASCII"],
    )
    def test_unicode_in_every_form(self, body: bytes) -> None:
        document = read(body)

        assert document.items[0]["t"] == "é学"
        assert document.raw == ["<entry><t>é学</t></entry>"]

    @pytest.mark.parametrize("name", ["ISO-8859-1", "windows-1252", "iso-8859-15"])
    def test_one_byte_encodings_give_the_right_values(self, name: str) -> None:
        text = f'<?xml version="1.0" encoding="{name}"?><feed><entry><t>café</t></entry></feed>'

        assert read(text.encode(name)).items[0]["t"] == "café"

    @pytest.mark.parametrize("name", ["ISO-8859-1", "windows-1252"])
    @pytest.mark.parametrize("equals", ["=", " = "])
    def test_one_byte_encodings_lose_nothing_of_a_records_text(self, name: str, equals: str) -> None:
        text = f'<?xml version="1.0" encoding{equals}"{name}"?><feed><entry><t>café</t></entry></feed>'

        assert read(text.encode(name)).raw == ["<entry><t>café</t></entry>"]

    @pytest.mark.parametrize("name", ["nowhere-1", "gbk", "utf-7"])
    def test_an_encoding_nobody_reads_is_refused(self, name: str) -> None:
        assert refusal(f'<?xml version="1.0" encoding="{name}"?><feed/>')


class TestWhatIsRefused:
    """A document that cannot be relied on is an error, never a shorter text or an empty page."""

    @pytest.mark.parametrize(
        "text",
        [
            "",
            " ",
            "busy, try again later",
            "<feed><entry><id>1</id></entry>",
            "<feed><entry></feed></entry>",
            "<feed/><feed/>",
            "<feed><t a=1/></feed>",
            "<feed>\x01</feed>",
            "<feed>&nbsp;</feed>",
            "<a:feed/>",
            '{"feed": []}',
        ],
        ids=repr,
    )
    def test_what_is_not_well_formed(self, text: str) -> None:
        assert "line" in refusal(text)

    def test_a_body_cut_anywhere(self) -> None:
        whole = '<feed><entry a="1"><t>é</t></entry><total>1</total></feed>'.encode()
        for length in range(len(whole)):
            with pytest.raises(XmlBroken):
                read(whole[:length])

    @pytest.mark.parametrize(
        "body", [b"\xff\xff", b"\xff\xfe\x00", b"<feed>\xff</feed>", b"\x1f\x8b\x08\x00"], ids=repr
    )
    def test_what_is_no_text(self, body: bytes) -> None:
        assert refusal(body)

    def test_an_entity_declared_and_used(self) -> None:
        text = '<!DOCTYPE feed [<!ENTITY who "Patra">]><feed><entry><t>&who;</t></entry></feed>'

        assert "'who'" in refusal(text)

    def test_an_entity_declared_and_not_used(self) -> None:
        assert "'who'" in refusal('<!DOCTYPE feed [<!ENTITY who "Patra">]><feed/>')

    def test_a_billion_laughs(self) -> None:
        lines = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
        text = f'<!DOCTYPE feed [<!ENTITY l0 "ha">{lines}]><feed><entry><t>&l9;</t></entry></feed>'

        assert "'l0'" in refusal(text)

    @pytest.mark.parametrize(
        "declaration",
        [
            '<!ENTITY x SYSTEM "file:///etc/passwd">',
            '<!ENTITY x PUBLIC "-//x" "http://evil.example/">',
            '<!ENTITY % p SYSTEM "http://evil.example/p.dtd"> %p;',
        ],
    )
    def test_an_entity_from_elsewhere(self, declaration: str) -> None:
        assert "entit" in refusal(f"<!DOCTYPE feed [{declaration}]><feed><entry><t>x</t></entry></feed>")

    def test_an_entity_that_only_a_foreign_dtd_declares(self) -> None:
        """Its text would be missing from the document, and nobody would know."""
        assert "'copy'" in refusal(f"{DTD}<feed><t>a&copy;b</t></feed>")

    @pytest.mark.parametrize(
        "tag", ['<t u="a&copy;b"/>', """<t u='>' v="'>" w="a&copy;b"/>""", "<t\nu = '>&copy;'>b</t>"]
    )
    def test_an_entity_that_only_a_foreign_dtd_declares_in_an_attribute(self, tag: str) -> None:
        assert "'copy'" in refusal(f"{DTD}<feed>{tag}<entry/></feed>")

    @pytest.mark.parametrize("name", ["x", "xmlns:a"])
    def test_a_default_for_an_attribute(self, name: str) -> None:
        """A few bytes of an element would be as long a text as the default."""
        dtd = f"<!DOCTYPE feed [<!ATTLIST entry {name} CDATA 'urn:1'>]>"

        assert "default" in refusal(f"{dtd}<feed><entry/></feed>")

    def test_elements_nested_too_deep(self) -> None:
        assert "deeper" in refusal("<a>" * 100_000)
        assert "deeper" in refusal(f"<feed>{'<a>' * 200}{'</a>' * 200}</feed>")
        assert "deeper" in refusal(f"<feed><entry>{'<a>' * 1000}{'</a>' * 1000}</entry></feed>")

    @pytest.mark.parametrize(
        ("text", "code"),
        [
            (f"<feed><t a='{'x' * 1_500_000}'/></feed>", "TOO_LARGE"),
            (f"<feed><!--{'x' * 1_500_000}--></feed>", "TOO_LARGE"),
            (f"<!DOCTYPE feed [{'<!ELEMENT feed ANY>' * 20_000}]><feed/>", "TOO_LARGE"),
            (f"<feed>{''.join(f'<a{n}/>' for n in range(10_001))}</feed>", "TOO_MANY_VALUES"),
            ("<feed" + "".join(f" xmlns:a{n}='u'" for n in range(101)) + "/>", "TOO_MANY_VALUES"),
            (f"<feed xmlns:a='{'u' * 8001}'/>", "TOO_MANY_VALUES"),
            (f"<feed><t>{'<i>x' * 150}{'y' * 20_000}{'</i>' * 150}</t></feed>", "TOO_LARGE"),
        ],
        ids=["tag", "comment", "document type", "names", "namespaces", "a namespace", "texts"],
    )
    def test_what_takes_more_memory_than_its_size_explains(self, text: str, code: str) -> None:
        with pytest.raises(XmlBroken) as broken:
            read(text)
        assert broken.value.code == code

    def test_more_elements_and_attributes_than_are_allowed(self) -> None:
        few = Reading(("feed", "entry"), max_values=100)
        read_xml(f"<feed><entry>{'<a/>' * 88}</entry></feed>".encode(), few)
        for body in ("<a/>" * 100, "<a b='' c=''/>" * 30, "<entry/>" * 10):
            with pytest.raises(XmlBroken, match=r"http\.max_values"):
                read_xml(f"<feed>{body}</feed>".encode(), few)

    def test_the_namespaces_of_many_records_together(self) -> None:
        around = " ".join(f"xmlns:a{n}='{'u' * 70}'" for n in range(90))
        with pytest.raises(XmlBroken, match="namespaces of the records"):
            read(f"<feed {around}>{'<entry/>' * 1000}</feed>")


class TestUnreadableRecords:
    """What is wrong with one record spoils that record alone; the others are read and kept as they were sent."""

    GOOD = "<entry><id>1</id><t>é &amp; 学</t></entry>"

    def between(self, bad: bytes, start: str = "") -> XmlDocument:
        """The document with a bad record between two good ones."""
        body = f"{start}<feed>{self.GOOD} ".encode() + bad + f"{self.GOOD}</feed>".encode()
        return read_xml(body, Reading(("feed", "entry"), texts=frozenset({"id", "t"})))

    @pytest.mark.parametrize(
        ("inner", "reason"),
        [
            (b"\xff", "TEXT_INVALID"),
            (b"\xc3", "TEXT_INVALID"),
            (b"\xed\xa0\x80", "TEXT_INVALID"),
            (b"\x00", "TEXT_INVALID"),
            (b"\x1b", "TEXT_INVALID"),
            ("\uffff".encode(), "TEXT_INVALID"),
            (b"&nbsp;", "TEXT_INVALID"),
            (b"a & b", "TEXT_INVALID"),
            (b"&#0;", "TEXT_INVALID"),
            (b"&#x1F;", "TEXT_INVALID"),
            (b"&#xD800;", "TEXT_INVALID"),
            (b"<a>" * 300 + b"</a>" * 300, "UNREADABLE"),
            (b"<i>x" * 100 + b"y" * 10_000 + b"</i>" * 100, "TOO_LARGE"),
            (b"<i>x" * 150 + b"y" * 100_000 + b"</i>" * 150, "TOO_LARGE"),
        ],
        ids=lambda value: str(value)[:30],
    )
    def test_it_is_named_and_its_neighbours_are_read(self, inner: bytes, reason: str) -> None:
        bad = b"<entry><id>2</id><t>" + inner + b"</t></entry>"
        first, second, third = (document := self.between(bad)).items

        assert (first["t"], third["t"]) == ("é & 学", "é & 学")
        assert [document.raw[0], document.raw[2]] == [self.GOOD, self.GOOD]
        assert document.raw[1].encode("utf-8", "surrogateescape") == bad
        assert isinstance(second, Unreadable)
        assert (second.reason, second.rest["id"]) == (reason, "2")

    def test_texts_beyond_their_bound_are_not_even_made(self) -> None:
        bad = b"<entry><t>" + b"<i>x" * 150 + b"y" * 500_000 + b"</i>" * 150 + b"</t></entry>"
        tracemalloc.start()
        try:
            self.between(bad)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

        assert peak < 20 * len(bad)  # not 150 times

    def test_an_entity_that_only_a_foreign_dtd_declares(self) -> None:
        for bad in (b"<entry><t>a&copy;b</t></entry>", b"""<entry t=">" u="&copy;"/>"""):
            assert isinstance(self.between(bad, DTD).items[1], Unreadable)

    def test_what_is_wrong_outside_of_the_records_spoils_the_document(self) -> None:
        for body in (b"<feed><entry/>\xff</feed>", b"<feed a='\xff'><entry/></feed>", b"<feed><entry/>&nbsp;</feed>"):
            with pytest.raises(XmlBroken):
                read(body)

    def test_a_record_as_deep_as_allowed_is_read(self) -> None:
        deep = MAX_DEPTH - 2
        assert "a" in read(f"<feed><entry>{'<a>' * deep}{'</a>' * deep}</entry></feed>").items[0]


class TestTexts:
    """An element with others in it has its text where a path wants it."""

    BODY = b"<feed><entry><t>a <i>b <u>c</u></i></t><n>d <i>e</i></n></entry></feed>"

    def test_only_the_names_that_paths_end_at_and_what_is_in_them_have_one(self) -> None:
        (item,) = read_xml(self.BODY, Reading(("feed", "entry"), texts=frozenset({"t"}))).items

        assert item == {"t": {"#text": "a b c", "i": {"#text": "b c", "u": "c"}}, "n": {"i": "e"}}

    def test_all_have_one_where_any_may_be_wanted(self) -> None:
        (item,) = read(self.BODY).items

        assert item["n"] == {"#text": "d e", "i": "e"}

    @pytest.mark.parametrize("words", [" a  b ", "word \n\t", "x" * 70_000 + " ", " " * 200_000 + "a", "ab " * 50_000])
    def test_white_space_is_collapsed_in_long_texts_as_in_short_ones(self, words: str) -> None:
        assert collapsed([words, words]) == " ".join((words + words).split())


def test_expat_is_as_new_as_is_relied_on() -> None:
    assert expat.version_info >= OLDEST_EXPAT
    parser = expat.ParserCreate(namespace_separator="\n")
    with pytest.raises(expat.ExpatError):  # a namespace that holds the separator of names
        parser.Parse(b"<a:b xmlns:a='urn:1&#10;c'/>", True)


def test_an_older_expat_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest_core.execution.xml_page.OLDEST_EXPAT", (99, 0, 0))
    assert "not safe" in refusal("<feed/>")


def test_a_dtd_elsewhere_is_named_by_nearly_every_document_and_never_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_given: Any) -> NoReturn:
        raise AssertionError("something was fetched")

    monkeypatch.setattr(socket, "socket", refuse)
    public = '<!DOCTYPE feed PUBLIC "-//NLM//DTD 2024//EN" "https://dtd.example/pubmed.dtd">'

    for doctype in (DTD, public, "<!DOCTYPE feed [<!ELEMENT feed (entry*)>]>"):
        assert read(f"{doctype}<feed><entry><id>1</id></entry></feed>").items[0]["id"] == "1"


def test_a_large_document_is_read_without_a_copy_for_every_level() -> None:
    words = "word " * 100
    entries = "".join(f"<entry><id>{n}</id><a><b><c>{words}</c></b></a></entry>" for n in range(500))
    document = read(f"<feed>{entries}</feed>")

    assert [item["id"] for item in document.items] == [str(n) for n in range(500)]
    assert "#text" not in document.value.get("feed", {})
