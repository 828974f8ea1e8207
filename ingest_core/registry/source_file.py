"""The source file: one YAML document that says all there is to say about a source.

What a block leaves out is inherited: platform < `source.defaults` < the endpoint's `defaults` < blocks, the least
specific first.
"""

from datetime import datetime, timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from ingest_core.model.codes import (
    AnswerEffect,
    AuthLocation,
    AuthType,
    BackoffPolicy,
    BodyFormat,
    EmptyPage,
    EndpointRole,
    ErrorLevel,
    ExprOp,
    FieldType,
    GateScope,
    HttpMethod,
    IdNormalizer,
    OnEqual,
    OnRefresh,
    Operation,
    PagePosition,
    PaginationType,
    ParamLocation,
    ResetKind,
    ResponseFormat,
    TermMatch,
    TimeUnit,
    TotalKind,
    WindowMode,
)
from ingest_core.model.errors import BadInput
from ingest_core.model.instant import as_utc, utc_within_reach
from ingest_core.model.slice_codes import CalendarUnit

MAX_TIMEOUT = timedelta(seconds=120)
MAX_REDIRECTS = 3
MAX_DEADLINE = timedelta(hours=1)
MAX_BODY_BYTES = 256_000_000
MAX_VALUES = 20_000_000

Code = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,62}$")]
Reference = Annotated[str, Field(pattern=r"^(env|prefect):[A-Za-z0-9_.-]+$")]
Duration = Annotated[timedelta, Field(ge=timedelta(0), le=timedelta(days=20_000))]
Delay = Annotated[timedelta, Field(ge=timedelta(0), le=timedelta(days=20))]
PositiveCount = Annotated[int, Field(ge=1, le=2_147_483_647)]
Rate = Annotated[float, Field(ge=0.000_001, le=100_000)]
"""Requests per second; the slowest is one in eleven days, and the time between two stays a number."""
Name = Annotated[str, Field(min_length=1, max_length=64)]
Title = Annotated[str, Field(min_length=1, max_length=200)]
Expression = str | dict[str, Any]


def _within_reach(moment: datetime) -> datetime:
    """The moment as it is; ValueError where sums with it would leave the calendar."""
    try:
        utc_within_reach(moment)
    except BadInput as error:
        raise ValueError(f"{error.message}: {error.remedy}") from None
    return moment


DatedMoment = Annotated[datetime, AfterValidator(_within_reach)]


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


class Block(BaseModel):
    """A part of the file: every key is known, every value typed."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Scope(Block):
    """Which operation and endpoint a block is for; nothing named means all."""

    operation: Operation | None = None
    endpoint: Code | None = None


class ScopedBlock(Block):
    """A block that may be narrowed and dated."""

    scope: Scope = Field(default_factory=Scope, alias="for", description="Which operation and endpoint it is for.")
    effective_from: DatedMoment | None = Field(default=None, description="In force from this instant on.")
    effective_to: DatedMoment | None = Field(default=None, description="In force until just before this instant.")

    @model_validator(mode="after")
    def _in_order(self) -> "ScopedBlock":
        begins, ends = self.effective_from, self.effective_to
        if begins and ends and as_utc(begins) >= as_utc(ends):
            raise ValueError(f"effective_from {self.effective_from} is not before effective_to {self.effective_to}")
        return self


class Http(ScopedBlock):
    """Where and how requests are sent."""

    base_url: str | None = Field(default=None, description="https, without credentials and query.")
    headers: dict[str, str] | None = Field(default=None, description="Templates; {contact} is the operator's address.")
    query: dict[str, str] | None = Field(default=None, description="Parameters of every request; templates too.")
    connect_timeout: Annotated[timedelta, Field(gt=timedelta(0), le=MAX_TIMEOUT)] | None = None
    read_timeout: Annotated[timedelta, Field(gt=timedelta(0), le=MAX_TIMEOUT)] | None = None
    allow_plain_http: bool | None = None
    user_agent: str | None = Field(default=None, description="Instead of the product's own; {contact} may be in it.")
    max_redirects: Annotated[int, Field(ge=0, le=MAX_REDIRECTS)] | None = None
    proxy: str | None = Field(default=None, description="A proxy's URL without credentials.")
    verify_tls: bool | None = None
    ca_bundle: str | None = Field(default=None, description="A file of certificates to trust instead.")
    deadline: Annotated[timedelta, Field(gt=timedelta(0), le=MAX_DEADLINE)] | None = Field(
        default=None, description="The longest a request may take until its answer is complete (PT5M)."
    )
    max_body_bytes: Annotated[int, Field(ge=1024, le=MAX_BODY_BYTES)] | None = Field(
        default=None, description="The largest answer, decompressed, in bytes (32,000,000)."
    )
    max_values: Annotated[int, Field(ge=100, le=MAX_VALUES)] | None = Field(
        default=None, description="The most values (objects, lists, strings, numbers; XML elements) of an answer."
    )


class Credential(ScopedBlock):
    """How requests are authorised: references (`env:NAME`, `prefect:BLOCK`), never a secret."""

    auth: AuthType | None = None
    ref: Reference | None = Field(default=None, description="The key, token, password or client secret.")
    username_ref: Reference | None = Field(default=None, description="The user of BASIC, the client id of OAUTH2.")
    location: AuthLocation | None = None
    name: Title | None = Field(default=None, description="The header or parameter an API_KEY goes in.")
    optional: bool | None = Field(default=None, description="Without the secret, ask anonymously.")
    token_url: str | None = None
    scope_text: str | None = Field(default=None, alias="oauth_scope")
    signing_hook: Title | None = Field(default=None, description="Entry point of group patra.signing_hooks.")


class Pagination(ScopedBlock):
    """How one page leads to the next."""

    type: PaginationType | None = None
    position: PagePosition | None = None
    page_size: PositiveCount | None = Field(default=None, description="Default: 70 % of max_page_size.")
    max_page_size: PositiveCount | None = Field(default=None, description="The provider's cap.")
    max_page: PositiveCount | None = None
    max_records: PositiveCount | None = Field(default=None, description="Records the provider gives per query at most.")
    initial_token: str | None = None
    next_token: str | None = None
    next_url: str | None = None
    has_more: str | None = None
    step: str | None = Field(default=None, description="Path of the number of records an OFFSET page moved on by.")
    page_base: Annotated[int, Field(ge=0, le=1)] | None = Field(default=None, description="The number of page one.")
    token_ttl: Duration | None = None
    order_by: str | None = Field(default=None, description="How the provider orders records, for people.")
    ascending: bool | None = Field(default=None, description="Whether pages come in ascending time order.")
    tail_probe: bool | None = Field(default=None, description="Ask once more for a last page that names no next one.")
    next_hosts: Annotated[list[Name], BeforeValidator(_as_list)] | None = Field(
        default=None, description="Other hosts a next_url may lead to."
    )
    max_page_bytes: PositiveCount | None = Field(default=None, description="A larger answer has its slice cut smaller.")
    empty_page: EmptyPage | None = Field(
        default=None, description="Whether an empty page ends the result although a next place is named (CONTINUE)."
    )
    total_kind: TotalKind | None = Field(default=None, description="How far the stated total is trusted (CHECKED).")
    max_shortfall: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = Field(
        default=None, description="Missing records that are accepted after a second pass; default: 1 %, 2 to 20."
    )
    restart_statuses: list[Annotated[int, Field(ge=400, le=599)]] | None = Field(
        default=None, description="Statuses that mean an expired token, beside 400, 404 and 410."
    )


class WindowBlock(ScopedBlock):
    """The time field harvests move along, and how the provider understands it."""

    mode: WindowMode | None = None
    field: Code | None = None
    watermark_key: Code | None = None
    lag: Duration | None = None
    lookback: Duration | None = None
    recheck: Duration | None = None
    window_size: Duration | None = None
    step: Duration | None = None
    min_window: Duration | None = None
    max_window: Duration | None = None
    overlap: Duration | None = None
    baseline: DatedMoment | None = None
    align_to: CalendarUnit | None = None
    unit: TimeUnit | None = None
    format: Name | None = None
    time_zone: Name | None = Field(default=None, description="The zone the filter's dates are in.")
    upper_inclusive: bool | None = None
    stored_precision: TimeUnit | None = None
    supports_updated_since: bool | None = Field(default=None, description="Whether the provider filters by this time.")
    stable_order: bool | None = Field(default=None, description="Whether records come in a steady order of this time.")


class Slicing(ScopedBlock):
    """How a window is cut into slices, and how many tasks may wait."""

    strategy: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]{0,31}$")] | None = Field(
        default=None, description="TIME, or one installed under patra.slice_strategies."
    )
    target_records: PositiveCount | None = Field(
        default=None, description="Records a slice should hold; default: 20 pages."
    )
    probe_budget: Annotated[int, Field(ge=0, le=1000)] | None = Field(
        default=None, description="How often a plan may ask the provider for sizes; 0 never."
    )
    split_field: Code | None = Field(
        default=None, description="A numeric field by which a unit of time that holds too much is split."
    )
    split_max: PositiveCount | None = Field(default=None, description="About the highest number of split_field.")
    max_queued: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = Field(
        default=None, description="Maximum queued tasks of a partition; 0: unlimited."
    )
    id_buckets: PositiveCount | None = Field(
        default=None, description="Number of hash groups for ids; default: ranges of ids."
    )


class Retry(ScopedBlock):
    """When and how often a request is sent again."""

    policy: BackoffPolicy | None = None
    max_attempts: Annotated[int, Field(ge=1, le=20)] | None = None
    initial: Delay | None = None
    max: Delay | None = None
    multiplier: Annotated[float, Field(ge=1, le=10)] | None = None
    jitter: Annotated[float, Field(ge=0, le=1)] | None = None
    statuses: list[Annotated[int, Field(ge=400, le=599)]] | None = None


class QueryCostRule(Block):
    """What requests with a certain parameter cost."""

    param: Name
    matches: str | None = Field(default=None, description="Only if the parameter's value matches this pattern.")
    cost: Annotated[int, Field(ge=1, le=1000)] | None = Field(default=None, description="Permits of the rate.")
    quota_cost: Annotated[int, Field(ge=0, le=1_000_000)] | None = Field(
        default=None, description="Units of the quota."
    )


class RateLimit(ScopedBlock):
    """How fast the provider may be asked."""

    requests_per_second: Rate | None = None
    with_credential: Rate | None = Field(
        default=None, description="Requests per second of a caller with the optional credential."
    )
    provider_cap: Rate | None = Field(
        default=None, description="What the provider allows; the rates above must not exceed it."
    )
    burst: PositiveCount | None = None
    cost: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None, description="How many turns one request takes."
    )
    max_concurrency: PositiveCount | None = Field(default=None, description="Maximum concurrent tasks of a partition.")
    daily_quota: PositiveCount | None = Field(default=None, description="What the provider allows in a day.")
    hourly_quota: PositiveCount | None = Field(default=None, description="What the provider allows in an hour.")
    quota_cost: Annotated[int, Field(ge=0, le=1_000_000)] | None = Field(
        default=None, description="What a request takes from the quota (1); 0: nothing."
    )
    quota_margin: Annotated[float, Field(ge=0, le=0.99)] | None = Field(
        default=None, description="Share of the quota kept for HARVEST (0.1)."
    )
    quota_reset_hour: Annotated[int, Field(ge=0, le=23)] | None = Field(
        default=None, description="Hour (UTC) at which the provider's day begins (0)."
    )
    query_costs: list[QueryCostRule] | None = Field(
        default=None, description="Costs of requests with a certain parameter; the first that fits counts."
    )
    gate_scope: GateScope | None = Field(
        default=None, alias="scope", description="What shares one rate limiter (CREDENTIAL)."
    )
    share: Code | None = Field(default=None, description="Sources that name the same share one rate limiter.")
    demote: Annotated[float, Field(ge=1.1, le=16)] | None = Field(
        default=None, description="What the rate is divided by when the provider refuses it (2)."
    )
    cool_down: Delay | None = Field(default=None, description="Time without refusals before the rate rises (PT10S).")
    open_time: Delay | None = Field(
        default=None, description="Pause after failures in a row, up to twice as long by chance (PT1M)."
    )
    limit_header: Name | None = None
    interval_header: Name | None = Field(default=None, description="Header with the interval of limit_header: 1s, 60.")
    remaining_header: Name | None = None
    reset_header: Name | None = None
    reset_kind: ResetKind | None = None
    concurrency_header: Name | None = Field(default=None, description="Header with the requests allowed at a time.")
    refusal_statuses: list[Annotated[int, Field(ge=400, le=599)]] | None = Field(
        default=None, description="Statuses beside 429 that refuse our rate where headers or body say so."
    )


class Batching(ScopedBlock):
    """How many ids fit into one detail request."""

    id_batch_size: PositiveCount | None = None
    max_ids: PositiveCount | None = Field(default=None, description="The provider's cap.")


class Defaults(Block):
    """Settings for every block that does not say them itself."""

    http: Http | None = None
    credential: Credential | None = None
    pagination: Pagination | None = None
    window: WindowBlock | None = None
    slicing: Slicing | None = None
    retry: Retry | None = None
    rate_limit: RateLimit | None = None
    batching: Batching | None = None

    @model_validator(mode="after")
    def _for_all(self) -> "Defaults":
        for name in type(self).model_fields:
            block = getattr(self, name)
            if block and (block.scope != Scope() or block.effective_from or block.effective_to):
                raise ValueError(f"`{name}` in defaults is neither scoped nor dated; use a `{name}` block")
        return self


class Source(Block):
    """Who the provider is."""

    code: Code
    name: Title
    description: str = ""
    docs_url: str | None = None
    id_normalizer: IdNormalizer = IdNormalizer.NONE
    id_pattern: str | None = Field(
        default=None, description="Regular expression for a whole normalised id; a refresh by other ids is refused."
    )
    drift_share: Annotated[float, Field(ge=0, le=0.99)] | None = Field(
        default=None, description="A page is schema drift if more than this share is unusable (0.2), and"
    )
    drift_records: PositiveCount | None = Field(default=None, description="at least this many of its records are (10).")
    on_equal: OnEqual = OnEqual.KEEP
    on_refresh: OnRefresh | None = Field(default=None, description="What a refresh may change.")
    defaults: Defaults | None = None


class Predicate(Block):
    """Something to recognise in an answer: a path that is there, equals a value, or matches a pattern."""

    path: str
    equals: str | int | float | bool | None = None
    matches: str | None = None
    message: str | None = Field(default=None, description="Path of the provider's own words.")
    level: ErrorLevel | None = Field(default=None, description="L1 passes, L2 is this request's, L4 is the source's.")
    effect: AnswerEffect | None = Field(
        default=None,
        description="RESTART: the page token has expired, read the slice from its start. RATE_LIMIT: we ask too fast.",
    )


class ResponseBlock(Block):
    """Where things are in a page."""

    format: ResponseFormat = ResponseFormat.JSON
    namespaces: dict[str, str] | None = Field(default=None, description="Prefixes for XML names in paths.")
    items: str
    id: Expression
    updated_at: Expression | None = None
    version: Expression | None = Field(default=None, description="Decides between records of the same updated_at.")
    total: str | None = None
    time_zone: str | None = Field(default=None, description="The zone of times that name none.")
    errors: Annotated[list[Predicate], BeforeValidator(_as_list)] | None = None
    empty: Annotated[list[Predicate], BeforeValidator(_as_list)] | None = None
    record_error: Predicate | None = None
    deleted: Predicate | None = Field(default=None, description="Recognises a record that the provider has deleted.")
    merged_into: Expression | None = Field(
        default=None, description="The id of the record that a deleted one was merged into."
    )


class Body(Block):
    """What a POST carries beside its parameters."""

    format: BodyFormat
    template: dict[str, Any] | None = None


class Endpoint(Block):
    """One thing the provider can be asked."""

    name: Code
    role: EndpointRole = EndpointRole.SEARCH
    method: HttpMethod = HttpMethod.GET
    path: str
    operations: list[Operation] = Field(default_factory=list)
    restricted: bool = Field(default=False, description="Never ask it without a credential.")
    detail: Code | None = Field(default=None, description="The endpoint that gives whole records for the ids.")
    refreshes: Code | None = Field(
        default=None, description="The SEARCH endpoint whose stored records this DETAIL endpoint refreshes."
    )
    query: str | None = Field(default=None, description="A standing query, in the text syntax of --query.")
    body: Body | None = None
    response: ResponseBlock
    mapping: dict[Code, Expression] | None = None
    defaults: Defaults | None = None


class Param(ScopedBlock):
    """Where a value the system knows goes in a request."""

    name: Name
    location: ParamLocation = ParamLocation.QUERY
    value: Name
    default: str | None = None
    functions: Annotated[list[str], BeforeValidator(_as_list)] | None = Field(default=None, alias="as")
    required: bool = False


class FieldDef(Block):
    """A field queries may speak of."""

    name: Code
    type: FieldType
    description: str | None = None


class Capability(ScopedBlock):
    """What the provider can do with a field; without a field, with free words."""

    field: Code | None = None
    ops: list[ExprOp]
    matches: list[TermMatch] | None = None
    negatable: bool | None = None
    max_length: PositiveCount | None = None
    pattern: str | None = None
    max_values: PositiveCount | None = None


class RenderRule(ScopedBlock):
    """How a node of a query is written: as text, as one parameter, or as several."""

    field: Code | None = None
    op: ExprOp
    match: TermMatch | None = None
    param: Name | None = None
    template: str | None = None
    params: dict[str, str] | None = None
    separator: Annotated[str, Field(max_length=32)] | None = Field(
        default=None, description="Between several values; a comma if not said."
    )
    joiner: Annotated[str, Field(max_length=32)] | None = Field(
        default=None, description="Between rules for one parameter; a comma if not said."
    )
    open_start: Annotated[str, Field(max_length=64)] | None = Field(
        default=None, description="How a range without a lower end writes it."
    )
    open_end: Annotated[str, Field(max_length=64)] | None = Field(
        default=None, description="How a range without an upper end writes it."
    )


class SourceFile(Block):
    """The whole file."""

    source: Source
    endpoints: Annotated[list[Endpoint], Field(min_length=1)]
    http: Annotated[list[Http], BeforeValidator(_as_list)] = Field(default_factory=list)
    credential: Annotated[list[Credential], BeforeValidator(_as_list)] = Field(default_factory=list)
    pagination: Annotated[list[Pagination], BeforeValidator(_as_list)] = Field(default_factory=list)
    window: Annotated[list[WindowBlock], BeforeValidator(_as_list)] = Field(default_factory=list)
    slicing: Annotated[list[Slicing], BeforeValidator(_as_list)] = Field(default_factory=list)
    retry: Annotated[list[Retry], BeforeValidator(_as_list)] = Field(default_factory=list)
    rate_limit: Annotated[list[RateLimit], BeforeValidator(_as_list)] = Field(default_factory=list)
    batching: Annotated[list[Batching], BeforeValidator(_as_list)] = Field(default_factory=list)
    params: list[Param] = Field(default_factory=list)
    fields: list[FieldDef] = Field(default_factory=list)
    capabilities: list[Capability] = Field(default_factory=list)
    render_rules: list[RenderRule] = Field(default_factory=list)
    mapping: dict[Code, Expression] = Field(default_factory=dict)
