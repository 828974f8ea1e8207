"""What a flow can be asked: models made for the run form, checked before anything is written."""

import re
from abc import abstractmethod
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, JsonValue, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from flows.text.refusals import in_labels
from ingest_core.execution.shift import Bounds
from ingest_core.model.codes import Operation
from ingest_core.model.errors import BadInput
from ingest_core.model.instant import utc_within_reach
from ingest_core.planning.relative_window import asked_bounds
from ingest_core.planning.request import LEAST_URGENT, MOST_URGENT, PlanRequest

Source = Annotated[str, Field(title="Source", description="A registered source, such as crossref.")]
Endpoint = Annotated[str | None, Field(title="Endpoint", description="Needed only if the source has several.")]
_BY_DAY: dict[str, JsonValue] = {"format": "date"}
"""The form picks a day, and whoever calls the API may name a time: Prefect's picker of times gets midnight wrong."""

From = Annotated[
    datetime | None, Field(title="From", description="The first day to read (UTC).", json_schema_extra=_BY_DAY)
]
To = Annotated[
    datetime | None,
    Field(title="To", description="The first day that is not read (UTC).", json_schema_extra=_BY_DAY),
]
Query = Annotated[
    str | None,
    Field(
        title="Query",
        description='Only records that match, such as title:"heart failure" AND NOT type:review. Its own watermark.',
    ),
]
Campaign = Annotated[
    str | None,
    Field(
        title="Campaign",
        description="Names a BACKFILL or UPDATE: a later run with the same name continues where the last stopped.",
    ),
]
NewestFirst = Annotated[bool, Field(title="Newest first", description="A BACKFILL from the newest down.")]
Settings = Annotated[
    dict[str, str],
    Field(
        title="Other settings",
        description='Of the source, for this plan only, such as {"slicing.target_records": "2000"}.',
    ),
]
DryRun = Annotated[bool, Field(title="Dry run", description="Show what would be planned; write nothing.")]
Now = Annotated[
    datetime | None,
    Field(
        title="Now",
        description="Replaces the clock for planning only, for tests and explanations. In the future: dry runs only.",
    ),
]

_SPAN = re.compile(r"(\d+) *(minute|hour|day|week)s?", re.IGNORECASE)
_ISO = {"minute": "PT{}M", "hour": "PT{}H", "day": "P{}D", "week": "P{}W"}


class Form(BaseModel):
    """One group of the run form; what it does not know is refused."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _without_nul(cls, given: Any) -> Any:
        """No database keeps a NUL in a text; lone surrogates are refused as no text at all."""
        rest = [given]
        while rest:
            one = rest.pop()
            if isinstance(one, str) and "\x00" in one:
                raise PydanticCustomError("nul", "a text holds a NUL character")
            if isinstance(one, Mapping):
                rest += [*one.keys(), *one.values()]
            elif isinstance(one, list):
                rest += one
        return given

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """What may be left out is an empty box; with a null beside it, the form would ask which of two types it is."""
        shown = handler(core)
        fields = handler.resolve_ref_schema(shown)["properties"]
        fields.update({name: _without_null(field) for name, field in fields.items()})
        return shown


def _without_null(field: JsonSchemaValue) -> JsonSchemaValue:
    kinds = [kind for kind in field.get("anyOf", []) if kind != {"type": "null"}]
    if len(kinds) != 1:
        return field
    said = {name: value for name, value in field.items() if name != "anyOf" and (name, value) != ("default", None)}
    return {**kinds[0], **said}


class Pace(Form):
    """How fast, and in which portions."""

    requests_per_second: float | None = Field(
        default=None,
        ge=0.001,
        title="Requests per second",
        description="A lower rate than the source allows, for this plan only, such as 0.5.",
    )
    page_size: int | None = Field(
        default=None, ge=1, title="Page size", description="Records in one answer; at most what the source allows."
    )
    step: str | None = Field(
        default=None,
        title="Step",
        description="Length of a slice whose size is unknown, such as 6 hours.",
    )

    def settings(self) -> dict[str, str]:
        """The same as settings of the source."""
        said = {
            "rate_limit.requests_per_second": self.requests_per_second,
            "pagination.page_size": self.page_size,
            "window.step": _span(self.step) if self.step else None,
        }
        return {name: str(value) for name, value in said.items() if value is not None}


def _span(text: str) -> str:
    """`6 hours` as a source file says it."""
    words = _SPAN.fullmatch(text.strip())
    return _ISO[words[2].lower()].format(words[1]) if words else text.strip()


class PlanForm(Form):
    """A form that becomes a plan."""

    @abstractmethod
    def clock(self) -> datetime | None:
        """The moment planning takes for now; none means the database's clock."""

    @abstractmethod
    def request(self, now: datetime) -> PlanRequest:
        """The request, refused here if it cannot be meant; words mean what they do at that moment."""

    @model_validator(mode="after")
    def _can_be_meant(self) -> Self:
        try:
            self.request(self.clock() or datetime.now(UTC))
        except BadInput as refused:
            raise PydanticCustomError("refused", "{why}", {"why": in_labels(refused)}) from refused
        return self


class PlanParameters(PlanForm):
    """One plan."""

    source: Source
    operation: Operation = Field(default=Operation.HARVEST, title="Operation")
    endpoint: Endpoint = None
    window: str | None = Field(
        default=None,
        title="Window",
        description="In words: last 7 days, last 6 hours, yesterday, last month. Or give From and To.",
    )
    window_from: From = None
    window_to: To = None
    query: Query = None
    priority: int | None = Field(
        default=None,
        ge=MOST_URGENT,
        le=LEAST_URGENT,
        title="Priority",
        description="1 is claimed first, 9 last. Default: 3 for a HARVEST, 5 for an UPDATE, 7 for a BACKFILL.",
    )
    campaign: Campaign = None
    newest_first: NewestFirst = False
    ids: list[str] = Field(default_factory=list, title="Ids", description="The records an UPDATE refreshes.")
    pace: Pace = Field(default_factory=Pace, title="Pace")
    overrides: Settings = Field(default_factory=dict)
    dry_run: DryRun = False
    now: Now = None

    def clock(self) -> datetime | None:
        """The moment planning takes for now; none means the database's clock."""
        return _moment(self.now, "Now")

    def request(self, now: datetime) -> PlanRequest:
        """The request, refused here if it cannot be meant; words mean what they do at that moment."""
        given = (_moment(self.window_from, "From"), _moment(self.window_to, "To"))
        start, end = asked_bounds(*given, self.window or None, now)
        return PlanRequest(
            source=self.source,
            operation=self.operation,
            endpoint=self.endpoint or None,
            user_from=start,
            user_to=end,
            query=self.query or None,
            overrides=_settings(self.pace, self.overrides),
            campaign=self.campaign or None,
            newest_first=self.newest_first,
            ids=tuple(self.ids),
            priority=self.priority,
            window_words=self.window or None,
        )


class BackfillParameters(PlanForm):
    """A period to fill, beside the harvests."""

    source: Source
    window_from: datetime = Field(title="From", description="The first day to read (UTC).", json_schema_extra=_BY_DAY)
    window_to: To = Field(
        default=None,
        description="The first day that is not read (UTC). Default: up to where the harvest began, or up to now "
        "if there is no harvest.",
    )
    campaign: Campaign = Field(
        default=None,
        description="A later run with the same name continues where it stopped. Default: named after the period.",
    )
    endpoint: Endpoint = None
    query: Query = None
    newest_first: NewestFirst = Field(default=False, description="Fill from the newest down.")
    priority: int = Field(
        default=7,
        ge=MOST_URGENT,
        le=LEAST_URGENT,
        title="Priority",
        description="1 is claimed first, 9 last; harvests have 3.",
    )
    pace: Pace = Field(default_factory=Pace, title="Pace")
    overrides: Settings = Field(default_factory=dict)
    dry_run: DryRun = False

    def clock(self) -> datetime | None:
        """The database's clock."""
        return None

    def request(self, now: datetime) -> PlanRequest:
        """The request, refused here if it cannot be meant."""
        return PlanRequest(
            source=self.source,
            operation=Operation.BACKFILL,
            endpoint=self.endpoint or None,
            user_from=_moment(self.window_from, "From"),
            user_to=_moment(self.window_to, "To"),
            query=self.query or None,
            overrides=_settings(self.pace, self.overrides),
            campaign=self.campaign or None,
            newest_first=self.newest_first,
            priority=self.priority,
        )


def _moment(given: datetime | None, field: str) -> datetime | None:
    return utc_within_reach(given, field) if given else None


def _settings(pace: Pace, others: dict[str, str]) -> dict[str, str]:
    """Both together; what is said twice is refused."""
    said = pace.settings()
    twice = sorted(said.keys() & others.keys())
    if twice:
        remedy = "leave it out of Other settings"
        raise BadInput(
            "SETTING_TWICE", f"{', '.join(twice)} is also said under Pace", where="Other settings", remedy=remedy
        )
    return {**said, **others}


class ExecuteParameters(Form):
    """One executor run."""

    source: str | None = Field(
        default=None, title="Source", description="Only tasks of this source. Default: all sources."
    )
    minutes: float = Field(
        default=5,
        gt=0,
        le=1440,
        title="Minutes",
        description="No new task starts after this time; running tasks are finished.",
    )
    max_tasks: int = Field(default=500, ge=1, le=1500, title="Tasks", description="Stop after this number of tasks.")
    at_once: int = Field(default=4, ge=1, le=32, title="At once", description="Maximum concurrent tasks of this run.")
    until_idle: bool = Field(
        default=False,
        title="Until idle",
        description="Also wait for leases and scheduled tasks that become due soon; end when there are none.",
    )
    wait_for_work: bool | None = Field(
        default=None,
        title="Wait for work",
        description="Stay for all of these minutes, and execute tasks as they are planned. "
        "Left out: yes if a schedule started the run, otherwise no.",
    )

    @property
    def subject(self) -> str:
        """What is worked, as the run's name says it."""
        return self.source or "all sources"

    def waits(self, *, scheduled: bool) -> bool:
        """Whether the run stays without work. Parameters of a schedule get lost in the UI, so none is needed."""
        return scheduled if self.wait_for_work is None else self.wait_for_work

    def bounds(self, *, scheduled: bool = False) -> Bounds:
        """What the executor may take on, and how long it stays; `scheduled` if a schedule started the run."""
        return Bounds(
            source=self.source or None,
            max_tasks=self.max_tasks,
            at_once=self.at_once,
            seconds=60 * self.minutes,
            until_idle=self.until_idle,
            wait_for_work=self.waits(scheduled=scheduled),
        )


class HousekeepingPart(StrEnum):
    """What housekeeping can do; each part alone is of use."""

    REAP_LEASES = "reap leases"
    KEEP_LIMITS = "keep limits"
    KEEP_SCHEDULES = "keep schedules"
    RECONCILE_SLOTS = "reconcile slots"
    REPAIR_CURSORS = "repair cursors"
    SERVE_RESLICES = "serve re-slice requests"
    RELAY_OUTBOX = "relay outbox"
    PRUNE_OUTBOX = "prune outbox"
    COMPACT_CURSORS = "compact cursors"
    MERGE_RECORDS = "merge records"
    PRUNE_HISTORY = "prune history"


class HousekeepingParameters(Form):
    """One round of housekeeping."""

    parts: list[HousekeepingPart] = Field(
        default_factory=list,
        title="Parts",
        description="Only these. If none is named, all that are due: "
        "prune outbox, compact cursors and merge records are due once an hour.",
    )
