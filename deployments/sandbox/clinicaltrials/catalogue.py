"""Every version of the corpus as a study."""

from dataclasses import dataclass
from typing import Any

from deployments.sandbox.clinicaltrials.expression import UPDATED
from deployments.sandbox.clinicaltrials.template import TEMPLATES, Template
from deployments.sandbox.corpus import Corpus, Version
from deployments.sandbox.instant import DAY_MS, round_down, to_datetime

FIRST_NUMBER = 1_000_000
DIGITS = 8


class Catalogue:
    """Gives the corpus its NCT numbers and its bodies."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def key(self, work: int) -> str:
        """The NCT number."""
        return f"NCT{FIRST_NUMBER + work:0{DIGITS}d}"

    def find(self, nct_id: str) -> int | None:
        """The work of this NCT number."""
        number = nct_id.removeprefix("NCT")
        work = int(number) - FIRST_NUMBER if number.isascii() and number.isdecimal() and len(number) == DIGITS else -1
        known = 0 <= work < len(self._corpus) and self.key(work) == nct_id
        return work if known and TEMPLATES.of(work).identified else None

    def rank(self, work: int) -> int:
        """The place in a search without `sort`: steady, and unrelated to time."""
        return self._corpus.draw(f"trial:{work}")

    def subject(self, version: Version) -> "Listed":
        """The study as a search sees it."""
        return Listed(version, TEMPLATES.of(version.work), self.key(version.work).lower())

    def body(self, version: Version) -> dict[str, Any]:
        """The study as this version is served."""
        template = TEMPLATES.of(version.work)
        protocol = dict(template.study["protocolSection"])
        identification = dict(protocol["identificationModule"])
        if template.identified:
            identification["nctId"] = self.key(version.work)
        else:  # what has no number is at least told apart by the sponsor's own
            identification["orgStudyIdInfo"] = {"id": f"ORG-{version.work}"}
        protocol["identificationModule"] = identification
        protocol["statusModule"] = _status(template, version)
        return {**template.study, "protocolSection": protocol, "derivedSection": _derived(template, version)}


@dataclass(frozen=True, slots=True)
class Listed:
    """A study in the index, which knows dates its body may lack."""

    version: Version
    template: Template
    nct_id: str

    def text(self, area: str) -> str:
        """What the area holds, in lower case."""
        return self.nct_id if area == "NCTId" else self.template.words[area]

    def date_ms(self, area: str) -> int:
        """The day a date area holds."""
        return round_down(self.version.at_ms, DAY_MS) if area == UPDATED else self.template.first_posted_ms


def _status(template: Template, version: Version) -> dict[str, Any]:
    """The update date; some have none, or one that does not exist."""
    status = dict(template.study["protocolSection"]["statusModule"])
    status["lastUpdateSubmitDate"] = _day(version.at_ms)
    if template.dated:
        status["lastUpdatePostDateStruct"] = {**status["lastUpdatePostDateStruct"], "date": _day(version.at_ms)}
    return status


def _derived(template: Template, version: Version) -> dict[str, Any]:
    """No two versions of a study are the same, even on one day."""
    day = _day(version.at_ms)
    tracking = {"submissionInfos": [{"releaseDate": day, "mcpReleaseN": version.number}]}
    misc = {"versionHolder": day, "submissionTracking": tracking}
    return {**template.study["derivedSection"], "miscInfoModule": misc}


def _day(ms: int) -> str:
    return to_datetime(ms).strftime("%Y-%m-%d")
