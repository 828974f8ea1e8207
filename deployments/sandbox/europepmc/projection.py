"""How much of a record each `resultType` tells."""

from deployments.sandbox.europepmc.template import Record

NAMES = ("id", "source", "pmid", "pmcid", "fullTextIdList")
PLAIN = (
    *("doi", "title", "authorString", "pubYear", "pageInfo", "isOpenAccess", "inEPMC", "inPMC", "hasPDF", "hasBook"),
    *("hasSuppl", "citedByCount", "hasReferences", "hasTextMinedTerms", "hasDbCrossReferences", "hasLabsLinks"),
    *("hasTMAccessionNumbers", "firstIndexDate", "firstPublicationDate"),
)


def project(record: Record, result_type: str) -> Record:
    """The record as this result type tells it; only `core` tells when it was revised."""
    if result_type == "core":
        return record
    if result_type == "idlist":
        return {name: record[name] for name in NAMES if name in record}
    plain = {name: record[name] for name in (*NAMES, *PLAIN) if name in record}
    return {**plain, **{name: part for name, part in _flat(record).items() if part}}


def _flat(record: Record) -> Record:
    """What `core` nests and `lite` tells in one string."""
    info = record.get("journalInfo", {})
    journal = info.get("journal", {})
    kinds = record.get("pubTypeList", {}).get("pubType", ())
    issn = "; ".join(journal[name].lower() for name in ("issn", "essn") if journal.get(name))
    return {
        "journalTitle": journal.get("medlineAbbreviation") or journal.get("title"),
        "issue": info.get("issue"),
        "journalVolume": info.get("volume"),
        "journalIssn": f"{issn}; " if issn else "",
        "pubType": "; ".join(kind.lower() for kind in kinds),
    }
