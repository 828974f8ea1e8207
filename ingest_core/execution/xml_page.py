"""XML as the plain values paths go over, and each record's own text.

An element without attributes and children is its text; any other is an object: `@name` for an attribute, a child's
name for a child (a list where it repeats, or where a path expects one), and `#text` for the whole text within it,
inline markup included, unless it only holds other elements together or no path wants it. White space is collapsed.
Names in a declared namespace have its prefix (`arxiv:doi`), all others stand alone.
A record's text cut out of its document lacks the namespaces declared around it: `declarations` has them.

Nothing is fetched and no entity is expanded: a document that declares one, or defaults for attributes, is refused.
What a document takes in memory is bounded by its size: texts are copied at most TEXT_COPIES times, names, namespaces,
levels and the length of a tag have limits. This is relied on of expat, which is the interpreter's own: it reports every
declaration before its use, its tables of names are salted, and since 2.4.5 it refuses a namespace that holds the
separator of names.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from ingest_core.execution.records import MAX_RECORD_BYTES, VALUES_PER_RECORD, Unreadable, short_parts
from ingest_core.execution.xml_text import as_utf8, collapsed, holds_named_entity, innocuous, lost_entity
from ingest_core.model.codes import QuarantineReason
from ingest_core.registry.paths import TEXT

OLDEST_EXPAT = (2, 4, 5)
MAX_DEPTH = 200
"""Levels of a record and of the document around it; a deeper record goes to quarantine."""

MAX_PAGE_DEPTH = 1000
"""Levels within a record that goes to quarantine for its depth; a deeper document is refused."""

TEXT_COPIES = 4
"""Texts that repeat what other values of a record hold, inline markup's, have at most its length times this."""

MAX_OUTER_TEXT = 1_000_000
"""Characters of such texts outside of the records."""

MAX_NAMES = 10_000
MAX_NAMESPACES = 100
MAX_NAMESPACE_CHARS = 8_000
MAX_TAG_BYTES = 1_000_000
MAX_DTD_BYTES = 64_000
_SLACK = 1_000_000
_CHUNK_BYTES = 256 * 1024
_NAMESPACE_END = "\n"
_START_NAME = re.compile(r"<[^\s/>]+")
_ATTRIBUTE = re.compile(r"""\s+([^\s=]+)\s*=\s*(?:"[^"]*"|'[^']*')""")

Prefixes = Mapping[str | None, str | None]
"""Namespaces by prefix; None stands for the default namespace, and as a namespace for an undeclared default."""


class XmlBroken(Exception):
    """The body is not XML we take."""

    def __init__(self, message: str, code: str = "NOT_XML") -> None:
        super().__init__(message)
        self.code = code


class _Element:
    """An element that is being read."""

    __slots__ = ("attributes", "children", "filled", "first", "holds_text", "name", "scope", "start", "wanted")

    def __init__(self, name: str, attributes: dict[str, str], start: int, scope: Prefixes, first: int, *, wanted: bool):
        self.name = name
        self.attributes = attributes
        # Its first byte.
        self.start = start
        # The namespaces in scope within it, its own declarations included; shared with the parent where it has none.
        self.scope = scope
        # Where its text begins among the pieces of text.
        self.first = first
        # Whether some path wants its text, or that of an element around it.
        self.wanted = wanted
        self.children: dict[str, Any] = {}
        self.holds_text = False
        # Whether anything stands between its tags.
        self.filled = False

    def keeps_text(self, texts: frozenset[str] | None) -> bool:
        """Whether an element with children has a text of its own besides them."""
        if texts is not None and self.name in texts:
            return True
        return self.wanted and (self.holds_text or all(map(_is_plain, self.children.values())))


def _is_plain(child: Any) -> bool:
    return isinstance(child, str) or (isinstance(child, list) and all(isinstance(one, str) for one in child))


@dataclass(frozen=True)
class Reading:
    """The search: the way to the records, prefixes, names that are lists, names whose text is wanted."""

    items: tuple[str, ...]
    namespaces: Mapping[str, str] = field(default_factory=dict)
    repeated: frozenset[str] = frozenset()
    # None where the text of any element may be wanted.
    texts: frozenset[str] | None = None
    max_values: int = 2_000_000


@dataclass(frozen=True)
class XmlDocument:
    """The document as values, the records apart, each record's text, and the declarations that text lacks."""

    value: dict[str, Any]
    items: list[Any]
    raw: list[str]
    declarations: list[str]
    found: bool


class _Reader:
    """Builds values from expat's events, one pass, no recursion.

    `original` is the document as received where `body` is its innocuous form: records that differ are unreadable.
    """

    def __init__(self, body: bytes, reading: Reading, original: bytes) -> None:
        self._body = body
        self._original = original
        self._reading = reading
        self._items = reading.items
        self._prefixes = {uri: prefix for prefix, uri in reading.namespaces.items()}
        self._known_names: dict[str, str] = {}
        self._doctype_start: int | None = None
        self._may_lose_text = False
        self._values = 0
        self._open: list[_Element] = [_Element("", {}, 0, {}, 0, wanted=False)]
        self._names: list[str] = []
        self._pieces: list[str] = []
        # Characters of the texts that repeat others: of the record being read, and outside of records.
        self._copied, self._outer_copied = 0, 0
        # Why the record being read goes to quarantine; nothing more of it is kept.
        self._spoilt: QuarantineReason | None = None
        self._found: list[tuple[Any, str, str]] = []
        self._declarations: dict[str, str] = {}
        self._declared_chars = 0
        self._declared: dict[str | None, str | None] = {}
        self._outside_from = 0
        self._met = False
        # Whatever the document declares: it has been written anew, and records are cut out by its bytes.
        self._parser = expat.ParserCreate("utf-8", namespace_separator=_NAMESPACE_END)
        self._parser.buffer_text = True
        self._parser.StartNamespaceDeclHandler = self._declare
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.EntityDeclHandler = self._refuse_entity
        self._parser.AttlistDeclHandler = self._refuse_default
        self._parser.SkippedEntityHandler = self._refuse_skipped
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.EndDoctypeDeclHandler = self._end_doctype

    def read(self) -> XmlDocument:
        try:
            self._parse()
        except expat.ExpatError as error:
            raise XmlBroken(f"line {error.lineno}: {expat.errors.messages[error.code]}") from error
        self._refuse_changed(len(self._body))
        items = [value for value, _, _ in self._found]
        texts, declarations = [raw for _, raw, _ in self._found], [lacking for _, _, lacking in self._found]
        return XmlDocument(self._open[0].children, items, texts, declarations, self._met)

    def _parse(self) -> None:
        """Parse in chunks: after an error in a handler expat reads on to the end of what it was given."""
        view = memoryview(self._body)
        for at in range(0, len(view), _CHUNK_BYTES):
            given = min(at + _CHUNK_BYTES, len(view))
            self._parser.Parse(view[at:given], False)  # noqa: FBT003 - expat takes it by position
            current = self._parser.CurrentByteIndex
            if given - current > MAX_TAG_BYTES:
                raise XmlBroken(f"a tag or comment has more than {MAX_TAG_BYTES:,} bytes", "TOO_LARGE")
            if self._doctype_start is not None and current - self._doctype_start > MAX_DTD_BYTES:
                raise XmlBroken(f"the document type has more than {MAX_DTD_BYTES:,} bytes", "TOO_LARGE")
        self._parser.Parse(b"", True)  # noqa: FBT003

    def _name(self, name: str) -> str:
        known = self._known_names.get(name)
        if known is not None:
            return known
        if len(self._known_names) >= MAX_NAMES:
            raise XmlBroken(f"the document has more than {MAX_NAMES:,} different names", "TOO_MANY_VALUES")
        uri, _, local = name.rpartition(_NAMESPACE_END)
        prefix = self._prefixes.get(uri)
        return self._known_names.setdefault(name, f"{prefix}:{local}" if prefix else local)

    def _declare(self, prefix: str | None, uri: str | None) -> None:
        """Keep a declaration for the element that starts next: expat reports it first."""
        self._declared[prefix] = uri

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        # An element with attributes is an object: it takes as much memory as two other values.
        self._count(1 + bool(attributes) + len(attributes) + len(self._declared))
        parent, start = self._open[-1], self._parser.CurrentByteIndex
        if attributes and self._may_lose_text:
            self._refuse_lost_attribute_text(start)
        self._refuse_deep()
        scope = self._scope(parent.scope)
        parent.filled = True
        own_name = self._name(name)
        if self._spoilt is None:
            own = {f"@{self._name(key)}": value for key, value in attributes.items()}
            wanted = parent.wanted or self._reading.texts is None or own_name in self._reading.texts
            element = _Element(own_name, own, start, scope, len(self._pieces), wanted=wanted)
        else:
            element = _Element(own_name, {}, start, scope, len(self._pieces), wanted=False)
        self._open.append(element)
        self._names.append(own_name)
        self._met = self._met or (len(self._names) == len(self._items) - 1 and tuple(self._names) == self._items[:-1])

    def _count(self, values: int) -> None:
        self._values += values
        limit = self._reading.max_values
        if self._values + len(self._found) * VALUES_PER_RECORD > limit:
            message = (
                f"it holds more than {limit:,} elements and attributes, or {limit // VALUES_PER_RECORD:,} records. "
                "Ask for smaller pages (`pagination.page_size`), or raise `http.max_values`"
            )
            raise XmlBroken(message, "TOO_MANY_VALUES")

    def _refuse_deep(self) -> None:
        """A record that is nested too deep is spoilt; any other place, and a record without end, ends the reading."""
        depth = len(self._open)
        if depth > MAX_DEPTH:
            if not self._in_record() or depth > MAX_PAGE_DEPTH:
                raise XmlBroken(f"elements are nested deeper than {MAX_DEPTH}", "TOO_DEEP")
            self._spoilt = self._spoilt or QuarantineReason.UNREADABLE

    def _scope(self, outer: Prefixes) -> Prefixes:
        """The namespaces in scope within the element that starts."""
        if not self._declared:
            return outer
        scope, self._declared = {**outer, **self._declared}, {}
        chars = sum(len(prefix or "") + len(uri or "") for prefix, uri in scope.items())
        if len(scope) > MAX_NAMESPACES or chars > MAX_NAMESPACE_CHARS:
            message = (
                f"more than {MAX_NAMESPACES} namespaces, or {MAX_NAMESPACE_CHARS:,} characters of them, in one place"
            )
            raise XmlBroken(message, "TOO_MANY_VALUES")
        return scope

    def _text(self, text: str) -> None:
        element = self._open[-1]
        element.filled = True
        if self._spoilt is None:
            self._pieces.append(text)
            element.holds_text = element.holds_text or not text.isspace()

    def _end(self, _name: str) -> None:
        element = self._open.pop()
        value = self._value(element) if self._spoilt is None or self._is_item() else None
        if len(self._open) <= len(self._items):  # no path asks for the text above the records
            del self._pieces[element.first :]
        if self._is_item():
            self._take_record(element, value)
        elif self._spoilt is None:
            self._attach(self._open[-1].children, element.name, value)
        self._names.pop()

    def _value(self, element: _Element) -> Any:
        """The element as a value; a record whose texts grow beyond their bound is spoilt."""
        if not element.children and not element.attributes:
            return collapsed(self._pieces[element.first :])
        value = {**element.attributes, **element.children}
        if element.children and not element.keeps_text(self._reading.texts):
            return value
        words = collapsed(self._pieces[element.first :])
        if element.children:
            self._bound_copies(len(words))
        if words:
            value[TEXT] = words
        return value

    def _bound_copies(self, chars: int) -> None:
        if not self._in_record():
            self._outer_copied += chars
            if self._outer_copied > MAX_OUTER_TEXT:
                message = f"texts outside of the records have more than {MAX_OUTER_TEXT:,} characters"
                raise XmlBroken(message, "TOO_LARGE")
            return
        self._copied += chars
        read = self._parser.CurrentByteIndex - self._record_start()
        if self._copied > TEXT_COPIES * read + _SLACK or read > MAX_RECORD_BYTES:
            self._spoilt = QuarantineReason.TOO_LARGE

    def _take_record(self, element: _Element, value: Any) -> None:
        self._met = True
        end = self._end_of(element)
        raw = self._original[element.start : end].decode("utf-8", "surrogateescape")
        if self._copied > TEXT_COPIES * (end - element.start):
            self._spoilt = self._spoilt or QuarantineReason.TOO_LARGE
        if self._original is not self._body:
            self._refuse_changed(element.start)
            self._outside_from = end
            if self._body[element.start : end] != self._original[element.start : end]:
                self._spoilt = QuarantineReason.TEXT_INVALID
        lacking = missing_declarations(raw, element.scope)
        self._declared_chars += len(lacking)
        if self._declared_chars > 2 * len(self._body) + 4 * _SLACK:
            raise XmlBroken("the namespaces of the records take more than twice the document", "TOO_MANY_VALUES")
        lacking = self._declarations.setdefault(lacking, lacking)
        item = value if self._spoilt is None else Unreadable(self._spoilt, short_parts(value))
        self._found.append((item, raw, lacking))
        self._spoilt, self._copied = None, 0
        self._count(0)

    def _refuse_changed(self, end: int) -> None:
        """Only records may differ from what was received."""
        if self._original is not self._body:
            start = self._outside_from
            if self._body[start:end] != self._original[start:end]:
                raise XmlBroken("characters outside of the records are not XML")

    def _in_record(self) -> bool:
        """Whether the element that begins or ends stands within a record."""
        at = len(self._items)
        if len(self._open) <= at or tuple(self._names[: at - 1]) != self._items[:-1]:
            return False
        return self._items[-1] in ("*", self._names[at - 1])

    def _record_start(self) -> int:
        return self._open[len(self._items)].start

    def _is_item(self) -> bool:
        if len(self._names) != len(self._items) or tuple(self._names[:-1]) != self._items[:-1]:
            return False
        return self._items[-1] in ("*", self._names[-1])

    def _end_of(self, element: _Element) -> int:
        """The byte behind the element that ends."""
        end = self._parser.CurrentByteIndex
        if not element.filled and self._body.endswith(b"/>", element.start, end):
            return end
        return self._body.index(b">", end) + 1

    def _attach(self, children: dict[str, Any], name: str, value: Any) -> None:
        if name not in children:
            children[name] = [value] if name in self._reading.repeated else value
        elif name in self._reading.repeated or isinstance(children[name], list):
            children[name].append(value)
        else:
            children[name] = [children[name], value]

    def _doctype(self, *_given: Any) -> None:
        self._doctype_start = self._parser.CurrentByteIndex
        self._may_lose_text = holds_named_entity(self._body)

    def _end_doctype(self) -> None:
        self._doctype_start = None

    def _refuse_lost_attribute_text(self, start: int) -> None:
        """Entities that only a DTD elsewhere declares vanish from attributes without expat's saying so."""
        lost = lost_entity(self._body, start)
        if lost is not None:
            self._refuse_skipped(lost, None)

    def _refuse_entity(self, name: str, *_rest: Any) -> None:
        raise XmlBroken(f"the document declares the entity {name[:80]!r}; entities are not expanded")

    def _refuse_default(self, _element: str, name: str, _type: str, default: str | None, _required: bool) -> None:  # noqa: FBT001
        if default is not None:
            raise XmlBroken(f"the document declares a default for the attribute {name[:80]!r}; defaults are not taken")

    def _refuse_skipped(self, name: str, _is_parameter: Any) -> None:
        raise XmlBroken(f"the entity {name[:80]!r} is used and not declared; its text would be lost")


def missing_declarations(raw: str, scope: Prefixes) -> str:
    """The declarations of the namespaces in scope that the element's own start tag lacks, as attributes.

    All of them, used or not: a prefix may also stand in a text or in an attribute's value, as in `xsi:type="dc:date"`.
    """
    if not any(scope.values()):
        return ""
    own = _attribute_names(raw)
    names = {f"xmlns:{prefix}" if prefix else "xmlns": uri for prefix, uri in scope.items() if uri}
    return "".join(f" {name}={quoteattr(names[name])}" for name in sorted(names.keys() - own))


def declared_alone(raw: str, declarations: str) -> str:
    """The element's text with these declarations behind its name, so that it can be parsed alone."""
    name = _START_NAME.match(raw)
    return f"{raw[: name.end()]}{declarations}{raw[name.end() :]}" if name and declarations else raw


def _attribute_names(raw: str) -> set[str]:
    """The names that stand in the start tag; defaults from a DTD do not."""
    name = _START_NAME.match(raw)
    at, names = name.end() if name else len(raw), set[str]()
    while attribute := _ATTRIBUTE.match(raw, at):
        names.add(attribute.group(1))
        at = attribute.end()
    return names


def read_xml(body: bytes, reading: Reading) -> XmlDocument:
    """The document and its records; XmlBroken when it cannot be relied on.

    Where single characters or entities of records are not XML, these records are Unreadable and the others are read.
    """
    if expat.version_info < OLDEST_EXPAT:
        raise XmlBroken(f"this Python has {expat.EXPAT_VERSION}, which is not safe; XML needs 2.4.5 or later")
    try:
        text = as_utf8(body)
    except ValueError as error:
        raise XmlBroken(str(error)) from error
    try:
        return _Reader(text, reading, text).read()
    except XmlBroken as broken:
        mended = innocuous(text) if broken.code == "NOT_XML" else text
        if mended == text:
            raise
        try:
            return _Reader(mended, reading, text).read()
        except XmlBroken:
            raise broken from None
