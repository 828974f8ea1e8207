"""What identifies a page within its run, and where an attempt begins."""

from datetime import datetime, timedelta

from ingest_core.model.canonical import hash_of
from ingest_core.model.checkpoint import Checkpoint
from ingest_core.model.clock import CLOCK_SLACK
from ingest_core.model.codes import PagePosition
from ingest_core.model.spec import PaginationSpec


def before_hash(pagination: PaginationSpec, token: str | None, batch_no: int, rewinds: int = 0, passes: int = 0) -> str:
    """The identity of a page within its run: the same again is a loop, unless a rewind or another pass asks for it."""
    at_provider = pagination.position == PagePosition.SERVER
    again = [rewinds, passes] if passes else [rewinds] if rewinds else []
    return hash_of(token, batch_no if at_provider else None, *again)


def resume_point(pagination: PaginationSpec, checkpoint: Checkpoint, now: datetime) -> Checkpoint:
    """Where an attempt begins: at the checkpoint, or anew where the place is gone."""
    if not checkpoint.started or checkpoint.ended:
        return checkpoint
    if pagination.position == PagePosition.SERVER or _expired(pagination, checkpoint, now):
        return checkpoint.anew()
    return checkpoint


def _expired(pagination: PaginationSpec, checkpoint: Checkpoint, now: datetime) -> bool:
    if pagination.token_ttl_seconds is None or checkpoint.token_at is None:
        return False
    age = now - checkpoint.token_at
    # One from the future was given under a clock that was ahead: its age is not known.
    return age > timedelta(seconds=pagination.token_ttl_seconds) or age < -CLOCK_SLACK
