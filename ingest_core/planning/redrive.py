"""Asking again for what is in quarantine: by id where the source can be refreshed, else by the window it was in."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cached_property

from ingest_core.model.codes import Operation, SchedulerCode
from ingest_core.model.errors import BadInput, PatraError, Refused
from ingest_core.model.instant import format_instant
from ingest_core.model.partition import Partition
from ingest_core.model.quarantine import Quarantined, Redriven, Refusal
from ingest_core.model.window import Window
from ingest_core.planning.plan import Planner
from ingest_core.planning.ports import RetryStore
from ingest_core.planning.proposal import Proposal
from ingest_core.planning.request import PlanRequest, Trigger
from ingest_core.planning.steps import PlanSteps
from ingest_core.registry.ports import RegistryStore
from ingest_core.registry.rows import Rows

SIGNAL_CAMPAIGN = "quarantine"
NO_WAY = "it has no id, or the source cannot be refreshed by id, and its endpoint serves no BACKFILL"
REMEDY = "discard it, release it, or plan the time it belongs to yourself"


class Redriver:
    """Turns rows of quarantine into signals for an UPDATE, or into BACKFILL plans."""

    def __init__(self, registry: RegistryStore, planner: Planner, store: RetryStore) -> None:
        self._registry = registry
        self._planner = planner
        self._store = store

    def retry(self, entries: list[Quarantined], key: str) -> Iterator[Redriven | Refusal]:
        """Group by group what becomes of the rows; `key` tells this retry from every other."""
        by_source: dict[str, list[Quarantined]] = defaultdict(list)
        for entry in entries:
            by_source[entry.source].append(entry)
        for source, rows in by_source.items():
            yield from self._retry_source(_Ways(source, self._registry.rows(source), self._planner), rows, key)

    def _retry_source(self, ways: "_Ways", entries: list[Quarantined], key: str) -> Iterator[Redriven | Refusal]:
        by_id: dict[str, list[Quarantined]] = defaultdict(list)
        by_window: dict[tuple[object, ...], list[Quarantined]] = defaultdict(list)
        for entry in entries:
            refresh = ways.refresh.get(entry.endpoint)
            if entry.provider_id is not None and refresh:
                by_id[refresh].append(entry)
            elif entry.window is not None and entry.endpoint in ways.backfill:
                by_window[(entry.endpoint, entry.window.start, entry.window.end, entry.query)].append(entry)
            else:
                yield Refusal([entry.row_id], f"{NO_WAY}: {REMEDY}")
        for endpoint, rows in by_id.items():
            yield self._signal(Partition(ways.source, endpoint, Operation.UPDATE), rows)
        for rows in by_window.values():
            yield self._backfill(rows, key)

    def _signal(self, partition: Partition, entries: list[Quarantined]) -> Redriven:
        self._store.signal(partition, SIGNAL_CAMPAIGN, entries)
        ids = [entry.row_id for entry in entries]
        return Redriven(
            ids, partition.provenance_code, partition.endpoint_name, Operation.UPDATE.value, SIGNAL_CAMPAIGN
        )

    def _backfill(self, entries: list[Quarantined], key: str) -> Redriven | Refusal:
        """Rows are RETRYING before there is a plan: an executor may be quicker than we are."""
        first, ids = entries[0], [entry.row_id for entry in entries]
        assert first.window is not None
        campaign = f"quarantine-{first.row_id}-{first.seen_count}"
        request = PlanRequest(
            first.source,
            Operation.BACKFILL,
            first.endpoint,
            first.window.start,
            first.window.end,
            first.query,
            campaign=campaign,
        )
        self._store.mark_retrying(ids, campaign)
        try:
            trigger = Trigger(SchedulerCode.CLI, f"{campaign}-{key}")
            report = self._planner.plan(request, trigger, steps=_Whole(request))
        except (BadInput, Refused) as error:
            self._store.give_up(ids, str(error))
            return Refusal(ids, str(error))
        except PatraError:
            self._store.give_up(ids, "interrupted")
            raise
        return Redriven(ids, first.source, first.endpoint, Operation.BACKFILL.value, campaign, report.plan.plan_id)


class _Whole(PlanSteps):
    """Refuses a plan of less than the window: it would not show that the record is gone."""

    def __init__(self, request: PlanRequest) -> None:
        assert request.user_from is not None
        assert request.user_to is not None
        self._request, self._asked = request, Window(request.user_from, request.user_to)

    def resolve(self, work: Callable[[], Proposal]) -> Proposal:
        """The window; Refused unless it is all of what was asked for."""
        resolved = work()
        window, asked = resolved.decision.window, self._asked
        if window and window.start <= asked.start and window.end >= asked.end:
            return resolved
        raise Refused(
            "WINDOW_NOT_WHOLE",
            f"a BACKFILL cannot read {format_instant(asked.start)} .. {format_instant(asked.end)} whole now:"
            " it never passes the HARVEST's watermark",
            where=f"source {self._request.source!r}, endpoint {self._request.endpoint!r}",
            remedy="retry when the watermark has passed it; nothing was planned",
        )


class _Ways:
    """How one source's records can be asked for again."""

    def __init__(self, source: str, rows: Rows, planner: Planner) -> None:
        self.source = source
        self._endpoints = rows["reg_prov_endpoint_def"]
        self._planner = planner

    @cached_property
    def backfill(self) -> set[str]:
        """The endpoints that serve BACKFILL."""
        return {row["endpoint_name"] for row in self._endpoints if Operation.BACKFILL.value in row["operations"]}

    @cached_property
    def refresh(self) -> dict[str, str]:
        """Whose records can be refreshed by id, and at which endpoint."""
        found: dict[str, str] = {}
        for row in self._endpoints:
            if Operation.UPDATE.value in row["operations"]:
                request = PlanRequest(self.source, Operation.UPDATE, row["endpoint_name"])
                spec = self._planner.compile(request).spec
                if spec.window is None:
                    found.setdefault(spec.item_endpoint or spec.endpoint_name, spec.endpoint_name)
        return found
