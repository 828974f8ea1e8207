"""From a body to a page: a body that does not parse is an error, never an empty page."""

import codecs
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
import orjson

from ingest_core.execution.predicate import first_that_holds, words_of
from ingest_core.execution.records import Records, cut_out
from ingest_core.execution.statements import Statement, StatementInvalid
from ingest_core.execution.xml_page import Reading, XmlBroken, read_xml
from ingest_core.gate.taxonomy import level_of
from ingest_core.model.codes import AnswerEffect, ErrorLevel, PaginationType, ResponseFormat
from ingest_core.model.numbers import holds_long_number
from ingest_core.model.record import Gone
from ingest_core.model.redaction import excerpt
from ingest_core.model.spec import PaginationSpec, PredicateSpec, ResponseSpec, SpecSnapshot
from ingest_core.registry.extraction import paths_in
from ingest_core.registry.paths import EVERY, compile_path, leaf_names, plain_steps, repeated_names

FIRST_ERROR_STATUS = 400


class PageBroken(Exception):
    """The body is not what this endpoint answers; `level` says how bad that is."""

    def __init__(
        self, code: str, message: str, level: ErrorLevel | None = None, effect: AnswerEffect | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.level = level or level_of(code)
        self.restarts = effect == AnswerEffect.RESTART


@dataclass(frozen=True)
class DecodedPage:
    """A page's records, parsed and as received, and what it says about the result.

    In two phases `listed` are the ids the search gave, and `failed` those whose records the provider would not give.
    `declarations` has, for each record of an XML page, the namespace declarations that its text alone lacks.
    `gone` are records known to be deleted before their details are read: the search says so, or their id is not found.
    """

    items: Sequence[Any]
    raw: list[str]
    total: int | None
    next_token: str | None
    has_more: bool | None
    long_numbers: bool = False
    step: int | None = None
    listed: list[str] | None = None
    failed: dict[str, str] = field(default_factory=dict)
    repeated: frozenset[str] = frozenset()
    """Listed ids whose records came in the pass before and were not asked for again."""
    declarations: list[str] = field(default_factory=list)
    gone: list[Gone] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many records the result moved on by."""
        return len(self.items) if self.listed is None else len(self.listed)


class _Content(NamedTuple):
    """The document, its records, their texts, and for XML the declarations that each text lacks."""

    document: Any
    items: Sequence[Any]
    raw: list[str]
    declarations: list[str] = []  # noqa: RUF012 - never changed


NO_RECORDS = DecodedPage([], [], None, None, None)


def says_empty(body: bytes, response: ResponseSpec, status: int) -> bool:
    """Whether an answer that is no success only says that there is nothing."""
    if status < FIRST_ERROR_STATUS or not response.empty:
        return False
    return first_that_holds(response.empty, _parsed_or_none(body, response)) is not None


def stated_error(body: bytes, response: ResponseSpec) -> PredicateSpec | None:
    """What the provider's own words mean, where the Registry knows them."""
    return first_that_holds(response.errors, _parsed_or_none(body, response)) if response.errors else None


def _parsed_or_none(body: bytes, response: ResponseSpec) -> Any:
    """The document, as far as it is one; a provider of XML may state errors in JSON."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        if response.format != ResponseFormat.XML:
            return None
    try:
        found = read_xml(body, _xml_reading(response, None, {}))
    except XmlBroken:
        return None
    return {**found.value, "items": found.items}


def decode_page(body: bytes, spec: SpecSnapshot) -> DecodedPage:
    """The page a body holds."""
    content = _read(body, spec.response, spec.pagination, spec.mapping)
    try:
        page = _page(content, spec)
    except StatementInvalid as error:
        raise PageBroken(error.code, str(error)) from error
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
    by_url = paging.type == PaginationType.URL
    place = (
        said("pagination.next_url", paging.next_url_path)
        if by_url
        else said("pagination.next_token", paging.next_token_path)
    )
    token = place.next_place()
    return replace(
        page,
        next_token=_without_param(token, spec.auth.name) if token and by_url and spec.auth.name else token,
        has_more=said("pagination.has_more", paging.has_more_path).more_follows(),
        step=said("pagination.step", paging.step_path).step(len(content.items)),
    )


def document_of(body: bytes, spec: SpecSnapshot) -> Any:
    """The document that the paths of a page go over."""
    return _read(body, spec.response, spec.pagination, spec.mapping).document


def decode_detail(body: bytes, spec: SpecSnapshot) -> DecodedPage:
    """The records a detail answer holds."""
    assert spec.detail is not None
    _, items, raw, declarations = _read(body, spec.detail.response, None, spec.mapping)
    if spec.detail.response.format == ResponseFormat.XML:  # an element is never nothing
        return DecodedPage(items, raw, None, None, None, declarations=declarations)
    present = [(item, text) for item, text in zip(items, raw, strict=True) if item is not None]
    texts = [text for _, text in present]
    return DecodedPage([item for item, _ in present], texts, None, None, None, long_numbers=holds_long_number(body))


def _read(body: bytes, response: ResponseSpec, pagination: PaginationSpec | None, mapping: dict[str, Any]) -> _Content:
    """What the body holds; an error the provider states is one, whatever the status."""
    if response.format == ResponseFormat.XML:
        return _read_xml(body, response, pagination, mapping)
    body = body.removeprefix(codecs.BOM_UTF8)
    apart = _read_apart(body, response, pagination)
    if apart is not None:
        _raise_stated_error(apart.document, response)
        return apart
    document = _parse(body)
    _raise_stated_error(document, response)
    items = compile_path(response.items_path)(document)
    if items is not None and not isinstance(items, list) and plain_steps(response.items_path) is None:
        items = [items]  # jsonpath-ng gives the one it found
    if not isinstance(items, list):
        return _Content(document, _no_items(document, body, response), [])
    return _Content(document, items, _raw_items(body, response.items_path, items))


def _read_apart(body: bytes, response: ResponseSpec, pagination: PaginationSpec | None) -> _Content | None:
    """The same with the records left to be parsed one by one; none for a page that must be read whole."""
    envelope = _envelope(response.items_path)
    if envelope is None or b"\x00" in body or not _outside(response, pagination):
        return None
    try:
        found = [bytes(one) for one in _walk(msgspec.json.decode(body, type=envelope), response.items_path)]
        rest = cut_out(body, found) if found else None
        document = orjson.loads(rest) if rest else None
        raw = [one.decode() for one in found]
    except (msgspec.MsgspecError, orjson.JSONDecodeError, UnicodeDecodeError, RecursionError, LookupError):
        return None
    return _Content(document, Records(raw, _parse), raw) if _at(document, response.items_path) == [] else None


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
    body: bytes, response: ResponseSpec, pagination: PaginationSpec | None, mapping: dict[str, Any]
) -> _Content:
    try:
        found = read_xml(body, _xml_reading(response, pagination, mapping))
    except XmlBroken as error:
        message = f"the body is not XML to be relied on ({error}): {_start_of(body)}"
        raise PageBroken("NOT_XML", message) from error
    # Predicates see records too: some providers dress their errors up as one.
    whole = {**found.value, "items": found.items}
    _raise_stated_error(whole, response)
    if not found.found:
        return _Content(whole, _no_items(whole, body, response), [])
    return _Content(whole, found.items, found.raw, found.declarations)


def _xml_reading(response: ResponseSpec, pagination: PaginationSpec | None, mapping: dict[str, Any]) -> Reading:
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
    return Reading(
        items=(*map(str, steps), *every),
        namespaces=response.namespaces,
        repeated=frozenset(name for path in paths for name in repeated_names(path)),
        texts=frozenset(name for path in paths for name in leaf_names(path)),
    )


def _raise_stated_error(document: Any, response: ResponseSpec) -> None:
    stated = first_that_holds(response.errors, document)
    if stated:
        words = excerpt(words_of(stated, document), 200)
        message = f"the provider answered with an error: {words}"
        raise PageBroken("STATED_ERROR", message, stated.level, stated.effect)


def _no_items(document: Any, body: bytes, response: ResponseSpec) -> list[Any]:
    """Nothing, where the provider says so; a page without its list is an error otherwise."""
    if first_that_holds(response.empty, document):
        return []
    raise PageBroken("ITEMS_MISSING", f"no list at {response.items_path}: {_start_of(body)}")


def _without_param(url: str, name: str) -> str:
    """The URL without the credential some providers repeat in it: it is written down as the next place."""
    path, mark, query = url.partition("?")
    kept = [part for part in query.split("&") if part.partition("=")[0].lower() != name.lower()]
    return f"{path}{mark}{'&'.join(kept)}"


def _parse(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    # The standard library takes lone surrogates, huge numbers and, told so, line breaks within strings, all of which
    # providers send; records that hold them are then dealt with one by one.
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_refuse_constant, strict=b"\x00" in body)
    except (ValueError, RecursionError) as error:
        raise PageBroken("NOT_JSON", f"the body is not JSON: {_start_of(body)}") from error


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _at(document: Any, path: str | None) -> Any:
    return compile_path(path)(document) if path else None


def _start_of(body: bytes, limit: int = 120) -> str:
    return repr(excerpt(" ".join(body[: limit * 8].decode("utf-8", "replace").split()), limit))


def _raw_items(body: bytes, items_path: str, items: list[Any]) -> list[str]:
    """Each record's own text; written anew only where the text cannot be had."""
    envelope = _envelope(items_path)
    if envelope is not None:
        for prepare in (bytes, _without_lone_surrogates):
            try:
                found = _walk(msgspec.json.decode(prepare(body), type=envelope), items_path)
                return [bytes(one).decode() for one in found]
            except (msgspec.MsgspecError, UnicodeDecodeError):
                continue
    return [json.dumps(item, separators=(",", ":")) for item in items]


_ESCAPE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # a pair, as it should be
    rb"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"  # half a pair
    rb"|\\."
)


def _without_lone_surrogates(body: bytes) -> bytes:
    """A body msgspec takes; the record that held the half pair goes to quarantine, its neighbours stay as they are."""
    return _ESCAPE.sub(lambda match: rb"\ufffd" if match.group(1) else match.group(0), body)


def _walk(found: Any, items_path: str) -> Any:
    for step in plain_steps(items_path) or ():
        found = found[step] if isinstance(step, int) else getattr(found, _attribute(str(step)))
    return found


def _attribute(name: str) -> str:
    return "at_" + name.encode().hex()


@lru_cache(maxsize=64)
def _envelope(items_path: str) -> Any:
    """A type that holds just the way to the records, which stay text."""
    steps = plain_steps(items_path)
    if steps is None or not all(isinstance(step, int) or (isinstance(step, str) and step != EVERY) for step in steps):
        return None
    inner: Any = list[msgspec.Raw]
    for step in reversed(steps):
        if isinstance(step, int):
            inner = list[inner]
        else:
            name = _attribute(str(step))
            inner = msgspec.defstruct("Envelope", [(name, inner)], rename={name: str(step)})
    return inner
