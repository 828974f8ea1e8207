"""One day of a provider whose records may lack the split field, and a harvest of it: no database, the real requests."""

import json
import re
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from ingest_core.cursor.frontier import whole_coverage
from ingest_core.execution.fetch import Fetcher, Spot
from ingest_core.execution.paging import paginator_of
from ingest_core.execution.ports import Request, Response
from ingest_core.execution.request import Caller, render_request
from ingest_core.execution.unset import UnsetCheck, readable
from ingest_core.gate.taxonomy import UpstreamError
from ingest_core.inspection.probe import UpstreamProbe
from ingest_core.model.cursor import Coverage
from ingest_core.model.namespace import harvest_namespace
from ingest_core.model.spec import AuthSpec, SpecSnapshot
from ingest_core.planning.estimate import Estimate, ProbingEstimator, StoredEstimates, WindowPart, probe_budget
from ingest_core.planning.needs import Need
from ingest_core.planning.ports import PlanStore, Reslice
from ingest_core.planning.reslice import Reslicer
from ingest_core.planning.sizing import constant_estimate
from ingest_core.planning.strategies.strategy import Piece, SliceContext, StrategyRegistry
from ingest_core.planning.strategies.time_slices import TimeStrategy
from tests.support.small_source import compiled, small_document, small_endpoint
from tests.support.specs import span
from tests.support.upstream import ScriptedGate

DAY = span("2026-03-10", "2026-03-11")
CAP, PAGE, HIGHEST = 8, 4, 40
MOST_TASKS = 400
_FILTER = re.compile(r"(?P<no>all NOT )?(?:n:(?P<low>\d+|\*)-(?P<high>\d+|\*)|has:n)")
_RANGE = {"field": "n", "op": "RANGE", "template": "n:{from}-{to}", "open_start": "*", "open_end": "*"}
_NOT = [{"op": "NOT", "template": " NOT "}, {"op": "CONST", "template": "all"}]
_EXISTS = {"field": "n", "op": "EXISTS", "template": "has:n"}
RULES: dict[str, list[dict[str, Any]]] = {"no NOT": [], "NOT RANGE": _NOT, "NOT EXISTS": [*_NOT, _EXISTS]}

Record = tuple[int, int | None]
"""Its id and its number, if it has one."""


@dataclass
class OneDay:
    """An Upstream: records of one day, found by number; some habits of its totals and of its NOT."""

    records: list[Record]
    total: str = "exact"
    """`exact`, `none`, `noisy` (an estimate) or `capped` (never above the number of records that can be read)."""
    null_logic: bool = False
    """NOT RANGE leaves out records without the field, as SQL does."""
    arriving: list[Record] = field(default_factory=list)
    """One more record before each request, as long as there are any."""
    requests: int = 0

    def knows(self, _auth: AuthSpec) -> bool:
        return True

    def send(self, request: Request) -> Response:
        if self.arriving:
            self.records.append(self.arriving.pop(0))
        self.requests += 1
        asked = dict(request.query)
        found = sorted(one for one in self.records if self._asked_for(one[1], asked.get("filter")))
        offset, size = int(asked["offset"]), int(asked["size"])
        shown = found[offset : min(offset + size, CAP)]
        items = [{"id": f"r{number}", "updated": "2026-03-10T01:00:00Z"} for number, _ in shown]
        return Response("", 200, {}, json.dumps({"items": items, **self._stated(len(found))}).encode(), 0.0)

    def _asked_for(self, number: int | None, text: str | None) -> bool:
        if text is None:
            return True
        asked = _FILTER.fullmatch(text)
        assert asked, text
        if number is None:
            return bool(asked["no"]) and (asked["low"] is None or not self.null_logic)
        low, high = (None if asked[end] in (None, "*") else int(asked[end]) for end in ("low", "high"))
        return ((low is None or low <= number) and (high is None or number <= high)) != bool(asked["no"])

    def _stated(self, size: int) -> dict[str, int]:
        said = {"none": {}, "noisy": {"total": size * 2 // 3 + 5 * (self.requests % 3)}}
        capped = min(size, CAP) if self.total == "capped" else size
        return said.get(self.total, {"total": capped})


class NoStore:
    """A PlanStore that keeps nothing."""

    def save_estimates(self, _spec: SpecSnapshot, _found: Mapping[WindowPart, Estimate]) -> None: ...


def source(rules: str, budget: int, total: str = "exact", target: int | None = None) -> SpecSnapshot:
    """A source by day that gives 8 records of a query and is split by number."""
    document = small_document(
        endpoints=[small_endpoint(response={"total": None if total == "none" else "$.total"})],
        pagination={
            "type": "OFFSET", "next_token": None, "page_size": PAGE, "max_records": CAP,
            "total_kind": "ESTIMATE" if total == "noisy" else "CHECKED",
        },
        window={"unit": "DAY", "step": "P1D", "format": "%Y-%m-%d"},
        slicing={"split_field": "n", "split_max": HIGHEST, "probe_budget": budget, "target_records": target},
        params=[{"name": "offset", "value": "page_offset"}, {"name": "size", "value": "page_size"},
                {"name": "filter", "value": "query"}],
        fields=[{"name": "updated", "type": "DATETIME"}, {"name": "n", "type": "NUMBER"}],
        render_rules=[{"field": "updated", "op": "RANGE", "params": {"from": "{from}", "to": "{to}"}},
                      {"op": "AND", "template": " AND "}, _RANGE, *RULES[rules]],
    )  # fmt: skip
    document["slicing"] = {name: value for name, value in document["slicing"].items() if value is not None}
    return compiled(document).spec


@dataclass
class Harvest:
    """What became of one day: the records stored, the parts covered, and everything that was said aloud."""

    spec: SpecSnapshot
    upstream: OneDay
    stored: set[int] = field(default_factory=set)
    covered: list[Coverage] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    notes: int = 0

    @property
    def complete(self) -> bool:
        """Whether the watermark passes the day."""
        return any(one.window == DAY for one in whole_coverage(self.covered))

    def run(self) -> "Harvest":
        """Plan the day, read every slice, and cut again what is too big."""
        waiting = deque(self._plan())
        for _ in range(MOST_TASKS):
            if not waiting:
                return self
            piece = waiting.popleft()
            if self._read(piece):
                waiting.extend(self._cut(piece))
        raise AssertionError("the slices are cut for ever")

    def _plan(self) -> Iterable[Piece]:
        stored = StoredEstimates(constant_estimate(self.spec))
        prober = ProbingEstimator(self.spec, stored, self._probe, probe_budget(self.spec))
        return TimeStrategy().pieces(SliceContext(self.spec, self.spec.time, DAY, [Need(DAY)], prober))

    @property
    def _probe(self) -> UpstreamProbe:
        return UpstreamProbe(ScriptedGate(), self.upstream)

    def _cut(self, piece: Piece) -> list[Piece]:
        reslicer = Reslicer(cast(PlanStore, NoStore()), StrategyRegistry([TimeStrategy()]), self._probe)
        namespace = harvest_namespace(self.spec)
        asked = Reslice(1, "k", 1, 1, "p", namespace, self.spec, "TIME", DAY, piece.range, DAY, piece.range, 0, 3)
        pieces = reslicer._pieces(asked)
        if not pieces:
            self.said.append(f"refused: {piece.range}")
        return pieces

    def _read(self, piece: Piece) -> bool:
        """Whether the slice turned out too big."""
        fetcher = Fetcher(self.spec, ScriptedGate(), self.upstream)
        part, caller, offset = piece.range, Caller("c"), 0
        while True:
            token = str(offset) if offset else paginator_of(self.spec.paging).first()
            request = render_request(self.spec, DAY, token, caller, readable(self.spec, part))

            def fetch(request: Request = request, offset: int = offset) -> Any:
                return fetcher.fetch(request, Spot(offset=offset if self.upstream.total != "noisy" else None))

            try:
                unset = UnsetCheck(fetcher, DAY, part, caller) if part and part.is_unset and not offset else None
                first, check = unset.steps(fetch) if unset else (fetch, None)
                found = check(first()) if check else first()
            except UpstreamError as error:
                self.said.append(f"{error.code}: {error}")
                return False
            self.notes += len(found.notes)
            self.stored |= {int(item["id"][1:]) for item in found.page.items}
            offset += len(found.page.items)
            if offset >= CAP:
                return True
            if len(found.page.items) < PAGE:
                self.covered.append(Coverage(DAY, DAY.end, part))
                return False


def day_of(numbers: Iterable[int | None]) -> list[Record]:
    """Records with these numbers."""
    return list(enumerate(numbers))
