"""The Essie expressions of `query.*` and `filter.advanced`, as far as harvests need them."""

from dataclasses import dataclass
from typing import Protocol

from deployments.sandbox.clinicaltrials.failure import BadRequestError
from deployments.sandbox.clinicaltrials.stamp import read_stamp
from deployments.sandbox.logic import Condition, Span, Within

UPDATED = "LastUpdatePostDate"
POSTED = "StudyFirstPostDate"
DATES = (UPDATED, POSTED)
TEXTS = ("BriefTitle", "Condition", "LeadSponsorName", "OverallStatus", "Phase", "StudyType", "NCTId", "BasicSearch")
CODES = frozenset({"OverallStatus", "Phase", "StudyType", "NCTId"})
"""Areas of fixed values, which are found whole or not at all."""


class Subject(Protocol):
    """A study as a search sees it."""

    def text(self, area: str) -> str:
        """What the area holds, in lower case."""

    def date_ms(self, area: str) -> int:
        """The instant a date area holds."""


@dataclass(frozen=True, slots=True)
class Words:
    """A text that an area holds."""

    area: str
    text: str

    def fits(self, subject: Subject) -> bool:
        """True when it is there."""
        held = subject.text(self.area)
        return self.text in (held.splitlines() if self.area in CODES else held)


Expression = Condition[Subject]


def read_span(area: str, low: str, high: str, parameter: str) -> Within:
    """The range of a date area; a bound is a date, MIN or MAX."""
    if area not in DATES:
        raise BadRequestError(f"`{parameter}`: RANGE is not applicable to area {area}")
    return Within(area, Span(_bound(low, "MIN", 0, parameter), _bound(high, "MAX", 1, parameter)))


def _bound(text: str, unlimited: str, side: int, parameter: str) -> int | None:
    if text.strip() == unlimited:
        return None
    unit = read_stamp(text.strip())
    if unit is None:
        raise BadRequestError(f"`{parameter}`: {text.strip()!r} is not a valid date, use YYYY-MM-DD")
    return unit[side]
