"""Getting one page: through the gate, again where that is safe."""

import hashlib
import logging
import time
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Event

import stamina

from ingest_core.execution.decode import PageBroken, decode_page, says_empty, stated_error
from ingest_core.execution.page import NO_RECORDS, DecodedPage
from ingest_core.execution.paging import paginator_of
from ingest_core.execution.ports import AnswerLost, CredentialMissing, NotSent, Request, Response, Upstream
from ingest_core.gate.feedback import Feedback, read_feedback
from ingest_core.gate.ports import GateDecision, Permit, RateGate
from ingest_core.gate.taxonomy import TOO_MANY_REQUESTS, UpstreamError, error_of_status, is_web_page
from ingest_core.model.codes import AnswerEffect, EmptyPage, ErrorLevel, TotalKind
from ingest_core.model.errors import PatraError
from ingest_core.model.record import Rejected
from ingest_core.model.spec import RateSpec, ResponseSpec, SpecSnapshot

log = logging.getLogger(__name__)

MAX_GATE_WAIT = timedelta(seconds=90)
"""Longer waits are the queue's, not a worker's."""


PERMIT_LIFE = timedelta(seconds=1)
"""So long a turn holds whatever else is said."""


GARBLED = frozenset({"NOT_JSON", "NOT_XML"})
"""Answers that do not parse."""

EMPTY_TOO_EARLY = ("EMPTY_TAIL", "EMPTY_BEFORE_TOTAL")
REFUSED = (400, 404, 416, 422)
"""How providers refuse a page behind their last one."""


@dataclass(frozen=True)
class Spot:
    """What is known of a page before it is asked for."""

    repeatable: bool = True
    """Whether asking twice loses nothing."""
    offset: int | None = None
    """How many records of the query it skips, where that is known."""
    beyond: bool = False
    """Whether all records that the total states have come before it."""
    after_empty: bool = False
    """Whether the page before it was empty: then this one is not asked for again for being empty."""


ANYWHERE = Spot()


class BrokenAnswers:
    """The answers to one request that did not parse: one that comes again byte for byte will not pass.

    A web page in place of an answer, a notice of maintenance, is passing however often it comes; so is an empty body.
    """

    def __init__(self) -> None:
        self._hashes: set[bytes] = set()

    def judge(self, error: PageBroken, body: bytes) -> ErrorLevel:
        """How bad the error is, given the answers before."""
        if error.code not in GARBLED or not body.strip() or is_web_page(body):
            return error.level
        digest = hashlib.sha256(body).digest()
        repeated = digest in self._hashes
        self._hashes.add(digest)
        return ErrorLevel.L2 if repeated else error.level


class Abandoned(Exception):
    """Nobody waits for this page any more."""


@dataclass
class FetchTally:
    """What a run's requests cost."""

    requests: int = 0
    retries: int = 0
    too_many: int = 0
    tail_probes: int = 0
    waited: timedelta = timedelta(0)
    answers: int = 0
    latency_total_ms: int = 0
    latency_max_ms: int = 0
    permits: int = 0
    retry_afters: int = 0

    def heard(self, said: Feedback) -> None:
        """Count what the provider said of our haste."""
        self.too_many += said.status == TOO_MANY_REQUESTS
        self.retry_afters += said.retry_after is not None

    def answered(self, seconds: float) -> None:
        """Count an answer and how long it took."""
        taken = round(seconds * 1000)
        self.answers += 1
        self.latency_total_ms += taken
        self.latency_max_ms = max(self.latency_max_ms, taken)


@dataclass(frozen=True)
class Turn:
    """What a request waited for, and at which rate."""

    key: str
    rate: RateSpec
    permit: Permit


@dataclass(frozen=True)
class FetchedPage:
    """A decoded page and the answer it came in."""

    page: DecodedPage
    response: Response
    turn: Turn | None = None
    said: Feedback | None = None
    details: list[dict[str, object]] = field(default_factory=list)
    retries: int = 0
    too_many: int = 0
    tail_probed: bool = False
    answered: float = field(default_factory=time.monotonic)
    notes: list[Rejected] = field(default_factory=list)
    """Rows for quarantine that are about the slice, not about one of its records."""


@dataclass(frozen=True)
class Expected:
    """How the answers to a request are read, however often it is sent."""

    decode: Callable[[bytes], DecodedPage]
    answers: ResponseSpec
    empty_statuses: Container[int]
    """A refusal with one of these is an empty page."""
    broken: BrokenAnswers = field(default_factory=BrokenAnswers)


@dataclass
class Fetcher:
    """Asks for pages of one snapshot, at today's rate."""

    spec: SpecSnapshot
    rate: RateSpec
    gate: RateGate
    upstream: Upstream
    tally: FetchTally = field(default_factory=FetchTally)
    detail_rate: RateSpec | None = None
    abandoned: Event = field(default_factory=Event)
    sleep: Callable[[float], None] = time.sleep
    turn_taken: Event = field(default_factory=Event)

    @property
    def rate_key(self) -> str:
        """Whose rate it is: the source's, with the credential it is asked by."""
        return f"{self.spec.provenance_code}:{self.spec.auth.credential_ref or '-'}"

    @property
    def own_rate_key(self) -> str:
        """Whose slower rate it is: that of all plans which were asked for alike."""
        return f"{self.spec.provenance_code}:asked:{self.spec.fingerprint}"

    def fetch(self, request: Request, at: Spot = ANYWHERE) -> FetchedPage:
        """The page; an answer that may have been given is asked for again only if that loses nothing."""
        # Behind all that the total states, a refusal says that nothing follows.
        ask = partial(self.ask, request, answers=self.spec.response, empty_statuses=REFUSED if at.beyond else ())
        try:
            return ask(lambda body: self._decode(body, at), repeatable=at.repeatable)
        except UpstreamError as error:
            passes = error.code == "EMPTY_TAIL" or self.spec.paging.empty_page == EmptyPage.CONTINUE
            if error.code not in EMPTY_TOO_EARLY or not passes or not at.repeatable:
                raise
            # Totals count what is never given: what stays missing is for completeness to judge.
            return ask(lambda body: decode_page(body, self.spec), repeatable=True)

    def _decode(self, body: bytes, at: Spot) -> DecodedPage:
        """The page, unless it contradicts itself: such an answer is asked for again."""
        page, paging = decode_page(body, self.spec), self.spec.paging
        stated = None if paging.total_kind == TotalKind.ESTIMATE or at.after_empty else page.total
        missing = stated - at.offset if at.offset is not None and stated is not None and not page.items else 0
        if missing > 0:
            code = "EMPTY_TAIL" if missing < paging.page_size else "EMPTY_BEFORE_TOTAL"
            raise PageBroken(code, f"an empty page at {at.offset} of {page.total} records")
        if paginator_of(paging).lacks_next_place(page):
            raise PageBroken("NEXT_PAGE_MISSING", "the page says that more follows, but not where")
        return page

    def fetch_to_next(self, request: Request, at: Spot = ANYWHERE) -> FetchedPage:
        """The page; where it looks like the last and such pages are known to lie, its next place by a second look."""
        found = self.fetch(request, at)
        if not paginator_of(self.spec.paging).tail_is_doubtful(found.page):
            return found
        self.tally.tail_probes += 1
        again = self.fetch(request, at)
        # The records are those that came first, so that they are counted once.
        return replace(found, page=replace(found.page, next_token=again.page.next_token), tail_probed=True)

    def measured(self, work: Callable[[], FetchedPage]) -> FetchedPage:
        """A page with what it took: how often it was asked for again, and how often that was too often."""
        retries, too_many = self.tally.retries, self.tally.too_many
        found = work()
        return replace(found, retries=self.tally.retries - retries, too_many=self.tally.too_many - too_many)

    def ask(
        self,
        request: Request,
        decode: Callable[[bytes], DecodedPage],
        answers: ResponseSpec,
        *,
        repeatable: bool,
        rate: RateSpec | None = None,
        empty_statuses: Container[int] = (),
    ) -> FetchedPage:
        """One answer, decoded; a passing fault is met by asking again; `rate` is what it costs, if that differs.

        A refusal with one of `empty_statuses` is an empty page.
        """
        retry, expected = self.spec.retry, Expected(decode, answers, empty_statuses)

        def again(error: Exception) -> bool:
            if not isinstance(error, UpstreamError) or error.level != ErrorLevel.L1 or error.code == "RATE_WAIT":
                return False
            if error.moved and not repeatable:
                return False
            log.warning("%s: %s", self.spec.provenance_code, error)
            return True

        for attempt in stamina.retry_context(
            on=again,
            attempts=retry.max_attempts,
            timeout=None,
            wait_initial=retry.initial_seconds,
            wait_max=retry.max_seconds,
            wait_exp_base=retry.multiplier,
            wait_jitter=retry.jitter * retry.initial_seconds,
        ):
            with attempt:
                self.tally.retries += attempt.num > 1
                return self._once(request, expected, rate or self.rate)
        raise AssertionError("unreachable")

    def _once(self, request: Request, expected: Expected, rate: RateSpec) -> FetchedPage:
        if self.abandoned.is_set():
            raise Abandoned
        rate = rate.for_caller(known=self.upstream.knows(request.auth))
        turn = Turn(self.rate_key, rate, self._wait_for_turn(rate))
        self.tally.requests += 1
        self.tally.permits += rate.cost
        response = self._sent(request)
        self.tally.answered(response.elapsed_seconds)
        with self._readable(response.status):
            said = read_feedback(response.status, response.headers, rate, datetime.now(UTC))
        self.gate.feedback(self.rate_key, said)
        self.tally.heard(said)
        with self._readable(response.status):
            return FetchedPage(self._page(response, expected), response, turn, said)

    def _sent(self, request: Request) -> Response:
        try:
            with self._readable():
                return self.upstream.send(request)
        except NotSent as error:
            message = f"upstream unreachable: {error}"
            raise UpstreamError("UNREACHABLE", message, moved=False, unreachable=True) from error
        except AnswerLost as error:
            raise UpstreamError("ANSWER_LOST", f"answer lost: {error}", moved=True) from error
        except CredentialMissing as error:
            raise UpstreamError(error.code, str(error), moved=False) from error

    def _page(self, response: Response, expected: Expected) -> DecodedPage:
        try:
            if response.status in expected.empty_statuses or says_empty(
                response.body, expected.answers, response.status
            ):
                return NO_RECORDS
            self._raise_for(response, expected.answers)
            page = expected.decode(response.body)
        except PageBroken as error:
            level, message = expected.broken.judge(error, response.body), _untold(error, expected.decode, response)
            message += " (the same bytes came twice)" if level != error.level else ""
            raise UpstreamError(
                error.code, message, moved=True, level=level, status=response.status, restarts=error.restarts
            ) from error
        kept = paginator_of(self.spec.paging).kept_place(page.next_token, response.clean_place)
        return replace(page, next_token=kept)

    @contextmanager
    def _readable(self, status: int | None = None) -> Iterator[None]:
        """An answer that no rule foresaw fails its own request; the database is never asked within.

        The log has the trace.
        """
        try:
            yield
        except (UpstreamError, PatraError, NotSent, AnswerLost, CredentialMissing):
            raise
        except Exception as error:
            log.exception("%s: an answer cannot be read", self.spec.provenance_code)
            message = f"the answer cannot be read: {type(error).__name__}"
            raise UpstreamError("ANSWER_UNREADABLE", message, moved=True, status=status) from error

    def _wait_for_turn(self, rate: RateSpec) -> Permit:
        """Wait for a turn; one that was waited for long is worth nothing if the provider has closed meanwhile."""
        if self.spec.rate.asked_for:  # in a queue of its own, so that it slows nobody else down
            slower = RateSpec(requests_per_second=self.spec.rate.requests_per_second, burst=1)
            self._take_turn(self.own_rate_key, slower)
        while True:
            permit = self._take_turn(self.rate_key, rate)
            if permit.wait <= PERMIT_LIFE or not self.gate.closed(self.rate_key):
                return permit

    def _take_turn(self, key: str, rate: RateSpec) -> Permit:
        permit = self.gate.acquire(key, rate, MAX_GATE_WAIT)
        self.turn_taken.set()
        if permit.decision == GateDecision.REJECT:
            message = f"the next turn comes in {permit.wait}"
            raise UpstreamError("RATE_WAIT", message, moved=False, retry_after=permit.wait)
        self.tally.waited += permit.wait
        if permit.wait:
            self.sleep(permit.wait.total_seconds())
        return permit

    def _raise_for(self, response: Response, answers: ResponseSpec) -> None:
        now = datetime.now(UTC)
        error = error_of_status(
            response.status, response.headers, response.clean_body(), self.spec.retry.retry_statuses, now
        )
        if error is None:
            return
        stated = stated_error(response.body, answers)
        if stated is not None:
            error.level = stated.level or error.level
            error.restarts = stated.effect == AnswerEffect.RESTART
        raise error


def _untold(error: PageBroken, decode: Callable[[bytes], DecodedPage], response: Response) -> str:
    """What was wrong with the body, said again of one that does not repeat the credential."""
    clean = response.clean_body()
    if clean == response.body:
        return str(error)
    try:
        decode(clean)
    except PageBroken as again:
        return str(again)
    return response.clean(str(error))
