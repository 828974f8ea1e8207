"""The records the corpus is made of, with slots where each work has its own values."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from deployments.sandbox.pubmed.record import Element, make_record, parse
from deployments.sandbox.pubmed.span import Span, read_published
from deployments.sandbox.recording import Recording

RECORD = re.compile(r"<(Pubmed(?:Book)?Article)>.*?</\1>", re.DOTALL)
OWN_IDS = re.compile(r"<ArticleIdList>.*?</ArticleIdList>", re.DOTALL)
# NUL cannot stand in XML, so no recorded text looks like a slot.
SLOT = re.compile("\x00(\\w+)\x00")
DAY = r"\s*<Year>)\d+(</Year>\s*<Month>)\d+(</Month>\s*<Day>)\d+"
REVISED = re.compile(rf"(<DateRevised>{DAY}")
ENTERED = re.compile(rf'(<PubMedPubDate PubStatus="entrez">{DAY}')
PMID = re.compile(r'(<PMID Version="\d+">)\d+')
PUBMED_ID = re.compile(r'(<ArticleId IdType="pubmed">)\d+')
PMC_ID = re.compile(r'(<ArticleId IdType="pmc">PMC)\d+')
DOI_ID = re.compile(r'(<ArticleId IdType="doi">[^<]+)')
DOI_LOCATION = re.compile(r'(<ELocationID EIdType="doi"[^>]*>[^<]+)')
END_OF_CITATION = re.compile(r"()(?=</MedlineCitation>)")


@dataclass(frozen=True, slots=True)
class Template:
    """A record as recorded, and what searches ask of it."""

    text: str
    dated: bool
    words: str
    types: frozenset[str]
    published: Span | None

    def fill(self, values: Mapping[str, str]) -> str:
        """The record with these values in its slots."""
        return SLOT.sub(lambda slot: values[slot[1]], self.text)


def _read(text: str) -> Template:
    record = parse(text)
    made = make_record(record)
    return Template(
        text=_cut(text),
        dated=REVISED.search(text) is not None,
        words=f"{made.get('title', '')} {made.get('abstract', '')}".lower(),
        types=frozenset(_types(record)),
        published=read_published(record),
    )


def _types(record: Element) -> list[str]:
    return [(found.text or "").strip().lower() for found in record.iter("PublicationType")]


def _cut(text: str) -> str:
    """The text with a slot for each value that is the work's own; what it cites stays."""
    text = OWN_IDS.sub(lambda ids: _cut_ids(ids[0]), text, count=0 if "<BookDocument>" in text else 1)
    text = PMID.sub("\\1\x00pmid\x00", text, count=1)
    text = DOI_LOCATION.sub("\\1\x00mark\x00", text)
    text = REVISED.sub("\\1\x00year\x00\\2\x00month\x00\\3\x00day\x00", text, count=1)
    text = ENTERED.sub("\\1\x00entered_year\x00\\2\x00entered_month\x00\\3\x00entered_day\x00", text, count=1)
    return END_OF_CITATION.sub("\x00note\x00", text, count=1)


def _cut_ids(ids: str) -> str:
    ids = PUBMED_ID.sub("\\1\x00pmid\x00", ids)
    ids = PMC_ID.sub("\\1\x00pmc\x00", ids)
    return DOI_ID.sub("\\1\x00mark\x00", ids)


def _records(text: bytes) -> Iterable[str]:
    return (found[0] for found in RECORD.finditer(text.decode()))


TEMPLATES = Recording(__package__, "articles.xml.gz", _read, _records)
