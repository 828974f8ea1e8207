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
    end: EdgeKind = Field(default=EdgeKind.OPEN, alias="to")


class WindowPayload(Payload):
    """The instants a slice owns."""

    start: Moment = Field(alias="from")
    end: Moment = Field(alias="to")
    boundary: Edges = Edges()
    timezone: Literal["UTC"] = "UTC"
    precision: TimePrecision

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
    start: str | None = Field(default=None, alias="from")
    end: str | None = Field(default=None, alias="to")
    boundary: Edges = Edges(start=EdgeKind.CLOSED, end=EdgeKind.CLOSED)
    bucket: Count | None = None
    buckets: Annotated[int, Field(ge=1)] | None = None
    without: Without | None = None

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
    until: Moment | None = None


class CursorPayload(Payload):
    """Where a walk along a provider's cursor begins, and where it ends."""

    type: CursorType
    start_token: str | None = None
    start_offset: Count | None = None
    page_size: Annotated[int, Field(ge=1)] | None = None
    stop: StopCondition | None = None


class BudgetPayload(Payload):
    """What a slice may cost."""

    max_requests: Annotated[int, Field(ge=1)]
    max_records: Annotated[int, Field(ge=1)]
    max_duration_sec: Annotated[int, Field(ge=1)]
    priority: BudgetPriority


class HintsPayload(Payload):
    """What helps to read a slice, and is no part of its meaning."""

    expected_page_size: Count | None = None
    order: str | None = None
    safety_lag_sec: Count | None = None
    overlap_sec: Count | None = None
    estimated_records: Count | None = None
    estimate_method: EstimateMethod | None = None
    expected_requests: Count | None = None
    explore: bool | None = None


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
    window: WindowPayload | None = None
    range: RangePayload | None = None
    cursor: CursorPayload | None = None
    budget: BudgetPayload
    hints: HintsPayload = HintsPayload()

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
