"""Rows as a source file: what was applied can be taken out again, changed and applied."""

import json
import re
from typing import Any

import yaml

from ingest_core.model.codes import ALL_OPERATIONS, ResponseFormat
from ingest_core.model.instant import format_instant
from ingest_core.registry.columns import LISTS, SETTINGS
from ingest_core.registry.rows import Row, Rows

HEADER = "# yaml-language-server: $schema={schema}\n"
SCHEMA_FILE = "source.schema.json"
_LINE_ENDS = re.compile("[\x85\u2028\u2029\ufeff]")


def export_source(rows: Rows) -> str:
    """A file that applies to the same rows."""
    document = document_of(rows)
    # Strange line ends would be written as such, and read as spaces.
    plain = not _LINE_ENDS.search(json.dumps(document, ensure_ascii=False))
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=plain, width=110)
    return HEADER.format(schema=SCHEMA_FILE) + text


def document_of(rows: Rows) -> dict[str, Any]:
    """The document that stands for these rows."""
    provenance = rows["reg_provenance"][0]
    document: dict[str, Any] = {
        "source": _without_none(
            {
                "code": provenance["provenance_code"],
                "name": provenance["provenance_name"],
                "description": provenance["description"] or None,
                "docs_url": provenance["docs_url"],
                "id_normalizer": provenance["id_normalizer_code"],
                "id_pattern": provenance.get("id_pattern"),
                "drift_share": provenance.get("drift_share"),
                "drift_records": provenance.get("drift_records"),
                "on_equal": provenance["on_equal_code"],
                "on_refresh": provenance.get("on_refresh_code"),
                "defaults": _defaults(provenance.get("defaults")),
            }
        ),
        "endpoints": [_endpoint(row) for row in rows["reg_prov_endpoint_def"]],
    }
    for name, kind in {**SETTINGS, **LISTS}.items():
        blocks = [{**_scope(row), **kind.document(row)} for row in rows.get(kind.table, [])]
        if blocks:
            document[name] = blocks[0] if len(blocks) == 1 and name in SETTINGS else blocks
    fields = [
        _without_none(
            {"name": row["field_code"], "type": row["field_type_code"], "description": row.get("description")}
        )
        for row in rows.get("reg_expr_field_dict", [])
    ]
    return {**document, **({"fields": fields} if fields else {}), "mapping": provenance["output_mapping"]}


def _endpoint(row: Row) -> dict[str, Any]:
    body = _without_none({"format": row.get("body_format_code"), "template": row.get("body_template")})
    return _without_none(
        {
            "name": row["endpoint_name"],
            "role": row["endpoint_role_code"],
            "method": row["http_method_code"],
            "path": row["path_template"],
            "operations": row["operations"],
            "restricted": row.get("restricted") or None,
            "detail": row.get("detail_endpoint_name"),
            "refreshes": row.get("refreshes_endpoint_name"),
            "query": row.get("query_text"),
            "body": body or None,
            "response": _response(row),
            "mapping": row.get("output_mapping"),
            "defaults": _defaults(row.get("defaults")),
        }
    )


def _response(row: Row) -> dict[str, Any]:
    code = row.get("response_format_code")
    return _without_none(
        {
            "format": None if code == ResponseFormat.JSON else code,
            "namespaces": row.get("xml_namespaces"),
            "items": row["items_path"],
            "id": row.get("id_expr") or row.get("id_path"),
            "updated_at": row.get("updated_at_expr") or row.get("updated_at_path"),
            "version": row.get("version_expr"),
            "total": row["total_path"],
            "time_zone": row.get("response_time_zone"),
            "errors": row.get("error_predicates"),
            "empty": row.get("empty_predicates"),
            "record_error": row.get("record_error"),
            "deleted": row.get("deleted_predicate"),
            "merged_into": row.get("merged_into_expr"),
        }
    )


def _defaults(defaults: Row | None) -> dict[str, Any] | None:
    return {name: SETTINGS[name].document(values) for name, values in defaults.items()} if defaults else None


def _scope(row: Row) -> dict[str, Any]:
    operation = None if row["operation_code"] == ALL_OPERATIONS else row["operation_code"]
    scope = _without_none({"operation": operation, "endpoint": row["endpoint_name"]})
    dates = {
        name: format_instant(row[name]) for name in ("effective_from", "effective_to") if row.get(name) is not None
    }
    return {**({"for": scope} if scope else {}), **dates}


def _without_none(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
