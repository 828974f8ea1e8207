"""The text of an XML document before it is parsed: its encoding, its entities, and what no XML may hold."""

import re

_DECLARATION_BYTES = 200
_DECLARED = re.compile(r"""^(\ufeff?\s*<\?xml[^>]*?)\s+encoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
_ONE_BYTE = re.compile(r"iso-8859-[0-9]{1,2}|windows-125[0-9]")
_UTF_16 = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"<\x00": "utf-16-le", b"\x00<": "utf-16-be"}
_NAMED_ENTITY = re.compile(rb"&(?!amp;|lt;|gt;|quot;|apos;|#)([^;\s]+);")
_START_NAME = re.compile(rb"<[^\s/>]+")
_ATTRIBUTE = re.compile(rb"""\s+[^\s=]+\s*=\s*(?:"[^"]*+"|'[^']*+')""")
_NO_CHARACTER = re.compile("[\udc80-\udcff\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_NO_REFERENCE = re.compile(
    "&(?!amp;|lt;|gt;|quot;|apos;|#[0-9]+;|#x[0-9a-fA-F]+;)"
    "|&(?=#0*(?:[0-8]|1[124-9]|2[0-9]|3[01]);|#x0*(?:[0-8bcefBCEF]|1[0-9a-fA-F]|[dD][89a-fA-F][0-9a-fA-F]{2});)"
)
_MOST_CHANGES = 1000
_CHUNK_CHARS = 64 * 1024


def as_utf8(body: bytes) -> bytes:
    """The document as UTF-8, by whose byte positions records are cut out; ValueError for an encoding not read."""
    for start, name in _UTF_16.items():
        if body.startswith(start):
            return _DECLARED.sub(r"\1", _decoded(body, name), count=1).encode()
    declared = _DECLARED.match(body[:_DECLARATION_BYTES].decode("ascii", "ignore"))
    name = declared.group(2).lower() if declared else "utf-8"
    if name in ("utf-8", "us-ascii"):
        return body
    if not _ONE_BYTE.fullmatch(name):
        raise ValueError(f"the encoding {name!r} is not read")
    return _DECLARED.sub(r"\1", _decoded(body, name), count=1).encode()


def _decoded(body: bytes, name: str) -> str:
    try:
        return body.decode(name)
    except (LookupError, UnicodeDecodeError) as error:
        raise ValueError(f"the text is not {name}") from error


def innocuous(body: bytes) -> bytes:
    """The document with `?` for bytes, characters and references that no XML holds; every byte keeps its place."""
    text = _NO_CHARACTER.sub(_question_marks, body.decode("utf-8", "surrogateescape"), count=_MOST_CHANGES)
    return _NO_REFERENCE.sub("?", text, count=_MOST_CHANGES).encode("utf-8", "surrogateescape")


def _question_marks(character: re.Match[str]) -> str:
    return "?" * len(character.group().encode("utf-8", "surrogateescape"))


def holds_named_entity(body: bytes) -> bool:
    """Whether the document uses an entity that XML itself does not know."""
    return _NAMED_ENTITY.search(body) is not None


def lost_entity(body: bytes, start: int) -> str | None:
    """The first named entity within an attribute of the tag that begins there."""
    name = _START_NAME.match(body, start)
    at = name.end() if name else len(body)
    while attribute := _ATTRIBUTE.match(body, at):
        at = attribute.end()
        lost = _NAMED_ENTITY.search(body, attribute.start(), at)
        if lost:
            return lost.group(1).decode("utf-8", "replace")
    return None


def collapsed(pieces: list[str]) -> str:
    """The text with white space collapsed; a long one is split piece by piece, since each word takes 50 bytes."""
    text = "".join(pieces)
    if len(text) <= _CHUNK_CHARS:
        return " ".join(text.split())
    chunks = [_kept_apart(text[at : at + _CHUNK_CHARS]) for at in range(0, len(text), _CHUNK_CHARS)]
    joined = "".join(chunks)
    while "  " in joined:
        joined = joined.replace("  ", " ")
    return joined.strip(" ")


def _kept_apart(chunk: str) -> str:
    """The chunk's words, with one space at each end that had white space."""
    before, after = " " * chunk[0].isspace(), " " * chunk[-1].isspace()
    return before + " ".join(chunk.split()) + after
