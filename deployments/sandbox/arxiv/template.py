"""The entries the corpus is made of."""

import re
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from deployments.sandbox.expected import inner_text
from deployments.sandbox.instant import read_ms
from deployments.sandbox.recording import Recording, update_flaw

ATOM, ARXIV = "{http://www.w3.org/2005/Atom}", "{http://arxiv.org/schemas/atom}"
OPENING = (
    '<feed xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/" xmlns:arxiv="http://arxiv.org/schemas/atom"'
    ' xmlns="http://www.w3.org/2005/Atom">'
)
ENTRY = re.compile(r"<entry>.*?</entry>", re.DOTALL)
OWN_ID = re.compile(r'/abs/([^"<\s]+)"')
UPDATED = re.compile(r"<updated>([^<]*)</updated>")
# Some entries carry another date in a comment, which stays.
PUBLISHED = re.compile(r"(?<!<!--)(?<!<!-- )<published>([^<]*)</published>")
ID_MARK, UPDATED_MARK, PUBLISHED_MARK = "@@ID@@", "@@UPDATED@@", "@@PUBLISHED@@"


@dataclass(frozen=True, slots=True)
class Template:
    """An entry with marks where each work differs, and what searches ask of it."""

    text: str
    words: dict[str, str]
    categories: tuple[str, ...]
    first_version: int
    published_ms: int
    reason: str | None


def parse_entry(text: str) -> ET.Element:
    """The entry as XML."""
    entry = ET.fromstring(f"{OPENING}{text}</feed>").find(f"{ATOM}entry")  # noqa: S314 - our own text
    assert entry is not None
    return entry


def _read(text: str) -> Template:
    own_id = OWN_ID.findall(text)[0]
    entry = parse_entry(text)
    published = PUBLISHED.findall(text)[0]
    marked = PUBLISHED.sub(f"<published>{PUBLISHED_MARK}</published>", text.replace(own_id, ID_MARK))
    reason = _reason(entry)
    if not reason or reason == "ID_MISSING":
        marked = UPDATED.sub(f"<updated>{UPDATED_MARK}</updated>", marked)
    return Template(
        text=marked,
        words=_words(entry),
        categories=tuple(category.get("term", "") for category in entry.iter(f"{ATOM}category")),
        first_version=int(own_id.rpartition("v")[2]),
        published_ms=read_ms(published),
        reason=reason,
    )


def _reason(entry: ET.Element) -> str | None:
    """Why no harvest can use the entry, if so."""
    if not inner_text(entry.find(f"{ATOM}id")):
        return "ID_MISSING"
    return update_flaw(inner_text(entry.find(f"{ATOM}updated")))


def _words(entry: ET.Element) -> dict[str, str]:
    """What each field of a query looks into, in lower case."""
    fields = {
        "ti": inner_text(entry.find(f"{ATOM}title")),
        "abs": inner_text(entry.find(f"{ATOM}summary")),
        "au": "\n".join(inner_text(author.find(f"{ATOM}name")) for author in entry.iter(f"{ATOM}author")),
        "co": inner_text(entry.find(f"{ARXIV}comment")),
        "jr": inner_text(entry.find(f"{ARXIV}journal_ref")),
    }
    return {name: text.lower() for name, text in {**fields, "all": "\n".join(fields.values())}.items()}


def _entries(text: bytes) -> list[str]:
    return ENTRY.findall(text.decode())


TEMPLATES = Recording(__package__, "entries.xml.gz", _read, _entries)
