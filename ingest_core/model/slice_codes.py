"""The codes of planning: how windows are aligned and sliced, sized and cut again."""

from enum import StrEnum

from ingest_core.model.codes import Operation, TimeUnit


class CalendarUnit(StrEnum):
    """What a CALENDAR window's ends are floored to."""

    MILLISECOND = "MILLISECOND"
    SECOND = "SECOND"
    MINUTE = "MINUTE"
    HOUR = "HOUR"
    DAY = "DAY"
    WEEK = "WEEK"
    MONTH = "MONTH"


class TimePrecision(StrEnum):
    """How exactly a provider's filter cuts a slice's window."""

    MILLIS = "MILLIS"
    SECOND = "SECOND"
    MINUTE = "MINUTE"
    HOUR = "HOUR"
    DAY = "DAY"


PRECISION = {
    TimeUnit.MILLISECOND: TimePrecision.MILLIS,
    TimeUnit.SECOND: TimePrecision.SECOND,
    TimeUnit.MINUTE: TimePrecision.MINUTE,
    TimeUnit.HOUR: TimePrecision.HOUR,
    TimeUnit.DAY: TimePrecision.DAY,
}


class EdgeKind(StrEnum):
    """Whether an end belongs to what it bounds."""

    OPEN = "OPEN"
    CLOSED = "CLOSED"


class BudgetPriority(StrEnum):
    """How urgent a slice is, in words."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


BUDGET_PRIORITY = {
    Operation.HARVEST: BudgetPriority.HIGH,
    Operation.UPDATE: BudgetPriority.MEDIUM,
    Operation.BACKFILL: BudgetPriority.LOW,
}


class EstimateMethod(StrEnum):
    """Where the size of a slice is known from; the best first."""

    COUNT = "COUNT"
    HISTORY = "HISTORY"
    FIRST_PAGE = "FIRST_PAGE"
    SHARE = "SHARE"
    CONSTANT = "CONSTANT"
    OBSERVED = "OBSERVED"


class ResliceReason(StrEnum):
    """Why a slice has to be cut again."""

    RECORD_CAP = "RECORD_CAP"
    PAGE_CAP = "PAGE_CAP"
    PAGE_FULL = "PAGE_FULL"
    PAGE_BYTES = "PAGE_BYTES"
    BUDGET = "BUDGET"
    RESTARTED = "RESTARTED"
    SHORTFALL = "SHORTFALL"
    UNSTABLE = "UNSTABLE"
    END_UNCERTAIN = "END_UNCERTAIN"
    ENDLESS = "ENDLESS"


class SignalState(StrEnum):
    """State of an id that is to be refreshed."""

    OPEN = "OPEN"
    PLANNED = "PLANNED"
    DONE = "DONE"


class SignalCode(StrEnum):
    """Why an id is to be refreshed."""

    REQUESTED = "REQUESTED"
    QUARANTINE = "QUARANTINE"
