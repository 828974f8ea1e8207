"""XML as the plain values paths go over, and each record's own text.

An element without attributes and children is its text; any other is an object: `@name` for an attribute, a child's
name for a child (a list where it repeats, or where a path expects one), and `#text` for the whole text within it,
inline markup included, unless it only holds other elements together. White space is collapsed.
Names in a declared namespace have its prefix (`arxiv:doi`), all others stand alone.
A record's text cut out of its document lacks the namespaces declared around it: `declarations` has them.
Nothing is fetched and no entity is expanded: a document that declares one is refused.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from ingest_core.registry.paths import TEXT

MAX_DEPTH = 200
_DECLARATION_BYTES = 200
_DECLARED = re.compile(r"""^(\ufeff?\s*<\?xml[^>]*?)\s+encoding=["']([A-Za-z0-9._-]+)["']""")
_ONE_BYTE = re.compile(r"iso-8859-[0-9]{1,2}|windows-125[0-9]")
_NAMED_ENTITY = re.compile(rb"&(?!amp;|lt;|gt;|quot;|apos;|#)([^;\s]+);")
_NAMESPACE_END = "\n"
_START_NAME = re.compile(r"<[^\s/>]+")
_ATTRIBUTE = re.compile(r"""\s+([^\s=]+)\s*=\s*(?:"[^"]*"|'[^']*')""")

Scope = Mapping[str | None, str | None]
"""Namespaces by prefix; None stands for the default namespace, and as a namespace for an undeclared default."""


class XmlBroken(Exception):
    """The body is not XML we take."""


@dataclass
class _Element:
    """An element that is being read."""

    name: str
    attributes: dict[str, str]
    start: int
    # The namespaces in scope within it, its own declarations included; shared with the parent where it has none.
    scope: Scope = field(default_factory=dict)
    pieces: list[str] = field(default_factory=list)
    children: dict[str, Any] = field(default_factory=dict)
    holds_text: bool = False

    def value(self, text: str, texts: frozenset[str]) -> Any:
        if not self.children and not self.attributes:
            return " ".join(text.split())
        value = {**self.attributes, **self.children}
        if self.holds_text or self.name in texts or all(map(_is_plain, self.children.values())):
            words = " ".join(text.split())
            if words:
                value[TEXT] = words
        return value


def _is_plain(child: Any) -> bool:
    return isinstance(child, str) or (isinstance(child, list) and all(isinstance(one, str) for one in child))


@dataclass(frozen=True)
class Reading:
    """What is looked for: the way to the records, prefixes, names that are lists, names whose text is wanted."""

    items: tuple[str, ...]
    namespaces: Mapping[str, str] = field(default_factory=dict)
    repeated: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()


@dataclass(frozen=True)
class XmlDocument:
    """The document as values, the records apart, each record's text, and the declarations that text lacks."""

    value: dict[str, Any]
    items: list[Any]
    raw: list[str]
    declarations: list[str]
    found: bool


class _Reader:
    """Builds values from expat's events, one pass, no recursion."""

    def __init__(self, body: bytes, reading: Reading) -> None:
        self._body = body
        self._reading = reading
        self._items = reading.items
        self._prefixes = {uri: prefix for prefix, uri in reading.namespaces.items()}
        self._has_doctype = False
        self._open: list[_Element] = [_Element("", {}, 0)]
        self._names: list[str] = []
        self._found: list[tuple[Any, str, str]] = []
        self._declared: dict[str | None, str | None] = {}
        self._met = False
        self._parser = expat.ParserCreate(namespace_separator=_NAMESPACE_END)
        self._parser.buffer_text = True
        self._parser.StartNamespaceDeclHandler = self._declare
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.EntityDeclHandler = self._refuse_entity
        self._parser.SkippedEntityHandler = self._refuse_skipped
        self._parser.StartDoctypeDeclHandler = self._doctype

    def read(self) -> XmlDocument:
        try:
            self._parser.Parse(self._body, True)  # noqa: FBT003 - expat takes it by position
        except expat.ExpatError as error:
            raise XmlBroken(f"line {error.lineno}: {expat.errors.messages[error.code]}") from error
        items = [value for value, _, _ in self._found]
        texts, declarations = [raw for _, raw, _ in self._found], [lacking for _, _, lacking in self._found]
        return XmlDocument(self._open[0].children, items, texts, declarations, self._met)

    def _name(self, name: str) -> str:
        uri, _, local = name.rpartition(_NAMESPACE_END)
        prefix = self._prefixes.get(uri)
        return f"{prefix}:{local}" if prefix else local

    def _declare(self, prefix: str | None, uri: str | None) -> None:
        """Keep a declaration for the element that starts next: expat reports it first."""
        self._declared[prefix] = uri

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._open) > MAX_DEPTH:
            raise XmlBroken(f"elements are nested deeper than {MAX_DEPTH}")
        if attributes and self._has_doctype:
            self._refuse_lost_attribute_text()
        own = {f"@{self._name(key)}": value for key, value in attributes.items()}
        scope = self._open[-1].scope
        if self._declared:
            scope, self._declared = {**scope, **self._declared}, {}
        element = _Element(self._name(name), own, self._parser.CurrentByteIndex, scope)
        self._open.append(element)
        self._names.append(element.name)
        self._met = self._met or tuple(self._names) == self._items[:-1]

    def _text(self, text: str) -> None:
        element = self._open[-1]
        element.pieces.append(text)
        element.holds_text = element.holds_text or not text.isspace()

    def _end(self, _name: str) -> None:
        element = self._open.pop()
        text = "".join(element.pieces)
        value = element.value(text, self._reading.texts)
        if len(self._open) > len(self._items):  # above the records, nobody asks for the text of it all
            self._open[-1].pieces.append(text)
        if self._is_item():
            self._met = True
            raw = self._raw(element)
            self._found.append((value, raw, missing_declarations(raw, element.scope)))
        else:
            self._attach(self._open[-1].children, element.name, value)
        self._names.pop()

    def _is_item(self) -> bool:
        if len(self._names) != len(self._items) or tuple(self._names[:-1]) != self._items[:-1]:
            return False
        return self._items[-1] in ("*", self._names[-1])

    def _raw(self, element: _Element) -> str:
        end = self._parser.CurrentByteIndex
        without_content = not element.children and not element.pieces
        if not (without_content and self._body.endswith(b"/>", element.start, end)):
            end = self._body.index(b">", end) + 1
        return self._body[element.start : end].decode("utf-8", "replace")

    def _attach(self, children: dict[str, Any], name: str, value: Any) -> None:
        if name not in children:
            children[name] = [value] if name in self._reading.repeated else value
        elif name in self._reading.repeated or isinstance(children[name], list):
            children[name].append(value)
        else:
            children[name] = [children[name], value]

    def _doctype(self, *_given: Any) -> None:
        self._has_doctype = True

    def _refuse_lost_attribute_text(self) -> None:
        """Entities that only a DTD elsewhere declares vanish from attributes without expat's saying so."""
        start = self._parser.CurrentByteIndex
        lost = _NAMED_ENTITY.search(self._body, start, self._body.index(b">", start))
        if lost:
            self._refuse_skipped(lost.group(1).decode(), None)

    def _refuse_entity(self, name: str, *_rest: Any) -> None:
        raise XmlBroken(f"the document declares the entity {name!r}; entities are not expanded")

    def _refuse_skipped(self, name: str, _is_parameter: Any) -> None:
        raise XmlBroken(f"the entity {name!r} is used and not declared; its text would be lost")


def missing_declarations(raw: str, scope: Scope) -> str:
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
    """The document and its records; XmlBroken when it cannot be relied on."""
    return _Reader(_as_utf8(body), reading).read()


def _as_utf8(body: bytes) -> bytes:
    """The text cut out by byte positions must be UTF-8, so other encodings are written anew."""
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _DECLARED.sub(r"\1", body.decode("utf-16", "replace"), count=1).encode()
    declared = _DECLARED.match(body[:_DECLARATION_BYTES].decode("ascii", "ignore"))
    name = declared.group(2).lower() if declared else "utf-8"
    if name in ("utf-8", "us-ascii"):
        return body
    if not _ONE_BYTE.fullmatch(name):
        raise XmlBroken(f"the encoding {name!r} is not read")
    try:
        return _DECLARED.sub(r"\1", body.decode(name), count=1).encode()
    except (LookupError, UnicodeDecodeError) as error:
        raise XmlBroken(f"the text is not {name}") from error
