"""Getting one page: through the gate, again where that is safe."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import stamina

from ingest_core.execution.decode import DecodedPage, PageBroken, decode_page
from ingest_core.execution.ports import AnswerLost, NotSent, Request, Response, Upstream
from ingest_core.gate.ports import RateGate
from ingest_core.gate.taxonomy import TOO_MANY_REQUESTS, UpstreamError, error_of_status
from ingest_core.model.codes import ErrorLevel
from ingest_core.model.spec import RateSpec, SpecSnapshot

log = logging.getLogger(__name__)

MAX_GATE_WAIT = timedelta(seconds=90)
"""Longer waits are the queue's, not a worker's."""

UNTOLD_COOL_DOWN = timedelta(seconds=1)
"""How long nobody asks after a 429 that does not say."""


@dataclass
class FetchTally:
    """What a run's requests cost."""

    requests: int = 0
    retries: int = 0
    too_many: int = 0
    waited: timedelta = timedelta(0)
    answers: int = 0
    latency_total_ms: int = 0
    latency_max_ms: int = 0

    def answered(self, seconds: float) -> None:
        """Count an answer and how long it took."""
        taken = round(seconds * 1000)
        self.answers += 1
        self.latency_total_ms += taken
        self.latency_max_ms = max(self.latency_max_ms, taken)


@dataclass(frozen=True)
class FetchedPage:
    """A decoded page and the answer it came in."""

    page: DecodedPage
    response: Response
    waited: timedelta


@dataclass
class Fetcher:
    """Asks for pages of one snapshot, at today's rate."""

    spec: SpecSnapshot
    rate: RateSpec
    gate: RateGate
    upstream: Upstream
    tally: FetchTally = field(default_factory=FetchTally)
    sleep: Callable[[float], None] = time.sleep

    @property
    def rate_key(self) -> str:
        """Whose rate it is: the source's, with the credential it is asked by."""
        return f"{self.spec.provenance_code}:{self.spec.auth.credential_ref or '-'}"

    def fetch(self, request: Request, *, repeatable: bool) -> FetchedPage:
        """The page; an answer that may have been given is asked for again only if that loses nothing."""
        retry = self.spec.retry

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
                return self._once(request)
        raise AssertionError("unreachable")

    def _once(self, request: Request) -> FetchedPage:
        waited = self._wait_for_turn()
        self.tally.requests += 1
        try:
            response = self.upstream.send(request)
        except NotSent as error:
            raise UpstreamError(
                ErrorLevel.L1, "UNREACHABLE", f"upstream unreachable: {error}", moved=False, unreachable=True
            ) from error
        except AnswerLost as error:
            raise UpstreamError(ErrorLevel.L1, "ANSWER_LOST", f"answer lost: {error}", moved=True) from error
        self.tally.answered(response.elapsed_seconds)
        self._raise_for(response)
        try:
            return FetchedPage(decode_page(response.body, self.spec), response, waited)
        except PageBroken as error:
            level = ErrorLevel.L1 if error.garbled else ErrorLevel.L2
            raise UpstreamError(level, error.code, str(error), moved=True, status=response.status) from error

    def _wait_for_turn(self) -> timedelta:
        wait = self.gate.acquire(self.rate_key, self.rate)
        if wait > MAX_GATE_WAIT:
            raise UpstreamError(
                ErrorLevel.L1, "RATE_WAIT", f"the provider asked to wait {wait}", moved=False, retry_after=wait
            )
        self.tally.waited += wait
        if wait > timedelta(0):
            self.sleep(wait.total_seconds())
        return wait

    def _raise_for(self, response: Response) -> None:
        now = datetime.now(UTC)
        error = error_of_status(response.status, response.headers, response.body, self.spec.retry.retry_statuses, now)
        if error is None:
            return
        if error.status == TOO_MANY_REQUESTS:
            self.tally.too_many += 1
            self.gate.cool_down(self.rate_key, error.retry_after or UNTOLD_COOL_DOWN)
        elif error.retry_after:
            self.gate.cool_down(self.rate_key, error.retry_after)
        raise error
