"""Writing the request for a page."""

from datetime import datetime, timedelta

from ingest_core.execution.ports import Request
from ingest_core.model.codes import ParamLocation
from ingest_core.model.instant import MILLISECOND, UNIT_LENGTH, ceil_to, floor_to
from ingest_core.model.spec import SpecSnapshot, WindowSpec
from ingest_core.model.window import Window


def bounds_to_ask(window: Window, config: WindowSpec) -> tuple[datetime, datetime]:
    """The bounds in the request: a record too many is absorbed, one too few would be lost."""
    start = window.start - timedelta(seconds=config.overlap_seconds)
    unit = UNIT_LENGTH[config.unit]
    if not config.upper_inclusive:
        return start, ceil_to(window.end, unit)
    exact = config.stored_precision is not None and UNIT_LENGTH[config.stored_precision] >= unit
    return start, floor_to(window.end - MILLISECOND, unit) if exact else window.end


def render_request(spec: SpecSnapshot, window: Window, token: str | None, correlation_id: str) -> Request:
    """The request for the page at `token`."""
    start, end = bounds_to_ask(window, spec.window)
    shown = {"from": start.strftime(spec.window.format), "to": end.strftime(spec.window.format)}
    values = {"page_size": str(spec.pagination.page_size), "page_token": token or ""}
    query = [*spec.http.query.items(), (spec.render.param, spec.render.template.format(**shown))]
    headers = {**spec.http.headers, "X-Ingest-Correlation-Id": correlation_id}
    for param in spec.params:
        if param.location == ParamLocation.QUERY:
            query.append((param.name, values[param.value]))
        else:
            headers[param.name] = values[param.value]
    return Request(
        source=spec.provenance_code,
        method=spec.http.method.value,
        base_url=spec.http.base_url,
        path=spec.http.path,
        query=query,
        headers=headers,
        connect_timeout_seconds=spec.http.connect_timeout_seconds,
        read_timeout_seconds=spec.http.read_timeout_seconds,
        allow_plain_http=spec.http.allow_plain_http,
    )
