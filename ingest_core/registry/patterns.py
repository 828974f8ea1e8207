"""Regular expressions of source files, which are not trusted: their size, input and time are bounded.

Python's `re` holds the interpreter lock while it matches and cannot be interrupted: a pattern such as `(a|aa)+$` would
stop the whole worker, its lease renewals and its signal handlers. `regex` releases the lock and has a timeout. Its
language is larger, so a pattern must be one of `re` too, and must mean the same in both.
"""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Event

import regex

from ingest_core.registry.bounds import BoundExceeded

MAX_PATTERN_CHARS = 1_000
MAX_PATTERN_SIZE = 10_000
"""Single characters, classes and groups once every counted repeat is written out: `(a{10}){10}` has 111."""

MAX_PATTERN_DEPTH = 50
MAX_MATCHED_CHARS = 65_536
"""Length of a text that a pattern is matched against."""

RECORD_SECONDS = 1.0
"""Processor time that all matches on one record, or all matches of a page's predicates, may take."""

PAGE_SECONDS = 10.0
"""Processor time that all matches on the records of one page may take."""

_SHOWN_CHARS = 80
_COUNT = re.compile(r"\{(\d*)(,?)(\d*)\}")
_SET_MARKS = ("[", "--", "&&", "~~", "||")
_GROUP_FLAGS = re.compile(r"\(\?[a-zA-Z-]*x")


class PatternRefused(BoundExceeded):
    """The text is not a pattern that may be used; the message says why."""

    code = "PATTERN_REFUSED"


class PatternTimeout(BoundExceeded):
    """A match was given up: the matches on its record, or of its page's predicates, took too long."""

    code = "PATTERN_TIMEOUT"


class PageAbandoned(Exception):
    """The page is no longer wanted."""


class PageTimeout(Exception):
    """The matches on the records of one page together took too long: the page fails, not single records."""

    code = "PATTERN_TIMEOUT"


@dataclass
class MatchTime:
    """Processor time that remains for matching."""

    page: float = field(default_factory=lambda: PAGE_SECONDS)
    record: float = field(default_factory=lambda: RECORD_SECONDS)
    abandoned: Event | None = None

    def next_record(self) -> None:
        """Give the next record its own time; PageAbandoned where the page is no longer wanted."""
        if self.abandoned is not None and self.abandoned.is_set():
            raise PageAbandoned
        self.record = RECORD_SECONDS


_remaining: ContextVar[MatchTime | None] = ContextVar("match_time", default=None)


@contextmanager
def page_match_time(abandoned: Event | None = None) -> Iterator[MatchTime]:
    """Let all matches in this block share one page's time; without it each match has the time of a record."""
    remaining = MatchTime(abandoned=abandoned)
    token = _remaining.set(remaining)
    try:
        yield remaining
    finally:
        _remaining.reset(token)


class Pattern:
    """A compiled pattern whose matches are bounded."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._compiled = regex.compile(text, regex.VERSION0)

    @property
    def groups(self) -> int:
        """The number of its capturing groups."""
        return int(self._compiled.groups)

    def search(self, text: str) -> "regex.Match[str] | None":
        """The first match in the text; PatternTimeout or PageTimeout where a bound is exceeded."""
        return self._bounded(text, whole=False)

    def fullmatch(self, text: str) -> "regex.Match[str] | None":
        """The match of the whole text; PatternTimeout or PageTimeout where a bound is exceeded."""
        return self._bounded(text, whole=True)

    def _bounded(self, text: str, *, whole: bool) -> "regex.Match[str] | None":
        if len(text) > MAX_MATCHED_CHARS:
            message = f"pattern {self._shown} takes at most {MAX_MATCHED_CHARS:,} characters, got {len(text):,}"
            raise BoundExceeded(message, self._shown)
        remaining = _remaining.get() or MatchTime()
        allowed = min(remaining.record, remaining.page)
        if allowed <= 0:
            raise self._given_up(remaining, len(text))
        match = self._compiled.fullmatch if whole else self._compiled.search
        # Processor time, as `regex` measures it: a busy machine makes no pattern slow.
        started = time.thread_time()
        try:
            found = match(text, timeout=allowed, concurrent=True)
        except (TimeoutError, MemoryError) as error:
            raise self._given_up(remaining, len(text)) from error
        finally:
            spent = time.thread_time() - started
            remaining.page -= spent
            remaining.record -= spent
        if remaining.record <= 0 or remaining.page <= 0:
            raise self._given_up(remaining, len(text))
        return found

    def _given_up(self, remaining: MatchTime, chars: int) -> Exception:
        where = f"a text of {chars:,} characters"
        if remaining.page <= remaining.record:
            page = f"the patterns took more than {PAGE_SECONDS:g} s on the records of one page"
            return PageTimeout(f"{page}, the last one was {self._shown} on {where}")
        return PatternTimeout(f"pattern {self._shown} took more than {RECORD_SECONDS:g} s on {where}", self._shown)

    @property
    def _shown(self) -> str:
        return repr(self.text if len(self.text) <= _SHOWN_CHARS else self.text[: _SHOWN_CHARS - 1] + "…")


@lru_cache(maxsize=512)
def compile_pattern(text: str) -> Pattern:
    """The pattern; PatternRefused says what is wrong with it."""
    if len(text) > MAX_PATTERN_CHARS:
        raise PatternRefused(f"the pattern has {len(text):,} characters, more than {MAX_PATTERN_CHARS:,}")
    _check_size(text)
    try:
        re.compile(text)
        return Pattern(text)
    except (re.error, regex.error, ValueError, OverflowError) as error:
        raise PatternRefused(f"the pattern does not parse: {error}") from error
    except RecursionError as error:
        raise PatternRefused("the pattern is nested too deeply") from error


def _check_size(text: str) -> None:
    """Refuse what `regex` would expand without bound, or read otherwise than `re`."""
    sizes, last, at = [0], 0, 0
    while at < len(text):
        char = text[at]
        if char == "(":
            _check_group(text, at)
            sizes.append(0)
            last = 0
        elif char == ")" and len(sizes) > 1:
            last = sizes.pop() + 1
            sizes[-1] += last
        elif char == "{":
            at, times = _count(text, at)
            sizes[-1] += last * (times - 1)
            last *= times
            _refuse_above(sizes[-1])
            continue
        elif char not in "*+?|)":
            at = _end_of_class(text, at) if char == "[" else at + (char == "\\")
            last = 1
            sizes[-1] += last
        _refuse_above(sizes[-1])
        if len(sizes) > MAX_PATTERN_DEPTH:
            raise PatternRefused(f"groups are nested more than {MAX_PATTERN_DEPTH} deep")
        at += 1


def _refuse_above(size: int) -> None:
    if size > MAX_PATTERN_SIZE:
        raise PatternRefused(f"its counted repeats, written out, have more than {MAX_PATTERN_SIZE:,} parts")


def _check_group(text: str, at: int) -> None:
    if text.startswith("(?#", at) or _GROUP_FLAGS.match(text, at):
        raise PatternRefused("comments and the flag `x` cannot be used")


def _count(text: str, at: int) -> tuple[int, int]:
    """The end of a counted repeat and the most it repeats; a brace that is none is fuzzy matching to `regex`."""
    match = _COUNT.match(text, at)
    if match is None or not (match[1] or match[3]):
        raise PatternRefused(f"column {at + 1}: `{{` begins no counted repeat such as {{2,5}}; write \\{{ for a brace")
    digits = max(match[1], match[3], key=len)
    if len(digits) > len(str(MAX_PATTERN_SIZE)):
        _refuse_above(MAX_PATTERN_SIZE + 1)
    return match.end(), max(1, int(match[1] or 0), int(match[3] or 0))


def _end_of_class(text: str, at: int) -> int:
    """Where a character class ends; names of classes and operations on sets in one are not `re`'s."""
    at += 1 + text.startswith("^", at + 1)
    first = at
    while at < len(text) and (text[at] != "]" or at == first):
        if text.startswith(_SET_MARKS, at):
            raise PatternRefused(f"column {at + 1}: `{text[at]}` in a character class; write \\{text[at]}")
        at += 1 + (text[at] == "\\")
    return at


def pattern_problem(text: str | None) -> str | None:
    """What is wrong with the pattern; None where there is none, or it can be used."""
    try:
        if text is not None:
            compile_pattern(text)
    except PatternRefused as refused:
        return str(refused)
    return None
