"""Compiling the Registry's rows into the snapshot a plan runs on."""

from collections.abc import Callable
from datetime import datetime, timedelta
from string import Formatter
from typing import Any, TypeVar

from ingest_core.model.codes import (
    AuthType,
    ExprOp,
    Operation,
    PaginationType,
    ParamLocation,
    WindowMode,
)
from ingest_core.model.errors import BadInput
from ingest_core.model.expression import EVERYTHING
from ingest_core.model.instant import EPOCH, UNIT_LENGTH, format_instant
from ingest_core.model.spec import (
    AuthSpec,
    HttpSpec,
    PaginationSpec,
    ParamSpec,
    RateSpec,
    RenderSpec,
    ResponseSpec,
    RetrySpec,
    SpecSnapshot,
    WindowSpec,
)
from ingest_core.registry.paths import path_parses
from ingest_core.registry.rows import Row, Rows, most_specific
from ingest_core.registry.source_file import RateLimit, Retry

KNOWN_VALUES = frozenset({"page_size", "page_token"})
"""What a request parameter may be given."""

_LOCATIONS = frozenset({ParamLocation.QUERY.value, ParamLocation.HEADER.value})
_SECRET_NAMES = frozenset({"authorization", "api_key", "apikey", "x_api_key", "token", "access_token", "cookie"})
_TEMPLATE_NAMES = frozenset({"from", "to"})
_T = TypeVar("_T")


class _Problems:
    """Collects what is wrong, so that all of it is said at once."""

    def __init__(self, source: str, endpoint: str) -> None:
        self.where = f"source {source!r}, endpoint {endpoint!r}"
        self.found: list[str] = []

    def need(self, fine: object, message: str) -> None:
        if not fine:
            self.found.append(message)

    def refuse(self) -> None:
        if self.found:
            raise BadInput(
                "SPEC_INVALID", "; ".join(self.found), where=self.where, remedy="correct the source and apply it again"
            )


def endpoint_for(rows: Rows, source: str, endpoint: str | None, operation: Operation) -> str:
    """The endpoint asked for, or the only one that serves the operation."""
    names = [row["endpoint_name"] for row in rows["reg_prov_endpoint_def"] if operation.value in row["operations"]]
    if endpoint is None and len(names) == 1:
        return str(names[0])
    if endpoint in names:
        return str(endpoint)
    known = ", ".join(sorted(names)) or "none"
    asked = "no endpoint named" if endpoint is None else f"no endpoint {endpoint!r}"
    raise BadInput(
        "ENDPOINT_UNKNOWN",
        f"{asked} for {operation}",
        where=f"source {source!r}",
        remedy=f"endpoints that serve {operation}: {known}",
    )


def compile_spec(rows: Rows, source: str, endpoint: str, operation: Operation, now: datetime) -> SpecSnapshot:
    """The frozen meaning of this source, endpoint and operation as of `now`; all problems at once."""
    problems = _Problems(source, endpoint)

    def block(table: str) -> Row | None:
        return most_specific(rows.get(table, []), endpoint, operation.value, now)

    provenance = rows["reg_provenance"][0]
    definition = next(row for row in rows["reg_prov_endpoint_def"] if row["endpoint_name"] == endpoint)
    http = _part(problems, "http", block("reg_prov_http_cfg"), lambda row: _http(row, definition, problems))
    pagination = _part(problems, "pagination", block("reg_prov_pagination_cfg"), lambda row: _pagination(row, problems))
    window = _part(problems, "window", block("reg_prov_window_offset_cfg"), lambda row: _window(row, problems))
    _check_paths(definition, provenance["output_mapping"], block("reg_prov_pagination_cfg"), problems)
    auth = _auth(block("reg_prov_credential"), problems)
    params = _params(_in_force(rows, "reg_prov_api_param_map", "param_name", endpoint, operation, now), problems)
    rules = _in_force(rows, "reg_prov_expr_render_rule", "field_code", endpoint, operation, now)
    render = _render(rows, rules, window, problems) if window else None
    problems.refuse()
    assert http is not None
    assert pagination is not None
    assert window is not None
    assert render is not None
    return SpecSnapshot(
        provenance_code=source,
        endpoint_name=endpoint,
        operation_code=operation,
        http=http,
        auth=auth,
        pagination=pagination,
        window=window,
        retry=_retry(block("reg_prov_retry_cfg")),
        rate=rate_of(block("reg_prov_rate_limit_cfg")),
        params=params,
        render=render,
        response=ResponseSpec(
            items_path=definition["items_path"],
            id_path=definition["id_path"],
            updated_at_path=definition["updated_at_path"],
            total_path=definition["total_path"],
        ),
        mapping=provenance["output_mapping"],
        id_normalizer=provenance["id_normalizer_code"],
        on_equal=provenance["on_equal_code"],
        expression=EVERYTHING.json(),
    )


def _part(problems: _Problems, name: str, row: Row | None, build: Callable[[Row], _T]) -> _T | None:
    problems.need(row is not None, f"no `{name}` block is in force")
    return build(row) if row is not None else None


def _http(row: Row, definition: Row, problems: _Problems) -> HttpSpec:
    url = row["base_url"]
    problems.need("@" not in url, "http.base_url must not hold credentials")
    for name in (*row["headers"], *row["query_params"]):
        problems.need(
            name.lower().replace("-", "_") not in _SECRET_NAMES,
            f"http: {name!r} carries a credential; name it by reference in the `credential` block",
        )
    problems.need(
        url.startswith("https://") or (url.startswith("http://") and row["allow_plain_http"]),
        f"http.base_url {url!r} is not https (set allow_plain_http: true if that is meant)",
    )
    return HttpSpec(
        method=definition["http_method_code"],
        base_url=url,
        path=definition["path_template"],
        headers=row["headers"],
        query=row["query_params"],
        connect_timeout_seconds=row["connect_timeout_ms"] / 1000,
        read_timeout_seconds=row["read_timeout_ms"] / 1000,
        allow_plain_http=row["allow_plain_http"],
    )


def _auth(row: Row | None, problems: _Problems) -> AuthSpec:
    kind = AuthType(row["auth_type_code"]) if row else AuthType.NONE
    problems.need(kind == AuthType.NONE, f"credential.auth {kind} is not available yet; only NONE is")
    return AuthSpec(type=kind, credential_ref=row["credential_ref"] if row else None)


def _pagination(row: Row, problems: _Problems) -> PaginationSpec:
    kind = PaginationType(row["pagination_type_code"])
    problems.need(kind == PaginationType.TOKEN, f"pagination.type {kind} is not available yet; only TOKEN is")
    problems.need(row["next_token_path"], "pagination TOKEN needs next_token")
    problems.need(row["initial_token"] is not None, "pagination TOKEN needs initial_token")
    problems.need(
        row["page_size"] <= row["max_page_size"],
        f"pagination.page_size {row['page_size']} is above max_page_size {row['max_page_size']}",
    )
    return PaginationSpec(
        type=kind,
        position=row["position_code"],
        page_size=row["page_size"],
        max_page=row["max_page"],
        initial_token=row["initial_token"],
        next_token_path=row["next_token_path"],
        has_more_path=row["has_more_path"],
        token_ttl_seconds=row["token_ttl_seconds"],
    )


def _window(row: Row, problems: _Problems) -> WindowSpec:
    spec = WindowSpec(
        mode=row["window_mode_code"],
        field=row["offset_field_name"],
        watermark_key=row["watermark_key"],
        lag_seconds=row["watermark_lag_seconds"],
        lookback_seconds=row["lookback_seconds"],
        recheck_seconds=row["recheck_seconds"],
        window_size_seconds=row["window_size_seconds"],
        step_seconds=row["step_seconds"],
        overlap_seconds=row["overlap_seconds"],
        baseline=format_instant(row["baseline_at"]) if row["baseline_at"] else None,
        align_to=row["calendar_align_to"],
        unit=row["time_unit_code"],
        format=row["time_format"],
        upper_inclusive=row["upper_inclusive"],
        stored_precision=row["stored_precision_code"],
    )
    unit = UNIT_LENGTH[spec.unit]
    step = timedelta(seconds=spec.step_seconds)
    problems.need(step >= unit and step % unit == timedelta(0), f"window.step {step} is not a multiple of {spec.unit}")
    problems.need(
        EPOCH.strftime(spec.format) != (EPOCH + unit).strftime(spec.format),
        f"window.format {spec.format!r} does not tell one {spec.unit} from the next",
    )
    problems.need(spec.window_size_seconds > 0, "window.window_size must be above 0")
    problems.need(
        spec.mode != WindowMode.CALENDAR or spec.align_to is not None, "window.mode CALENDAR needs window.align_to"
    )
    return spec


def _retry(row: Row | None) -> RetrySpec:
    defaults = Retry()
    row = row or {
        "backoff_policy_code": defaults.policy,
        "max_attempts": defaults.max_attempts,
        "initial_delay_ms": defaults.initial // timedelta(milliseconds=1),
        "max_delay_ms": defaults.max // timedelta(milliseconds=1),
        "multiplier": defaults.multiplier,
        "jitter": defaults.jitter,
        "retry_statuses": defaults.statuses,
    }
    return RetrySpec(
        policy=row["backoff_policy_code"],
        max_attempts=row["max_attempts"],
        initial_seconds=row["initial_delay_ms"] / 1000,
        max_seconds=row["max_delay_ms"] / 1000,
        multiplier=row["multiplier"],
        jitter=row["jitter"],
        retry_statuses=row["retry_statuses"],
    )


def rate_of(row: Row | None) -> RateSpec:
    """The rate a row allows; without one, a request a second."""
    defaults = RateLimit()
    if row is None:
        return RateSpec(requests_per_second=defaults.requests_per_second, burst=defaults.burst)
    return RateSpec(requests_per_second=row["refill_rate_per_sec"], burst=row["burst_capacity"])


def _params(rows: list[Row], problems: _Problems) -> list[ParamSpec]:
    params = []
    for row in rows:
        known = row["std_key"] in KNOWN_VALUES
        problems.need(
            known, f"params.{row['param_name']}: unknown value {row['std_key']!r}; known: {_names(KNOWN_VALUES)}"
        )
        problems.need(
            row["location_code"] in _LOCATIONS,
            f"params.{row['param_name']}: location {row['location_code']} is not available yet; "
            f"available: {_names(_LOCATIONS)}",
        )
        params.append(ParamSpec(name=row["param_name"], location=row["location_code"], value=row["std_key"]))
    values = {param.value for param in params}
    problems.need(values >= KNOWN_VALUES, f"params must place {_names(KNOWN_VALUES - values)}")
    return sorted(params, key=lambda param: param.name)


def _render(rows: Rows, rules: list[Row], window: WindowSpec, problems: _Problems) -> RenderSpec | None:
    rules = [row for row in rules if row["field_code"] == window.field and row["op_code"] == ExprOp.RANGE]
    problems.need(rules, f"no render rule writes RANGE over window.field {window.field!r}")
    known = {row["field_code"] for row in rows.get("reg_expr_field_dict", [])}
    problems.need(window.field in known, f"window.field {window.field!r} is not in `fields`")
    if not rules:
        return None
    problem = _template_problem(rules[0]["template"])
    problems.need(problem is None, f"render rule for {window.field!r}: template {rules[0]['template']!r} {problem}")
    return RenderSpec(field=window.field, param=rules[0]["param_name"], template=rules[0]["template"])


def _template_problem(template: str) -> str | None:
    """What is wrong with a template: it holds the names it must, plainly, and nothing else."""
    try:
        parts = list(Formatter().parse(template))
    except ValueError as error:
        return f"does not parse: {error}"
    if any(spec or conversion for _, _, spec, conversion in parts):
        return "has a format or conversion; names stand alone, as {from}"
    names = {name for _, name, _, _ in parts if name is not None}
    if names - _TEMPLATE_NAMES:
        return f"has unknown names {_names(names - _TEMPLATE_NAMES)}; known: {_names(_TEMPLATE_NAMES)}"
    return f"lacks {_names(_TEMPLATE_NAMES - names)}" if names != _TEMPLATE_NAMES else None


def _check_paths(definition: Row, mapping: dict[str, str], pagination: Row | None, problems: _Problems) -> None:
    paths = {
        f"response.{key.removesuffix('_path')}": value for key, value in definition.items() if key.endswith("_path")
    }
    paths |= {f"mapping.{key}": value for key, value in mapping.items()}
    paths |= {f"pagination.{key}": (pagination or {}).get(f"{key}_path") for key in ("next_token", "has_more")}
    for name, path in paths.items():
        problems.need(path is None or path_parses(path), f"{name}: {path!r} is not a path such as $.items[*].id")


def _in_force(rows: Rows, table: str, name: str, endpoint: str, operation: Operation, now: datetime) -> list[Row]:
    """Of each name the row that is in force and most specific."""
    found = rows.get(table, [])
    names = dict.fromkeys((row[name], row.get("op_code")) for row in found)
    chosen = (
        most_specific([row for row in found if (row[name], row.get("op_code")) == key], endpoint, operation.value, now)
        for key in names
    )
    return [row for row in chosen if row]


def _names(values: Any) -> str:
    return ", ".join(sorted(values))
