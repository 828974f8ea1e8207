"""What a harvest should make of a study: written by hand, straight from the body."""

from typing import Any

from deployments.sandbox.expected import real_date, said, text


def expected_record(study: dict[str, Any]) -> dict[str, Any]:
    """The common record of one study; a key with nothing to say is absent."""
    protocol = study["protocolSection"]
    posted = protocol["statusModule"].get("studyFirstPostDateStruct", {}).get("date")
    officials = protocol.get("contactsLocationsModule", {}).get("overallOfficials", [])
    return said(
        {
            "title": text(protocol["identificationModule"].get("briefTitle")),
            "authors": [{"name": name} for official in officials if (name := text(official.get("name")))],
            "dates": said({"created": real_date(posted)}),
            "identifiers": {"nct": protocol["identificationModule"]["nctId"]},
            "type": text(protocol.get("designModule", {}).get("studyType")),
            "abstract": text(protocol.get("descriptionModule", {}).get("briefSummary")),
        }
    )
