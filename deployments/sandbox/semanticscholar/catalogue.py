"""Every version of the corpus as a Semantic Scholar paper."""

import hashlib
from collections.abc import Callable
from functools import cached_property

from deployments.sandbox.corpus import Corpus, Version
from deployments.sandbox.semanticscholar.template import TEMPLATES, Paper

FIRST_CORPUS_ID = 200_000_000
GONE_EVERY = 40
EXTERNAL: dict[str, Callable[[str, int], str]] = {
    "DOI": lambda stem, work: f"{stem}.w{work}",
    "MAG": lambda stem, work: str(2_100_000_000 + work),
    "PubMed": lambda stem, work: str(21_000_000 + work),
    "PubMedCentral": lambda stem, work: str(3_100_000 + work),
    "ArXiv": lambda stem, work: f"2101.{work:05}",
}
PREFIXES = {"DOI": "doi", "MAG": "mag", "PubMed": "pmid", "PubMedCentral": "pmcid", "ArXiv": "arxiv"}


class Catalogue:
    """Gives the corpus its ids and its bodies."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def key(self, work: int) -> str:
        """The paperId: 40 hexadecimal digits."""
        return hashlib.sha1(f"paper:{work}".encode(), usedforsecurity=False).hexdigest()

    def gone(self, work: int) -> bool:
        """True for a paper that searches still list and that has no details any more."""
        return work % GONE_EVERY == GONE_EVERY - 1

    def find(self, text: str) -> int | None:
        """The work of a paperId, or of an id with its prefix, such as `DOI:` or `CorpusId:`."""
        asked = text.strip().lower().replace("pmcid:pmc", "pmcid:")
        return self._known.get(f"doi:{asked}" if asked.startswith("10.") else asked)

    def external(self, work: int) -> dict[str, str | int]:
        """The ids others gave the paper; the corpus id is a number."""
        given = TEMPLATES.of(work)["externalIds"]
        others: dict[str, str | int] = {n: EXTERNAL[n](stem, work) for n, stem in given.items() if n in EXTERNAL}
        return {**others, "CorpusId": FIRST_CORPUS_ID + work}

    def body(self, version: Version) -> Paper:
        """The whole paper as this version is served."""
        paper, key = dict(TEMPLATES.of(version.work)), self.key(version.work)
        paper["paperId"], paper["url"] = key, f"https://www.semanticscholar.org/paper/{key}"
        paper["externalIds"] = self.external(version.work)
        paper["corpusId"] = FIRST_CORPUS_ID + version.work
        paper["citationCount"] = self.cited(version.work) + version.number - 1
        return paper

    def cited(self, work: int) -> int:
        """How often it is cited."""
        return self._corpus.draw(work) % 5000

    @cached_property
    def _known(self) -> dict[str, int]:
        known = {self.key(work): work for work in range(len(self._corpus))}
        for work in range(len(self._corpus)):
            known[f"corpusid:{FIRST_CORPUS_ID + work}"] = work
            for name, value in self.external(work).items():
                if name in PREFIXES:
                    known[f"{PREFIXES[name]}:{value}".lower()] = work
        return known
