"""The law of decoding: any body is a page whose records are all accounted for, or an error of a known code."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ingest_core.execution.decode import PageBroken, decode_detail, decode_page, says_empty, stated_error
from ingest_core.execution.page import DecodedPage
from ingest_core.execution.records import Unreadable
from ingest_core.execution.routing import ID_HASH_BYTES, MAX_ID_CHARS, MAX_VERSION_CHARS, Router
from ingest_core.execution.statements import MAX_PLACE_CHARS
from ingest_core.execution.xml_text import as_utf8
from ingest_core.gate.taxonomy import LEVELS
from ingest_core.model.codes import Operation, ResponseFormat
from ingest_core.model.errors import BadInput
from ingest_core.model.spec import ResponseSpec, SpecSnapshot
from ingest_core.registry.compile import CompileRequest, compile_source, endpoint_for
from ingest_core.registry.read import read_source
from ingest_core.registry.rows import rows_of
from ingest_core.shipped import shipped_sources
from tests.support.specs import NOW, at

SEEDS = Path(__file__).parents[1] / "fuzz" / "seeds"
MAX_TEXT = 200
_CONTROL = re.compile(rb"\\u00([01][0-9a-f])")


@cache
def specs() -> tuple[SpecSnapshot, ...]:
    """A harvest of every shipped source that serves one."""
    return tuple(_compiled())


def _compiled() -> Iterator[SpecSnapshot]:
    for name, text in sorted(shipped_sources().items()):
        code = name.removesuffix(".yaml")
        rows = rows_of(read_source(text, name))
        try:
            endpoint = endpoint_for(rows, code, None, Operation.HARVEST)
        except BadInput:  # it is asked by id alone
            continue
        yield compile_source(rows, CompileRequest(code, endpoint, Operation.HARVEST, None), NOW).spec


@cache
def seeds() -> tuple[bytes, ...]:
    """Real answers, cut to a few records."""
    return tuple(path.read_bytes() for path in sorted(SEEDS.glob("*.*ml")) + sorted(SEEDS.glob("*.json")))


def check(body: bytes, spec: SpecSnapshot) -> str:
    """Decode the body as a page, and as details where the source has them; what came of it."""
    says_empty(body, spec.response, 404)
    stated_error(body, spec.response)
    found = _page_of(body, spec, detail=False)
    if spec.detail is not None:
        _page_of(body, spec, detail=True)
    return found


def _page_of(body: bytes, spec: SpecSnapshot, *, detail: bool) -> str:
    broken: PageBroken | None = None
    try:
        page = decode_detail(body, spec) if detail else decode_page(body, spec)
    except PageBroken as error:
        broken = error
    if broken is not None:
        assert broken.code in LEVELS, broken.code
        assert len(str(broken)) < 2000
        return broken.code
    response = spec.detail.response if detail and spec.detail else spec.response
    _check_page(page, body, response, Router(spec), listed=spec.detail is not None and not detail)
    return "page"


def _check_page(page: DecodedPage, body: bytes, response: ResponseSpec, router: Router, *, listed: bool) -> None:
    _check_texts(page, body, response)
    _check_statements(page)
    if not listed:
        _check_records(page, router)
        return
    ids = router.listed_ids(page, response.id_path)
    live, gone = router.split_hits(page, ids)
    assert len(ids) == len(page.items) >= len(live) + len(gone)
    assert all(map(_is_storable, (*live, *(one.provider_id for one in gone))))


def _check_texts(page: DecodedPage, body: bytes, response: ResponseSpec) -> None:
    """Each record's text stands in the body as it was received; only control characters are escaped."""
    assert len(page.items) == len(page.raw)
    assert len(page.declarations) in (0, len(page.raw))
    received = as_utf8(body) if response.format == ResponseFormat.XML else body
    for raw in page.raw[:MAX_TEXT]:
        text = raw.encode("utf-8", "surrogateescape")
        assert text in received or _CONTROL.sub(_control, text) in _CONTROL.sub(_control, received)


def _control(escape: re.Match[bytes]) -> bytes:
    return bytes([int(escape.group(1), 16)])


def _check_statements(page: DecodedPage) -> None:
    assert page.total is None or 0 <= page.total <= 10**18
    assert page.step is None or 0 <= page.step <= 10**18
    if page.next_token is not None:
        assert _is_storable(page.next_token)
        assert 0 < len(page.next_token) <= MAX_PLACE_CHARS


def _check_records(page: DecodedPage, router: Router) -> None:
    """Each record goes one way, and what goes to the store can be stored."""
    routed = router.route(page, at("12:00"))
    assert len(routed.records) + len(routed.rejected) + len(routed.gone) + routed.outside == len(page.items)
    assert len(routed.id_hashes) == len(page.items) * ID_HASH_BYTES
    assert len(routed.rejected) >= sum(isinstance(item, Unreadable) for item in page.items)
    for record in routed.records:
        assert 0 < len(record.provider_id) <= MAX_ID_CHARS
        assert len(record.version or "") <= MAX_VERSION_CHARS
        assert all(map(_is_storable, (record.provider_id, record.version or "", record.payload, str(record.fields))))
    for entry in routed.rejected:
        assert all(map(_is_storable, (entry.fragment, entry.provider_id or "", entry.json_path)))
        assert len(entry.fragment.encode()) <= 1024


def _is_storable(text: str) -> bool:
    """Whether every database takes the text."""
    return "\x00" not in text and not any("\ud800" <= char <= "\udfff" for char in text)
