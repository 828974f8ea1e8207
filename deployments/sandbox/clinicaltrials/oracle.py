"""What a harvest should make of a study: written by hand, straight from the body."""

from typing import Any


def expected_record(study: dict[str, Any]) -> dict[str, Any]:
    """The common record of one study; a key with nothing to say is absent."""
    protocol = study["protocolSection"]
    posted = protocol["statusModule"].get("studyFirstPostDateStruct", {}).get("date")
    names = [
        official.get("name", "").strip()
        for official in protocol.get("contactsLocationsModule", {}).get("overallOfficials", [])
    ]
    record = {
        "title": protocol["identificationModule"].get("briefTitle", "").strip(),
        "authors": [{"name": name} for name in names if name],
        "dates": {"created": posted} if posted else {},
        "identifiers": {"nct": protocol["identificationModule"]["nctId"]},
        "type": protocol.get("designModule", {}).get("studyType", ""),
        "abstract": protocol.get("descriptionModule", {}).get("briefSummary", "").strip(),
    }
    return {name: value for name, value in record.items() if value}
