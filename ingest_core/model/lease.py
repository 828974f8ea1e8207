"""Leases: the right of one worker to one task."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Lease:
    """A worker's right to a task. Every write checks owner and fence, so that a worker without it can write nothing."""

    task_id: int
    owner: str
    """The worker: host, process and thread, or the flow run it belongs to (`flow_owner`)."""
    fence_no: int
    """Raised by every claim of the task. A write with an older number is refused."""
    ttl_seconds: int
    """How long the lease holds after its last renewal."""


def flow_owner(flow_run_id: str, worker: str) -> str:
    """The lease owner of a process of a flow run. Its prefix finds all leases of that run."""
    return f"flow:{flow_run_id}:{worker}"
