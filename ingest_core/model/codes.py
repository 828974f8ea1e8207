"""Every code of the system: the same strings in Python, SQL, documents and screens."""

from enum import StrEnum


class Operation(StrEnum):
    """What kind of work a plan is."""

    HARVEST = "HARVEST"
    BACKFILL = "BACKFILL"
    UPDATE = "UPDATE"


ALL_OPERATIONS = "ALL"
"""The scope of a configuration row that serves every operation."""

PRIORITY = {Operation.HARVEST: 3, Operation.UPDATE: 5, Operation.BACKFILL: 7}
"""Smaller is more urgent."""


class PlanStatus(StrEnum):
    """Life of a plan."""

    DRAFT = "DRAFT"
    SLICING = "SLICING"
    READY = "READY"
    PARTIAL = "PARTIAL"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


class SliceStatus(StrEnum):
    """Life of a slice."""

    PENDING = "PENDING"
    READY = "READY"
    SUCCEEDED = "SUCCEEDED"
    PARTIAL = "PARTIAL"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


class TaskStatus(StrEnum):
    """Life of a task."""

    QUEUED = "QUEUED"
    DISPATCHED = "DISPATCHED"
    EXECUTING = "EXECUTING"
    SUCCEEDED = "SUCCEEDED"
    PARTIAL = "PARTIAL"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


LIVE_TASKS = (TaskStatus.QUEUED, TaskStatus.DISPATCHED, TaskStatus.EXECUTING)
LEASED_TASKS = (TaskStatus.DISPATCHED, TaskStatus.EXECUTING)


class RunStatus(StrEnum):
    """Life of one attempt at a task."""

    PLANNED = "PLANNED"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    PARTIAL = "PARTIAL"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


class BatchStatus(StrEnum):
    """Life of one page of a run."""

    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    SKIPPED = "SKIPPED"
    FAILED = "FAILED"


class CursorType(StrEnum):
    """What a cursor counts."""

    TIME = "TIME"
    ID = "ID"
    TOKEN = "TOKEN"  # noqa: S105 - a kind of cursor, no secret


class NamespaceScope(StrEnum):
    """Whose progress a cursor is."""

    GLOBAL = "GLOBAL"
    EXPR = "EXPR"
    CUSTOM = "CUSTOM"


class Direction(StrEnum):
    """Which way a cursor moves."""

    FORWARD = "FORWARD"
    BACKFILL = "BACKFILL"


class EventType(StrEnum):
    """What a cursor event says."""

    ANCHOR = "ANCHOR"
    COVERAGE = "COVERAGE"
    COMPACT = "COMPACT"
    ADOPT = "ADOPT"
    VOID = "VOID"
    SET_BACK = "SET_BACK"


class SliceStrategy(StrEnum):
    """How a window is cut."""

    TIME = "TIME"
    ID_RANGE = "ID_RANGE"
    CURSOR_LANDMARK = "CURSOR_LANDMARK"
    VOLUME_BUDGET = "VOLUME_BUDGET"
    HYBRID = "HYBRID"


class PaginationType(StrEnum):
    """How a provider pages its results."""

    OFFSET = "OFFSET"
    PAGE = "PAGE"
    TOKEN = "TOKEN"  # noqa: S105 - a kind of paging, no secret
    URL = "URL"
    TIME = "TIME"


class PagePosition(StrEnum):
    """Who keeps the place in a result: a token we hold, or the provider."""

    CLIENT = "CLIENT"
    SERVER = "SERVER"


class EmptyPage(StrEnum):
    """What an empty page means while the provider still names a next place."""

    END = "END"
    CONTINUE = "CONTINUE"


class TotalKind(StrEnum):
    """How far a stated total is trusted.

    CHECKED: a result is complete only when the total has come. EXACT: a short page that reaches it also ends the
    result. ESTIMATE: it decides nothing.
    """

    CHECKED = "CHECKED"
    EXACT = "EXACT"
    ESTIMATE = "ESTIMATE"


class AnswerEffect(StrEnum):
    """What a recognised answer means: an error, a slice to be read from its start again, or a refusal of our rate."""

    ERROR = "ERROR"
    RESTART = "RESTART"
    RATE_LIMIT = "RATE_LIMIT"


class EndSignal(StrEnum):
    """By what the end of a result was recognised."""

    HAS_MORE_FALSE = "HAS_MORE_FALSE"
    NO_NEXT_PLACE = "NO_NEXT_PLACE"
    EMPTY_PAGE = "EMPTY_PAGE"
    SHORT_PAGE = "SHORT_PAGE"
    TOTAL_REACHED = "TOTAL_REACHED"
    REPEATED_PAGE = "REPEATED_PAGE"


class WindowMode(StrEnum):
    """How the ends of a window are laid."""

    SLIDING = "SLIDING"
    CALENDAR = "CALENDAR"


class TimeUnit(StrEnum):
    """The unit of a provider's time filter, and of calendar alignment."""

    MILLISECOND = "MILLISECOND"
    SECOND = "SECOND"
    MINUTE = "MINUTE"
    HOUR = "HOUR"
    DAY = "DAY"


class OnEqual(StrEnum):
    """What an equal update time means for a stored record."""

    KEEP = "KEEP"
    CHANGED = "CHANGED"


class OnRefresh(StrEnum):
    """What a refresh may change of a stored record: all of it, or only common fields that are empty."""

    OVERWRITE = "OVERWRITE"
    FILL_EMPTY = "FILL_EMPTY"


class EndpointRole(StrEnum):
    """What an endpoint is for."""

    SEARCH = "SEARCH"
    DETAIL = "DETAIL"
    METRICS = "METRICS"


class HttpMethod(StrEnum):
    """How an endpoint is asked."""

    GET = "GET"
    POST = "POST"


class AuthType(StrEnum):
    """How a request is authorised."""

    NONE = "NONE"
    API_KEY = "API_KEY"
    BEARER = "BEARER"
    BASIC = "BASIC"
    OAUTH2 = "OAUTH2"
    CUSTOM = "CUSTOM"


class AuthLocation(StrEnum):
    """Where a credential goes in a request."""

    HEADER = "HEADER"
    QUERY = "QUERY"
    BODY = "BODY"


class BodyFormat(StrEnum):
    """How a request's body is written."""

    FORM = "FORM"
    JSON = "JSON"


class ResponseFormat(StrEnum):
    """How an answer is written."""

    JSON = "JSON"
    XML = "XML"


class ParamLocation(StrEnum):
    """Where a request parameter goes."""

    QUERY = "QUERY"
    PATH = "PATH"
    HEADER = "HEADER"
    BODY = "BODY"


class FieldType(StrEnum):
    """What a query field holds."""

    DATETIME = "DATETIME"
    DATE = "DATE"
    TEXT = "TEXT"
    KEYWORD = "KEYWORD"
    NUMBER = "NUMBER"
    BOOLEAN = "BOOLEAN"


class ExprOp(StrEnum):
    """The nodes of a query."""

    AND = "AND"
    OR = "OR"
    NOT = "NOT"
    TERM = "TERM"
    IN = "IN"
    RANGE = "RANGE"
    EXISTS = "EXISTS"
    TOKEN = "TOKEN"  # noqa: S105 - a node of a query, no secret
    CONST = "CONST"


class TermMatch(StrEnum):
    """How closely a term must be met: its words, the phrase, or the whole value."""

    ANY = "ANY"
    PHRASE = "PHRASE"
    EXACT = "EXACT"


class ResetKind(StrEnum):
    """What a rate-limit reset header counts."""

    SECONDS_LEFT = "SECONDS_LEFT"
    EPOCH_SECONDS = "EPOCH_SECONDS"
    EPOCH_MILLIS = "EPOCH_MILLIS"
    ISO_TIME = "ISO_TIME"


class GateScope(StrEnum):
    """What shares one rate limiter of a source: everything, all that uses one credential, or one endpoint."""

    SOURCE = "SOURCE"
    CREDENTIAL = "CREDENTIAL"
    ENDPOINT = "ENDPOINT"


class IdNormalizer(StrEnum):
    """How a provider's id becomes its normal form."""

    NONE = "NONE"
    DOI = "DOI"


class BackoffPolicy(StrEnum):
    """How waits grow between attempts."""

    EXPONENTIAL_JITTER = "EXPONENTIAL_JITTER"


class SchedulerCode(StrEnum):
    """Who fired a trigger."""

    PREFECT = "PREFECT"
    CLI = "CLI"


class TriggerType(StrEnum):
    """Why a trigger fired."""

    SCHEDULE = "SCHEDULE"
    MANUAL = "MANUAL"


class ItemState(StrEnum):
    """Whether the source still has a record."""

    PRESENT = "PRESENT"
    GONE = "GONE"


class GoneReason(StrEnum):
    """Why a record is GONE."""

    DELETED = "DELETED"
    MERGED = "MERGED"
    NOT_FOUND = "NOT_FOUND"


class QuarantineState(StrEnum):
    """What became of an unusable record."""

    OPEN = "OPEN"
    RETRYING = "RETRYING"
    RELEASED = "RELEASED"
    DISCARDED = "DISCARDED"


class QuarantineReason(StrEnum):
    """Why a record could not be used."""

    ID_MISSING = "ID_MISSING"
    ID_TOO_LONG = "ID_TOO_LONG"
    ID_INVALID = "ID_INVALID"
    UPDATED_AT_MISSING = "UPDATED_AT_MISSING"
    UPDATED_AT_INVALID = "UPDATED_AT_INVALID"
    TEXT_INVALID = "TEXT_INVALID"
    UNREADABLE = "UNREADABLE"
    TOO_LARGE = "TOO_LARGE"
    NOT_AN_OBJECT = "NOT_AN_OBJECT"
    RECORD_ERROR = "RECORD_ERROR"
    PATTERN_TIMEOUT = "PATTERN_TIMEOUT"
    DETAIL_MISSING = "DETAIL_MISSING"
    DETAIL_FAILED = "DETAIL_FAILED"
    SHORTFALL = "SHORTFALL"


class ErrorLevel(StrEnum):
    """How bad an error is, and so what follows."""

    L1 = "L1"
    L2 = "L2"
    L3 = "L3"
    L4 = "L4"


class ControlState(StrEnum):
    """Whether a partition may work."""

    ACTIVE = "ACTIVE"
    PAUSED = "PAUSED"
    FUSED = "FUSED"


class OutboxStatus(StrEnum):
    """Life of an outbox message."""

    PENDING = "PENDING"
    SENT = "SENT"
    DEAD = "DEAD"


class ResliceStatus(StrEnum):
    """Life of a re-slice request."""

    OPEN = "OPEN"
    SERVED = "SERVED"
    REFUSED = "REFUSED"
