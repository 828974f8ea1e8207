"""Each record of a page goes one way: to the store, or to quarantine with a reason."""

import hashlib
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import orjson

from ingest_core.execution.decode import DecodedPage
from ingest_core.execution.instants import parse_source_time
from ingest_core.model.canonical import canonical_json, hash_text
from ingest_core.model.codes import IdNormalizer, QuarantineReason
from ingest_core.model.numbers import holds_long_number
from ingest_core.model.record import Record, Rejected
from ingest_core.model.redaction import excerpt
from ingest_core.model.spec import SpecSnapshot
from ingest_core.registry.paths import compile_path

MAX_ID_CHARS = 512
MAX_PAYLOAD_CHARS = 8 * 1024 * 1024
FRAGMENT_BYTES = 1024
FUTURE_TOLERANCE = timedelta(days=1)
ID_HASH_BYTES = 8

_NORMALIZE: dict[IdNormalizer, Callable[[str], str]] = {
    IdNormalizer.NONE: str.strip,
    IdNormalizer.DOI: lambda text: text.strip().lower(),
}


class _Unusable(Exception):
    """A record that goes to quarantine."""

    def __init__(self, reason: QuarantineReason, path: str, provider_id: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path
        self.provider_id = provider_id


class Router:
    """Knows one snapshot's paths, compiled once."""

    def __init__(self, spec: SpecSnapshot) -> None:
        self._response = spec.response
        self._id = compile_path(spec.response.id_path)
        self._updated_at = compile_path(spec.response.updated_at_path)
        self._normalize = _NORMALIZE[spec.id_normalizer]
        self._mapping = [(name, compile_path(path)) for name, path in sorted(spec.mapping.items())]

    def route(self, page: DecodedPage, asked_at: datetime) -> tuple[list[Record], list[Rejected], bytes]:
        """Usable records, unusable ones, and a short hash of each, in order."""
        records: list[Record] = []
        rejected: list[Rejected] = []
        hashes = bytearray()
        for item, raw in zip(page.items, page.raw, strict=True):
            try:
                record = self._record(item, raw, asked_at, long_numbers=page.long_numbers)
                records.append(record)
                hashes += short_hash(record.provider_id)
            except _Unusable as unusable:
                entry = _reject(unusable, raw)
                rejected.append(entry)
                hashes += bytes.fromhex(entry.fragment_hash)[:ID_HASH_BYTES]
        return records, rejected, bytes(hashes)

    def _record(self, item: Any, raw: str, asked_at: datetime, *, long_numbers: bool) -> Record:
        if not isinstance(item, dict):
            raise _Unusable(QuarantineReason.NOT_AN_OBJECT, self._response.items_path)
        payload_hash = _content_hash(item, raw, long_numbers=long_numbers)
        provider_id = self._provider_id(self._id(item))
        updated_at = self._instant(self._updated_at(item), provider_id)
        fields = {name: value for name, get in self._mapping if (value := get(item)) not in (None, [], "")}
        if updated_at > asked_at + FUTURE_TOLERANCE:
            fields["flags"] = ["UPDATED_AT_IN_FUTURE"]
            updated_at = asked_at
        return Record(provider_id, updated_at, raw, payload_hash, fields)

    def _provider_id(self, value: Any) -> str:
        path = self._response.id_path
        if value is None or value == "":
            raise _Unusable(QuarantineReason.ID_MISSING, path)
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise _Unusable(QuarantineReason.ID_INVALID, path)
        provider_id = self._normalize(str(value))
        if not provider_id:
            raise _Unusable(QuarantineReason.ID_MISSING, path)
        if len(provider_id) > MAX_ID_CHARS:
            raise _Unusable(QuarantineReason.ID_TOO_LONG, path)
        return provider_id

    def _instant(self, value: Any, provider_id: str) -> datetime:
        path = self._response.updated_at_path
        if value is None or value == "":
            raise _Unusable(QuarantineReason.UPDATED_AT_MISSING, path, provider_id)
        instant = parse_source_time(value)
        if instant is None:
            raise _Unusable(QuarantineReason.UPDATED_AT_INVALID, path, provider_id)
        return instant


def short_hash(provider_id: str) -> bytes:
    """Enough of a hash to count distinct ids."""
    return hashlib.sha256(provider_id.encode()).digest()[:ID_HASH_BYTES]


def _content_hash(item: dict[str, Any], raw: str, *, long_numbers: bool) -> str:
    """Hash of the record's content, whatever the order of its keys; unusable if no store would take it."""
    if len(raw) > MAX_PAYLOAD_CHARS:
        raise _Unusable(QuarantineReason.TOO_LARGE, "$")
    if "\\u0000" in raw and _holds_nul(item):
        raise _Unusable(QuarantineReason.TEXT_INVALID, "$")
    try:
        if long_numbers and holds_long_number(raw.encode()):
            return hash_text(canonical_json(json.loads(raw)))
        content = orjson.dumps(item, option=orjson.OPT_SORT_KEYS)
    except (TypeError, ValueError) as error:  # a lone surrogate, or a number beyond 64 bits
        if not _numbers_only(item):
            raise _Unusable(QuarantineReason.TEXT_INVALID, "$") from error
        content = raw.encode()
    return hashlib.sha256(content).hexdigest()


def _holds_nul(value: Any) -> bool:
    return _any_text(value, lambda text: "\x00" in text)


def _numbers_only(value: Any) -> bool:
    return not _any_text(value, lambda text: any("\ud800" <= char <= "\udfff" for char in text))


def _any_text(value: Any, test: Callable[[str], bool]) -> bool:
    if isinstance(value, str):
        return test(value)
    if isinstance(value, dict):
        return any(test(key) or _any_text(one, test) for key, one in value.items())
    return isinstance(value, list) and any(_any_text(one, test) for one in value)


def _reject(unusable: _Unusable, raw: str) -> Rejected:
    return Rejected(
        reason=unusable.reason,
        json_path=unusable.path[:400],
        fragment=excerpt(raw, FRAGMENT_BYTES).encode()[:FRAGMENT_BYTES].decode(errors="ignore"),
        fragment_hash=hashlib.sha256(raw.encode("utf-8", "surrogatepass")).hexdigest(),
        provider_id=unusable.provider_id,
    )
