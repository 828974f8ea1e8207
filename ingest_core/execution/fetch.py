"""Fetches one page within the rate limit, and again where that loses nothing."""

import hashlib
import logging
import random
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
from ingest_core.execution.pricing import priced
from ingest_core.execution.retries import Retries
from ingest_core.gate.chain import Gate, Limits, asked_gate, chain_of
from ingest_core.gate.circuit import FAILURES_THAT_OPEN
from ingest_core.gate.feedback import Feedback, read_feedback, says_refused
from ingest_core.gate.ports import Asker, GateDecision, Permit, RateGate
from ingest_core.gate.taxonomy import UpstreamError, error_of_status, is_web_page
from ingest_core.model.codes import AnswerEffect, EmptyPage, ErrorLevel, TotalKind
from ingest_core.model.errors import PatraError
from ingest_core.model.partition import Partition
from ingest_core.model.record import Rejected
from ingest_core.model.spec import RateSpec, ResponseSpec, SpecSnapshot

log = logging.getLogger(__name__)

MAX_GATE_WAIT = timedelta(seconds=90)
"""A request that would wait longer ends the attempt: the task is queued again."""

CLOSED_JITTER = 0.1
"""A closed limiter is asked again up to this share later than it opens, so that not all workers come at once."""

FRESH_SECONDS = 1.0
"""A rate that changes in the Registry is noticed after this time."""

GARBLED = frozenset({"NOT_JSON", "NOT_XML"})
"""Answers that do not parse."""

EMPTY_TOO_EARLY = ("EMPTY_TAIL", "EMPTY_BEFORE_TOTAL")
REFUSED = (400, 404, 416, 422)
"""How providers refuse a page behind their last one."""


@dataclass(frozen=True)
class Spot:
    """Facts about a page before it is requested."""

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
    """The attempt that wanted this page has ended."""


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
    rejected: int = 0
    """Permits that were refused because the wait was too long."""

    def count_feedback(self, feedback: Feedback) -> None:
        """Count refusals for too many requests, and requests to wait."""
        self.too_many += feedback.refused
        self.retry_afters += feedback.retry_after is not None

    def count_answer(self, seconds: float) -> None:
        """Count an answer and how long it took."""
        taken = round(seconds * 1000)
        self.answers += 1
        self.latency_total_ms += taken
        self.latency_max_ms = max(self.latency_max_ms, taken)


@dataclass(frozen=True)
class UsedPermit:
    """The permit a request was sent with."""

    gate: Gate
    """The provider's rate limiter, with what the request costs there."""
    granted: Permit
    waited: timedelta
    """How long the request waited for all its permits."""

    @property
    def in_outage(self) -> bool:
        """Whether the provider seems to be down: a request that fails now is not repeated at once."""
        return self.granted.probes or self.granted.failures + 1 >= FAILURES_THAT_OPEN


@dataclass(frozen=True)
class FetchedPage:
    """A decoded page and the answer it came in."""

    page: DecodedPage
    response: Response
    permit: UsedPermit | None = None
    feedback: Feedback | None = None
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
    detail: bool = False
    """Whether the request is for details, which may have a rate of their own."""


@dataclass
class Fetcher:
    """Asks for pages and details of one snapshot, at today's rate."""

    spec: SpecSnapshot
    gate: RateGate
    upstream: Upstream
    tally: FetchTally = field(default_factory=FetchTally)
    asker: Asker = field(default_factory=Asker)
    abandoned: Event = field(default_factory=Event)
    sleep: Callable[[float], None] = time.sleep
    permit_answered: Event = field(default_factory=Event)
    """Set once the rate limiter has answered: the fetching thread no longer waits for the database."""
    chance: Callable[[], float] = random.random
    last_gate: Gate | None = None
    """The provider's rate limiter of the last request."""
    known_limits: dict[Partition, tuple[float, Limits]] = field(default_factory=dict)
    """The limits of the pages and of the details, and when they were read."""

    def fetch(self, request: Request, at: Spot = ANYWHERE, *, probe_tail: bool = False) -> FetchedPage:
        """The page; an answer that may have been given is asked for again only if that loses nothing.

        With `probe_tail`, a page that looks like the last one is fetched twice where the source says that such pages
        may be wrong: the next place is taken from the second answer.
        """
        strict, lenient = partial(self._decode, at=at), partial(decode_page, spec=self.spec)
        decode: Callable[[bytes], DecodedPage] = strict
        first: FetchedPage | None = None
        # Behind all that the total states, a refusal says that nothing follows.
        refusals = REFUSED if at.beyond else ()
        while True:
            try:
                found = self.ask(request, decode, self.spec.response, repeatable=at.repeatable, empty_statuses=refusals)
            except UpstreamError as error:
                if decode is lenient or not self._accepts_empty(error, at):
                    raise
                decode = lenient  # totals count records that are never given: completeness judges what stays missing
                continue
            if first is not None:
                # The records are those of the first answer, so that they are counted once.
                return replace(first, page=replace(first.page, next_token=found.page.next_token), tail_probed=True)
            if not (probe_tail and paginator_of(self.spec.paging).tail_is_doubtful(found.page)):
                return found
            self.tally.tail_probes += 1
            first, decode = found, strict

    def _accepts_empty(self, error: UpstreamError, at: Spot) -> bool:
        """Whether an empty page before the stated total is fetched once more and taken as it is."""
        passes = error.code == "EMPTY_TAIL" or self.spec.paging.empty_page == EmptyPage.CONTINUE
        return error.code in EMPTY_TOO_EARLY and passes and at.repeatable

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

    def ask(
        self,
        request: Request,
        decode: Callable[[bytes], DecodedPage],
        answers: ResponseSpec,
        *,
        repeatable: bool,
        detail: bool = False,
        empty_statuses: Container[int] = (),
    ) -> FetchedPage:
        """One answer, decoded; a passing fault is met by asking again.

        A refusal with one of `empty_statuses` is an empty page.
        """
        expected = Expected(decode, answers, empty_statuses, detail=detail)
        retries = Retries(self.spec.retry, self.chance)

        def again(error: Exception) -> bool | timedelta:
            if not isinstance(error, UpstreamError) or error.level != ErrorLevel.L1 or error.final:
                return False
            if error.moved and not repeatable:
                return False
            log.warning("%s: %s", self.spec.provenance_code, error)
            return retries.next_wait()

        for attempt in stamina.retry_context(on=again, attempts=self.spec.retry.max_attempts, timeout=None):
            with attempt:
                self.tally.retries += attempt.num > 1
                permit = self._await_permit(self._chain(request, detail=expected.detail))
                with self._sending(permit):
                    response = self.upstream.send(request)
                return self._received(response, expected, permit)
        raise AssertionError("unreachable")

    def _chain(self, request: Request, *, detail: bool) -> list[Gate]:
        """The rate limiters the request stands under today, each with what this request costs there."""
        spec = self.spec
        endpoint = spec.detail.endpoint_name if detail and spec.detail else spec.endpoint_name
        planned = (spec.detail.rate if detail and spec.detail else None) or spec.rate
        partition = Partition(spec.provenance_code, endpoint, spec.operation_code)
        known = self.upstream.knows(request.auth)
        chain = chain_of(self._limits(partition, planned), partition, request.auth.credential_ref, known=known)
        if spec.rate.asked_for:
            chain.insert(0, asked_gate(spec.provenance_code, spec.fingerprint, spec.rate))
        return [Gate(gate.key, priced(gate.rate, request.query)) for gate in chain]

    def _limits(self, partition: Partition, planned: RateSpec) -> Limits:
        """Today's limits of the partition, at most FRESH_SECONDS old."""
        read_at, limits = self.known_limits.get(partition, (float("-inf"), None))
        if limits is None or time.monotonic() - read_at > FRESH_SECONDS:
            limits = self.gate.limits(partition, planned)
            self.known_limits[partition] = (time.monotonic(), limits)
        return limits

    def _await_permit(self, chain: list[Gate]) -> UsedPermit:
        """Wait for a permit of each limiter, and count the request.

        The provider's comes last: nothing that was waited for before can close it any more.
        """
        if self.abandoned.is_set():
            raise Abandoned
        waited, self.last_gate = timedelta(0), chain[-1]
        try:
            for gate in chain:
                granted, took = self._acquire(gate)
                waited += took
        finally:
            self.permit_answered.set()
            self.tally.waited += waited
        self.tally.requests += 1
        self.tally.permits += gate.rate.cost
        return UsedPermit(gate, granted, waited)

    def _acquire(self, gate: Gate) -> tuple[Permit, timedelta]:
        """A permit, and how long it was waited for; RATE_WAIT where it would take too long."""
        waited = timedelta(0)
        while True:
            permit = self.gate.acquire(gate, self.asker, MAX_GATE_WAIT - waited)
            if permit.decision == GateDecision.REJECT:
                self.tally.rejected += 1
                raise _too_long(gate, permit)
            later = timedelta(0) if permit.decision.granted else permit.wait * CLOSED_JITTER * self.chance()
            waited += permit.wait + later
            if permit.wait:
                self.permit_answered.set()
                self.sleep((permit.wait + later).total_seconds())
            if permit.decision.granted:
                return permit, waited

    @contextmanager
    def _sending(self, permit: UsedPermit) -> Iterator[None]:
        """Raise as UpstreamError whatever kept an answer from coming; a context, so that it adds no frame."""
        try:
            with self._readable():
                yield
                return
        except NotSent as error:
            failure = UpstreamError("UNREACHABLE", f"upstream unreachable: {error}", moved=False, unreachable=True)
        except AnswerLost as error:
            failure = UpstreamError("ANSWER_LOST", f"answer lost: {error}", moved=True)
        except CredentialMissing as error:
            raise UpstreamError(error.code, str(error), moved=False) from error
        self._report(permit, Feedback(None))
        failure.final = permit.in_outage
        raise failure

    def _received(self, response: Response, expected: Expected, permit: UsedPermit) -> FetchedPage:
        """Decode an answer, and tell the rate limiter what the provider said about its limits."""
        self.tally.count_answer(response.elapsed_seconds)
        with self._readable(response.status):
            feedback = read_feedback(response.status, response.headers, permit.gate.rate, datetime.now(UTC))
        try:
            with self._readable(response.status):
                page = self._page(response, expected, permit, feedback)
        except UpstreamError as error:
            self._report(permit, replace(feedback, refused=error.refuses_rate))
            raise
        return FetchedPage(page, response, permit, self._report(permit, feedback))

    def _report(self, permit: UsedPermit, feedback: Feedback) -> Feedback:
        """Tell the provider's rate limiter what came of a request."""
        feedback = replace(feedback, task=self.asker.task, decreases=permit.granted.decreases)
        self.gate.feedback(permit.gate, self.asker, feedback)
        self.tally.count_feedback(feedback)
        return feedback

    def _page(self, response: Response, expected: Expected, permit: UsedPermit, feedback: Feedback) -> DecodedPage:
        try:
            if response.status in expected.empty_statuses or says_empty(
                response.body, expected.answers, response.status
            ):
                return NO_RECORDS
            self._raise_for(response, expected.answers, permit, feedback)
            page = expected.decode(response.body)
        except PageBroken as error:
            level, message = expected.broken.judge(error, response.body), _redacted(error, expected.decode, response)
            message += " (the same bytes came twice)" if level != error.level else ""
            raise UpstreamError(
                error.code,
                message,
                moved=not error.refuses_rate,
                level=level,
                status=response.status,
                restarts=error.restarts,
                refuses_rate=error.refuses_rate,
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

    def _raise_for(self, response: Response, answers: ResponseSpec, permit: UsedPermit, feedback: Feedback) -> None:
        statuses = self.spec.retry.retry_statuses
        error = error_of_status(response.status, response.headers, response.clean_body(), statuses, datetime.now(UTC))
        if error is None:
            return
        stated = stated_error(response.body, answers)
        if stated is not None:
            error.level = stated.level or error.level
            error.restarts = stated.effect == AnswerEffect.RESTART
            error.refuses_rate |= stated.effect == AnswerEffect.RATE_LIMIT
        if error.refuses_rate or says_refused(feedback, permit.gate.rate):
            error.level, error.moved, error.refuses_rate = ErrorLevel.L1, False, True
        error.final = permit.in_outage and feedback.failed
        raise error


def _too_long(gate: Gate, permit: Permit) -> UpstreamError:
    """The next permit is too far away to wait for: the task comes back later."""
    reason = f" ({permit.closed})" if permit.closed else ""
    message = (
        f"rate limiter {gate.key} gives the next permit in {permit.wait}{reason}; see `patra gate show {gate.key}`"
    )
    return UpstreamError("RATE_WAIT", message, moved=False, retry_after=permit.wait, closed=permit.closed, final=True)


def _redacted(error: PageBroken, decode: Callable[[bytes], DecodedPage], response: Response) -> str:
    """The problem with the body, found again in a body without the credential, so that no message repeats it."""
    clean = response.clean_body()
    if clean == response.body:
        return str(error)
    try:
        decode(clean)
    except PageBroken as again:
        return str(again)
    return response.clean(str(error))
