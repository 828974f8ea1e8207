"""The part of a split window for records without the split field: how it is read, and what proves that it is all."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from ingest_core.execution.decode import decode_page
from ingest_core.execution.fetch import FetchedPage, Fetcher
from ingest_core.execution.page import NO_RECORDS
from ingest_core.execution.paging import paginator_of
from ingest_core.execution.request import Caller, render_request
from ingest_core.gate.taxonomy import UpstreamError
from ingest_core.model.canonical import canonical_json, hash_text
from ingest_core.model.codes import QuarantineReason, TotalKind
from ingest_core.model.id_range import IdRange
from ingest_core.model.record import Rejected
from ingest_core.model.shortfall import shortfall_limit
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.window import Window
from ingest_core.registry.unset import can_read_unset

CODE = "SPLIT_FIELD_MISSING"
ROUNDS = 3
"""Totals are asked for alternately: records that come or go in between differ, but not every time."""


def readable(spec: SpecSnapshot, part: IdRange | None) -> IdRange | None:
    """The part that a request can ask for; none, so the whole window, where records without the field cannot be."""
    return None if part and part.is_unset and not can_read_unset(spec) else part


@dataclass(frozen=True)
class UnsetCheck:
    """Compares what the parts of a split window hold with what the window holds."""

    fetcher: Fetcher
    window: Window
    part: IdRange
    caller: Caller

    def steps(
        self, fetch: Callable[[], FetchedPage]
    ) -> tuple[Callable[[], FetchedPage], Callable[[FetchedPage], FetchedPage] | None]:
        """What fetches the part's first page, and what checks it afterwards: called one after the other, not nested."""
        return (fetch, self.with_notes) if can_read_unset(self.fetcher.spec) else (self.empty_page, None)

    def with_notes(self, found: FetchedPage) -> FetchedPage:
        """The part's first page, with a note of records in no part; SPLIT_FIELD_MISSING if they are too many."""
        return replace(found, notes=self._compare(_total(found))[0])

    def empty_page(self) -> FetchedPage:
        """A first page without records, for a part that cannot be asked for; SPLIT_FIELD_MISSING if it may hold any."""
        notes, proven = self._compare(0)
        if not proven:
            raise self._refusal(f"no total shows whether records lack {self.part.field!r}")
        return replace(self._counting(self.numbers)(), page=replace(NO_RECORDS, total=0), notes=notes)

    @property
    def numbers(self) -> IdRange:
        """All numbers: what the other parts of the window hold together."""
        return IdRange(self.part.field)

    def _compare(self, own: int | None) -> tuple[list[Rejected], bool]:
        """A note of the records in no part, within the limit; and whether the totals prove that it names them all."""
        if self.fetcher.spec.paging.total_kind is TotalKind.ESTIMATE:
            return [], False
        total = missing = 0
        for number in range(ROUNDS):
            asked = [None, self.numbers] if number % 2 == 0 else [self.numbers, None]
            totals = {}
            for part in asked:
                totals[part] = _total(self._counting(part)())
            stated, held = totals[None], totals[self.numbers]
            if stated is None or held is None or own is None:
                return [], False
            lacking = stated - held - own
            if lacking <= 0:
                return [], self._is_proof(stated)
            total, missing = (stated, lacking) if number == 0 or lacking < missing else (total, missing)
        if missing > shortfall_limit(total, self.fetcher.spec.paging.max_shortfall):
            raise self._refusal(f"{missing} of {total} records are in no range of {self.part.field!r}")
        return [self._note(total, missing)], self._is_proof(total)

    def _note(self, total: int, missing: int) -> Rejected:
        held = {"part": self.part.json(), "total": total, "received": total - missing}
        fragment = canonical_json({"window": self.window.json(), **held})
        place = self.fetcher.spec.response.total_path or "$"
        return Rejected(QuarantineReason.SHORTFALL, place, fragment, hash_text(fragment))

    def _counting(self, part: IdRange | None) -> Callable[[], FetchedPage]:
        """What fetches a page of one record, for its total."""
        spec = self.fetcher.spec
        small = spec.model_copy(update={"pagination": spec.paging.model_copy(update={"page_size": 1})})
        request = render_request(small, self.window, paginator_of(spec.paging).first(), self.caller, part)
        return partial(self.fetcher.ask, request, partial(decode_page, spec=spec), spec.response, repeatable=True)

    def _is_proof(self, total: int) -> bool:
        """Whether totals that add up show that nothing is missing: they may be cut off where reading ends."""
        paging = self.fetcher.spec.paging
        return total not in (paging.max_records, paging.max_page * paging.page_size if paging.max_page else None)

    def _refusal(self, what: str) -> UpstreamError:
        field = self.part.field
        rules = f"render rules that write NOT EXISTS or NOT RANGE of {field!r}"
        mend = f"correct the {rules}" if can_read_unset(self.fetcher.spec) else f"add {rules}"
        remedy = f"{mend}, or set slicing.split_field to a number that every record has"
        message = f"the window was split by {field!r}, and {what}: it is not covered ({remedy})"
        return UpstreamError(CODE, message, moved=False)


def _total(fetched: FetchedPage) -> int | None:
    """The stated total; a first page without records needs none."""
    page = fetched.page
    return 0 if page.total is None and not page.count else page.total
