"""Every version of the corpus as an OpenAlex work."""

import re
from typing import Any

from deployments.sandbox.corpus import Corpus, Version
from deployments.sandbox.instant import to_datetime
from deployments.sandbox.openalex.template import TEMPLATES

HOME = "https://openalex.org/"
DOI_HOME = "https://doi.org/"
FIRST_NUMBER = 4_400_000_000
MARK = ".w"
MOST_CITED = 5000
KEY = re.compile(r"(?:https://openalex\.org/)?(?:works/)?w(\d+)", re.IGNORECASE)


class Catalogue:
    """Gives the corpus its ids, its order and its bodies."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._cited: dict[int, int] = {}

    def key(self, work: int) -> str:
        """The id, which is a URL."""
        return f"{HOME}W{FIRST_NUMBER + work}"

    def find(self, text: str) -> int | None:
        """The work of this id, with or without its URL, in any case."""
        found = KEY.fullmatch(text.strip())
        work = int(found[1]) - FIRST_NUMBER if found else -1
        return work if 0 <= work < len(self._corpus) else None

    def doi(self, work: int) -> str | None:
        """The DOI as a URL; some works have none."""
        stem = TEMPLATES.of(work).work["doi"]
        return f"{stem}{MARK}{work}" if stem else None

    def find_doi(self, text: str) -> int | None:
        """The work of this DOI, with or without its URL."""
        bare = text.strip().lower().removeprefix(DOI_HOME)
        number = bare.rpartition(MARK)[2]
        work = int(number) if number.isdecimal() else len(self._corpus)
        known = self.doi(work) if work < len(self._corpus) else None
        return work if known and known.lower() == f"{DOI_HOME}{bare}" else None

    def cited(self, work: int) -> int:
        """How often it is cited, which orders a search and has nothing to do with time."""
        known = self._cited.get(work)
        if known is None:
            known = self._cited[work] = self._corpus.draw(work) % MOST_CITED
        return known

    def body(self, version: Version) -> dict[str, Any]:
        """The work as this version is served."""
        template, key, doi = TEMPLATES.of(version.work), self.key(version.work), self.doi(version.work)
        work = dict(template.work)
        work["id"], work["doi"] = key, doi
        work["ids"] = {**work["ids"], "openalex": key, **({"doi": doi} if doi else {})}
        work["cited_by_count"] = self.cited(version.work)
        work["cited_by_api_url"] = f"https://api.openalex.org/works?filter=cites:{key.removeprefix(HOME)}"
        if template.reason is None:
            work["updated_date"] = write_naive(version.at_ms)
        return work


def write_naive(ms: int) -> str:
    """`YYYY-MM-DDTHH:MM:SS.ffffff`: UTC without saying so, and without a fraction when there is none."""
    return to_datetime(ms).replace(tzinfo=None).isoformat()
