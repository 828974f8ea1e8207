"""The studies the corpus is made of."""

import gzip
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

from deployments.sandbox.clinicaltrials.stamp import read_stamp

Study = dict[str, Any]
MONTH = "YYYY-MM"


@dataclass(frozen=True, slots=True)
class Template:
    """A study, what searches ask of it, and how it says when it was updated."""

    study: Study
    words: dict[str, str]
    first_posted_ms: int
    update_form: str | None
    identified: bool

    @property
    def reason(self) -> str | None:
        """Why no harvest can use the study, if so."""
        if not self.identified:
            return "ID_MISSING"
        if self.update_form is None:
            return "UPDATED_AT_MISSING"
        return "UPDATED_AT_INVALID" if self.update_form == MONTH else None


@cache
def load_templates() -> tuple[Template, ...]:
    """The studies, always in the same order."""
    packed = (files(__package__) / "studies.jsonl.gz").read_bytes()
    return tuple(_read(orjson.loads(line)) for line in gzip.decompress(packed).splitlines())


def _read(study: Study) -> Template:
    protocol = study["protocolSection"]
    status = protocol["statusModule"]
    updated = status.get("lastUpdatePostDateStruct", {}).get("date")
    posted = status.get("studyFirstPostDateStruct", {}).get("date", "2000-01-01")
    return Template(
        study=study,
        words=_words(protocol),
        first_posted_ms=(read_stamp(posted) or (0, 0))[0],
        update_form=None if updated is None else MONTH if len(updated) == len(MONTH) else "YYYY-MM-DD",
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
