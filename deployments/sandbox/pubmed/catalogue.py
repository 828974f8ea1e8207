"""Every version of the corpus as a PubMed record."""

from datetime import UTC, datetime
from typing import Any

from deployments.sandbox.corpus import Corpus, Version
from deployments.sandbox.instant import DAY_MS, to_datetime, to_ms
from deployments.sandbox.pubmed.record import make_record, parse
from deployments.sandbox.pubmed.template import TEMPLATES

MOST_PMIDS = 41_000_000
# A prime beside the factors of MOST_PMIDS: every work has a PMID of its own, in no order of work or time.
STEP = 15_485_863
BACK = pow(STEP, -1, MOST_PMIDS)
FIRST_PMC = 3_000_000
FIRST_ENTRY_MS = to_ms(datetime(2025, 1, 1, tzinfo=UTC))
ENTRY_DAYS = 360
WITHHELD_EVERY, WITHHELD_AT = 40, 17


class Catalogue:
    """Gives the corpus its PMIDs and its bodies."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def pmid(self, work: int) -> int:
        """The work's number in PubMed, of one to eight digits."""
        return 1 + work * STEP % MOST_PMIDS

    def find(self, pmid: int) -> int | None:
        """The work of this number."""
        work = (pmid - 1) * BACK % MOST_PMIDS
        return work if 1 <= pmid <= MOST_PMIDS and work < len(self._corpus) else None

    def withheld(self, work: int) -> bool:
        """True when esearch lists the work and efetch has nothing for it."""
        return work % WITHHELD_EVERY == WITHHELD_AT

    def entered_ms(self, work: int) -> int:
        """The day the work first came into PubMed."""
        return FIRST_ENTRY_MS + work * 7 % ENTRY_DAYS * DAY_MS

    def body(self, version: Version) -> str:
        """The record as this version is served, to the day."""
        work = version.work
        revised, entered = to_datetime(version.at_ms), to_datetime(self.entered_ms(work))
        values = {
            "pmid": str(self.pmid(work)),
            "pmc": str(FIRST_PMC + work),
            "mark": f".w{work}",
            "year": f"{revised:%Y}",
            "month": f"{revised:%m}",
            "day": f"{revised:%d}",
            "entered_year": str(entered.year),
            "entered_month": str(entered.month),
            "entered_day": str(entered.day),
            "note": f'<GeneralNote Owner="NLM">Revision {version.number}</GeneralNote>' if version.number > 1 else "",
        }
        return TEMPLATES.of(work).fill(values)

    def record(self, version: Version) -> dict[str, Any]:
        """What a harvest should make of this version."""
        return make_record(parse(self.body(version)))
