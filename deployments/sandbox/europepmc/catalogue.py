"""Every version of the corpus as a Europe PMC record."""

from dataclasses import dataclass

from deployments.sandbox.corpus import Corpus, Version
from deployments.sandbox.europepmc.template import TEMPLATES, Record, Template
from deployments.sandbox.instant import to_datetime

NUMBERS = {"MED": 30_000_000, "AGR": 29_999_999, "PMC": 7_000_000, "PPR": 100_000, "PAT": 1_000_000, "CBA": 600_000}
"""The first number of each source; an AGR record has the number of the MED record before it."""
LETTERS = {"PMC": "PMC", "PPR": "PPR", "PAT": "EP"}
FIRST_FULL_TEXT = 8_000_000


@dataclass(frozen=True, slots=True)
class Entry:
    """One version, and what a search may ask of it."""

    version: Version
    template: Template
    id: str
    updated: str
    indexed: str | None
    doi: str

    def date_ms(self, field: str) -> int:
        """When the version was indexed, which is when it was updated."""
        return self.version.at_ms


class Catalogue:
    """Gives the corpus its ids, its order and its bodies."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def number(self, work: int) -> str:
        """The id, which is unique only within its source."""
        source = TEMPLATES.of(work).source
        return f"{LETTERS.get(source, '')}{NUMBERS[source] + work}"

    def key(self, work: int) -> str:
        """Source and id, which together name a record."""
        return f"{TEMPLATES.of(work).source}/{self.number(work)}"

    def rank(self, work: int) -> int:
        """The place in a search: steady, and unrelated to time."""
        return self._corpus.draw(work)

    def entry(self, version: Version) -> Entry:
        """The version as searches see it."""
        template, day = TEMPLATES.of(version.work), write_day(version.at_ms)
        record = template.record
        indexed = record.get("firstIndexDate") if template.revised or "firstIndexDate" not in record else day
        doi = f"{record['doi']}.w{version.work}".lower() if "doi" in record else ""
        return Entry(version, template, self.number(version.work), day, indexed, doi)

    def body(self, version: Version) -> Record:
        """The record as this version is served, in full."""
        record, changed = dict(TEMPLATES.of(version.work).record), self._changed(version)
        record.update({name: value for name, value in changed.items() if name in record})
        record["citedByCount"] += version.number - 1
        return record

    def _changed(self, version: Version) -> Record:
        """What each work or version has of its own, where the record has it at all."""
        entry = self.entry(version)
        record = entry.template.record
        full_text = entry.id if entry.template.source == "PMC" else f"PMC{FIRST_FULL_TEXT + version.work}"
        bad = entry.template.reason == "UPDATED_AT_INVALID"
        return {
            "id": entry.id,
            "pmid": entry.id,
            "pmcid": full_text,
            "fullTextIdList": {"fullTextId": [full_text]},
            "doi": f"{record.get('doi')}.w{version.work}",
            "dateOfRevision": record.get("dateOfRevision") if bad else entry.updated,
            "firstIndexDate": entry.indexed,
        }


def write_day(ms: int) -> str:
    """`YYYY-MM-DD`, the time of day dropped."""
    return to_datetime(ms).date().isoformat()
