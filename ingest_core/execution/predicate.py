"""Recognising what an answer says besides its records."""

import json
from collections.abc import Iterable
from typing import Any

from ingest_core.model.spec import PredicateSpec
from ingest_core.registry.paths import compile_path
from ingest_core.registry.patterns import compile_pattern, page_match_time
from ingest_core.registry.values import text_of


def holds(predicate: PredicateSpec, document: Any) -> bool:
    """Whether the path is there, equals the value, or matches the pattern."""
    value = compile_path(predicate.path)(document)
    values = value if isinstance(value, list) else [value]
    if predicate.equals is not None:
        return predicate.equals in values
    if predicate.matches is not None:
        pattern = compile_pattern(predicate.matches)
        return any(pattern.search(text) for one in values if (text := text_of(one)) is not None)
    return value not in (None, "", [], {})


def first_that_holds(predicates: Iterable[PredicateSpec], document: Any) -> PredicateSpec | None:
    """The first predicate the document fulfils; BoundExceeded where one cannot be decided within its bounds."""
    with page_match_time():
        return next((one for one in predicates if holds(one, document)), None)


def words_of(predicate: PredicateSpec, document: Any) -> str:
    """The provider's own words, or the value that was recognised."""
    for path in filter(None, (predicate.message, predicate.path)):
        value = compile_path(path)(document)
        if value not in (None, "", [], {}):
            return value if isinstance(value, str) else _written(value)
    return predicate.path


def _written(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        return "a value that cannot be shown"
