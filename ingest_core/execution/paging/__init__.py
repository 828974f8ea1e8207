"""How one page leads to the next, and when there is none: one module per kind, the rules to stop in another."""

from ingest_core.execution.paging.counted import COUNTED, asked_size, read_place, since_of
from ingest_core.execution.paging.kinds import first_token, next_step, offset_of
from ingest_core.execution.paging.paginator import Paginator
from ingest_core.execution.paging.place import END, Edge, Place, Repetition, Step
from ingest_core.execution.paging.resuming import before_hash, resume_point
from ingest_core.execution.paging.stopping import (
    MAX_EMPTY_PAGES,
    MAX_REPEATS,
    MAX_REWINDS,
    NextPageMissing,
    tail_is_doubtful,
)

__all__ = [
    "COUNTED",
    "END",
    "MAX_EMPTY_PAGES",
    "MAX_REPEATS",
    "MAX_REWINDS",
    "Edge",
    "NextPageMissing",
    "Paginator",
    "Place",
    "Repetition",
    "Step",
    "asked_size",
    "before_hash",
    "first_token",
    "next_step",
    "offset_of",
    "read_place",
    "resume_point",
    "since_of",
    "tail_is_doubtful",
]
