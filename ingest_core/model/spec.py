"""The Spec snapshot: everything a plan means, frozen, canonical and hashed."""

from datetime import timedelta
from functools import cached_property
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from ingest_core.model.canonical import hash_of
from ingest_core.model.codes import (
    AuthType,
    BackoffPolicy,
    HttpMethod,
    IdNormalizer,
    OnEqual,
    Operation,
    PagePosition,
    PaginationType,
    ParamLocation,
    TimeUnit,
    WindowMode,
)


class Frozen(BaseModel):
    """A value that is complete, exact and never changes."""

    model_config = ConfigDict(frozen=True, extra="forbid", ignored_types=(cached_property,))


class HttpSpec(Frozen):
    """How the endpoint is asked."""

    method: HttpMethod
    base_url: str
    path: str
    headers: dict[str, str]
    query: dict[str, str]
    connect_timeout_seconds: float
    read_timeout_seconds: float
    allow_plain_http: bool


class AuthSpec(Frozen):
    """How the request is authorised: a reference, never a secret."""

    type: AuthType
    credential_ref: str | None


class PaginationSpec(Frozen):
    """How one page leads to the next."""

    type: PaginationType
    position: PagePosition
    page_size: int
    max_page: int | None
    initial_token: str | None
    next_token_path: str | None
    has_more_path: str | None
    token_ttl_seconds: int | None


class WindowSpec(Frozen):
    """The time field harvests move along, and how the provider understands it."""

    mode: WindowMode
    field: str
    watermark_key: str
    lag_seconds: int
    lookback_seconds: int
    recheck_seconds: int
    window_size_seconds: int
    step_seconds: int
    overlap_seconds: int
    baseline: str | None
    align_to: TimeUnit | None
    unit: TimeUnit
    format: str
    upper_inclusive: bool
    stored_precision: TimeUnit | None

    @property
    def lag(self) -> timedelta:
        """How long a record may take to become visible."""
        return timedelta(seconds=self.lag_seconds)

    @property
    def lookback(self) -> timedelta:
        """How far below the watermark a harvest reads again."""
        return timedelta(seconds=self.lookback_seconds)


class RetrySpec(Frozen):
    """When and how often a request is sent again."""

    policy: BackoffPolicy
    max_attempts: int
    initial_seconds: float
    max_seconds: float
    multiplier: float
    jitter: float
    retry_statuses: list[int]


class RateSpec(Frozen):
    """How fast the provider may be asked."""

    requests_per_second: float
    burst: int


class ParamSpec(Frozen):
    """Where a value the system knows goes in a request."""

    name: str
    location: ParamLocation
    value: str


class RenderSpec(Frozen):
    """How a range over a field is written for the provider."""

    field: str
    param: str
    template: str


class ResponseSpec(Frozen):
    """Where things are in a page."""

    items_path: str
    id_path: str
    updated_at_path: str
    total_path: str | None


class SpecSnapshot(Frozen):
    """What a plan was compiled to; the executor reads nothing else of the Registry's meaning."""

    snapshot_version: int = 1
    provenance_code: str
    endpoint_name: str
    operation_code: Operation
    http: HttpSpec
    auth: AuthSpec
    pagination: PaginationSpec
    window: WindowSpec
    retry: RetrySpec
    rate: RateSpec
    params: list[ParamSpec]
    render: RenderSpec
    response: ResponseSpec
    mapping: dict[str, str]
    id_normalizer: IdNormalizer
    on_equal: OnEqual
    expression: dict[str, Any]

    def json_value(self) -> dict[str, Any]:
        """The snapshot as stored."""
        return self.model_dump(mode="json")

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """The snapshot as it was compiled."""
        return cls.model_validate(value)

    @cached_property
    def fingerprint(self) -> str:
        """Hash over every setting."""
        return hash_of(self.json_value())

    @cached_property
    def expr_proto_hash(self) -> str:
        """Hash over the query alone, so that a new rate or lag starts no new watermark."""
        return hash_of(self.expression)
