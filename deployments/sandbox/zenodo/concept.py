"""Uploads of which some are versions of one another: each has its own record, all share a concept."""

from deployments.sandbox.corpus import Corpus

CYCLE = 10
FIRST_OF_THREE = 7
"""Of ten works in a row the last three are versions of one upload."""

CONCEPT_BASE = 10_000_000
SPACING = 10


def first_work(work: int) -> int:
    """The work that is the first version of the same upload."""
    return work - max(work % CYCLE - FIRST_OF_THREE, 0)


def version_index(work: int) -> int:
    """0 for the first version of an upload."""
    return work - first_work(work)


def concept_id(work: int) -> int:
    """The number all versions of the upload share."""
    return CONCEPT_BASE + SPACING * first_work(work)


def record_id(work: int) -> int:
    """The number of this version."""
    return CONCEPT_BASE + SPACING * work + 1


def work_of(record: int, corpus: Corpus) -> int | None:
    """The work of a record's number."""
    work, rest = divmod(record - CONCEPT_BASE - 1, SPACING)
    return work if rest == 0 and 0 <= work < len(corpus) else None


def is_latest(work: int, corpus: Corpus, now_ms: int) -> bool:
    """True when no later version of the upload can be seen yet."""
    newest = min(first_work(work) - first_work(work) % CYCLE + CYCLE, len(corpus))
    later = range(work + 1, newest) if work % CYCLE >= FIRST_OF_THREE else ()
    return all(corpus.current(other, now_ms) is None for other in later)
