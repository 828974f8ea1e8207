"""Every version of the corpus as an article of DOAJ."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from deployments.sandbox.corpus import Corpus, Version
from deployments.sandbox.doaj.template import TEMPLATES
from deployments.sandbox.instant import HOUR_MS, SECOND_MS, round_down, write_seconds
from deployments.sandbox.lucene.field import texts_at

NUMBER_DIGITS = 8
WHOLE = ".exact"
PLAIN = ("bibjson.title", "bibjson.abstract", "bibjson.author.name", "bibjson.keywords", "bibjson.journal.title")


class Catalogue:
    """Gives the corpus its article ids and its bodies; nothing is loaded before it is asked for."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def key(self, work: int) -> str:
        """32 hexadecimal digits; the last eight are the number of the work."""
        digest = hashlib.sha256(f"article {work}".encode()).hexdigest()
        return f"{digest[: 32 - NUMBER_DIGITS]}{work:0{NUMBER_DIGITS}x}"

    def find(self, key: str) -> int | None:
        """The work of this id."""
        try:
            work = int(key[-NUMBER_DIGITS:], 16)
        except ValueError:
            return None
        return work if 0 <= work < len(self._corpus) and self.key(work) == key else None

    def record(self, work: int) -> dict[str, Any]:
        """The record with a DOI of its own, if it has one."""
        record = TEMPLATES.of(work).record
        article = record["bibjson"]
        identifiers = [
            {**one, "id": f"{one['id']}.w{work}"} if one["type"] == "doi" else one for one in article["identifier"]
        ]
        return {**record, "bibjson": {**article, "identifier": identifiers}}

    def created_ms(self, work: int) -> int:
        """When the article was added: an hour apart for each that repeats the same record."""
        return TEMPLATES.of(work).created_ms + TEMPLATES.turn(work) * HOUR_MS

    def rank(self, version: Version) -> int:
        """The place in a search without `sort`: steady, and unrelated to time."""
        return self._corpus.draw(version.work)

    def document(self, version: Version) -> "ArticleDocument":
        """The version as it is indexed."""
        return ArticleDocument(self, version)

    def body(self, version: Version) -> dict[str, Any]:
        """The article as this version is served."""
        template = TEMPLATES.of(version.work)
        body = {**self.record(version.work), "id": self.key(version.work)}
        if "created_date" in body:
            body["created_date"] = write_seconds(self.created_ms(version.work))
        if template.reason is None:
            body["last_updated"] = write_seconds(version.at_ms)
        return body


@dataclass(frozen=True, slots=True)
class ArticleDocument:
    """One version as the search index knows it."""

    catalogue: Catalogue
    version: Version

    def date_ms(self, field: str) -> int | None:
        """The time in `last_updated` or `created_date`, to the second."""
        if field == "last_updated":
            return round_down(self.version.at_ms, SECOND_MS)
        return self.catalogue.created_ms(self.version.work) if field == "created_date" else None

    def values(self, field: str | None) -> Iterable[str]:
        """The texts of the field, or of the fields a plain search looks into."""
        return self._texts(PLAIN if field is None else (field.removesuffix(WHOLE),))

    def exact(self, field: str | None) -> bool:
        """True for `id` and for what is asked for as exact."""
        return field is not None and (field == "id" or field.endswith(WHOLE))

    def _texts(self, fields: Iterable[str]) -> Iterator[str]:
        record = self.catalogue.record(self.version.work)
        for field in fields:
            yield from (self.catalogue.key(self.version.work),) if field == "id" else texts_at(record, field)
