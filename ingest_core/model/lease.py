"""Leases: the right of one worker to one task."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Lease:
    """The right to work a task until it is lost: owner and fence say whose."""

    task_id: int
    owner: str
    fence_no: int
    ttl_seconds: int


def flow_owner(flow_run_id: str, worker: str) -> str:
    """Who leases what a process of a flow run works: all that such a run holds can be found."""
    return f"flow:{flow_run_id}:{worker}"
