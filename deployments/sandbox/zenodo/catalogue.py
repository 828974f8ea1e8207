"""Every version of the corpus as a record of Zenodo."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from deployments.sandbox.corpus import Corpus, Version
from deployments.sandbox.instant import HOUR_MS, read_ms, to_datetime
from deployments.sandbox.lucene.field import texts_at
from deployments.sandbox.zenodo.concept import concept_id, first_work, is_latest, record_id, version_index
from deployments.sandbox.zenodo.template import OWN_PREFIX, TEMPLATES, Template

KEYWORDS = frozenset({"id", "recid", "doi", "conceptrecid", "conceptdoi", "metadata.resource_type.id"})
LEGACY = {
    **{name: f"metadata.{name}" for name in ("title", "description", "keywords", "publication_date", "creators.name")},
    **dict.fromkeys(("type", "resource_type.type"), "metadata.resource_type.type"),
}
"""The names of the search guide, and what they stand for."""

FIRST_UPLOAD_MS = read_ms("2014-01-01T00:00:00Z")
PLAIN = ("metadata.title", "metadata.description", "metadata.creators.name", "metadata.keywords")


def template_of(work: int) -> Template:
    """The record this work repeats; all versions of an upload repeat the same."""
    return TEMPLATES.of(first_work(work))


class Catalogue:
    """Gives the corpus its record numbers and its bodies; nothing is loaded before it is asked for."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def key(self, work: int) -> str:
        """The record's number, as text."""
        return str(record_id(work))

    def doi(self, work: int) -> str | None:
        """The record's DOI, Zenodo's own or a foreign one; some have none."""
        template = template_of(work)
        if template.foreign_doi:
            return f"{template.foreign_doi}.w{work}"
        return f"{OWN_PREFIX}{record_id(work)}" if "doi" in template.record else None

    def created_ms(self, work: int) -> int:
        """When the record was made: records get their numbers in the order of their creation, an upload each hour.

        It has nothing to do with the record that is repeated: otherwise all its copies would follow one another by
        creation time, and whole pages would hold the same flaw.
        """
        return FIRST_UPLOAD_MS + first_work(work) * HOUR_MS + version_index(work)

    def rank(self, version: Version) -> int:
        """The place by best match: steady, and unrelated to time."""
        return self._corpus.draw(version.work)

    def document(self, version: Version) -> "RecordDocument":
        """The version as it is indexed."""
        return RecordDocument(self, version)

    def body(self, version: Version, now_ms: int, base: str) -> dict[str, Any]:
        """The record as this version is served."""
        work, template = version.work, template_of(version.work)
        body = {
            **template.record,
            "created": write_time(self.created_ms(work)),
            "id": record_id(work),
            "recid": self.key(work),
            "conceptrecid": str(concept_id(work)),
            "revision": template.record["revision"] + version.number - 1,
            "metadata": {**template.record["metadata"], "relations": self._relations(work, now_ms)},
            "links": {
                "self": f"{base}/{record_id(work)}",
                "self_html": f"https://zenodo.org/records/{record_id(work)}",
            },
        }
        if template.reason is None:
            body["updated"] = body["modified"] = write_time(version.at_ms)
        return self._with_dois(body, work)

    def _with_dois(self, body: dict[str, Any], work: int) -> dict[str, Any]:
        doi = self.doi(work)
        if doi:
            body |= {"doi": doi, "doi_url": f"https://doi.org/{doi}", "metadata": {**body["metadata"], "doi": doi}}
        if "conceptdoi" in body:
            body["conceptdoi"] = f"{OWN_PREFIX}{concept_id(work)}"
        return body

    def _relations(self, work: int, now_ms: int) -> dict[str, Any]:
        parent = {"pid_type": "recid", "pid_value": str(concept_id(work))}
        last = is_latest(work, self._corpus, now_ms)
        return {"version": [{"index": version_index(work), "is_last": last, "parent": parent}]}


@dataclass(frozen=True, slots=True)
class RecordDocument:
    """One version as the search index knows it."""

    catalogue: Catalogue
    version: Version

    def date_ms(self, field: str) -> int | None:
        """The time in `updated` or `created`, to the millisecond, or the day of publication."""
        if field == "updated":
            return self.version.at_ms
        if LEGACY.get(field, field) == "metadata.publication_date":
            return template_of(self.version.work).published_ms
        return self.catalogue.created_ms(self.version.work) if field == "created" else None

    def values(self, field: str | None) -> Iterable[str]:
        """The texts of the field, or of the fields a plain search looks into."""
        return self._texts(PLAIN if field is None else (field,))

    def exact(self, field: str | None) -> bool:
        """True for what Zenodo indexes whole."""
        return field in KEYWORDS

    def _texts(self, fields: Iterable[str]) -> Iterator[str]:
        for name in fields:
            field = LEGACY.get(name, name)
            if field in KEYWORDS:
                yield from self._keyword(field)
            elif field.startswith("metadata."):
                yield from texts_at(template_of(self.version.work).record, field)

    def _keyword(self, field: str) -> Iterator[str]:
        work = self.version.work
        if field in {"id", "recid"}:
            yield self.catalogue.key(work)
        elif field == "doi":
            yield from filter(None, (self.catalogue.doi(work),))
        elif field == "metadata.resource_type.id":
            kind = template_of(work).record["metadata"]["resource_type"]
            yield "-".join(kind[name] for name in ("type", "subtype") if name in kind)
        else:
            yield f"{OWN_PREFIX if field == 'conceptdoi' else ''}{concept_id(work)}"


def write_time(ms: int) -> str:
    """`YYYY-MM-DDTHH:MM:SS.ffffff+00:00`."""
    return to_datetime(ms).isoformat(timespec="microseconds")
