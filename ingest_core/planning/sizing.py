"""How big a slice should be, what reading it costs, and what it may cost."""

from dataclasses import dataclass

from ingest_core.model.slice_codes import BUDGET_PRIORITY
from ingest_core.model.slice_spec import BudgetPayload
from ingest_core.model.spec import SpecSnapshot
from ingest_core.registry.unset import can_read_unset

TARGET_PAGES = 20
"""Pages of a slice where the Registry names no target."""

TOLERANCE = 1.2
"""A slice is cut again when it is this multiple of the target."""

TINY_SHARE = 4
"""Slices that together are less than a quarter of the target are one."""

ID_BATCHES = 10
"""Detail requests of a slice of ids."""

LEAST_REQUESTS = 100
LEAST_SECONDS = 1200
SLACK = 3
"""A budget stops what has gone wrong, not what was underestimated."""


@dataclass(frozen=True)
class Sizing:
    """The sizes one source's slices should have."""

    target: int
    cap: int | None
    split_field: str | None
    split_max: int
    reads_unset: bool = True
    """Whether the source can be asked for the records that lack the split field."""

    @property
    def tiny(self) -> int:
        """Records below which a part gets no slice of its own."""
        return self.target // TINY_SHARE

    def fits(self, records: int) -> bool:
        """Whether this number of records makes one slice."""
        return records <= self.target * TOLERANCE and not self.above_cap(records)

    def above_cap(self, records: int) -> bool:
        """Whether one query cannot give this number of records."""
        return self.cap is not None and records > self.cap

    def splits(self, records: int) -> bool:
        """Whether a unit of time with this number of records is split by the second field.

        A split that leaves out records which cannot be read on their own is made only where one query cannot read all.
        """
        if self.split_field is None or self.fits(records):
            return False
        return self.reads_unset or self.above_cap(records)


def sizing_of(spec: SpecSnapshot) -> Sizing:
    """The sizes a snapshot asks for: the Registry's target, within what a query can give."""
    paging, slicing = spec.paging, spec.slicing
    pages = paging.max_page * paging.page_size if paging.max_page else None
    cap = min((limit for limit in (paging.max_records, pages) if limit), default=None)
    target = slicing.target_records or TARGET_PAGES * paging.page_size
    return Sizing(min(target, cap or target), cap, slicing.split_field, slicing.split_max, can_read_unset(spec))


def expected_requests(spec: SpecSnapshot, records: int) -> int:
    """Requests for reading this number of records: pages, and their details."""
    batches = -(-records // spec.detail.id_batch_size) if spec.detail else 0
    if spec.pagination is None:
        return max(1, batches)
    return max(1, -(-records // spec.pagination.page_size)) + batches


def constant_estimate(spec: SpecSnapshot) -> int:
    """What a slice is supposed to hold where nothing is known: one page."""
    return spec.paging.page_size if spec.pagination else 0


def budget_of(spec: SpecSnapshot, records: int) -> BudgetPayload:
    """Budget of a slice with this number of records."""
    requests = expected_requests(spec, records)
    size = spec.paging.page_size if spec.pagination else max(records, 1)
    most = max(LEAST_REQUESTS, SLACK * requests)
    return BudgetPayload(
        max_requests=most,
        max_records=max(SLACK * records, LEAST_REQUESTS * size),
        max_duration_sec=max(LEAST_SECONDS, int(most / spec.rate.requests_per_second) + 1),
        priority=BUDGET_PRIORITY[spec.operation_code],
    )
