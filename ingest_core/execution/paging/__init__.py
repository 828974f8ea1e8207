"""Decides the place of the next page and the end of a result; one module per paging type."""

from ingest_core.execution.paging.kinds import paginator_of
from ingest_core.execution.paging.paginator import PageRequest, Paginator
from ingest_core.execution.paging.place import END, Edge, Place, Repetition, Step
from ingest_core.execution.paging.resuming import before_hash, resume_point
from ingest_core.execution.paging.stopping import MAX_EMPTY_PAGES, MAX_REPEATS, MAX_REWINDS, NextPageMissing

__all__ = [
    "END",
    "MAX_EMPTY_PAGES",
    "MAX_REPEATS",
    "MAX_REWINDS",
    "Edge",
    "NextPageMissing",
    "PageRequest",
    "Paginator",
    "Place",
    "Repetition",
    "Step",
    "before_hash",
    "paginator_of",
    "resume_point",
]
