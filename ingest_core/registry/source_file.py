"""The source file: one YAML document that says all there is to say about a source."""

from datetime import datetime, timedelta
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PositiveInt, field_validator

from ingest_core.model.codes import (
    AuthType,
    BackoffPolicy,
    EndpointRole,
    ExprOp,
    FieldType,
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

Code = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,62}$")]


class Block(BaseModel):
    """A part of the file: every key is known, every value typed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Scope(Block):
    """Which operation and endpoint a block is for; nothing named means all."""

    operation: Operation | None = None
    endpoint: Code | None = None


class ScopedBlock(Block):
    """A block that may be narrowed and dated."""

    scope: Scope = Field(default_factory=Scope, alias="for")
    effective_from: datetime | None = None
    effective_to: datetime | None = None


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


class Source(Block):
    """Who the provider is."""

    code: Code
    name: str
    description: str = ""
    docs_url: str | None = None
    id_normalizer: IdNormalizer = IdNormalizer.NONE
    on_equal: OnEqual = OnEqual.KEEP


class Response(Block):
    """Where things are in a page."""

    items: str
    id: str
    updated_at: str
    total: str | None = None


class Endpoint(Block):
    """One thing the provider can be asked."""

    name: Code
    role: EndpointRole = EndpointRole.SEARCH
    method: HttpMethod = HttpMethod.GET
    path: str
    operations: list[Operation]
    response: Response


class Http(ScopedBlock):
    """Where and how requests are sent."""

    base_url: str
    headers: dict[str, str] = Field(default_factory=dict)
    query: dict[str, str] = Field(default_factory=dict)
    connect_timeout: timedelta = timedelta(seconds=10)
    read_timeout: timedelta = timedelta(seconds=30)
    allow_plain_http: bool = False

    @field_validator("connect_timeout", "read_timeout")
    @classmethod
    def _bounded(cls, value: timedelta) -> timedelta:
        if not timedelta(0) < value <= timedelta(seconds=120):
            raise ValueError("must be between 0 and 120 seconds")
        return value


class Credential(ScopedBlock):
    """How requests are authorised: a reference (`env:NAME`), never a secret."""

    auth: AuthType = AuthType.NONE
    ref: Annotated[str, Field(pattern=r"^(env|prefect):[A-Za-z0-9_.-]+$")] | None = None


class Pagination(ScopedBlock):
    """How one page leads to the next."""

    type: PaginationType
    position: PagePosition = PagePosition.CLIENT
    page_size: PositiveInt | None = None
    max_page_size: PositiveInt
    max_page: PositiveInt | None = None
    initial_token: str | None = None
    next_token: str | None = None
    has_more: str | None = None
    token_ttl: timedelta | None = None


class WindowBlock(ScopedBlock):
    """The time field harvests move along, and how the provider understands it."""

    mode: WindowMode = WindowMode.SLIDING
    field: Code
    watermark_key: Code
    lag: timedelta = timedelta(minutes=10)
    lookback: timedelta = timedelta(0)
    recheck: timedelta | None = None
    window_size: timedelta = timedelta(days=1)
    step: timedelta
    overlap: timedelta = timedelta(0)
    baseline: datetime | None = None
    align_to: TimeUnit | None = None
    unit: TimeUnit
    format: str
    upper_inclusive: bool
    stored_precision: TimeUnit | None = None

    @field_validator("lag", "lookback", "overlap")
    @classmethod
    def _not_negative(cls, value: timedelta) -> timedelta:
        if value < timedelta(0):
            raise ValueError("must not be negative")
        return value


class Retry(ScopedBlock):
    """When and how often a request is sent again."""

    policy: BackoffPolicy = BackoffPolicy.EXPONENTIAL_JITTER
    max_attempts: Annotated[int, Field(ge=1, le=20)] = 5
    initial: timedelta = timedelta(milliseconds=100)
    max: timedelta = timedelta(seconds=30)
    multiplier: Annotated[float, Field(ge=1, le=10)] = 2.0
    jitter: Annotated[float, Field(ge=0, le=1)] = 0.2
    statuses: list[Annotated[int, Field(ge=400, le=599)]] = [408, 429, 500, 502, 503, 504]


class RateLimit(ScopedBlock):
    """How fast the provider may be asked."""

    requests_per_second: Annotated[float, Field(gt=0, le=100_000)] = 1.0
    burst: PositiveInt = 1


class Batching(ScopedBlock):
    """How many ids fit into one detail request."""

    id_batch_size: PositiveInt = 200


class Param(ScopedBlock):
    """Where a value the system knows goes in a request."""

    name: str
    location: ParamLocation = ParamLocation.QUERY
    value: str


class FieldDef(Block):
    """A field queries may speak of."""

    name: Code
    type: FieldType


class Capability(ScopedBlock):
    """What the provider can do with a field."""

    field: Code
    ops: list[ExprOp]


class RenderRule(ScopedBlock):
    """How a node of a query is written for the provider."""

    field: Code
    op: ExprOp
    param: str
    template: str


class SourceFile(Block):
    """The whole file."""

    source: Source
    endpoints: list[Endpoint]
    http: Annotated[list[Http], BeforeValidator(_as_list)]
    credential: Annotated[list[Credential], BeforeValidator(_as_list)] = Field(default_factory=list)
    pagination: Annotated[list[Pagination], BeforeValidator(_as_list)]
    window: Annotated[list[WindowBlock], BeforeValidator(_as_list)]
    retry: Annotated[list[Retry], BeforeValidator(_as_list)] = Field(default_factory=list)
    rate_limit: Annotated[list[RateLimit], BeforeValidator(_as_list)] = Field(default_factory=list)
    batching: Annotated[list[Batching], BeforeValidator(_as_list)] = Field(default_factory=list)
    params: list[Param] = Field(default_factory=list)
    fields: list[FieldDef] = Field(default_factory=list)
    capabilities: list[Capability] = Field(default_factory=list)
    render_rules: list[RenderRule] = Field(default_factory=list)
    mapping: dict[Code, str] = Field(default_factory=dict)
