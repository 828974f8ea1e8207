"""Checkpoints as JSON."""

from typing import Any

from ingest_core.model.checkpoint import AcceptedPage, Checkpoint
from ingest_core.model.codes import EndSignal
from ingest_core.model.instant import format_instant, parse_instant
from ingest_core.model.slice_codes import ResliceReason


def checkpoint_json(checkpoint: Checkpoint) -> dict[str, Any]:
    """The checkpoint as `ing_task.checkpoint` keeps it."""
    return {
        "pageNo": checkpoint.page_no,
        "resumeToken": checkpoint.token,
        "tokenAt": format_instant(checkpoint.token_at) if checkpoint.token_at else None,
        "asOf": format_instant(checkpoint.as_of) if checkpoint.as_of else None,
        "ended": checkpoint.ended,
        "restarts": checkpoint.restarts,
        "shortfall": checkpoint.shortfall,
        "total": checkpoint.total,
        "firstTotal": checkpoint.first_total,
        "mostTotal": checkpoint.most_total,
        "rewinds": checkpoint.rewinds,
        "limit": checkpoint.limit,
        "reslice": checkpoint.reslice.value if checkpoint.reslice else None,
        "sinceAttempt": checkpoint.since_attempt,
        "passes": checkpoint.passes,
        "lastPassFrom": format_instant(checkpoint.last_pass_from) if checkpoint.last_pass_from else None,
        "counting": checkpoint.counting,
        "unsure": checkpoint.unsure,
        "empties": checkpoint.empties,
        "fruitless": checkpoint.fruitless,
        "received": checkpoint.received,
        "accepted": checkpoint.accepted,
        "acceptedPage": _page_json(checkpoint.accepted_page),
        "endSignal": checkpoint.end_signal.value if checkpoint.end_signal else None,
        "weakEnd": checkpoint.weak_end,
        "failedAt": format_instant(checkpoint.failed_at) if checkpoint.failed_at else None,
    }


def checkpoint_of(value: dict[str, Any] | None) -> Checkpoint:
    """The checkpoint as it was stored."""
    if not value:
        return Checkpoint()
    return Checkpoint(
        page_no=value["pageNo"],
        token=value["resumeToken"],
        token_at=parse_instant(value["tokenAt"]) if value["tokenAt"] else None,
        as_of=parse_instant(value["asOf"]) if value["asOf"] else None,
        ended=value.get("ended", False),
        restarts=value["restarts"],
        shortfall=value["shortfall"],
        total=value.get("total"),
        first_total=value.get("firstTotal"),
        most_total=value.get("mostTotal"),
        rewinds=value.get("rewinds", 0),
        limit=value.get("limit"),
        reslice=ResliceReason(value["reslice"]) if value.get("reslice") else None,
        since_attempt=value.get("sinceAttempt", 0),
        passes=value.get("passes", 0),
        last_pass_from=parse_instant(value["lastPassFrom"]) if value.get("lastPassFrom") else None,
        counting=value.get("counting", False),
        unsure=value.get("unsure", False),
        empties=value.get("empties", 0),
        fruitless=value.get("fruitless", 0),
        received=value.get("received", 0),
        accepted=value.get("accepted"),
        accepted_page=_page_of(value.get("acceptedPage")),
        end_signal=EndSignal(value["endSignal"]) if value.get("endSignal") else None,
        weak_end=value.get("weakEnd", False),
        failed_at=parse_instant(value["failedAt"]) if value.get("failedAt") else None,
    )


def _page_json(page: AcceptedPage | None) -> dict[str, Any] | None:
    return {"pageNo": page.page_no, "reason": page.reason} if page else None


def _page_of(value: dict[str, Any] | None) -> AcceptedPage | None:
    return AcceptedPage(value["pageNo"], value["reason"]) if value else None
