"""What a plan would be, were it stored now: window, needs, and how they are known."""

from dataclasses import dataclass, field, replace
from datetime import datetime

from ingest_core.model.codes import Operation
from ingest_core.model.cursor import CursorState
from ingest_core.model.instant import format_instant, unit_grid
from ingest_core.model.namespace import Namespace, campaign_namespace, harvest_namespace
from ingest_core.model.spec import SpecSnapshot, WindowSpec
from ingest_core.model.window import Window
from ingest_core.planning.lag import EVIDENCE, LagDecision, decide_lag, evidence_since
from ingest_core.planning.needs import Need, needs_by_range, needs_reading, settled_until, survey
from ingest_core.planning.ports import Anchor, PlanTransaction
from ingest_core.planning.request import PlanRequest
from ingest_core.planning.window import (
    PATROL,
    WindowDecision,
    resolve_backfill,
    resolve_harvest,
    resolve_patrol,
    resolve_update,
)
from ingest_core.registry.compile import Compiled
from ingest_core.registry.merge import PLATFORM_DEFAULT

NOTHING_NEEDED = "every part of the window is settled, was just read, or is in a live task"
_SETTLING = {"window.lag", "window.lookback"}
NO_IDS = "no id waits to be refreshed: none was given, or those given are in a live task"


@dataclass(frozen=True)
class Proposal:
    """Window, needs, and the namespace they belong to."""

    namespace: Namespace
    decision: WindowDecision
    config: WindowSpec
    campaign: str | None = None
    cursor: CursorState | None = None
    lag: LagDecision | None = None
    needs: list[Need] = field(default_factory=list)
    settled: datetime | None = None
    newest_first: bool = False

    @property
    def by_id(self) -> bool:
        """Whether it refreshes ids, which no time bounds."""
        return self.config is PATROL

    @property
    def timeline(self) -> Window | None:
        """The time its slices are drawn on; ids have none."""
        return None if self.by_id else self.decision.window

    def reason(self, slices: int) -> str | None:
        """Why there is nothing to do, if so."""
        if slices or self.decision.reason:
            return self.decision.reason
        return NO_IDS if self.by_id else NOTHING_NEEDED

    def anchor(self, request: PlanRequest) -> Anchor | None:
        """Where a new namespace begins; none where it has begun, or where no order is kept."""
        window = self.decision.window
        if self.cursor or self.by_id or window is None:
            return None
        if self.namespace.partition.operation_code != Operation.BACKFILL:
            return Anchor(window.start, window)
        asked = request.user_from or window.start
        value = window.end if self.newest_first else window.start
        return Anchor(value, window, min(asked, window.start), request.user_to or window.end, self.newest_first)


class Proposer:
    """Looks at the store once, and says what a plan would be."""

    def __init__(self, transaction: PlanTransaction, request: PlanRequest, compiled: Compiled, now: datetime) -> None:
        self._transaction = transaction
        self._request = request
        self._spec: SpecSnapshot = compiled.spec
        self._lag_by_default = compiled.origins().get("window.lag") == PLATFORM_DEFAULT
        self._now = now

    def propose(self) -> Proposal:
        """The proposal of this request's operation."""
        return self.survey(self.resolve())

    def survey(self, resolved: Proposal) -> Proposal:
        """What of that window needs reading now; a refresh by id has no such ground."""
        return resolved if resolved.by_id else self._with_needs(resolved)

    def resolve(self) -> Proposal:
        """The window alone."""
        decided = self._resolve()
        if decided.cursor is None or decided.cursor.ahead is None:
            return decided
        warnings = [*decided.decision.warnings, _ahead_warning(decided.namespace, decided.cursor)]
        return replace(decided, decision=replace(decided.decision, warnings=warnings))

    def _resolve(self) -> Proposal:
        if self._request.operation == Operation.HARVEST:
            return self._harvest()
        if self._request.operation == Operation.BACKFILL:
            return self._backfill()
        return self._update()

    def _harvest(self) -> Proposal:
        request, transaction, now = self._request, self._transaction, self._now
        namespace = harvest_namespace(self._spec)
        cursor = transaction.lock_cursor(namespace)
        arrivals = transaction.arrivals(namespace, evidence_since(cursor, now), now - EVIDENCE)
        configured = self._spec.time.lag_seconds
        lag = decide_lag(configured, cursor, arrivals, now, by_default=self._lag_by_default)
        config = self._spec.time.model_copy(update={"lag_seconds": lag.seconds})
        # A query that the Registry changed goes on where the old one stood; a trigger's own has its own beginning.
        before = None if cursor or request.query else transaction.predecessor(namespace)
        decision = resolve_harvest(request, cursor, config, now, before, lag.why)
        return Proposal(namespace, decision, config, cursor=cursor, lag=lag)

    def _backfill(self) -> Proposal:
        request, spec, config, now = self._request, self._spec, self._spec.time, self._now
        forward = self._transaction.other_cursor(_forward(spec))
        campaign = request.campaign or self._campaign(forward)
        namespace = campaign_namespace(spec, campaign, newest_first=request.newest_first)
        cursor = self._transaction.lock_cursor(namespace)
        decision = resolve_backfill(request, cursor, config, now, forward)
        return Proposal(namespace, decision, config, campaign, cursor, newest_first=request.newest_first)

    def _campaign(self, forward: CursorState | None) -> str:
        """A name from what was asked for; where nothing was, from the window itself."""
        request, spec = self._request, self._spec
        ends = [request.user_from, request.user_to]
        if ends == [None, None]:
            decision = resolve_backfill(request, None, spec.time, self._now, forward)
            ends = [decision.start, decision.end]
        return "-".join([spec.provenance_code, spec.endpoint_name, *map(_short, ends)])

    def _update(self) -> Proposal:
        request, spec, now = self._request, self._spec, self._now
        namespace = campaign_namespace(spec, request.campaign)
        if spec.window is None:
            return Proposal(namespace, resolve_patrol(request, now), PATROL, request.campaign)
        cursor = self._transaction.lock_cursor(namespace)
        decision = resolve_update(request, cursor, spec.time, now)
        return Proposal(namespace, decision, spec.time, request.campaign, cursor)

    def _with_needs(self, decided: Proposal) -> Proposal:
        reach = self._reach(decided)
        if reach is None:
            return decided
        namespace, config, once = decided.namespace, decided.config, self._request.operation != Operation.HARVEST
        ground = survey(self._transaction.coverage(namespace, reach), self._transaction.live(namespace, reach), config)
        windows = needs_reading(reach, ground, config, self._now, once=once)
        needs = needs_by_range(windows, ground, config, self._now, once=once)
        if ground.live and not config.supports_updated_since:  # a live task reads everything already
            needs = []
        settled = None
        own_rules = bool(_SETTLING & set(self._request.overrides))  # hold for this plan: they settle nothing for others
        if decided.cursor and not once and not own_rules and reach.start <= decided.cursor.unsettled_from:
            settled = settled_until(decided.cursor.unsettled_from, ground.coverage, config)
        return Proposal(
            namespace, decided.decision, config, decided.campaign, decided.cursor, decided.lag, needs, settled,
            decided.newest_first,
        )  # fmt: skip

    def _reach(self, decided: Proposal) -> Window | None:
        """The window; for a harvest without bounds of the user's also older ground that is not settled yet."""
        cursor, decision, request = decided.cursor, decided.decision, self._request
        bounded = request.operation != Operation.HARVEST or request.user_from or request.user_to
        if cursor is None or bounded or decision.window is None:
            return decision.window
        older = unit_grid(decided.config.unit, decided.config.time_zone).floor(cursor.unsettled_from)
        return Window(min(max(older, cursor.anchor), decision.start), decision.end)


def _ahead_warning(namespace: Namespace, cursor: CursorState) -> str:
    assert cursor.ahead is not None
    ahead, end = format_instant(cursor.ahead), format_instant(cursor.value)
    remedy = f"patra cursor rebuild {namespace.partition.provenance_code} --set-back --reason TEXT"
    return f"the watermark stands in the future, at {ahead}; planned from where its events reach, {end}; see: {remedy}"


def _forward(spec: SpecSnapshot) -> Namespace:
    """The harvest of the same query, whose watermark a backfill never passes."""
    return harvest_namespace(spec.model_copy(update={"operation_code": Operation.HARVEST}))


def _short(moment: datetime | None) -> str:
    if moment is None:
        return "open"
    midnight = (moment.hour, moment.minute, moment.second, moment.microsecond) == (0, 0, 0, 0)
    return f"{moment:%Y-%m-%d}" if midnight else format_instant(moment).removesuffix(".000000Z").removesuffix("Z") + "Z"
