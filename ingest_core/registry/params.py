"""Request parameters: which value goes where, and whether every value that must be sent is."""

import re
from collections.abc import Iterator
from typing import Any

from ingest_core.model.codes import HttpMethod, PaginationType, ParamLocation
from ingest_core.model.header import is_header_name
from ingest_core.model.spec import PaginationSpec, ParamSpec
from ingest_core.model.template import FUNCTIONS, TemplateError, parse_template
from ingest_core.registry.problems import Findings
from ingest_core.registry.rows import Row

TABLE = "reg_prov_api_param_map"

ENDPOINTS = "reg_prov_endpoint_def"

_SECRET_NAME = re.compile(r"api_?key|(^|_)token$|secret|passw|authorization|cookie|signature", re.IGNORECASE)
"""Names only a credential has."""

RESERVED_HEADERS = frozenset({
    "host", "connection", "content-length", "transfer-encoding", "accept-encoding", "te", "trailer", "upgrade",
    "expect", "keep-alive", "proxy-authorization", "proxy-connection",
})  # fmt: skip
"""Headers that decide where a request goes, or how it and its answer are read: the transport writes them."""

KNOWN_VALUES = {
    "page_size": "how many records to ask for",
    "page_token": "the token of the page, TOKEN paging",
    "page_offset": "how many records to skip, OFFSET paging",
    "page_number": "the number of the page, PAGE paging",
    "query": "the query as text",
    "ids": "the ids of a detail request",
    "contact": "the operator's e-mail address (PATRA_CONTACT)",
}
"""What a request parameter may be given."""

RULE = "rule"
"""The value of a parameter that render rules write; `params` then only says where it goes."""

_PLACE_OF = {
    PaginationType.TOKEN: "page_token",
    PaginationType.OFFSET: "page_offset",
    PaginationType.PAGE: "page_number",
}


def param_specs(rows: list[Row]) -> list[ParamSpec]:
    """The parameters, in order of their names."""
    params = [
        ParamSpec(
            name=row["param_name"],
            location=row["location_code"],
            value=row["std_key"],
            default=row.get("default_value"),
            functions=row.get("functions") or [],
            required=bool(row.get("is_required")),
        )
        for row in rows
    ]
    return sorted(params, key=lambda param: param.name)


def check_params(
    params: list[ParamSpec], definition: Row, pagination: PaginationSpec | None, written: set[str], found: Findings
) -> None:
    """Known values, real functions, places that fit the method and the path, and the page's place among them.

    `written` are the parameters render rules write.
    """
    for param in params:
        _check_one(param, definition, found)
    sent = {param.value for param in params} | _check_body(definition, written, found)
    if pagination is not None and pagination.type in _PLACE_OF:
        value = _PLACE_OF[pagination.type]
        found.need(
            value in sent, "PAGE_PLACE_UNSENT", TABLE, "params", sorted(sent),
            f"pagination {pagination.type} moves by {value!r}, and no parameter carries it",
            f"add {{name: ..., value: {value}}} to `params`",
        )  # fmt: skip
    _check_path(params, definition, found)


def _check_body(definition: Row, written: set[str], found: Findings) -> frozenset[str]:
    """The values a body's template names; it may name what parameters may carry, and must hold no secret."""
    key = f"endpoints.{definition['endpoint_name']}.body"
    names: frozenset[str] = frozenset()
    for path, text in _texts(definition.get("body_template"), key):
        secret = refuse_secret(path.rpartition(".")[2], ENDPOINTS, path, found)
        names |= template_names(text, ENDPOINTS, path, found, hidden=secret)
    for name in sorted(names - KNOWN_VALUES.keys() - written):
        found.add(
            "TEMPLATE_NAME_UNKNOWN",
            ENDPOINTS,
            key,
            name,
            f"unknown name {{{name}}}",
            f"known: {', '.join(KNOWN_VALUES)}",
        )
    return names


def body_names(template: Any) -> frozenset[str]:
    """The values a body's template carries; a text that does not parse carries none."""
    names: frozenset[str] = frozenset()
    for _, text in _texts(template, ""):
        try:
            names |= parse_template(text).names
        except TemplateError:
            continue
    return names


def _texts(value: Any, key: str) -> Iterator[tuple[str, str]]:
    """Every text in a JSON value, with its place."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict | list):
        for name, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _texts(one, f"{key}.{name}")


def refuse_secret(name: str, table: str, key: str, found: Findings) -> bool:
    """Whether something of that name must be a credential, which then must not stand here."""
    secret = _SECRET_NAME.search(name.replace("-", "_")) is not None
    found.need(
        not secret, "SECRET_IN_HTTP", table, key, "***", f"{name!r} carries a credential",
        "name it by reference in the `credential` block",
    )  # fmt: skip
    return secret


def refuse_reserved(name: str, table: str, key: str, found: Findings) -> None:
    """A problem where a header of that name is the transport's own."""
    found.need(
        name.lower() not in RESERVED_HEADERS, "HEADER_RESERVED", table, key, name,
        f"the header {name!r} is written by the system", "leave it out",
    )  # fmt: skip


def _check_one(param: ParamSpec, definition: Row, found: Findings) -> None:
    key = f"params.{param.name}"
    found.need(
        param.value in KNOWN_VALUES or param.value == RULE, "PARAM_VALUE_UNKNOWN", TABLE, f"{key}.value", param.value,
        f"unknown value {param.value!r}", f"known: {', '.join(KNOWN_VALUES)}, and {RULE} for what render rules write",
    )  # fmt: skip
    for name in param.functions:
        found.need(
            name in FUNCTIONS, "FUNCTION_UNKNOWN", TABLE, f"{key}.as", name,
            f"unknown function {name!r}", f"known: {', '.join(FUNCTIONS)}",
        )  # fmt: skip
    if param.location == ParamLocation.HEADER:
        refuse_reserved(param.name, TABLE, f"{key}.name", found)
    if param.default is not None:
        refuse_secret(param.name, TABLE, f"{key}.default", found)
    found.need(
        param.location != ParamLocation.HEADER or is_header_name(param.name), "HEADER_INVALID", TABLE, f"{key}.name",
        param.name, f"{param.name!r} is not the name of a header", "use letters, digits and -",
    )  # fmt: skip
    in_body_of_get = param.location == ParamLocation.BODY and definition["http_method_code"] == HttpMethod.GET
    found.need(
        not in_body_of_get, "GET_WITH_BODY", TABLE, f"{key}.location", param.location.value,
        "a GET request has no body", "set the endpoint's method to POST, or the location to QUERY",
    )  # fmt: skip


def _check_path(params: list[ParamSpec], definition: Row, found: Findings) -> None:
    table, key, path = (
        "reg_prov_endpoint_def",
        f"endpoints.{definition['endpoint_name']}.path",
        definition["path_template"],
    )
    names = template_names(path, table, key, found)
    found.need(
        _is_rooted(path), "PATH_UNSAFE", table, key, path,
        f"the path {path!r} does not begin with exactly one /, or holds a segment . or .., a backslash, a # or a space",
        "write it as /works/{query}; it is appended to http.base_url",
    )  # fmt: skip
    placed = {param.name for param in params if param.location == ParamLocation.PATH}
    for name in sorted(names - placed):
        found.add("PATH_UNFILLED", table, key, path, f"nothing fills {{{name}}}",
            f"add {{name: {name}, location: PATH, value: ...}} to `params`",
        )  # fmt: skip
    for name in sorted(placed - names):
        found.add("PATH_PARAM_UNUSED", TABLE, f"params.{name}.location", "PATH",
            f"the path {path!r} has no {{{name}}}", "name it in the path, or give it another location",
        )  # fmt: skip


def _is_rooted(path: str) -> bool:
    """Whether a path can be nothing but a path: it has one slash before its first segment, and stays below it."""
    plain = path.isprintable() and not any(sign in path for sign in "\\# ")
    segments = path.partition("?")[0].split("/")
    return plain and path.startswith("/") and not path.startswith("//") and not {".", ".."} & set(segments)


def template_names(text: Any, table: str, key: str, found: Findings, *, hidden: bool = False) -> frozenset[str]:
    """The names in a template; none, and a problem, where it does not parse."""
    try:
        return parse_template(text).names
    except TemplateError as error:
        remedy = "names stand alone, as {query} or {query|url}"
        found.add("TEMPLATE_INVALID", table, key, "***" if hidden else text, str(error), remedy)
        return frozenset()
