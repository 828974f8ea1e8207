"""Where things are in an answer: the paths a harvest needs, and that every path is one."""

from collections.abc import Iterator, Mapping
from typing import Any

from ingest_core.model.codes import Operation, ResponseFormat
from ingest_core.model.spec import PredicateSpec, ResponseSpec
from ingest_core.registry.extraction import problems_of
from ingest_core.registry.merge import Merged
from ingest_core.registry.paths import path_problem, plain_steps
from ingest_core.registry.patterns import pattern_problem
from ingest_core.registry.problems import Findings
from ingest_core.registry.rows import Row
from ingest_core.registry.traversal import zone_exists

ENDPOINTS = "reg_prov_endpoint_def"


def response_part(definition: Row) -> ResponseSpec:
    """Where things are in a page."""
    return ResponseSpec(
        items_path=definition["items_path"],
        id_path=definition.get("id_expr") or definition.get("id_path") or "",
        updated_at_path=definition.get("updated_at_expr") or definition.get("updated_at_path"),
        total_path=definition["total_path"],
        version_path=definition.get("version_expr"),
        format=definition.get("response_format_code") or "JSON",
        namespaces=definition.get("xml_namespaces") or {},
        time_zone=definition.get("response_time_zone") or "UTC",
        errors=[PredicateSpec(**one) for one in definition.get("error_predicates") or []],
        empty=[PredicateSpec(**one) for one in definition.get("empty_predicates") or []],
        record_error=_predicate(definition.get("record_error")),
        deleted=_predicate(definition.get("deleted_predicate")),
        merged_into_path=definition.get("merged_into_expr"),
    )


def _predicate(said: Row | None) -> PredicateSpec | None:
    return PredicateSpec(**said) if said else None


def check_response(
    definition: Row,
    mapping: dict[str, Any],
    pagination: Merged,
    operation: Operation,
    found: Findings,
    *,
    two_phase: bool = False,
) -> None:
    """The three paths a harvest needs, and that every path is one."""
    name = definition["endpoint_name"]
    key = f"endpoints.{name}.response"
    found.need(
        definition.get("id_path") or definition.get("id_expr"), "ID_PATH_MISSING", ENDPOINTS, f"{key}.id", None,
        "no path to the record's id", "add response.id",
    )  # fmt: skip
    timed = definition.get("updated_at_path") or definition.get("updated_at_expr")
    found.need(
        timed or two_phase or operation == Operation.UPDATE, "UPDATED_AT_MISSING", ENDPOINTS, f"{key}.updated_at", None,
        f"{operation} needs the time each record was last changed",
        "add response.updated_at, or serve only UPDATE, which refreshes known records by id",
    )  # fmt: skip
    zone = definition.get("response_time_zone")
    found.need(
        zone is None or zone_exists(zone), "TIME_ZONE_UNKNOWN", ENDPOINTS, f"{key}.time_zone", zone,
        f"no time zone {zone!r}", "use a name such as UTC or America/New_York",
    )  # fmt: skip
    _check_items(definition, key, found)
    for where, path in _paths(definition, pagination):
        problem = path_problem(path) if path is not None else None
        found.need(problem is None, "PATH_INVALID", ENDPOINTS, where, path, str(problem), "correct the path")
    for part in ("id", "updated_at", "version", "merged_into"):
        _check_expression(definition.get(f"{part}_expr"), f"{key}.{part}", ENDPOINTS, found)
    for column in ("id_path", "updated_at_path"):
        _check_expression(definition.get(column), f"{key}.{column.removesuffix('_path')}", ENDPOINTS, found)
    for field, expression in mapping.items():
        _check_expression(expression, f"mapping.{field}", "reg_provenance", found)
    _check_predicates(definition, key, found)
    _check_deleted(definition, key, found)


def _check_deleted(definition: Row, key: str, found: Findings) -> None:
    deleted, merged_into = definition.get("deleted_predicate"), definition.get("merged_into_expr")
    found.need(
        deleted or merged_into is None, "MERGED_WITHOUT_DELETED", ENDPOINTS, f"{key}.merged_into", merged_into,
        "merged_into is read only from deleted records, and nothing says which records are deleted",
        "add response.deleted, such as {path: $.status, equals: merged}, or remove merged_into",
    )  # fmt: skip


def _check_items(definition: Row, key: str, found: Findings) -> None:
    path = definition["items_path"]
    plain = plain_steps(path.removesuffix(".*"))
    xml = definition.get("response_format_code") == ResponseFormat.XML
    found.need(
        not xml or (plain and all(isinstance(step, str) for step in plain)), "XML_ITEMS_NOT_PLAIN", ENDPOINTS,
        f"{key}.items", path, f"{path!r} is not a plain way to the records' elements", "name them as $.feed.entry",
    )  # fmt: skip


def _check_expression(expression: Any, where: str, table: str, found: Findings) -> None:
    for problem in problems_of(expression, where) if expression is not None else ():
        place, _, message = problem.partition(": ")
        found.add("EXPRESSION_INVALID", table, place, expression, message, "see docs/reference/sources.md, mapping")


def _check_predicates(definition: Row, key: str, found: Findings) -> None:
    groups = (("errors", definition.get("error_predicates")), ("empty", definition.get("empty_predicates")))
    alone = (("record_error", [definition.get("record_error")]), ("deleted", [definition.get("deleted_predicate")]))
    for name, predicates in (*groups, *alone):
        for predicate in filter(None, predicates or []):
            problem = _predicate_problem(predicate)
            restarts = name == "errors" or "effect" not in predicate
            found.need(
                restarts, "EFFECT_MISPLACED", ENDPOINTS, f"{key}.{name}", predicate,
                "only a predicate of `errors` may have an effect", "move it to response.errors, or drop `effect`",
            )  # fmt: skip
            found.need(
                problem is None, "PREDICATE_INVALID", ENDPOINTS, f"{key}.{name}", predicate,
                str(problem), "write {path: $.error, matches: '^limit'}",
            )  # fmt: skip


def _predicate_problem(predicate: Row) -> str | None:
    """Problems of the predicate's paths and pattern."""
    for path in (predicate["path"], predicate.get("message")):
        if path is not None and (problem := path_problem(path)):
            return problem
    return pattern_problem(predicate.get("matches"))


def check_capability_patterns(capabilities: Mapping[str | None, Row], found: Findings) -> None:
    """Every pattern of the capabilities can be used."""
    for field, capability in capabilities.items():
        pattern = capability.get("term_pattern")
        problem = pattern_problem(pattern)
        found.need(
            problem is None, "PATTERN_INVALID", "reg_prov_expr_capability", f"capabilities.{field or 'words'}.pattern",
            pattern, str(problem), "write a shorter pattern, such as '[a-z]+'",
        )  # fmt: skip


def check_id_pattern(provenance: Row, found: Findings) -> None:
    """The pattern of ids can be used."""
    pattern = provenance.get("id_pattern")
    problem = pattern_problem(pattern)
    found.need(
        problem is None, "PATTERN_INVALID", "reg_provenance", "source.id_pattern",
        pattern, str(problem), "write a shorter pattern, such as '[0-9]+'",
    )  # fmt: skip


def _paths(definition: Row, pagination: Merged) -> Iterator[tuple[str, str | None]]:
    key = f"endpoints.{definition['endpoint_name']}.response"
    yield f"{key}.items", definition["items_path"].removesuffix(".*")
    yield f"{key}.total", definition["total_path"]
    for name in ("next_token", "next_url", "has_more", "step"):
        yield f"pagination.{name}", pagination[f"{name}_path"]
