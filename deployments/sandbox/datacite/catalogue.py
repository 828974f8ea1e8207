"""Every version of the corpus as a DOI of DataCite."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from deployments.sandbox.corpus import Corpus, Version
from deployments.sandbox.datacite.template import TEMPLATES
from deployments.sandbox.instant import HOUR_MS, SECOND_MS, round_down, write_seconds
from deployments.sandbox.lucene.field import texts_at

MARK = ".w"
KEYWORDS = frozenset({"doi", "id", "state", "source", "language", "types.resourceTypeGeneral", "client.id"})
PLAIN = ("titles.title", "descriptions.description", "creators.name", "publisher", "subjects.subject")


class Catalogue:
    """Gives the corpus its DOIs and its bodies; nothing is loaded before it is asked for."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def key(self, work: int) -> str:
        """The DOI; DataCite writes all of them in lower case."""
        return f"{TEMPLATES.of(work).record['id']}{MARK}{work}"

    def find(self, doi: str) -> int | None:
        """The work of this DOI, in any case."""
        number = doi.lower().rpartition(MARK)[2]
        work = int(number) if number.isascii() and number.isdecimal() else len(self._corpus)
        return work if work < len(self._corpus) and self.key(work) == doi.lower() else None

    def created_ms(self, work: int) -> int:
        """When the DOI was made: an hour apart for each that repeats the same record."""
        return TEMPLATES.of(work).created_ms + TEMPLATES.turn(work) * HOUR_MS

    def place(self, version: Version) -> tuple[int, str]:
        """The place in a walk by cursor, which new versions do not change."""
        return self.created_ms(version.work), self.key(version.work)

    def rank(self, version: Version) -> int:
        """The place by relevance: steady, and unrelated to time."""
        return self._corpus.draw(version.work)

    def document(self, version: Version) -> "DoiDocument":
        """The version as it is indexed."""
        return DoiDocument(self, version)

    def body(self, version: Version) -> dict[str, Any]:
        """The DOI as this version is served."""
        template, doi = TEMPLATES.of(version.work), self.key(version.work)
        created = write_time(self.created_ms(version.work))
        attributes = {**template.record["attributes"], "doi": doi, "created": created, "registered": created}
        attributes["metadataVersion"] += version.number - 1
        if template.reason is None:
            attributes["updated"] = write_time(version.at_ms)
        return {**template.record, "id": doi, "attributes": attributes}


@dataclass(frozen=True, slots=True)
class DoiDocument:
    """One version as the search index knows it."""

    catalogue: Catalogue
    version: Version

    def date_ms(self, field: str) -> int | None:
        """The time in `updated`, `created` or `registered`, to the second."""
        if field == "updated":
            return round_down(self.version.at_ms, SECOND_MS)
        return self.catalogue.created_ms(self.version.work) if field in {"created", "registered"} else None

    def values(self, field: str | None) -> Iterable[str]:
        """The texts of the field, or of the fields a plain search looks into."""
        return self._texts(PLAIN if field is None else (field,))

    def exact(self, field: str | None) -> bool:
        """True for what DataCite indexes whole."""
        return field in KEYWORDS

    def _texts(self, fields: Iterable[str]) -> Iterator[str]:
        record = TEMPLATES.of(self.version.work).record
        for field in fields:
            if field in {"id", "doi"}:
                yield self.catalogue.key(self.version.work)
            elif field == "client.id":
                yield from texts_at(record, "relationships.client.data.id")
            else:
                yield from texts_at(record["attributes"], field)


def write_time(ms: int) -> str:
    """`YYYY-MM-DDTHH:MM:SS.000Z`."""
    return f"{write_seconds(ms)[:-1]}.000Z"
