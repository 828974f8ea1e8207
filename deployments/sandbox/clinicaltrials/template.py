"""The studies the corpus is made of."""

from dataclasses import dataclass
from typing import Any

from deployments.sandbox.clinicaltrials.stamp import read_stamp
from deployments.sandbox.recording import Recording

Study = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Template:
    """A study, what searches ask of it, and the date it was updated on, which may be none."""

    study: Study
    words: dict[str, str]
    first_posted_ms: int
    updated: str | None
    identified: bool

    @property
    def reason(self) -> str | None:
        """Why no harvest can use the study, if so."""
        if not self.identified:
            return "ID_MISSING"
        if self.updated is None:
            return "UPDATED_AT_MISSING"
        return None if self.dated else "UPDATED_AT_INVALID"

    @property
    def dated(self) -> bool:
        """True when the date of the update is one."""
        return self.updated is not None and read_stamp(self.updated) is not None


def _read(study: Study) -> Template:
    protocol = study["protocolSection"]
    status = protocol["statusModule"]
    posted = status.get("studyFirstPostDateStruct", {}).get("date", "2000-01-01")
    return Template(
        study=study,
        words=_words(protocol),
        first_posted_ms=(read_stamp(posted) or (0, 0))[0],
        updated=status.get("lastUpdatePostDateStruct", {}).get("date"),
        identified="nctId" in protocol["identificationModule"],
    )


def _words(protocol: Study) -> dict[str, str]:
    """What each search area looks into, in lower case."""
    identification, design = protocol["identificationModule"], protocol.get("designModule", {})
    title = identification.get("briefTitle", "")
    summary = protocol.get("descriptionModule", {}).get("briefSummary", "")
    conditions = "\n".join(protocol["conditionsModule"]["conditions"])
    sponsor = protocol["sponsorCollaboratorsModule"]["leadSponsor"]["name"]
    areas = {
        "BriefTitle": title,
        "Condition": conditions,
        "LeadSponsorName": sponsor,
        "OverallStatus": protocol["statusModule"]["overallStatus"],
        "Phase": "\n".join(design.get("phases", ())),
        "StudyType": design.get("studyType", ""),
        "BasicSearch": "\n".join((title, summary, conditions, sponsor)),
    }
    return {area: text.lower() for area, text in areas.items()}


TEMPLATES = Recording(__package__, "studies.jsonl.gz", _read)
