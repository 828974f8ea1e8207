"""Every version of the corpus as a paper."""

from dataclasses import dataclass

from deployments.sandbox.arxiv.condition import UPDATED
from deployments.sandbox.arxiv.identity import read_id, write_id
from deployments.sandbox.arxiv.template import (
    ID_MARK,
    PUBLISHED_MARK,
    TEMPLATES,
    UPDATED_MARK,
    Template,
)
from deployments.sandbox.corpus import Corpus, Version
from deployments.sandbox.instant import SECOND_MS, round_down, write_seconds


class Catalogue:
    """Gives the corpus its arXiv ids and its entries."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def key(self, work: int) -> str:
        """The id, without a version."""
        return write_id(work)

    def find(self, bare_id: str) -> int | None:
        """The work of this id."""
        work = read_id(bare_id)
        return work if work is not None and 0 <= work < len(self._corpus) and self.key(work) == bare_id else None

    def rank(self, work: int) -> int:
        """The place in a search by relevance: steady, and unrelated to time."""
        return self._corpus.draw(f"paper:{work}")

    def paper(self, version: Version) -> "Listed":
        """The paper as a search sees it."""
        return Listed(version, TEMPLATES.of(version.work), self._submitted_ms(version))

    def entry(self, version: Version) -> str:
        """The entry as this version is served."""
        template = TEMPLATES.of(version.work)
        number = template.first_version + version.number - 1
        return (
            template.text.replace(ID_MARK, f"{self.key(version.work)}v{number}")
            .replace(UPDATED_MARK, write_seconds(version.at_ms))
            .replace(PUBLISHED_MARK, write_seconds(self._submitted_ms(version)))
        )

    def _submitted_ms(self, version: Version) -> int:
        """When the first version came: before all the corpus knows, if what it knows begins with a later one."""
        template = TEMPLATES.of(version.work)
        if template.first_version > 1:
            return template.published_ms
        first = version
        while earlier := self._corpus.current(first.work, first.at_ms - 1):
            first = earlier
        return first.at_ms


@dataclass(frozen=True, slots=True)
class Listed:
    """A paper in the index, which knows dates its entry may lack."""

    version: Version
    template: Template
    submitted_ms: int

    def text(self, field: str) -> str:
        """What the field holds, in lower case."""
        return self.template.words[field]

    def categories(self) -> tuple[str, ...]:
        """The subject classes."""
        return self.template.categories

    def date_ms(self, field: str) -> int:
        """The second a date field holds."""
        ms = self.version.at_ms if field == UPDATED else self.submitted_ms
        return round_down(ms, SECOND_MS)
