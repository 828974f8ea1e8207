"""Each field of a value that is stored, or that rows are read into, has its own comment beside it."""

import ast
import inspect
import textwrap
from dataclasses import fields

import pytest
from pydantic import BaseModel

from ingest_core.execution.ports import Batch, Run, RunOutcome
from ingest_core.model import slice_spec
from ingest_core.model.checkpoint import Checkpoint
from ingest_core.model.cursor import CursorState
from ingest_core.model.cursor_report import BlockingTask, CursorEntry, CursorReport, CursorStep, Span
from ingest_core.model.lease import Lease
from ingest_core.model.message import Message, MessageEntry, NewMessage, RecordChange
from ingest_core.model.quarantine import (
    Quarantined,
    QuarantineEntry,
    QuarantineRecord,
    QuarantineReport,
    RefreshRequest,
    UsableRecord,
)
from ingest_core.model.record import Counts, PageOutcome, Record, Rejected
from ingest_core.model.record_merge import PendingMerge, RecordMerge
from ingest_core.model.source_change import RowChange, RowVersion
from ingest_core.model.stored_item import StoredItem
from ingest_core.model.task import Lineage, Task
from ingest_core.planning.ports import Anchor, Control, PlanHead, Reslice, StoredPlan
from ingest_core.planning.slicing import SliceDraft

PERSISTENT = [
    Checkpoint, Lease, Task, Lineage, Run, Batch, RunOutcome, CursorState, Record, Rejected, Counts, PageOutcome,
    PlanHead, Anchor, StoredPlan, Control, Reslice, SliceDraft, StoredItem, Quarantined, QuarantineEntry,
    RecordChange, NewMessage, Message, MessageEntry, CursorEntry, CursorReport, CursorStep, BlockingTask, Span,
    QuarantineRecord, QuarantineReport, RefreshRequest, UsableRecord,
    RowChange, RowVersion, PendingMerge, RecordMerge,
    slice_spec.Edges, slice_spec.WindowPayload, slice_spec.RangePayload, slice_spec.StopCondition,
    slice_spec.CursorPayload, slice_spec.BudgetPayload, slice_spec.HintsPayload, slice_spec.SliceSpec,
]  # fmt: skip
SAME_EVERYWHERE = {
    "task_id",
    "plan_id",
    "slice_id",
    "run_id",
    "row_id",
    "namespace",
    "partition",
    "spec",
    "lease",
    "lineage",
}
"""Fields that say by name and type alone what they are."""


def commented(cls: type) -> set[str]:
    """The fields with a comment after them."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(tree, ast.ClassDef)
    return {
        one.target.id
        for one, after in zip(tree.body, tree.body[1:], strict=False)
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str)
    }


@pytest.mark.parametrize("cls", PERSISTENT, ids=lambda cls: cls.__name__)
def test_each_field_of_a_persistent_value_has_a_comment(cls: type) -> None:
    names = list(cls.model_fields) if issubclass(cls, BaseModel) else [one.name for one in fields(cls)]  # type: ignore[arg-type]
    assert [name for name in names if name not in commented(cls) | SAME_EVERYWHERE] == []
