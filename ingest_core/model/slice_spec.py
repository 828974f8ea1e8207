"""What a stored slice says: its boundaries, its budget and its hints, checked before it is stored."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from ingest_core.model.codes import CursorType, SliceStrategy
from ingest_core.model.errors import BadInput
from ingest_core.model.id_range import Without
from ingest_core.model.instant import as_utc, format_instant
from ingest_core.model.slice_codes import BudgetPriority, EdgeKind, EstimateMethod, TimePrecision

Count = Annotated[int, Field(ge=0)]


def _utc(moment: datetime) -> datetime:
    if moment.tzinfo is None or moment.utcoffset():
        raise ValueError("a slice's times are in UTC")
    return as_utc(moment)


Moment = Annotated[datetime, AfterValidator(_utc), PlainSerializer(format_instant)]


class Payload(BaseModel):
    """A part of a slice's specification; what is not said is not written."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class Edges(Payload):
    """Which ends belong to it."""

    start: EdgeKind = Field(default=EdgeKind.CLOSED, alias="from")
    """Whether the first value belongs to it."""
    end: EdgeKind = Field(default=EdgeKind.OPEN, alias="to")
    """Whether the last value belongs to it."""


class WindowPayload(Payload):
    """The instants a slice owns."""

    start: Moment = Field(alias="from")
    """First instant of the slice."""
    end: Moment = Field(alias="to")
    """First instant after the slice."""
    boundary: Edges = Edges()
    """Always closed below and open above."""
    timezone: Literal["UTC"] = "UTC"
    """The zone of `start` and `end`."""
    precision: TimePrecision
    """The unit of the provider's filter."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.start >= self.end:
            raise ValueError(f"from {format_instant(self.start)} is not before to {format_instant(self.end)}")
        if (self.boundary.start, self.boundary.end) != (EdgeKind.CLOSED, EdgeKind.OPEN):
            raise ValueError("a window is closed below and open above")
        return self


class RangePayload(Payload):
    """The ids a slice owns: a range of them, or a bucket of their hashes."""

    key: str
    """The field that the range is of."""
    start: str | None = Field(default=None, alias="from")
    """Lowest value; None where the range is open below."""
    end: str | None = Field(default=None, alias="to")
    """Highest value; None where the range is open above."""
    boundary: Edges = Edges(start=EdgeKind.CLOSED, end=EdgeKind.CLOSED)
    """Both ends belong to the range."""
    bucket: Count | None = None
    """Number of the bucket, from 0, where ids are grouped by hash."""
    buckets: Annotated[int, Field(ge=1)] | None = None
    """How many buckets there are."""
    without: Without | None = None
    """Which part reads the records that lack the field."""

    @model_validator(mode="after")
    def _whole_bucket(self) -> Self:
        if (self.bucket is None) != (self.buckets is None):
            raise ValueError("a bucket says of how many it is one")
        if self.bucket is not None and self.buckets is not None and self.bucket >= self.buckets:
            raise ValueError(f"bucket {self.bucket} is not one of {self.buckets}")
        return self


class StopCondition(Payload):
    """Where a walk along a cursor ends."""

    max_pages: Count | None = None
    """Pages after which the walk ends."""
    until: Moment | None = None
    """Update time at which the walk ends."""


class CursorPayload(Payload):
    """Where a walk along a provider's cursor begins, and where it ends."""

    type: CursorType
    """What the cursor counts."""
    start_token: str | None = None
    """The token that the walk starts at."""
    start_offset: Count | None = None
    """The offset that the walk starts at."""
    page_size: Annotated[int, Field(ge=1)] | None = None
    """Records to ask for per page."""
    stop: StopCondition | None = None
    """Where the walk ends before the provider does."""


class BudgetPayload(Payload):
    """What a slice may cost."""

    max_requests: Annotated[int, Field(ge=1)]
    """Requests after which the task goes back to the queue."""
    max_records: Annotated[int, Field(ge=1)]
    """Records after which it does."""
    max_duration_sec: Annotated[int, Field(ge=1)]
    """Seconds after which it does."""
    priority: BudgetPriority
    """Urgency of the task."""


class HintsPayload(Payload):
    """What helps to read a slice, and is no part of its meaning."""

    expected_page_size: Count | None = None
    """Page size when the slice was planned."""
    order: str | None = None
    """Order of the pages, such as `asc`."""
    safety_lag_sec: Count | None = None
    """Lag that the window kept from now."""
    overlap_sec: Count | None = None
    """Overlap with the slice before."""
    estimated_records: Count | None = None
    """Expected number of records."""
    estimate_method: EstimateMethod | None = None
    """How that number was found."""
    expected_requests: Count | None = None
    """Expected number of requests."""
    explore: bool | None = None
    """Whether the slice only finds out how much there is."""


_SECTIONS = {
    SliceStrategy.TIME.value: {"window"},
    SliceStrategy.ID_RANGE.value: {"range"},
    SliceStrategy.CURSOR_LANDMARK.value: {"cursor"},
    SliceStrategy.VOLUME_BUDGET.value: set[str](),
    SliceStrategy.HYBRID.value: {"window", "cursor"},
}
"""What each strategy's slices must have; those of a strategy installed beside these say it themselves."""


class SliceSpec(Payload):
    """The whole of it."""

    strategy: str
    """Code of the strategy that made the slice."""
    window: WindowPayload | None = None
    """The time the slice owns."""
    range: RangePayload | None = None
    """The ids, or the part of a second field, that it owns."""
    cursor: CursorPayload | None = None
    """The walk along a cursor that it owns."""
    budget: BudgetPayload
    """What an attempt may cost."""
    hints: HintsPayload = HintsPayload()
    """What does not change the meaning: no key is made from it."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        missing = sorted(name for name in _SECTIONS.get(self.strategy, ()) if getattr(self, name) is None)
        if missing:
            raise ValueError(f"a {self.strategy} slice needs {' and '.join(missing)}")
        if self.strategy == SliceStrategy.VOLUME_BUDGET.value and not self.hints.explore:
            raise ValueError("a VOLUME_BUDGET slice explores")
        return self

    def json_value(self) -> dict[str, Any]:
        """The specification as stored."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


def check_slice(value: Mapping[str, Any]) -> SliceSpec:
    """The specification, if it may be stored."""
    try:
        return SliceSpec.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "slice_spec"
        raise BadInput(
            "SLICE_INVALID",
            f"{place}: {first['msg']}",
            where="slice_spec",
            remedy="nothing was stored; the strategy that made this slice is wrong",
        ) from error
