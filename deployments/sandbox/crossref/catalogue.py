"""Every version of the corpus as a Crossref work."""

from typing import Any

from deployments.sandbox.corpus import Corpus, Version
from deployments.sandbox.crossref.template import TEMPLATES, Template
from deployments.sandbox.instant import to_datetime, write_seconds

MARK = ".w"


class Catalogue:
    """Gives the corpus its DOIs and its bodies."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def key(self, work: int) -> str:
        """The DOI in Crossref's normal form, which is lower case."""
        return f"{TEMPLATES.of(work).doi}{MARK}{work}".lower()

    def doi(self, version: Version) -> str:
        """The DOI as this version spells it."""
        prefix, _, suffix = f"{TEMPLATES.of(version.work).doi}{MARK}{version.work}".partition("/")
        # DOIs have no case: every other deposit spells the same one in capitals.
        return f"{prefix}/{suffix if version.number % 2 else suffix.upper()}"

    def rank(self, version: Version) -> int:
        """The place in a search without `sort`: steady, and unrelated to time."""
        return self._corpus.draw(version.work)

    def find(self, doi: str) -> int | None:
        """The work of this DOI, in any case."""
        number = doi.lower().rpartition(MARK)[2]
        work = int(number) if number.isdecimal() else len(self._corpus)
        return work if work < len(self._corpus) and self.key(work) == doi.lower() else None

    def body(self, version: Version) -> dict[str, Any]:
        """The work as this version is served."""
        template, doi = TEMPLATES.of(version.work), self.doi(version)
        work = dict(template.work)
        work["indexed"] = _indexed(template, version.at_ms)
        work["DOI"] = doi
        work["URL"] = f"https://doi.org/{doi}"
        if version.number > 1:
            work["is-referenced-by-count"] = work.get("is-referenced-by-count", 0) + version.number - 1
        return work


def _indexed(template: Template, at_ms: int) -> dict[str, Any]:
    """The index time in the recorded work's own shape: some have no `date-time`."""
    day = to_datetime(at_ms)
    stamp: dict[str, Any] = dict(template.work["indexed"])
    stamp["date-parts"] = [[day.year, day.month, day.day]]
    if template.dated:
        stamp["date-time"] = write_seconds(at_ms)
    stamp["timestamp"] = at_ms
    return stamp
