"""Writing the requests for a page and for its records' details."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from ingest_core.execution.paging import paginator_of
from ingest_core.execution.ports import Request
from ingest_core.model.codes import BodyFormat, ParamLocation, TimeUnit
from ingest_core.model.errors import BadInput
from ingest_core.model.expression import EVERYTHING, Range, both, from_json, part_range
from ingest_core.model.header import is_header_text
from ingest_core.model.id_range import IdRange
from ingest_core.model.instant import MILLISECOND, UNIT_LENGTH, ceil_to, floor_to
from ingest_core.model.spec import HttpSpec, ParamSpec, SpecSnapshot, WindowSpec
from ingest_core.model.template import FUNCTIONS, parse_template, percent_encode
from ingest_core.model.window import Window
from ingest_core.registry.params import RULE, body_names
from ingest_core.registry.render import Rendered, Renderer, TimeText
from ingest_core.registry.unset import render_unset


@dataclass(frozen=True)
class Caller:
    """Caller as sent to the provider: the id of this request, and the operator's contact."""

    correlation_id: str
    contact: str | None = None


def bounds_to_ask(window: Window, config: WindowSpec) -> tuple[datetime, datetime]:
    """The bounds in the request: a record too many is absorbed, one too few would be lost."""
    start = window.start - timedelta(seconds=config.overlap_seconds)
    unit = UNIT_LENGTH[config.unit]
    if config.time_zone != "UTC":  # writing it cuts it down to the provider's own unit
        last = window.end - MILLISECOND
        exact = config.upper_inclusive and _exact(config, unit)
        end = last if exact else last + unit
        twice = unit < UNIT_LENGTH[TimeUnit.DAY]  # a date does not come by twice
        return _both_times(start, end, ZoneInfo(config.time_zone)) if twice else (start, end)
    if not config.upper_inclusive:
        return start, ceil_to(window.end, unit)
    return start, floor_to(window.end - MILLISECOND, unit) if _exact(config, unit) else window.end


def _both_times(start: datetime, end: datetime, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """The bounds; where clocks were put back in between, with all that they showed twice."""
    early, late = start.astimezone(zone).utcoffset(), end.astimezone(zone).utcoffset()
    assert early is not None
    assert late is not None
    back = max(early - late, timedelta(0))
    return start - back, end + back


def _exact(config: WindowSpec, unit: timedelta) -> bool:
    return config.stored_precision is not None and UNIT_LENGTH[config.stored_precision] >= unit


def render_request(
    spec: SpecSnapshot, window: Window, token: str | None, caller: Caller, part: IdRange | None = None
) -> Request:
    """The request for the page at `token` of a window, or of a range of it."""
    page = paginator_of(spec.paging).request(token)
    rendered = render_query(spec, window, part, page.since)
    values = {
        "page_size": page.size,
        "page_token": token,
        "page_offset": page.number,
        "page_number": page.number,
        "query": rendered.text,
        "contact": caller.contact,
    }
    request = _assemble(spec, spec.http, spec.params, rendered, values, caller)
    if page.url is None:
        return request
    return replace(request, query=[], next_url=page.url, next_hosts=tuple(spec.paging.next_hosts))


def render_query(
    spec: SpecSnapshot, window: Window, part: IdRange | None = None, since: datetime | None = None
) -> Rendered:
    """The slice's query as the provider takes it: the plan's, and the window's range where the provider knows it.

    `since` is where paging by time has come to: the window's later part is asked for, without overlap.
    """
    config = spec.time
    query = from_json(spec.expression)
    start, end = bounds_to_ask(window, config)
    if since is not None:
        later, _ = bounds_to_ask(Window(since, window.end), config)
        start = max(start, later + timedelta(seconds=config.overlap_seconds))
    bounds = Range(config.field, start, end) if config.supports_updated_since else EVERYTHING
    renderer = Renderer(spec.rules, TimeText(config.format, config.time_zone))
    if part and part.is_unset:
        return render_unset(renderer, both(query, bounds), part.field)
    return renderer.render(both(query, bounds, part_range(part) if part else EVERYTHING))


def render_detail(spec: SpecSnapshot, ids: list[str], caller: Caller) -> Request:
    """The request for whole records."""
    assert spec.detail is not None
    values = {"ids": ids, "contact": caller.contact, "page_size": len(ids)}
    request = _assemble(spec, spec.detail.http, spec.detail.params, Rendered(), values, caller)
    return replace(request, auth=spec.detail.auth or spec.auth)


def _assemble(
    spec: SpecSnapshot,
    http: HttpSpec,
    params: list[ParamSpec],
    rendered: Rendered,
    values: Mapping[str, Any],
    caller: Caller,
) -> Request:
    placed: dict[ParamLocation, list[tuple[str, Any]]] = {location: [] for location in ParamLocation}
    placed[ParamLocation.QUERY] += _templates(http.query, values)
    located = {param.name: param.location for param in params}
    in_body = body_names(http.body)
    for name, text in rendered.params.items():
        if name not in in_body:
            placed[located.get(name, ParamLocation.QUERY)].append((name, text))
    for param in params:
        value = _param_value(param, values)
        if value is not None:
            placed[param.location].append((param.name, value))
    headers = dict(_templates(http.headers, values))
    headers |= {name: _one_line(_text(value)) for name, value in placed[ParamLocation.HEADER]}
    headers["X-Ingest-Correlation-Id"] = caller.correlation_id
    user_agent = parse_template(http.user_agent).render(values) if http.user_agent else None
    if user_agent:
        headers["User-Agent"] = user_agent
    _refuse_unsendable(headers, spec.provenance_code)
    path_values = {name: percent_encode(_text(value)) for name, value in placed[ParamLocation.PATH]}
    return Request(
        source=spec.provenance_code,
        http=http,
        auth=spec.auth,
        path=_path(http.path, path_values, spec.provenance_code),
        query=[(name, _text(value)) for name, value in placed[ParamLocation.QUERY]],
        headers=headers,
        body=_body(http, placed[ParamLocation.BODY], {**values, **rendered.params}),
        contact=caller.contact,
    )


def _refuse_unsendable(headers: Mapping[str, str], source: str) -> None:
    """BadInput for a value, such as a query or a page token, that the header it belongs in cannot carry."""
    for name, value in headers.items():
        if not is_header_text(value):
            raise BadInput(
                "HEADER_UNSAFE",
                f"the header {name} cannot carry its value: it is not printable ASCII",
                where=f"source {source!r}",
                remedy="send it as a query parameter, or give another query",
            )


def _path(template: str, values: Mapping[str, str], source: str) -> str:
    """The path with every value in place; one that is missing, or that leads elsewhere, is no path."""
    path = parse_template(template).render(values)
    elsewhere = [name for name, value in values.items() if value in ("", ".", "..")]
    if path is None or elsewhere:
        raise BadInput(
            "PATH_UNSAFE",
            f"the path {template!r} cannot be filled: {', '.join(elsewhere) or 'a value'} is missing or no segment",
            where=f"source {source!r}",
            remedy="give the value, or another query",
        )
    return path


def _templates(templates: Mapping[str, str], values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What can be said; a parameter whose value is not there is left out."""
    rendered = ((name, parse_template(text).render(values)) for name, text in templates.items())
    return [(name, text) for name, text in rendered if text is not None]


def _param_value(param: ParamSpec, values: Mapping[str, Any]) -> Any:
    if param.value == RULE:
        return None
    value = values.get(param.value)
    if value is None:
        return param.default
    for function in param.functions:
        value = FUNCTIONS[function](_text(value))
    return value


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _body(http: HttpSpec, placed: list[tuple[str, Any]], values: Mapping[str, Any]) -> dict[str, Any] | None:
    """The body's fields: the template's, then the parameters'; none of a GET."""
    if http.body_format is None:
        return None
    filled: dict[str, Any] = {**_fill(http.body or {}, values), **dict(placed)}
    if http.body_format == BodyFormat.FORM:
        return {name: _text(value) for name, value in filled.items()}
    return filled


def _fill(template: Any, values: Mapping[str, Any]) -> Any:
    """A body template with its values in place; what has none is left out."""
    if isinstance(template, dict):
        filled = {name: _fill(one, values) for name, one in template.items()}
        return {name: one for name, one in filled.items() if one is not None}
    if isinstance(template, list):
        return [_fill(one, values) for one in template]
    return parse_template(template).value(values) if isinstance(template, str) else template
