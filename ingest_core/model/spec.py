"""The Spec snapshot: everything a plan means, frozen, canonical and hashed."""

from datetime import timedelta
from functools import cached_property
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer

from ingest_core.model.canonical import hash_of
from ingest_core.model.codes import (
    AnswerEffect,
    AuthLocation,
    AuthType,
    BackoffPolicy,
    BodyFormat,
    EmptyPage,
    ErrorLevel,
    ExprOp,
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
    SliceStrategy,
    TermMatch,
    TimeUnit,
    TotalKind,
    WindowMode,
)
from ingest_core.model.slice_codes import CalendarUnit

Expression = str | dict[str, Any]
"""How a value is taken from a record: a path, or a small tree over paths."""


class Frozen(BaseModel):
    """A value that is complete, exact and never changes; what is left at its default is not written."""

    model_config = ConfigDict(frozen=True, extra="forbid", ignored_types=(cached_property,))

    @model_serializer(mode="wrap")
    def _without_defaults(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # A setting that is added later must not change the hash of what never used it.
        defaults = {name: field.default for name, field in type(self).model_fields.items() if not field.is_required()}
        written: dict[str, Any] = write(self)
        return {
            name: value
            for name, value in written.items()
            if name not in defaults or getattr(self, name) != defaults[name]
        }


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
    body_format: BodyFormat | None = None
    body: dict[str, Any] | None = None
    user_agent: str | None = None
    max_redirects: int = 0
    proxy: str | None = None
    verify_tls: bool = True
    ca_bundle: str | None = None
    deadline_seconds: float = 300.0
    max_body_bytes: int = 32_000_000
    max_values: int = 2_000_000


class AuthSpec(Frozen):
    """How the request is authorised: by references, never by a secret."""

    type: AuthType
    credential_ref: str | None
    username_ref: str | None = None
    location: AuthLocation = AuthLocation.HEADER
    name: str | None = None
    optional: bool = False
    token_url: str | None = None
    scope: str | None = None
    signing_hook: str | None = None


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
    next_url_path: str | None = None
    step_path: str | None = None
    page_base: int = 0
    max_records: int | None = None
    ascending: bool = False
    tail_probe: bool = False
    next_hosts: list[str] = []
    max_page_bytes: int | None = None
    empty_page: EmptyPage = EmptyPage.END
    total_kind: TotalKind = TotalKind.CHECKED
    max_shortfall: int | None = None
    restart_statuses: list[int] = []


def id_paging(size: int) -> PaginationSpec:
    """A walk along a list of ids, `size` at a time."""
    return PaginationSpec(
        type=PaginationType.OFFSET,
        position=PagePosition.CLIENT,
        page_size=size,
        max_page=None,
        initial_token=None,
        next_token_path=None,
        has_more_path=None,
        token_ttl_seconds=None,
    )


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
    align_to: CalendarUnit | None
    unit: TimeUnit
    format: str
    upper_inclusive: bool
    stored_precision: TimeUnit | None
    time_zone: str = "UTC"
    supports_updated_since: bool = True
    min_window_seconds: int | None = None
    max_window_seconds: int | None = None

    @property
    def lag(self) -> timedelta:
        """How long a record may take to become visible."""
        return timedelta(seconds=self.lag_seconds)

    @property
    def lookback(self) -> timedelta:
        """How far below the watermark a harvest reads again."""
        return timedelta(seconds=self.lookback_seconds)


class SlicingSpec(Frozen):
    """How a window is cut, and how much work may wait."""

    strategy: str = SliceStrategy.TIME.value
    target_records: int | None = None
    probe_budget: int | None = None
    split_field: str | None = None
    split_max: int = 2**31 - 1
    max_queued: int = 10_000
    id_buckets: int | None = None


class RetrySpec(Frozen):
    """When and how often a request is sent again."""

    policy: BackoffPolicy
    max_attempts: int
    initial_seconds: float
    max_seconds: float
    multiplier: float
    jitter: float
    retry_statuses: list[int]


class QueryCost(Frozen):
    """What requests cost that carry a certain parameter, such as a full-text search."""

    param: str
    matches: str | None = None
    cost: int | None = None
    quota_cost: int | None = None


class RateSpec(Frozen):
    """How fast the provider may be asked, and how much of it in a day or an hour."""

    requests_per_second: float
    burst: int
    cost: int = 1
    max_concurrency: int | None = None
    with_credential_per_second: float | None = None
    daily_quota: int | None = None
    limit_header: str | None = None
    remaining_header: str | None = None
    reset_header: str | None = None
    reset_kind: ResetKind | None = None
    asked_for: bool = False
    """Whether the trigger asked for this rate: its tasks are never faster, however fast today's rate is."""
    scope: GateScope = GateScope.CREDENTIAL
    share: str | None = None
    """The name under which several sources share one rate limiter."""
    demote: float = 2.0
    """What the rate is divided by when the provider refuses it."""
    cool_down_seconds: float = 10.0
    """How long the provider must be well before the rate is raised a step."""
    open_seconds: float = 60.0
    """How long a circuit stays open at least; up to twice as long, by chance."""
    hourly_quota: int | None = None
    quota_cost: int = 1
    """What a request takes from the quota; 0 for none."""
    quota_margin: float = 0.1
    """The share of the quota that no operation but HARVEST may use."""
    quota_reset_hour: int = 0
    """The hour (UTC) at which the provider's day begins."""
    interval_header: str | None = None
    concurrency_header: str | None = None
    refusal_statuses: list[int] = []
    """Statuses beside 429 that refuse our rate where the answer's headers or its body say so."""
    query_costs: list[QueryCost] = []

    def for_caller(self, *, known: bool) -> "RateSpec":
        """The rate of a caller the provider knows by a credential, or does not."""
        if not known or self.with_credential_per_second is None:
            return self
        return self.model_copy(update={"requests_per_second": self.with_credential_per_second})


class ParamSpec(Frozen):
    """Where a value the system knows goes in a request."""

    name: str
    location: ParamLocation
    value: str
    default: str | None = None
    functions: list[str] = []
    required: bool = False


class RuleSpec(Frozen):
    """How a node of a query is written for the provider: as text, or as parameters."""

    op: ExprOp
    field: str | None = None
    match: TermMatch | None = None
    template: str | None = None
    params: dict[str, str] = {}
    separator: str = ","
    joiner: str = ","
    open_start: str | None = None
    open_end: str | None = None


class PredicateSpec(Frozen):
    """Something to recognise in an answer, and what it means."""

    path: str
    equals: Any = None
    matches: str | None = None
    message: str | None = None
    level: ErrorLevel | None = None
    effect: AnswerEffect | None = None


class ResponseSpec(Frozen):
    """Where things are in a page."""

    items_path: str
    id_path: Expression
    updated_at_path: Expression | None
    total_path: str | None
    version_path: Expression | None = None
    format: ResponseFormat = ResponseFormat.JSON
    namespaces: dict[str, str] = {}
    time_zone: str = "UTC"
    errors: list[PredicateSpec] = []
    empty: list[PredicateSpec] = []
    record_error: PredicateSpec | None = None
    deleted: PredicateSpec | None = None
    merged_into_path: Expression | None = None

    @property
    def states_rate_errors(self) -> bool:
        """Whether the provider may refuse our rate in the words of an answer."""
        return any(one.effect == AnswerEffect.RATE_LIMIT for one in self.errors)


class DriftSpec(Frozen):
    """When a page with unusable records counts as schema drift: both thresholds must be reached."""

    share: float = 0.2
    """More than this share of the page's records are unusable."""
    records: int = 10
    """At least this many of them are."""

    def is_drift(self, unusable: int, received: int) -> bool:
        """Whether single records are not the cause: the provider's answers have changed."""
        return unusable >= self.records and unusable > self.share * received


class DetailSpec(Frozen):
    """The endpoint that gives whole records for ids."""

    endpoint_name: str
    http: HttpSpec
    params: list[ParamSpec]
    response: ResponseSpec
    id_batch_size: int
    auth: AuthSpec | None = None
    rate: RateSpec | None = None


class SpecSnapshot(Frozen):
    """What a plan was compiled to; the executor reads nothing else of the Registry's meaning."""

    snapshot_version: int
    provenance_code: str
    endpoint_name: str
    operation_code: Operation
    http: HttpSpec
    auth: AuthSpec
    pagination: PaginationSpec | None
    window: WindowSpec | None
    retry: RetrySpec
    rate: RateSpec
    params: list[ParamSpec]
    rules: list[RuleSpec]
    response: ResponseSpec
    mapping: dict[str, Any]
    id_normalizer: IdNormalizer
    on_equal: OnEqual
    expression: dict[str, Any]
    detail: DetailSpec | None = None
    slicing: SlicingSpec = SlicingSpec()
    on_refresh: OnRefresh = OnRefresh.OVERWRITE
    drift: DriftSpec = DriftSpec()
    item_endpoint: str | None = None
    """The endpoint whose records these are, where it is another one."""

    @property
    def time(self) -> WindowSpec:
        """The window's settings; only a refresh by id has none."""
        assert self.window is not None, f"{self.provenance_code}: {self.operation_code} has no window"
        return self.window

    @property
    def paging(self) -> PaginationSpec:
        """The paging's settings; a refresh by id goes through its list of ids."""
        if self.pagination is not None:
            return self.pagination
        assert self.detail is not None, f"{self.provenance_code}: {self.operation_code} has neither pages nor ids"
        return id_paging(self.detail.id_batch_size)

    def json_value(self) -> dict[str, Any]:
        """The snapshot as stored."""
        return self.model_dump(mode="json")

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """The snapshot as it was compiled, by this version or an older one."""
        return cls.model_validate(_current(value))

    @cached_property
    def fingerprint(self) -> str:
        """Hash over every setting."""
        return hash_of(self.json_value())

    @cached_property
    def expr_proto_hash(self) -> str:
        """Hash over the query alone, so that a new rate or lag starts no new watermark."""
        return hash_of(self.expression)


def _current(value: dict[str, Any]) -> dict[str, Any]:
    """An older snapshot in today's form: it had one rule, for the window's range."""
    if "render" not in value:
        return value
    old = value["render"]
    rule = {"op": ExprOp.RANGE.value, "field": old["field"], "params": {old["param"]: old["template"]}}
    return {**{name: one for name, one in value.items() if name != "render"}, "rules": [rule]}
