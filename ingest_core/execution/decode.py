"""From a body to a page: a body that does not parse is an error, never an empty page."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from ingest_core.execution.json_page import JsonBroken, JsonReading, parse_small, read_json
from ingest_core.execution.page import DecodedPage
from ingest_core.execution.paging import paginator_of
from ingest_core.execution.predicate import first_that_holds, words_of
from ingest_core.execution.records import Unreadable
from ingest_core.execution.statements import Statement, StatementInvalid
from ingest_core.execution.xml_page import Reading, XmlBroken, read_xml
from ingest_core.gate.taxonomy import is_web_page, level_of
from ingest_core.model.codes import AnswerEffect, ErrorLevel, ResponseFormat
from ingest_core.model.numbers import holds_long_number
from ingest_core.model.redaction import excerpt
from ingest_core.model.spec import HttpSpec, PaginationSpec, PredicateSpec, ResponseSpec, SpecSnapshot
from ingest_core.registry.bounds import BoundExceeded
from ingest_core.registry.extraction import paths_in
from ingest_core.registry.paths import compile_path, leaf_names, plain_steps, repeated_names

FIRST_ERROR_STATUS = 400
_SHOWN_CHARS = 120
MAX_ERROR_VALUES = 100_000
"""An answer that is no success states an error: one with more values than this is not read."""


class PageBroken(Exception):
    """The body is not what this endpoint answers; `level` says how bad that is."""

    def __init__(
        self, code: str, message: str, level: ErrorLevel | None = None, effect: AnswerEffect | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.refuses_rate = effect == AnswerEffect.RATE_LIMIT
        self.level = ErrorLevel.L1 if self.refuses_rate else level or level_of(code)
        self.restarts = effect == AnswerEffect.RESTART


class _Content(NamedTuple):
    """The document, its records, their texts, and for XML the declarations that each text lacks."""

    document: Any
    items: Sequence[Any]
    raw: list[str]
    declarations: list[str] = []  # noqa: RUF012 - never changed


def says_empty(body: bytes, response: ResponseSpec, status: int) -> bool:
    """Whether an answer that is no success only says that there is nothing; PageBroken if that cannot be decided."""
    if status < FIRST_ERROR_STATUS or not response.empty:
        return False
    return _first_stated("response.empty", response.empty, body, response) is not None


def stated_error(body: bytes, response: ResponseSpec) -> PredicateSpec | None:
    """What the provider's own words mean, where the Registry knows them; PageBroken if that cannot be decided."""
    return _first_stated("response.errors", response.errors, body, response) if response.errors else None


def _first_stated(key: str, known: list[PredicateSpec], body: bytes, response: ResponseSpec) -> PredicateSpec | None:
    """The first predicate that holds for an answer that is no success."""
    try:
        with _within_bounds(key):
            return first_that_holds(known, _parsed_or_none(body, response))
    except RecursionError:
        return None


@contextmanager
def _within_bounds(key: str) -> Iterator[None]:
    """Make a path or pattern that exceeds its bounds an error of the page, under the source file's key."""
    try:
        yield
    except BoundExceeded as error:
        raise PageBroken(error.code, f"{key}: {error}") from error


def _parsed_or_none(body: bytes, response: ResponseSpec) -> Any:
    """The document, as far as it is one; a provider of XML may state errors in JSON."""
    document = parse_small(body, MAX_ERROR_VALUES)
    if document is not None or response.format != ResponseFormat.XML:
        return document
    try:
        found = read_xml(body, _xml_reading(response, None, {}, MAX_ERROR_VALUES))
    except XmlBroken:
        return None
    return {**found.value, "items": found.items}


def decode_page(body: bytes, spec: SpecSnapshot) -> DecodedPage:
    """The page a body holds."""
    with _told_as_page_errors(body):
        page = _page(_read(body, spec.response, spec.http, spec.pagination, spec.mapping), spec)
    return replace(page, long_numbers=spec.response.format == ResponseFormat.JSON and holds_long_number(body))


def _page(content: _Content, spec: SpecSnapshot) -> DecodedPage:
    """The page with what it says about its result; StatementInvalid where a value cannot be what it is read as."""
    xml = spec.response.format == ResponseFormat.XML

    def said(key: str, path: str | None) -> Statement:
        return Statement(key, path or "", _at(content.document, path), xml)

    total = said("response.total", spec.response.total_path).total()
    page = DecodedPage(content.items, content.raw, total, None, None, declarations=content.declarations)
    paging = spec.pagination
    if paging is None:
        return page
    paginator = paginator_of(paging)
    return replace(
        page,
        next_token=paginator.next_place(said(*paginator.next_path()).next_place(), spec.auth.name),
        has_more=said("pagination.has_more", paging.has_more_path).more_follows(),
        step=said("pagination.step", paging.step_path).step(len(content.items)),
    )


def parse_document(body: bytes, spec: SpecSnapshot) -> Any:
    """The document that the paths of a page go over."""
    with _told_as_page_errors(body):
        return _read(body, spec.response, spec.http, spec.pagination, spec.mapping).document


def decode_detail(body: bytes, spec: SpecSnapshot) -> DecodedPage:
    """The records a detail answer holds."""
    assert spec.detail is not None
    with _told_as_page_errors(body):
        _, items, raw, declarations = _read(body, spec.detail.response, spec.detail.http, None, spec.mapping)
    if spec.detail.response.format == ResponseFormat.XML:  # an element is never nothing
        return DecodedPage(items, raw, None, None, None, declarations=declarations)
    present = [(item, text) for item, text in zip(items, raw, strict=True) if item is not None]
    texts = [text for _, text in present]
    return DecodedPage([item for item, _ in present], texts, None, None, None, long_numbers=holds_long_number(body))


@contextmanager
def _told_as_page_errors(body: bytes) -> Iterator[None]:
    """Whatever is wrong with an answer is a PageBroken of a known code."""
    try:
        yield
    except JsonBroken as error:
        raise PageBroken(error.code, f"{error}: {_start_of(body)}") from error
    except XmlBroken as error:
        message = f"the body is not XML to be relied on ({error}): {_start_of(body)}"
        raise PageBroken(error.code, message) from error
    except StatementInvalid as error:
        raise PageBroken(error.code, str(error)) from error
    except BoundExceeded as error:
        raise PageBroken(error.code, f"a path of the page: {error}") from error
    except RecursionError as error:
        raise PageBroken("TOO_DEEP", f"the answer is nested too deep for its paths: {_start_of(body)}") from error


def _read(
    body: bytes, response: ResponseSpec, http: HttpSpec, pagination: PaginationSpec | None, mapping: dict[str, Any]
) -> _Content:
    """What the body holds; an error the provider states is one, whatever the status."""
    if response.format == ResponseFormat.XML:
        return _read_xml(body, response, http, pagination, mapping)
    reading = JsonReading(response.items_path, http.max_values, apart=_outside(response, pagination))
    found = read_json(body, reading)
    _raise_stated_error(found.value, response)
    items = _no_items(found.value, body, response) if found.items is None else found.items
    return _Content(found.value, items, found.raw)


def _outside(response: ResponseSpec, pagination: PaginationSpec | None) -> bool:
    """Whether all that is asked of a page itself stands outside its list of records."""
    known = [*response.errors, *response.empty]
    paths = [response.total_path, *(path for one in known for path in (one.path, one.message))]
    if pagination:
        paths += [pagination.has_more_path, pagination.step_path, pagination.next_token_path, pagination.next_url_path]
    within = plain_steps(response.items_path) or ()
    steps = [plain_steps(path) for path in paths if path]
    return all(one is not None and one[: len(within)] != within for one in steps)


def _read_xml(
    body: bytes, response: ResponseSpec, http: HttpSpec, pagination: PaginationSpec | None, mapping: dict[str, Any]
) -> _Content:
    found = read_xml(body, _xml_reading(response, pagination, mapping, http.max_values))
    # Predicates see records too: some providers dress their errors up as one.
    whole = {**found.value, "items": [None if isinstance(one, Unreadable) else one for one in found.items]}
    _raise_stated_error(whole, response)
    if not found.found:
        return _Content(whole, _no_items(whole, body, response), [])
    return _Content(whole, found.items, found.raw, found.declarations)


def _xml_reading(
    response: ResponseSpec, pagination: PaginationSpec | None, mapping: dict[str, Any], max_values: int
) -> Reading:
    """The way to the records, the prefixes, and the names that paths expect lists or texts at."""
    steps = plain_steps(response.items_path.removesuffix(".*")) or ()
    every = ("*",) if response.items_path.endswith(".*") else ()
    known = [*response.errors, *response.empty, *filter(None, (response.record_error, response.deleted))]
    predicates = [path for one in known for path in (one.path, one.message) if path]
    paging = [response.total_path]
    if pagination:
        paging += [pagination.next_token_path, pagination.next_url_path, pagination.has_more_path, pagination.step_path]
    version = [response.version_path] if response.version_path is not None else []
    merged = [response.merged_into_path] if response.merged_into_path is not None else []
    known_by = [response.id_path, response.updated_at_path, *version, *merged]
    paths = list(paths_in([mapping, *known_by, *filter(None, paging), *predicates]))
    leaves = [leaf_names(path) for path in paths]
    return Reading(
        items=(*map(str, steps), *every),
        namespaces=response.namespaces,
        repeated=frozenset(name for path in paths for name in repeated_names(path)),
        # A path that names no element at its end may want the text of any.
        texts=frozenset[str]().union(*leaves) if all(leaves) else None,
        max_values=max_values,
    )


def _raise_stated_error(document: Any, response: ResponseSpec) -> None:
    with _within_bounds("response.errors"):
        stated = first_that_holds(response.errors, document)
        said = words_of(stated, document) if stated else ""
    if stated:
        words = excerpt(said, 200)
        message = f"the provider answered with an error: {words}"
        raise PageBroken("STATED_ERROR", message, stated.level, stated.effect)


def _no_items(document: Any, body: bytes, response: ResponseSpec) -> list[Any]:
    """Nothing, where the provider says so; a page without its list is an error otherwise."""
    with _within_bounds("response.empty"):
        if first_that_holds(response.empty, document):
            return []
    if is_web_page(body):  # well-formed XML, and yet no answer of this endpoint: as a page of other markup is
        raise PageBroken("NOT_XML", f"the body is a web page: {_start_of(body)}")
    raise PageBroken("ITEMS_MISSING", f"no list at {response.items_path}: {_start_of(body)}")


def _at(document: Any, path: str | None) -> Any:
    return compile_path(path)(document) if path else None


def _start_of(body: bytes) -> str:
    return repr(excerpt(" ".join(body[: _SHOWN_CHARS * 8].decode("utf-8", "replace").split()), _SHOWN_CHARS))
