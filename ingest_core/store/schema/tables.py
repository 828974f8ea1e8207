"""All tables under one name."""

from ingest_core.store.schema.ingest_tables import (
    ing_cursor,
    ing_cursor_event,
    ing_item,
    ing_plan,
    ing_plan_slice,
    ing_quarantine,
    ing_schedule_instance,
    ing_task,
    ing_task_run,
    ing_task_run_batch,
)
from ingest_core.store.schema.registry_tables import SOURCE_TABLES, metadata, sys_dict_item, sys_dict_type
from ingest_core.store.schema.support_tables import (
    ing_arrival,
    ing_estimate,
    ing_outbox_message,
    ing_partition_control,
    ing_rate_gate,
    ing_reslice_request,
    ing_schema_info,
    ing_signal,
)

__all__ = [
    "SOURCE_TABLES",
    "ing_arrival",
    "ing_cursor",
    "ing_cursor_event",
    "ing_estimate",
    "ing_item",
    "ing_outbox_message",
    "ing_partition_control",
    "ing_plan",
    "ing_plan_slice",
    "ing_quarantine",
    "ing_rate_gate",
    "ing_reslice_request",
    "ing_schedule_instance",
    "ing_schema_info",
    "ing_signal",
    "ing_task",
    "ing_task_run",
    "ing_task_run_batch",
    "metadata",
    "sys_dict_item",
    "sys_dict_type",
]
