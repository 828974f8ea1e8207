"""A source file as the rows of the `reg_*` tables."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from ingest_core.model.codes import ALL_OPERATIONS, EmptyPage, Operation
from ingest_core.model.instant import as_utc, format_instant
from ingest_core.model.partition import Partition
from ingest_core.registry.columns import LISTS, SETTINGS
from ingest_core.registry.source_file import Defaults, Endpoint, Predicate, ResponseBlock, ScopedBlock, SourceFile

Row = dict[str, Any]
Rows = dict[str, list[Row]]


def rows_of(file: SourceFile) -> Rows:
    """Every row the file stands for, by table."""
    rows: Rows = {
        "reg_provenance": [_provenance(file)],
        "reg_prov_endpoint_def": [_endpoint(endpoint) for endpoint in file.endpoints],
        "reg_expr_field_dict": [
            {"field_code": field.name, "field_type_code": field.type.value, "description": field.description}
            for field in file.fields
        ],
    }
    for name, kind in {**SETTINGS, **LISTS}.items():
        rows[kind.table] = [{**kind.row(block), **_scope(block)} for block in getattr(file, name)]
    code = file.source.code
    return {table: [{"provenance_code": code, **row} for row in table_rows] for table, table_rows in rows.items()}


def _provenance(file: SourceFile) -> Row:
    return {
        "provenance_name": file.source.name,
        "description": file.source.description,
        "docs_url": file.source.docs_url,
        "id_normalizer_code": file.source.id_normalizer.value,
        "id_pattern": file.source.id_pattern,
        "drift_share": file.source.drift_share,
        "drift_records": file.source.drift_records,
        "on_equal_code": file.source.on_equal.value,
        "on_refresh_code": file.source.on_refresh.value if file.source.on_refresh else None,
        "output_mapping": dict(file.mapping),
        "defaults": _source_defaults(file),
    }


def _endpoint(endpoint: Endpoint) -> Row:
    return {
        "endpoint_name": endpoint.name,
        "endpoint_role_code": endpoint.role.value,
        "http_method_code": endpoint.method.value,
        "path_template": endpoint.path,
        "operations": sorted(operation.value for operation in endpoint.operations),
        "restricted": endpoint.restricted,
        "detail_endpoint_name": endpoint.detail,
        "refreshes_endpoint_name": endpoint.refreshes,
        "query_text": endpoint.query,
        "body_format_code": endpoint.body.format.value if endpoint.body else None,
        "body_template": endpoint.body.template if endpoint.body else None,
        "output_mapping": endpoint.mapping,
        "defaults": _defaults(endpoint.defaults),
        **_response(endpoint.response),
    }


def _response(response: ResponseBlock) -> Row:
    return {
        "items_path": response.items,
        "id_path": response.id if isinstance(response.id, str) else None,
        "id_expr": None if isinstance(response.id, str) else response.id,
        "updated_at_path": response.updated_at if isinstance(response.updated_at, str) else None,
        "updated_at_expr": None if isinstance(response.updated_at, str) else response.updated_at,
        "version_expr": response.version,
        "total_path": response.total,
        "response_format_code": response.format.value,
        "xml_namespaces": response.namespaces,
        "response_time_zone": response.time_zone,
        "error_predicates": _predicates(response.errors),
        "empty_predicates": _predicates(response.empty),
        "record_error": _predicate(response.record_error),
        "deleted_predicate": _predicate(response.deleted),
        "merged_into_expr": response.merged_into,
    }


def _predicate(predicate: Predicate | None) -> Row | None:
    return predicate.model_dump(mode="json", exclude_none=True) if predicate else None


def _predicates(predicates: list[Predicate] | None) -> list[Row] | None:
    return None if predicates is None else [one.model_dump(mode="json", exclude_none=True) for one in predicates]


def _source_defaults(file: SourceFile) -> Row | None:
    """The file's own, with CONTINUE written out for empty pages: rows from before that key existed mean END."""
    said = _defaults(file.source.defaults) or {}
    paged = file.pagination or any(one.defaults and one.defaults.pagination for one in file.endpoints)
    if paged or "pagination" in said:
        said["pagination"] = {"empty_page_code": EmptyPage.CONTINUE.value, **said.get("pagination", {})}
    return {name: said[name] for name in SETTINGS if name in said} or None


def _defaults(defaults: Defaults | None) -> Row | None:
    """By block and column, what a row of it would hold."""
    if defaults is None:
        return None
    blocks = {name: getattr(defaults, name) for name in SETTINGS}
    said = {
        name: {column: _json(value) for column, value in SETTINGS[name].row(block).items() if value is not None}
        for name, block in blocks.items()
        if block is not None
    }
    return said or None


def _json(value: Any) -> Any:
    return format_instant(value) if isinstance(value, datetime) else value


def _scope(block: ScopedBlock) -> Row:
    return {
        "operation_code": block.scope.operation.value if block.scope.operation else ALL_OPERATIONS,
        "endpoint_name": block.scope.endpoint,
        "effective_from": _instant(block.effective_from),
        "effective_to": _instant(block.effective_to),
    }


def _instant(moment: datetime | None) -> datetime | None:
    return as_utc(moment) if moment else None


def in_force(rows: Iterable[Row], endpoint: str, operation: str, now: datetime) -> list[Row]:
    """The rows that hold here and now, the least specific first."""
    fitting = [
        row
        for row in rows
        if row["endpoint_name"] in (None, endpoint)
        and row["operation_code"] in (ALL_OPERATIONS, operation)
        and (row["effective_from"] is None or row["effective_from"] <= now)
        and (row["effective_to"] is None or now < row["effective_to"])
    ]
    return sorted(fitting, key=_specificity)


def _specificity(row: Row) -> tuple[bool, bool, float]:
    started = row["effective_from"].timestamp() if row["effective_from"] else float("-inf")
    return (row["endpoint_name"] is not None, row["operation_code"] != ALL_OPERATIONS, started)


def scope_text(row: Row) -> str:
    """A row's scope as people read it."""
    return f"{row['operation_code']}, endpoint {row['endpoint_name'] or 'any'}"


def references_of(rows: Rows) -> list[str]:
    """The secrets a source refers to, in its credential blocks and defaults."""
    defaults = [
        row.get("defaults") or {} for table in ("reg_provenance", "reg_prov_endpoint_def") for row in rows[table]
    ]
    blocks = [*rows.get(SETTINGS["credential"].table, []), *(one.get("credential") or {} for one in defaults)]
    found = {block.get(column) for block in blocks for column in ("credential_ref", "username_ref")}
    return sorted(one for one in found if one)


def partitions_of(rows: Rows) -> list[Partition]:
    """What a source's endpoints serve."""
    return [
        Partition(endpoint["provenance_code"], endpoint["endpoint_name"], Operation(operation))
        for endpoint in rows["reg_prov_endpoint_def"]
        for operation in endpoint["operations"]
    ]
