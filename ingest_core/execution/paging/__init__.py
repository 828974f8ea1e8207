"""How one page leads to the next, and when there is none: one module per kind, the rules to stop in another."""

from ingest_core.execution.paging.kinds import COUNTED, first_token, next_step, offset_of
from ingest_core.execution.paging.paginator import Paginator
from ingest_core.execution.paging.place import END, Place, Repetition, Step
from ingest_core.execution.paging.resuming import before_hash, resume_point
from ingest_core.execution.paging.stopping import MAX_REPEATS, MAX_REWINDS, NextPageMissing, tail_is_doubtful

__all__ = [
    "COUNTED",
    "END",
    "MAX_REPEATS",
    "MAX_REWINDS",
    "NextPageMissing",
    "Paginator",
    "Place",
    "Repetition",
    "Step",
    "before_hash",
    "first_token",
    "next_step",
    "offset_of",
    "resume_point",
    "tail_is_doubtful",
]
