"""Schema drift: a page with too many unusable records, as after a change of the provider's format."""

import logging
from collections import Counter

from ingest_core.execution.outcomes import error_json
from ingest_core.execution.ports import Batch, RunLedger
from ingest_core.execution.walk import Walk
from ingest_core.model.errors import SchemaDrift
from ingest_core.model.naming import accept_drift_command
from ingest_core.model.partition import Partition
from ingest_core.model.record import Rejected

log = logging.getLogger(__name__)

SHOWN_REASONS = 3


def judge_drift(ledger: RunLedger, walk: Walk, batch: Batch, rejected: list[Rejected], received: int) -> str | None:
    """Why an operator accepts a page that is schema drift, None for any other page.

    SchemaDrift, and the page's batch FAILED, if the page is drift and not accepted.
    """
    task, drift = walk.task, walk.task.spec.drift
    if not drift.is_drift(len(rejected), received):
        return None
    # Records that are in quarantine already, and are asked for again, do not show that anything has changed.
    if not drift.is_drift(len(rejected) - ledger.known_bad(task, rejected), received):
        return None
    accepted = walk.checkpoint.drift_accepted(batch.page_no)
    if accepted is None:
        error = _error(task.partition, batch.page_no, rejected, received)
        ledger.fail_batch(walk.run, batch, error_json(error))
        raise error
    counts = (task.lease.task_id, batch.page_no, len(rejected), received)
    log.warning("task %s: page %s is accepted with %s of %s records unusable (%s)", *counts, accepted)
    return accepted


def _error(partition: Partition, page_no: int, rejected: list[Rejected], received: int) -> SchemaDrift:
    """The error that names the page, what is wrong with its records, and both ways out."""
    wrong = Counter((one.reason.value, one.json_path) for one in rejected)
    shown = ", ".join(f"{times} {reason} at {path}" for (reason, path), times in wrong.most_common(SHOWN_REASONS))
    more = ", ..." if len(wrong) > SHOWN_REASONS else ""
    return SchemaDrift(
        f"page {page_no}: {len(rejected)} of {received} records are unusable ({shown}{more}): correct the source file,"
        f" or accept this page with {accept_drift_command(partition)}"
    )
