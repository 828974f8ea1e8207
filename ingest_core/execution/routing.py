"""Each record of a page goes one way: to the store, or to quarantine with a reason."""

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import zip_longest
from threading import Event
from typing import Any

import orjson

from ingest_core.execution.page import DecodedPage
from ingest_core.execution.records import MAX_RECORD_BYTES, Unreadable
from ingest_core.execution.unusable import Unusable, compiled, decided, found_or_none, page_time, reject
from ingest_core.execution.xml_page import declared_alone
from ingest_core.model.canonical import canonical_json, hash_of, hash_text
from ingest_core.model.codes import GoneReason, QuarantineReason, ResponseFormat
from ingest_core.model.numbers import holds_long_number
from ingest_core.model.record import NORMALIZE_ID, Gone, Record, Rejected
from ingest_core.model.spec import Expression, ResponseSpec, SpecSnapshot
from ingest_core.model.window import Window
from ingest_core.registry.bounds import SMALL_RECORD_CHARS, BoundExceeded, Meter, check_common
from ingest_core.registry.dates import parse_source_time
from ingest_core.registry.extraction import compile_raw, compile_value
from ingest_core.registry.paths import Getter, compile_path
from ingest_core.registry.patterns import MatchTime, PageTimeout
from ingest_core.registry.values import text_of

log = logging.getLogger(__name__)

MAX_ID_CHARS = 512
MAX_VERSION_CHARS = 128
FUTURE_TOLERANCE = timedelta(days=1)
ID_HASH_BYTES = 8


@dataclass(frozen=True)
class Routed:
    """A page's records: usable, unusable and deleted ones, and a short hash of each.

    `outside` counts those that are skipped: of another time than the slice's, or taken in by the pass before.
    """

    records: list[Record]
    rejected: list[Rejected]
    id_hashes: bytes
    outside: int = 0
    gone: list[Gone] = field(default_factory=list)


class _Deletions:
    """Recognises the deleted records of one endpoint; of such a record only its id must be readable."""

    def __init__(self, response: ResponseSpec, normalize: Callable[[str], str]) -> None:
        self._deleted = response.deleted
        self._time_zone = response.time_zone
        self._updated_at = compiled("response.updated_at", compile_raw, response.updated_at_path)
        self._merged_into = compiled("response.merged_into", compile_value, response.merged_into_path)
        self._normalize = normalize

    def reports(self, item: Any) -> bool:
        """Whether the provider says that it deleted this record."""
        return isinstance(item, dict) and decided("response.deleted", self._deleted, item)

    def read(self, item: Any, provider_id: str) -> Gone:
        """What became of the record."""
        merged_into = self._target(item, provider_id)
        reason = GoneReason.MERGED if merged_into else GoneReason.DELETED
        return Gone(provider_id, self._time(item), reason, merged_into)

    def _time(self, item: Any) -> datetime | None:
        value = found_or_none(self._updated_at, item)
        return None if value in (None, "", []) else parse_source_time(value, self._time_zone)

    def _target(self, item: Any, provider_id: str) -> str | None:
        """The id of the record that took this one's place, where it is an id and another one."""
        found = found_or_none(self._merged_into, item)
        text = text_of(found[0] if isinstance(found, list) and found else found)
        target = _storable(self._normalize(text)) if text else None
        return target if target and len(target) <= MAX_ID_CHARS and target != provider_id else None


class Router:
    """Knows one snapshot's paths, compiled once."""

    def __init__(self, spec: SpecSnapshot) -> None:
        response = spec.detail.response if spec.detail else spec.response
        self._format = response.format
        self._items_path = response.items_path
        self._shown_id = _shown(response.id_path)
        self._shown_time = _shown(response.updated_at_path)
        self._id = compiled("response.id", compile_raw, response.id_path)
        self._updated_at = compiled("response.updated_at", compile_raw, response.updated_at_path)
        self._timed = response.updated_at_path is not None
        self._version = compiled("response.version", compile_raw, response.version_path)
        self._time_zone = response.time_zone
        self._record_error = response.record_error
        self._normalize = NORMALIZE_ID[spec.id_normalizer]
        self._deletions = _Deletions(response, self._normalize)
        self._deleted_hits = _Deletions(spec.response, self._normalize)
        compile_field = compile_value if spec.snapshot_version > 1 else _as_it_was
        self._mapping = [
            (name, compiled(f"mapping.{name}", compile_field, one)) for name, one in sorted(spec.mapping.items())
        ]

    def route(
        self, page: DecodedPage, asked_at: datetime, owns: Window | None = None, abandoned: Event | None = None
    ) -> Routed:
        """Each record of the page one way; with `owns`, records of another time are none of ours.

        UpstreamError if the source's patterns take too long on the whole page, Abandoned once `abandoned` is set.
        """
        with page_time(abandoned) as remaining:
            return self._route(page, asked_at, owns, remaining)

    def _route(self, page: DecodedPage, asked_at: datetime, owns: Window | None, remaining: MatchTime) -> Routed:
        records: list[Record] = []
        rejected: list[Rejected] = []
        gone = list(page.gone)
        hashes = bytearray()
        # Only XML has texts that lack declarations.
        declarations = page.declarations or [""] * len(page.raw)
        for item, raw, lacking in zip(page.items, page.raw, declarations, strict=True):
            remaining.next_record()
            try:
                if self._deletions.reports(item):
                    gone.append(self._deletions.read(item, self._storable_id(item)))
                    hashes += short_hash(gone[-1].provider_id)
                    continue
                record = self._record(item, raw, lacking, asked_at, long_numbers=page.long_numbers)
                records.append(record)
                hashes += short_hash(record.provider_id)
            except (Unusable, BoundExceeded, RecursionError) as error:
                deep = Unusable(QuarantineReason.UNREADABLE, "$")
                entry = reject(deep if isinstance(error, RecursionError) else error, raw)
                rejected.append(entry)
                hashes += _hash_of_rejected(entry)
        if page.listed is not None:
            came = {one.provider_id for one in records} | {one.provider_id for one in gone}
            rejected += self._missing(page, came | {one.provider_id for one in rejected})
            hashes = bytearray(b"".join(map(short_hash, _names_of_hits(page))))
        kept = [
            one for one in records if owns is None or "flags" in one.fields or owns.start <= one.updated_at < owns.end
        ]
        dated = [_not_in_future(one, asked_at) for one in gone]
        mine = [one for one in dated if owns is None or one.at is None or owns.start <= one.at < owns.end]
        outside = len(records) - len(kept) + len(gone) - len(mine) + len(page.repeated)
        return Routed(kept, rejected, bytes(hashes), outside, mine)

    def listed_ids(self, page: DecodedPage, id_path: Expression) -> list[str]:
        """The ids a search page lists, in normal form; a hit without one has none, and stays to be counted."""
        get = compiled("response.id", compile_raw, id_path)
        with page_time() as remaining:
            return [self._listed_id(get, item, remaining) for item in page.items]

    def _listed_id(self, get: Getter, item: Any, remaining: MatchTime) -> str:
        remaining.next_record()
        try:
            text = text_of(get(item))
        except BoundExceeded as error:
            log.warning("a search result goes to quarantine, its id cannot be read: %s", error)
            return ""
        return _storable(self._normalize(text or "")) or ""

    def split_hits(self, page: DecodedPage, ids: list[str]) -> tuple[list[str], list[Gone]]:
        """The ids of a search page whose records are to be fetched, each once, and the hits it reports as deleted."""
        live: dict[str, None] = {}
        gone = []
        with page_time() as remaining:
            for item, provider_id in zip(page.items, ids, strict=True):
                remaining.next_record()
                if 0 < len(provider_id) <= MAX_ID_CHARS and self._is_deleted_hit(item):
                    gone.append(self._deleted_hits.read(item, provider_id))
                elif 0 < len(provider_id) <= MAX_ID_CHARS:
                    live[provider_id] = None
        return list(live), gone

    def _is_deleted_hit(self, item: Any) -> bool:
        """Whether the search reports the record as deleted; where that cannot be decided, its details are asked for."""
        try:
            return self._deleted_hits.reports(item)
        except BoundExceeded as error:
            log.warning("whether a search result is deleted cannot be decided: %s", error)
            return False

    def _missing(self, page: DecodedPage, came: Set[str | None]) -> list[Rejected]:
        """Ids that were listed and of which no record came."""
        entries = []
        nameless = sum(not provider_id for provider_id in page.listed or ())
        unnamed = Unusable(QuarantineReason.ID_MISSING, self._shown_id)
        entries += [reject(unnamed, f'{{"hit": {number}}}') for number in range(nameless)]
        for provider_id in filter(None, dict.fromkeys(page.listed or ())):
            if provider_id not in came and provider_id not in page.repeated:
                failure = page.failed.get(provider_id)
                reason = QuarantineReason.DETAIL_FAILED if failure else QuarantineReason.DETAIL_MISSING
                if len(provider_id) > MAX_ID_CHARS:  # it was not asked for
                    reason = QuarantineReason.ID_TOO_LONG
                fragment = canonical_json({"id": provider_id, **({"error": failure} if failure else {})})
                unusable = Unusable(reason, self._items_path, provider_id[:MAX_ID_CHARS])
                entries.append(replace(reject(unusable, fragment), fragment_hash=hash_of(provider_id)))
        return entries

    def _record(self, item: Any, raw: str, lacking: str, asked_at: datetime, *, long_numbers: bool) -> Record:
        if isinstance(item, Unreadable):
            raise Unusable(item.reason, "$", self._id_of_unreadable(item))
        if not isinstance(item, dict):
            raise Unusable(QuarantineReason.NOT_AN_OBJECT, self._items_path)
        provider_id = self._provider_id(self._id(item))
        try:
            return self._named_record(item, raw, lacking, asked_at, provider_id, long_numbers=long_numbers)
        except BoundExceeded as error:
            error.provider_id = provider_id
            raise

    def _named_record(
        self, item: Any, raw: str, lacking: str, asked_at: datetime, provider_id: str, *, long_numbers: bool
    ) -> Record:
        payload, payload_hash = self._payload(item, raw, lacking, provider_id, long_numbers=long_numbers)
        if self._record_error is not None and decided("response.record_error", self._record_error, item):
            raise Unusable(QuarantineReason.RECORD_ERROR, self._record_error.path, provider_id)
        updated_at = self._instant(self._updated_at(item), provider_id) if self._timed else asked_at
        fields = self.common_record(item, Meter() if len(raw) > SMALL_RECORD_CHARS else None)
        if _too_large(payload, fields, check_common(fields, len(raw))):
            raise Unusable(QuarantineReason.TOO_LARGE, "$", provider_id)
        if updated_at > asked_at + FUTURE_TOLERANCE:
            fields["flags"] = ["UPDATED_AT_IN_FUTURE"]
            updated_at = asked_at
        return Record(provider_id, updated_at, payload, payload_hash, fields, self._version_of(item))

    def _version_of(self, item: dict[str, Any]) -> str | None:
        """What decides between records of one update time; what no store would take decides nothing."""
        text = text_of(self._version(item))
        return _storable(text[:MAX_VERSION_CHARS]) if text else None

    def common_record(self, item: Any, meter: Meter | None = None) -> dict[str, Any]:
        """The fields every source has under the same names, without absent values; the meter counts each one built."""
        fields = {}
        for name, get in self._mapping:
            try:
                value = get(item)
            except (PageTimeout, BoundExceeded):
                raise
            except Exception as error:
                raise Unusable(QuarantineReason.RECORD_ERROR, f"mapping.{name}") from error
            if value is not None:
                fields[name] = value
                if meter is not None:
                    meter.add(value, f"mapping.{name}")
        return fields

    def _payload(
        self, item: dict[str, Any], raw: str, lacking: str, provider_id: str, *, long_numbers: bool
    ) -> tuple[str, str]:
        """The record as the store keeps it: JSON as received, XML within JSON; and the hash of what was received.

        XML gets the namespace declarations it lacks, so that it can be parsed alone. They are not part of the hash: a
        provider that declares them elsewhere has changed no record.
        """
        if _too_large(raw, {}, 0):
            raise Unusable(QuarantineReason.TOO_LARGE, "$", provider_id)
        if self._format == ResponseFormat.XML:
            return orjson.dumps({"xml": declared_alone(raw, lacking)}).decode(), hash_text(raw)
        return raw, _content_hash(item, raw, provider_id, long_numbers=long_numbers)

    def _provider_id(self, value: Any) -> str:
        if value is None or value == "":
            raise Unusable(QuarantineReason.ID_MISSING, self._shown_id)
        text = text_of(value) if isinstance(value, str | int | dict) else None
        if text is None and not (isinstance(value, str) and not value.strip()):
            raise Unusable(QuarantineReason.ID_INVALID, self._shown_id)
        provider_id = self._normalize(text or "")
        if not provider_id:
            raise Unusable(QuarantineReason.ID_MISSING, self._shown_id)
        if len(provider_id) > MAX_ID_CHARS:
            raise Unusable(QuarantineReason.ID_TOO_LONG, self._shown_id)
        return provider_id

    def _id_of_unreadable(self, item: Unreadable) -> str | None:
        """The id, where that much of the record could be read: when it comes again in order it leaves quarantine."""
        try:
            return self._storable_id(item.rest) if isinstance(item.rest, dict) else None
        except (Unusable, RecursionError):
            return None

    def _storable_id(self, item: Any) -> str:
        provider_id = self._provider_id(self._id(item))
        if _storable(provider_id) is None:
            raise Unusable(QuarantineReason.TEXT_INVALID, self._shown_id)
        return provider_id

    def _instant(self, value: Any, provider_id: str) -> datetime:
        if value is None or value in ("", []):
            raise Unusable(QuarantineReason.UPDATED_AT_MISSING, self._shown_time, provider_id)
        instant = parse_source_time(value, self._time_zone)
        if instant is None:
            raise Unusable(QuarantineReason.UPDATED_AT_INVALID, self._shown_time, provider_id)
        return instant


def _not_in_future(gone: Gone, asked_at: datetime) -> Gone:
    """The deletion without a time that cannot be right, as a record's is corrected."""
    return replace(gone, at=None) if gone.at and gone.at > asked_at + FUTURE_TOLERANCE else gone


def _too_large(payload: str, fields: dict[str, Any], chars: int) -> bool:
    """Whether no statement could carry the record; `chars` are those of the fields, most need no exact count."""
    if (len(payload) + chars) * 8 <= MAX_RECORD_BYTES:
        return False
    fields_bytes = len(json.dumps(fields, ensure_ascii=False).encode("utf-8", "surrogatepass")) if fields else 0
    return len(payload.encode("utf-8", "surrogatepass")) + fields_bytes > MAX_RECORD_BYTES


def _as_it_was(path: str) -> Callable[[Any], Any]:
    """A field of the first snapshots' mappings: whatever its path finds."""
    get = compile_path(path)
    return lambda item: None if (value := get(item)) in ("", []) else value


def _shown(expression: Expression | None) -> str:
    """An expression as quarantine names it."""
    return expression if isinstance(expression, str) else canonical_json(expression)


def short_hash(provider_id: str) -> bytes:
    """Enough of a hash to count distinct ids."""
    return hashlib.sha256(provider_id.encode("utf-8", "surrogatepass")).digest()[:ID_HASH_BYTES]


def _names_of_hits(page: DecodedPage) -> Iterator[str]:
    """What the results of a search count by; one without an id by its text, which another pass brings again."""
    times: Counter[str] = Counter()
    for provider_id, text in zip_longest(page.listed or (), page.hits, fillvalue=""):
        times[text] += not provider_id
        yield provider_id or f"nameless {times[text]} {text}"


def _hash_of_rejected(entry: Rejected) -> bytes:
    """By its id if that can be read: one record whose text differs each time it comes must not count as several."""
    return short_hash(entry.provider_id) if entry.provider_id else bytes.fromhex(entry.fragment_hash)[:ID_HASH_BYTES]


def _content_hash(item: dict[str, Any], raw: str, provider_id: str, *, long_numbers: bool) -> str:
    """Hash of the record's content, whatever the order of its keys; unusable if no store would take it."""
    try:
        if "\\u0000" in raw and _any_text(item, lambda text: "\x00" in text):
            raise Unusable(QuarantineReason.TEXT_INVALID, "$", _storable(provider_id))
        if long_numbers and holds_long_number(raw.encode()):
            return hash_text(canonical_json(json.loads(raw)))
        content = orjson.dumps(item, option=orjson.OPT_SORT_KEYS)
    except RecursionError as error:
        raise Unusable(QuarantineReason.UNREADABLE, "$", _storable(provider_id)) from error
    except (TypeError, ValueError) as error:  # a lone surrogate, a number beyond 64 bits, or many levels
        if _holds_lone_surrogate(item):
            raise Unusable(QuarantineReason.TEXT_INVALID, "$", _storable(provider_id)) from error
        content = raw.encode()
    return hashlib.sha256(content).hexdigest()


def _storable(provider_id: str) -> str | None:
    """The id, unless it is what no store would take."""
    return None if "\x00" in provider_id or _holds_lone_surrogate(provider_id) else provider_id


def _holds_lone_surrogate(value: Any) -> bool:
    return _any_text(value, lambda text: any("\ud800" <= char <= "\udfff" for char in text))


def _any_text(value: Any, test: Callable[[str], bool]) -> bool:
    if isinstance(value, str):
        return test(value)
    if isinstance(value, dict):
        return any(test(key) or _any_text(one, test) for key, one in value.items())
    return isinstance(value, list) and any(_any_text(one, test) for one in value)
