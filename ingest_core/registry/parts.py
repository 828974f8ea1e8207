"""The parts of a snapshot, each from its merged block, each with the rules it must keep."""

import re
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from ingest_core.model.codes import (
    AuthLocation,
    AuthType,
    BodyFormat,
    HttpMethod,
    PagePosition,
    PaginationType,
    TimeUnit,
    WindowMode,
)
from ingest_core.model.instant import EPOCH, UNIT_LENGTH, format_instant
from ingest_core.model.spec import (
    AuthSpec,
    HttpSpec,
    PaginationSpec,
    PredicateSpec,
    RateSpec,
    ResponseSpec,
    RetrySpec,
    WindowSpec,
)
from ingest_core.registry.merge import Merged
from ingest_core.registry.params import refuse_secret, template_names
from ingest_core.registry.problems import Findings
from ingest_core.registry.rows import Row

PAGE_SIZE_SHARE = 0.7
"""A page asks for this share of the provider's cap unless the file says otherwise."""

_REQUEST_NAMES = frozenset({"contact"})
_USER_INFO = re.compile(r"//[^/@]*@")


class _Rules:
    """The rules of one block: says table and key once."""

    def __init__(self, block: str, table: str, found: Findings) -> None:
        self._block = block
        self._table = table
        self._found = found

    def need(self, fine: object, rule: str, key: str, value: Any, message: str, remedy: str) -> bool:
        return self._found.need(fine, rule, self._table, f"{self._block}.{key}", value, message, remedy)

    def add(self, rule: str, key: str, value: Any, message: str, remedy: str) -> None:
        self._found.add(rule, self._table, f"{self._block}.{key}", value, message, remedy)


def http_part(block: Merged, definition: Row, found: Findings) -> HttpSpec | None:
    """Where and how requests are sent."""
    rules = _Rules("http", "reg_prov_http_cfg", found)
    url = block["base_url"]
    if not rules.need(url, "BASE_URL_MISSING", "base_url", None, "no base URL", "add http.base_url"):
        return None
    plain = url.startswith("http://") and block["allow_plain_http"]
    rules.need(
        url.startswith("https://") or plain, "BASE_URL_NOT_HTTPS", "base_url", _masked(url),
        f"{_masked(url)!r} is not https",
        "use https, or set http.allow_plain_http: true if that is meant",
    )  # fmt: skip
    rules.need(
        "@" not in url and "?" not in url, "BASE_URL_UNSAFE", "base_url", _masked(url),
        "a base URL holds neither credentials nor a query", "use the `credential` block and http.query",
    )  # fmt: skip
    _check_templates(block, rules, found)
    proxy = block["proxy_url"]
    rules.need(
        not proxy or "@" not in proxy, "PROXY_UNSAFE", "proxy", "***", "a proxy's URL must not hold credentials",
        "set them in the environment (HTTPS_PROXY)",
    )  # fmt: skip
    found.warn(block["verify_tls"] is False, "http.verify_tls is false: the provider's certificate is not checked")
    found.warn(plain, f"http.base_url {url!r} is plain http: whoever is on the way can read and change it")
    body_format = _body_format(definition, found)
    return HttpSpec(
        method=definition["http_method_code"],
        base_url=url,
        path=definition["path_template"],
        headers=block["headers"],
        query=block["query_params"],
        connect_timeout_seconds=block["connect_timeout_ms"] / 1000,
        read_timeout_seconds=block["read_timeout_ms"] / 1000,
        allow_plain_http=block["allow_plain_http"],
        body_format=body_format,
        body=definition.get("body_template"),
        user_agent=block["user_agent"],
        max_redirects=block["max_redirects"],
        proxy=proxy,
        verify_tls=block["verify_tls"],
        ca_bundle=block["ca_bundle"],
    )


def _masked(url: str | None) -> str | None:
    """A URL without the user and password that may stand in it, and without its query."""
    return _USER_INFO.sub("//***@", url).partition("?")[0] if url else url


def _check_templates(block: Merged, rules: _Rules, found: Findings) -> None:
    for key, column in (("headers", "headers"), ("query", "query_params")):
        for name, template in block[column].items():
            secret = refuse_secret(name, "reg_prov_http_cfg", f"http.{key}.{name}", found)
            _only_known(template, f"{key}.{name}", rules, found, hidden=secret)
    if block["user_agent"]:
        _only_known(block["user_agent"], "user_agent", rules, found)


def _only_known(template: str, key: str, rules: _Rules, found: Findings, *, hidden: bool = False) -> None:
    for name in template_names(template, "reg_prov_http_cfg", f"http.{key}", found, hidden=hidden) - _REQUEST_NAMES:
        rules.add("TEMPLATE_NAME_UNKNOWN", key, "***" if hidden else template, f"unknown name {{{name}}}",
            f"known here: {', '.join(_REQUEST_NAMES)}",
        )  # fmt: skip


def _body_format(definition: Row, found: Findings) -> BodyFormat | None:
    code = definition.get("body_format_code")
    found.need(
        not code or definition["http_method_code"] == HttpMethod.POST, "GET_WITH_BODY", "reg_prov_endpoint_def",
        f"endpoints.{definition['endpoint_name']}.body", code, "a GET request has no body", "set method: POST",
    )  # fmt: skip
    if code:
        return BodyFormat(code)
    return BodyFormat.FORM if definition["http_method_code"] == HttpMethod.POST else None


def auth_part(block: Merged, definition: Row, hooks: frozenset[str] | None, found: Findings) -> AuthSpec:
    """How requests are authorised; every kind needs what it needs."""
    rules = _Rules("credential", "reg_prov_credential", found)
    kind = AuthType(block["auth_type_code"])
    location = AuthLocation(block["auth_location_code"] or AuthLocation.HEADER.value)
    _need_references(kind, block, rules)
    rules.need(
        kind != AuthType.API_KEY or block["auth_name"], "API_KEY_UNNAMED", "name", None,
        "an API_KEY needs the header or parameter it goes in", "add credential.name, such as x-api-key",
    )  # fmt: skip
    in_body_of_get = location == AuthLocation.BODY and definition.get("http_method_code") == HttpMethod.GET
    rules.need(
        not in_body_of_get, "GET_WITH_BODY", "location", location.value,
        "a GET request has no body to carry a credential", "use HEADER or QUERY",
    )  # fmt: skip
    hook = block["signing_hook"]
    rules.need(
        kind != AuthType.CUSTOM or hook, "SIGNING_HOOK_MISSING", "signing_hook", None, "CUSTOM needs a signing hook",
        "name an entry point of group patra.signing_hooks",
    )  # fmt: skip
    rules.need(
        not hook or hooks is None or hook in hooks, "SIGNING_HOOK_UNKNOWN", "signing_hook", hook,
        f"no signing hook {hook!r} is installed", f"installed: {', '.join(sorted(hooks or ())) or 'none'}",
    )  # fmt: skip
    token_url = block["token_url"]
    rules.need(
        kind != AuthType.OAUTH2 or (token_url or "").startswith("https://"), "TOKEN_URL_MISSING", "token_url",
        _masked(token_url), "OAUTH2 needs an https token_url to get and refresh tokens at", "add credential.token_url",
    )  # fmt: skip
    return AuthSpec(
        type=kind,
        credential_ref=block["credential_ref"],
        username_ref=block["username_ref"],
        location=location,
        name=block["auth_name"],
        optional=bool(block["is_optional"]),
        token_url=token_url,
        scope=block["oauth_scope"],
        signing_hook=hook,
    )


def _need_references(kind: AuthType, block: Merged, rules: _Rules) -> None:
    needs_secret = kind not in (AuthType.NONE, AuthType.CUSTOM)
    rules.need(
        not needs_secret or block["credential_ref"], "CREDENTIAL_MISSING", "ref", None, f"{kind} needs a credential",
        "add credential.ref: env:NAME or prefect:BLOCK",
    )  # fmt: skip
    needs_user = kind in (AuthType.BASIC, AuthType.OAUTH2)
    rules.need(
        not needs_user or block["username_ref"], "USERNAME_MISSING", "username_ref", None,
        f"{kind} needs a user or client id", "add credential.username_ref: env:NAME",
    )  # fmt: skip


def pagination_part(block: Merged, window: Merged, found: Findings) -> PaginationSpec | None:
    """How one page leads to the next."""
    rules = _Rules("pagination", "reg_prov_pagination_cfg", found)
    code = block["pagination_type_code"]
    if not rules.need(code, "PAGINATION_MISSING", "type", None, "no pagination", "add a `pagination` block"):
        return None
    kind = PaginationType(code)
    _check_page_type(kind, block, window, rules)
    cap = block["max_page_size"]
    rules.need(cap, "PAGE_CAP_MISSING", "max_page_size", None, "the provider's cap is not said", "add max_page_size")
    size = block["page_size"] or max(1, int((cap or 1) * PAGE_SIZE_SHARE))
    rules.need(
        not cap or size <= cap, "PAGE_SIZE_ABOVE_CAP", "page_size", size,
        f"page_size {size} is above max_page_size {cap}", f"ask for at most {cap}",
    )  # fmt: skip
    base = block["page_base"]
    return PaginationSpec(
        type=kind,
        position=block["position_code"],
        page_size=size,
        max_page=block["max_page"],
        initial_token=block["initial_token"],
        next_token_path=block["next_token_path"],
        has_more_path=block["has_more_path"],
        token_ttl_seconds=block["token_ttl_seconds"],
        next_url_path=block["next_url_path"],
        step_path=block["step_path"],
        page_base=base or 0,
        max_records=block["max_records"],
    )


def _check_page_type(kind: PaginationType, block: Merged, window: Merged, rules: _Rules) -> None:
    rules.need(
        kind != PaginationType.TOKEN or block["next_token_path"], "NEXT_TOKEN_MISSING", "next_token", None,
        "pagination TOKEN needs next_token", "add the path of the next page's token",
    )  # fmt: skip
    rules.need(
        kind != PaginationType.URL or block["next_url_path"], "NEXT_URL_MISSING", "next_url", None,
        "pagination URL needs next_url", "add the path of the next page's URL",
    )  # fmt: skip
    rules.need(
        kind != PaginationType.PAGE or block["page_base"] is not None, "PAGE_BASE_MISSING", "page_base", None,
        "pagination PAGE needs the number of its first page", "add page_base: 0 or 1",
    )  # fmt: skip
    driven = [name for name in ("next_token", "next_url") if block[f"{name}_path"]]
    counted = kind in (PaginationType.PAGE, PaginationType.OFFSET)
    rules.need(
        not (counted and driven) and len(driven) <= 1, "PAGINATION_MIXED", "type", kind.value,
        f"{kind} does not go with {' and '.join(driven)}", "keep one way of paging",
    )  # fmt: skip
    rules.need(
        kind != PaginationType.OFFSET or block["position_code"] == PagePosition.CLIENT.value, "OFFSET_POSITION",
        "position", block["position_code"], "an offset is ours, not the provider's", "set position: CLIENT",
    )  # fmt: skip
    timed = window["supports_updated_since"] or window["stable_order"]
    rules.need(
        kind != PaginationType.TIME or timed, "TIME_PAGING_UNORDERED", "type", kind.value,
        "pagination TIME needs a time filter or a steady order", "set window.supports_updated_since or stable_order",
    )  # fmt: skip


def window_part(block: Merged, found: Findings) -> WindowSpec | None:
    """The time field harvests move along."""
    rules = _Rules("window", "reg_prov_window_offset_cfg", found)
    missing = [
        key
        for key, column in (
            ("field", "offset_field_name"),
            ("watermark_key", "watermark_key"),
            ("step", "step_seconds"),
            ("unit", "time_unit_code"),
            ("format", "time_format"),
            ("upper_inclusive", "upper_inclusive"),
        )
        if block[column] is None
    ]
    for key in missing:
        rules.add("WINDOW_INCOMPLETE", key, None, f"the window has no {key}", f"add window.{key}")
    if missing:
        return None
    spec = _window_spec(block)
    _check_window(spec, rules)
    _check_bounds(spec, rules)
    rules.need(
        spec.supports_updated_since or block["stable_order"], "WINDOW_UNORDERED", "stable_order", "false",
        "without a time filter, records must come in a steady order of time to be filtered here",
        "set window.stable_order: true if the provider promises it, or serve only UPDATE",
    )  # fmt: skip
    return spec


def _window_spec(block: Merged) -> WindowSpec:
    lookback, baseline = block["lookback_seconds"], block["baseline_at"]
    recheck = block["recheck_seconds"]
    return WindowSpec(
        mode=block["window_mode_code"],
        field=block["offset_field_name"],
        watermark_key=block["watermark_key"],
        lag_seconds=block["watermark_lag_seconds"],
        lookback_seconds=lookback,
        recheck_seconds=lookback // 4 if recheck is None else recheck,
        window_size_seconds=block["window_size_seconds"],
        step_seconds=block["step_seconds"],
        overlap_seconds=block["overlap_seconds"],
        baseline=format_instant(baseline) if isinstance(baseline, datetime) else baseline,
        align_to=block["calendar_align_to"],
        unit=block["time_unit_code"],
        format=block["time_format"],
        upper_inclusive=block["upper_inclusive"],
        stored_precision=block["stored_precision_code"],
        time_zone=block["time_zone"],
        supports_updated_since=block["supports_updated_since"],
        min_window_seconds=block["min_window_seconds"],
        max_window_seconds=block["max_window_seconds"],
    )


def _check_window(spec: WindowSpec, rules: _Rules) -> None:
    unit, step = UNIT_LENGTH[spec.unit], timedelta(seconds=spec.step_seconds)
    rules.need(
        step >= unit and step % unit == timedelta(0), "STEP_NOT_WHOLE", "step", str(step),
        f"step {step} is not a multiple of {spec.unit}", f"use whole {spec.unit.lower()}s",
    )  # fmt: skip
    rules.need(
        EPOCH.strftime(spec.format) != (EPOCH + unit).strftime(spec.format), "FORMAT_TOO_COARSE", "format",
        spec.format, f"format {spec.format!r} does not tell one {spec.unit} from the next",
        "write it as strftime does, to the unit",
    )  # fmt: skip
    rules.need(
        spec.window_size_seconds > 0, "WINDOW_SIZE_ZERO", "window_size", 0, "window_size must be above 0",
        "say how far back a first harvest reads, such as P1D",
    )  # fmt: skip
    rules.need(
        spec.mode != WindowMode.CALENDAR or spec.align_to is not None, "ALIGNMENT_MISSING", "align_to", None,
        "mode CALENDAR needs align_to", "add window.align_to, such as DAY",
    )  # fmt: skip
    coarse = spec.align_to and UNIT_LENGTH[TimeUnit(spec.align_to)] > timedelta(seconds=spec.window_size_seconds)
    rules.need(
        not coarse, "ALIGNMENT_TOO_COARSE", "align_to", spec.align_to,
        f"windows of {timedelta(seconds=spec.window_size_seconds)} cannot be aligned to {spec.align_to}",
        "align to a smaller unit, or make window_size larger",
    )  # fmt: skip
    rules.need(
        _zone_exists(spec.time_zone), "TIME_ZONE_UNKNOWN", "time_zone", spec.time_zone,
        f"no time zone {spec.time_zone!r}", "use a name such as UTC or America/New_York",
    )  # fmt: skip


def _check_bounds(spec: WindowSpec, rules: _Rules) -> None:
    least, most = spec.min_window_seconds, spec.max_window_seconds
    rules.need(
        least is None or most is None or least <= most, "WINDOW_BOUNDS_CROSSED", "min_window", least,
        f"min_window {least} s is above max_window {most} s", "let min_window be the smaller",
    )  # fmt: skip
    rules.need(
        most is None or spec.step_seconds <= most, "STEP_ABOVE_MAX", "step", spec.step_seconds,
        f"step {spec.step_seconds} s is above max_window {most} s", "use a smaller step",
    )  # fmt: skip
    unit_seconds = UNIT_LENGTH[spec.unit].total_seconds()
    rules.need(
        least is None or least >= unit_seconds, "MIN_WINDOW_TOO_SMALL", "min_window", least,
        f"min_window is smaller than the filter's {spec.unit}", f"use at least one {spec.unit.lower()}",
    )  # fmt: skip


def _zone_exists(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (OSError, ValueError):  # ZoneInfoNotFoundError is a KeyError
        return False
    except KeyError:
        return False
    return True


def retry_part(block: Merged, found: Findings) -> RetrySpec:
    """When and how often a request is sent again."""
    rules = _Rules("retry", "reg_prov_retry_cfg", found)
    rules.need(
        block["initial_delay_ms"] <= block["max_delay_ms"], "RETRY_DELAYS_CROSSED", "initial",
        block["initial_delay_ms"], f"initial {block['initial_delay_ms']} ms is above max {block['max_delay_ms']} ms",
        "let initial be the smaller",
    )  # fmt: skip
    fatal = sorted({401, 403} & set(block["retry_statuses"]))
    rules.need(
        not fatal, "RETRY_OF_REFUSAL", "statuses", fatal, f"{fatal} say that we may not; asking again is no way",
        "leave them out",
    )  # fmt: skip
    return RetrySpec(
        policy=block["backoff_policy_code"],
        max_attempts=block["max_attempts"],
        initial_seconds=block["initial_delay_ms"] / 1000,
        max_seconds=block["max_delay_ms"] / 1000,
        multiplier=block["multiplier"],
        jitter=block["jitter"],
        retry_statuses=block["retry_statuses"],
    )


def rate_part(block: Merged, found: Findings | None = None) -> RateSpec:
    """How fast the provider may be asked; never faster than it allows."""
    if found is not None:
        rules = _Rules("rate_limit", "reg_prov_rate_limit_cfg", found)
        cap = block["provider_cap_per_sec"]
        for key, column in (
            ("requests_per_second", "refill_rate_per_sec"),
            ("with_credential", "with_credential_per_sec"),
        ):
            rate = block[column]
            rules.need(
                cap is None or rate is None or rate <= cap, "RATE_ABOVE_CAP", key, rate,
                f"{rate} requests a second are above the provider's {cap}", f"use at most {cap}",
            )  # fmt: skip
        rules.need(
            not block["reset_header"] or block["reset_kind_code"], "RESET_KIND_MISSING", "reset_kind", None,
            "reset_header needs to say what it counts", "add reset_kind: SECONDS_LEFT or EPOCH_SECONDS",
        )  # fmt: skip
    return RateSpec(
        requests_per_second=block["refill_rate_per_sec"],
        burst=block["burst_capacity"],
        with_credential_per_second=block["with_credential_per_sec"],
        daily_quota=block["daily_quota"],
        limit_header=block["limit_header"],
        remaining_header=block["remaining_header"],
        reset_header=block["reset_header"],
        reset_kind=block["reset_kind_code"],
    )


def batch_size(block: Merged, found: Findings) -> int:
    """How many ids go into one request."""
    size, cap = block["id_batch_size"], block["max_ids"]
    _Rules("batching", "reg_prov_batching_cfg", found).need(
        cap is None or size <= cap, "ID_BATCH_ABOVE_CAP", "id_batch_size", size,
        f"id_batch_size {size} is above max_ids {cap}", f"ask for at most {cap}",
    )  # fmt: skip
    return int(size)


def response_part(definition: Row) -> ResponseSpec:
    """Where things are in a page."""
    return ResponseSpec(
        items_path=definition["items_path"],
        id_path=definition.get("id_expr") or definition.get("id_path") or "",
        updated_at_path=definition.get("updated_at_expr") or definition.get("updated_at_path"),
        total_path=definition["total_path"],
        format=definition.get("response_format_code") or "JSON",
        namespaces=definition.get("xml_namespaces") or {},
        time_zone=definition.get("response_time_zone") or "UTC",
        errors=[PredicateSpec(**one) for one in definition.get("error_predicates") or []],
        empty=[PredicateSpec(**one) for one in definition.get("empty_predicates") or []],
        record_error=PredicateSpec(**definition["record_error"]) if definition.get("record_error") else None,
    )
