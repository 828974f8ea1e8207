"""Rules that look at more than one block: codes, credentials, paths, two phases, render rules."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum

from ingest_core.model.codes import AuthType, EndpointRole, ExprOp
from ingest_core.model.spec import AuthSpec, ParamSpec, RuleSpec
from ingest_core.model.template import TemplateError, parse_template
from ingest_core.registry.columns import LISTS, SETTINGS
from ingest_core.registry.merge import Merged, twins
from ingest_core.registry.params import body_names
from ingest_core.registry.problems import Findings
from ingest_core.registry.render import node_names
from ingest_core.registry.rows import Row, Rows, scope_text

ENDPOINTS = "reg_prov_endpoint_def"
RULES = "reg_prov_expr_render_rule"

CODE_COLUMNS = {
    "pagination_type_code": "reg_pagination_type",
    "position_code": "reg_page_position",
    "window_mode_code": "reg_window_mode",
    "time_unit_code": "reg_time_unit",
    "stored_precision_code": "reg_time_unit",
    "calendar_align_to": "reg_calendar_unit",
    "on_equal_code": "reg_on_equal",
    "on_refresh_code": "reg_on_refresh",
    "endpoint_role_code": "reg_endpoint_role",
    "http_method_code": "http_method",
    "auth_type_code": "reg_auth_type",
    "auth_location_code": "reg_auth_location",
    "location_code": "reg_param_location",
    "body_format_code": "reg_body_format",
    "response_format_code": "reg_response_format",
    "field_type_code": "reg_field_type",
    "op_code": "reg_expr_op",
    "match_code": "reg_term_match",
    "reset_kind_code": "reg_reset_kind",
    "id_normalizer_code": "reg_id_normalizer",
    "backoff_policy_code": "reg_backoff_policy",
}
"""Which dictionary a column's codes are from."""


def check_dictionary(rows: Rows, dictionary: Mapping[str, type[StrEnum]], found: Findings) -> None:
    """Every code is in the dictionary; with one that is not, nothing else can be said."""
    known = _registered(rows) or {name: {item.value for item in items} for name, items in dictionary.items()}
    for table, table_rows in rows.items():
        for row in table_rows:
            for column in CODE_COLUMNS.keys() & row.keys():
                kind, code = CODE_COLUMNS[column], row[column]
                found.need(
                    code is None or code in known.get(kind, ()), "CODE_UNKNOWN", table, column, code,
                    f"{code!r} is not a {kind}", f"one of {', '.join(sorted(known.get(kind, ())))}",
                )  # fmt: skip
    found.refuse()


def _registered(rows: Rows) -> dict[str, set[str]]:
    """The dictionary as the database has it, where it was read along."""
    known: dict[str, set[str]] = {}
    for row in rows.get("sys_dict_item", []):
        known.setdefault(row["type_code"], set()).add(row["item_code"])
    return known


def check_twins(rows: Rows, endpoint: str, operation: str, now: datetime, found: Findings) -> None:
    """No two blocks contradict each other for the same scope and time."""
    for block, kind in {**SETTINGS, **LISTS}.items():
        for row in twins(rows, block, endpoint, operation, now):
            found.add("BLOCK_TWICE", kind.table, block, scope_text(row),
                f"two `{block}` blocks are in force for {scope_text(row)}", "merge them, or scope or date them apart",
            )  # fmt: skip


def check_scopes(rows: Rows, found: Findings) -> None:
    """A block for an endpoint that is not there would silently never be used."""
    known = {row["endpoint_name"] for row in rows[ENDPOINTS]}
    for block, kind in {**SETTINGS, **LISTS}.items():
        for row in rows.get(kind.table, []):
            name = row["endpoint_name"]
            found.need(
                name is None or name in known, "SCOPE_ENDPOINT_UNKNOWN", kind.table, f"{block}.for.endpoint", name,
                f"no endpoint {name!r}", f"endpoints: {', '.join(sorted(known))}",
            )  # fmt: skip


def check_ids_sent(params: list[ParamSpec], definition: Row, found: Findings) -> None:
    """A detail request carries its ids."""
    name = definition["endpoint_name"]
    sent = {param.value for param in params} | body_names(definition.get("body_template"))
    found.need(
        "ids" in sent, "IDS_UNSENT", LISTS["params"].table, "params", None, f"no parameter carries the ids to {name!r}",
        f"add {{name: ..., value: ids, for: {{endpoint: {name}}}}} to `params`",
    )  # fmt: skip


def check_endpoint_auth(definition: Row, auth: AuthSpec, found: Findings) -> None:
    """A restricted endpoint is never asked anonymously."""
    anonymous = auth.type == AuthType.NONE or auth.optional
    found.need(
        not (definition.get("restricted") and anonymous), "RESTRICTED_ANONYMOUS", "reg_prov_credential",
        "credential.auth", auth.type.value,
        f"endpoint {definition['endpoint_name']!r} is restricted and would be asked without a credential",
        "give it a `credential` that is not optional",
    )  # fmt: skip


def check_two_phase(rows: Rows, definition: Row, detail: str | None, found: Findings, *, by_id: bool) -> Row | None:
    """SEARCH and DETAIL come as a pair; the definition of the latter."""
    name = definition["endpoint_name"]
    if detail is None:
        found.need(
            not by_id, "DETAIL_UNLINKED", ENDPOINTS, f"endpoints.{name}.detail", None,
            "UPDATE refreshes records by id, and no DETAIL endpoint is named",
            "name one in `detail`, or give this endpoint role: DETAIL",
        )  # fmt: skip
        return None
    linked = next((row for row in rows[ENDPOINTS] if row["endpoint_name"] == detail), None)
    known = ", ".join(row["endpoint_name"] for row in rows[ENDPOINTS])
    found.need(
        linked, "DETAIL_UNKNOWN", ENDPOINTS, f"endpoints.{name}.detail", detail,
        f"no endpoint {detail!r}", f"endpoints: {known}",
    )  # fmt: skip
    if linked is None:
        return None
    found.need(
        linked["endpoint_role_code"] == EndpointRole.DETAIL, "DETAIL_ROLE", ENDPOINTS, f"endpoints.{detail}.role",
        linked["endpoint_role_code"], f"{detail!r} is linked as detail and has another role", "set role: DETAIL",
    )  # fmt: skip
    return linked


def check_rules(rows: list[Row], fields: Iterable[str], window: Merged | None, found: Findings) -> list[RuleSpec]:
    """The render rules: known fields, templates that name what the node has, and one for the window's range."""
    known = set(fields)
    specs = []
    for row in rows:
        found.need(
            not (row.get("param_name") and row.get("rule_params")), "RULE_TARGET", RULES,
            f"render_rules.{row['field_code'] or '-'}.{row['op_code']}", row.get("param_name"),
            "a rule has either `param` with `template`, or `params`", "keep one of them",
        )  # fmt: skip
        spec = _rule(row)
        _check_rule(spec, known, found)
        specs.append(spec)
    if window is not None and window["offset_field_name"] and window["supports_updated_since"]:
        field = window["offset_field_name"]
        found.need(
            field in known, "WINDOW_FIELD_UNKNOWN", "reg_expr_field_dict", "window.field", field,
            f"window.field {field!r} is not in `fields`", f"add {{name: {field}, type: DATETIME}} to `fields`",
        )  # fmt: skip
        ranges = [spec for spec in specs if spec.op == ExprOp.RANGE and spec.field == field]
        found.need(
            ranges, "WINDOW_RULE_MISSING", RULES, "render_rules", field,
            f"no render rule writes RANGE over window.field {field!r}", "add one, so that the window can be asked for",
        )  # fmt: skip
    return sorted(specs, key=lambda spec: (spec.op, spec.field or "", spec.match or ""))


def _rule(row: Row) -> RuleSpec:
    params = row.get("rule_params") or ({row["param_name"]: row["template"]} if row.get("param_name") else {})
    return RuleSpec(
        op=row["op_code"],
        field=row["field_code"],
        match=row.get("match_code"),
        template=None if row.get("param_name") else row["template"],
        params={name: text or "" for name, text in params.items()},
        separator="," if row.get("value_separator") is None else row["value_separator"],
        joiner="," if row.get("rule_joiner") is None else row["rule_joiner"],
        open_start=row.get("open_start"),
        open_end=row.get("open_end"),
    )


def _check_rule(spec: RuleSpec, fields: set[str], found: Findings) -> None:
    key = f"render_rules.{spec.field or '-'}.{spec.op}"
    needs_field = spec.op in (ExprOp.TERM, ExprOp.IN, ExprOp.RANGE, ExprOp.EXISTS)
    found.need(
        spec.field in fields if needs_field else spec.field is None, "RULE_FIELD", RULES, f"{key}.field", spec.field,
        f"{spec.op} {'needs a field of `fields`' if needs_field else 'has no field'}, not {spec.field!r}",
        f"fields: {', '.join(sorted(fields)) or 'none'}",
    )  # fmt: skip
    found.need(
        (spec.template is None) != (not spec.params), "RULE_TARGET", RULES, key, spec.template,
        "a rule writes either text (`template`) or parameters (`params`, or `param` with `template`)",
        "keep one of them",
    )  # fmt: skip
    for text in (*([spec.template] if spec.template is not None else []), *spec.params.values()):
        _check_rule_template(spec.op, text, key, found, constant=len(spec.params) > 1)


def _check_rule_template(op: ExprOp, text: str, key: str, found: Findings, *, constant: bool) -> None:
    """The template names what the node has; of several parameters some may be constant."""
    try:
        names = parse_template(text).names
    except TemplateError as error:
        found.add("TEMPLATE_INVALID", RULES, key, text, str(error), "names stand alone, as {from} or {value|phrase}")
        return
    allowed = node_names(op)
    found.need(
        names <= allowed, "TEMPLATE_NAME_UNKNOWN", RULES, key, text,
        f"unknown names {', '.join(sorted(names - allowed))}", f"known here: {', '.join(sorted(allowed)) or 'none'}",
    )  # fmt: skip
    found.need(
        constant or allowed <= names, "TEMPLATE_NAME_MISSING", RULES, key, text,
        f"lacks {', '.join(sorted(allowed - names))}", "a rule that leaves it out would ask for something else",
    )  # fmt: skip
