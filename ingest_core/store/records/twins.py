"""Two rows of one record, under two endpoints, made one: which row is kept, and with which values."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ingest_core.execution.overwrite import version_key
from ingest_core.model.codes import QuarantineState

Twin = Mapping[str, Any]

ITEM_FIRST = ("first_run_id", "first_batch_no", "created_at")
ITEM_STATE = ("state_code", "gone_at", "gone_reason_code", "merged_into")
ITEM_COLUMNS = (
    "id",
    "provider_id",
    "source_updated_at",
    "source_version",
    "refresh_checked_at",
    "expr_hash",
    "updated_at",
    *ITEM_FIRST,
    *ITEM_STATE,
)
QUARANTINE_COLUMNS = (
    "id",
    "fragment_hash",
    "reason_code",
    "state_code",
    "record_remarks",
    "seen_count",
    "created_at",
    "updated_at",
)


@dataclass(frozen=True)
class Joined:
    """The row that stays, what changes in it, and the row that goes."""

    kept: int
    dropped: int
    values: dict[str, Any]


def join_items(own: Twin, second: Twin, now: datetime) -> Joined:
    """The record of the newer row, as the row checked later saw it, with the lineage of the older row.

    `own` is the owner's row: it wins where both are equally new. `updated_at` changes only if what the owner's row says
    changes.
    """
    wins = _newness(second) > _newness(own)
    kept, dropped = (second, own) if wins else (own, second)
    first = min((own, second), key=lambda row: (row["created_at"], row["id"]))
    checked = max((kept, dropped), key=lambda row: row["refresh_checked_at"])  # of equals the one that is kept
    changes = wins or any(checked[name] != own[name] for name in ITEM_STATE)
    values = {name: first[name] for name in ITEM_FIRST}
    values |= {name: checked[name] for name in ("refresh_checked_at", "expr_hash", *ITEM_STATE)}
    return Joined(kept["id"], dropped["id"], {**values, "updated_at": now if changes else own["updated_at"]})


def _newness(row: Twin) -> tuple[Any, ...]:
    return row["source_updated_at"], version_key(row["source_version"]), row["refresh_checked_at"]


def join_quarantined(own: Twin, second: Twin, _now: datetime) -> Joined:
    """The row seen first, seen as often as both, in the state of the row that changed last; discarded is for good."""
    kept, dropped = sorted((own, second), key=lambda row: (row["created_at"], row["id"]))
    last = max((own, second), key=lambda row: (_discarded(row), row["updated_at"]))
    values = {name: last[name] for name in ("state_code", "record_remarks")}
    values |= {
        "seen_count": own["seen_count"] + second["seen_count"],
        "updated_at": max(own["updated_at"], second["updated_at"]),
    }
    return Joined(kept["id"], dropped["id"], values)


def _discarded(row: Twin) -> bool:
    return bool(row["state_code"] == QuarantineState.DISCARDED.value)
