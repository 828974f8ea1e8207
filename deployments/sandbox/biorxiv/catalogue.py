"""Every version of the corpus as a preprint."""

from datetime import date, timedelta

from deployments.sandbox.biorxiv.server import Server
from deployments.sandbox.biorxiv.template import TEMPLATES, Preprint
from deployments.sandbox.corpus import Corpus, Version
from deployments.sandbox.instant import DAY_MS, to_datetime

FIRST_DAY = date(2020, 1, 1)
DAYS = 2000
MOST_DIGITS = 9
STYLES = 7
BARE, RENAMED = 3, 5


class Catalogue:
    """Gives the corpus its DOIs and its bodies."""

    def __init__(self, corpus: Corpus, server: Server) -> None:
        self._corpus = corpus
        self._server = server

    def doi(self, work: int) -> str:
        """The DOI, which all versions share; the oldest have no date in it, the newest another prefix."""
        number = self._server.first_number + work
        if work % STYLES == BARE:
            return f"10.1101/{number}"
        day = FIRST_DAY + timedelta(days=work % DAYS)
        return f"{'10.64898' if work % STYLES == RENAMED else '10.1101'}/{day:%Y.%m.%d}.{number}"

    def key(self, version: Version) -> str:
        """What tells this version from every other record."""
        return f"{self.doi(version.work)}v{version.number}"

    def find(self, doi: str) -> int | None:
        """The work of this DOI."""
        number = doi.rpartition("/")[2].rpartition(".")[2]
        work = (
            int(number) - self._server.first_number
            if number.isascii() and number.isdecimal() and len(number) <= MOST_DIGITS
            else -1
        )
        return work if 0 <= work < len(self._corpus) and self.doi(work) == doi else None

    def place(self, version: Version) -> tuple[int, int, int]:
        """The place in a result: by day, and within a day in no order of time."""
        rank = self._corpus.draw(f"{self._server.code}:{version.work}:{version.number}")
        return version.at_ms // DAY_MS, rank, version.work

    def body(self, version: Version) -> Preprint:
        """The preprint as this version is served; what its template lacks, it lacks."""
        preprint = dict(TEMPLATES[self._server].of(version.work).preprint)
        doi, day = self.doi(version.work), to_datetime(version.at_ms)
        path = f"{day:%Y/%m/%d}/{doi.partition('/')[2]}"
        served = {"doi": doi, "version": str(version.number), "date": f"{day:%Y-%m-%d}"}
        preprint["jatsxml"] = f"https://www.{self._server.code}.org/content/early/{path}v{version.number}.source.xml"
        for name, value in served.items():
            if preprint[name] and not preprint[name].startswith("0000"):
                preprint[name] = value
        return preprint
