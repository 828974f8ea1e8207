"""A source's thresholds of schema drift."""

from ingest_core.model.spec import DriftSpec, SpecSnapshot
from ingest_core.registry.problems import Findings
from ingest_core.registry.rows import Row


def drift_part(provenance: Row) -> DriftSpec:
    """The thresholds of the source, or the defaults."""
    said = {"share": provenance.get("drift_share"), "records": provenance.get("drift_records")}
    return DriftSpec(**{name: value for name, value in said.items() if value is not None})


def note_drift(spec: SpecSnapshot, found: Findings) -> None:
    """Warn about a threshold that the source sets and no page can reach."""
    least, size = spec.drift.records, spec.paging.page_size
    found.warn(
        least > size and least != DriftSpec().records,
        f"source.drift_records {least} is more than a page of {size} records holds: no page is recognised as schema"
        " drift; set a smaller number",
    )
