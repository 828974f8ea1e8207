"""Errors people read: what is wrong, with which value, where, and the way out."""

from dataclasses import dataclass
from enum import IntEnum

from ingest_core.model.visible import visible, visible_lines


class ExitCode(IntEnum):
    """What a script learns from the shell."""

    DONE = 0
    FAILED = 1
    BAD_INPUT = 2
    UNREACHABLE = 3
    REFUSED = 4


@dataclass
class PatraError(Exception):
    """An error with a code, a place and a remedy; subclasses fix the exit code."""

    code: str
    message: str
    where: str = ""
    remedy: str = ""

    exit_code = ExitCode.FAILED

    def __post_init__(self) -> None:
        self.message = visible_lines(self.message)  # several problems have a line each
        self.where, self.remedy = visible(self.where), visible(self.remedy)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        remedy = f" ({self.remedy})" if self.remedy else ""
        return f"{place}{self.message}{remedy}"


class BadInput(PatraError):
    """An impossible request or configuration."""

    exit_code = ExitCode.BAD_INPUT


class Unreachable(PatraError):
    """The database, the upstream or Prefect does not answer."""

    exit_code = ExitCode.UNREACHABLE


class DataRefused(PatraError):
    """The database answers, and refuses a value: it is too long, out of range, or no text."""


class Refused(PatraError):
    """Not now, or not by this version: paused, fused or another schema."""

    exit_code = ExitCode.REFUSED


class LeaseLost(Exception):
    """Another worker owns the task now: whatever this one holds must be discarded."""


class SliceFailed(Exception):
    """The provider's answers cannot be a whole result; the task fails, and its message says what to do."""

    code = "SLICE_FAILED"
    starts_over = False
    """Whether a retry reads the slice from its start."""


class SchemaDrift(SliceFailed):
    """Too many records of a page are unusable: the provider's answers have changed."""

    code = "SCHEMA_DRIFT"


class EmptyPages(SliceFailed):
    """The provider keeps naming next pages, and they hold no records."""

    code = "EMPTY_PAGES"


class EndlessPages(SliceFailed):
    """A slice has more pages than any result of its size."""

    code = "ENDLESS"
    starts_over = True


class ShortfallTooLarge(SliceFailed):
    """More records are missing than are accepted, and the slice cannot be cut smaller."""

    code = "SHORTFALL"


class EndUncertain(SliceFailed):
    """A full last page names no next place, no total is stated, and the slice cannot be cut smaller."""

    code = "END_UNCERTAIN"


class PagingLoop(SliceFailed):
    """A run was about to ask for a page it had already asked for."""

    code = "PagingLoop"
