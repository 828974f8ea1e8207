"""Writing plans: heads, anchors, and slices with their tasks, in bulk."""

from collections.abc import Iterable
from datetime import datetime
from itertools import islice

import sqlalchemy as sa

from ingest_core.model.codes import PlanStatus, SliceStatus, TaskStatus
from ingest_core.model.namespace import Namespace
from ingest_core.model.slice_codes import SignalState
from ingest_core.planning.ports import Anchor, PlanHead
from ingest_core.planning.slicing import SliceDraft
from ingest_core.store.cursors.store import open_cursor
from ingest_core.store.engine.dialect import insert_many
from ingest_core.store.schema.columns import inserted_id, partition_values
from ingest_core.store.schema.tables import (
    ing_plan,
    ing_plan_slice,
    ing_schedule_instance,
    ing_signal,
    ing_task,
)

CHUNK = 500


class PlanWriter:
    """Writes one plan's rows within a transaction."""

    def __init__(self, connection: sa.Connection, now: datetime, namespace: Namespace, instance_id: int) -> None:
        self._connection = connection
        self._now = now
        self._namespace = namespace
        self._instance_id = instance_id

    def head(self, head: PlanHead) -> int:
        """The plan's row, and its query on the trigger's."""
        spec, now = head.spec, self._now
        query = {"expr_proto_hash": spec.expr_proto_hash, "expr_proto_snapshot": spec.expression}
        values = {
            "schedule_instance_id": head.instance_id,
            "plan_key": head.plan_key,
            "window_from": head.start,
            "window_to": head.end,
            "slice_strategy_code": head.strategy,
            "slice_params": head.slice_params,
            **query,
            "provenance_config_snapshot": spec.json_value(),
            "spec_fingerprint": spec.fingerprint,
            "status_code": PlanStatus.SLICING.value,
            "created_at": now,
            "updated_at": now,
            **partition_values(self._namespace.partition),
        }
        plan_id = inserted_id(self._connection.execute(sa.insert(ing_plan).values(values)))
        table = ing_schedule_instance
        noted = {**query, "record_remarks": sa.null(), "updated_at": now}  # what failed before no longer holds
        self._connection.execute(sa.update(table).where(table.c.id == head.instance_id).values(noted))
        return plan_id

    def anchor(self, anchor: Anchor, plan_id: int) -> None:
        """The one write of the planner to cursors: where this namespace begins."""
        now, lineage = self._now, {"schedule_instance_id": self._instance_id, "plan_id": plan_id}
        bounds = {"bound_from": anchor.bound_from, "bound_to": anchor.bound_to}
        open_cursor(
            self._connection,
            self._namespace,
            anchor.value,
            now=now,
            lineage=lineage,
            window=anchor.window,
            **bounds,
            is_descending=int(anchor.descending),
        )

    def slices(self, plan_id: int, drafts: Iterable[SliceDraft], after: int = 0) -> int:
        """Slices and tasks, chunk by chunk; how many. They are numbered on from `after`."""
        count, remaining = 0, iter(drafts)
        while chunk := list(islice(remaining, CHUNK)):
            self._tasks(plan_id, chunk, self._slices(plan_id, after + count, chunk))
            self._signals(chunk)
            count += len(chunk)
        return count

    def _common(self) -> dict[str, object]:
        stamps = {"created_at": self._now, "updated_at": self._now}
        return {**partition_values(self._namespace.partition), **stamps}

    def _slices(self, plan_id: int, after: int, drafts: list[SliceDraft]) -> dict[str, int]:
        """The slices' ids by their signatures."""
        common = self._common()
        rows = [
            {
                "plan_id": plan_id,
                "slice_no": number,
                "slice_signature_hash": draft.signature_hash,
                "slice_spec": draft.spec,
                "expr_hash": draft.expr_hash,
                "expr_snapshot": draft.expression,
                "status_code": SliceStatus.READY.value,
                **common,
            }
            for number, draft in enumerate(drafts, start=after + 1)
        ]
        mine = ing_plan_slice.c.plan_id == plan_id
        return insert_many(self._connection, ing_plan_slice, rows, "slice_signature_hash", mine)

    def _tasks(self, plan_id: int, drafts: list[SliceDraft], ids: dict[str, int]) -> None:
        common = self._common()
        self._connection.execute(
            sa.insert(ing_task),
            [
                {
                    "schedule_instance_id": self._instance_id,
                    "plan_id": plan_id,
                    "slice_id": ids[draft.signature_hash],
                    "namespace_key": self._namespace.key,
                    "params": draft.params,
                    "window_from": draft.window.start,
                    "window_to": draft.window.end,
                    "expr_hash": draft.expr_hash,
                    "idempotent_key": draft.idempotent_key,
                    "priority": draft.priority,
                    "scheduled_at": self._now + draft.due_in,
                    "status_code": TaskStatus.QUEUED.value,
                    **common,
                }
                for draft in drafts
            ],
        )

    def _signals(self, drafts: list[SliceDraft]) -> None:
        """The ids in a slice no longer wait."""
        table, partition = ing_signal, self._namespace.partition
        for draft in drafts:
            if draft.ids:
                mine = (
                    table.c.provenance_code == partition.provenance_code,
                    table.c.endpoint_name == partition.endpoint_name,
                    table.c.state_code == SignalState.OPEN.value,
                    table.c.provider_id.in_(draft.ids),
                )
                planned = {"state_code": SignalState.PLANNED.value, "updated_at": self._now}
                self._connection.execute(sa.update(table).where(*mine).values(planned))
