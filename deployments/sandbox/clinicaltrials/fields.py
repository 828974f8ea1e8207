"""The `fields` parameter: what it does not name is not in the answer."""

from typing import Any

from deployments.sandbox.clinicaltrials.failure import BadRequestError

PATHS = {
    "NCTId": "protocolSection.identificationModule.nctId",
    "BriefTitle": "protocolSection.identificationModule.briefTitle",
    "OverallStatus": "protocolSection.statusModule.overallStatus",
    "LastUpdatePostDate": "protocolSection.statusModule.lastUpdatePostDateStruct.date",
    "LastUpdatePostDateStruct": "protocolSection.statusModule.lastUpdatePostDateStruct",
    "StudyFirstPostDate": "protocolSection.statusModule.studyFirstPostDateStruct.date",
    "StudyType": "protocolSection.designModule.studyType",
    "BriefSummary": "protocolSection.descriptionModule.briefSummary",
    "OverallOfficialName": "protocolSection.contactsLocationsModule.overallOfficials",
    "IdentificationModule": "protocolSection.identificationModule",
    "StatusModule": "protocolSection.statusModule",
    "DesignModule": "protocolSection.designModule",
    "DescriptionModule": "protocolSection.descriptionModule",
    "ContactsLocationsModule": "protocolSection.contactsLocationsModule",
    "ConditionsModule": "protocolSection.conditionsModule",
    "ProtocolSection": "protocolSection",
    "HasResults": "hasResults",
}
KNOWN = frozenset(PATHS.values())


def read_fields(text: str | None) -> tuple[tuple[str, ...], ...] | None:
    """The paths asked for; None is all of the study."""
    if text is None:
        return None
    paths = []
    for name in text.replace("|", ",").split(","):
        path = PATHS.get(name.strip(), name.strip())
        if path not in KNOWN:
            raise BadRequestError(f"Parameter `fields` contains invalid field name: {name.strip()}")
        paths.append(tuple(path.split(".")))
    return tuple(paths)


def pick(study: dict[str, Any], paths: tuple[tuple[str, ...], ...] | None) -> dict[str, Any]:
    """The study with only the fields asked for."""
    if paths is None:
        return study
    picked: dict[str, Any] = {}
    for path in paths:
        _copy(study, picked, path)
    return picked


def _copy(source: dict[str, Any], target: dict[str, Any], path: tuple[str, ...]) -> None:
    name, *rest = path
    if name not in source:
        return
    if not rest:
        target[name] = source[name]
        return
    _copy(source[name], target.setdefault(name, {}), tuple(rest))
