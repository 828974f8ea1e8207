"""Fakes of the ports a fetch goes through: an upstream that answers as told, and a gate that makes askers wait."""

from datetime import datetime, timedelta

from ingest_core.execution.ports import Request, Response
from ingest_core.gate.chain import Gate, Limits
from ingest_core.gate.feedback import Feedback
from ingest_core.gate.ports import Asker, GateDecision, Horizon, Permit
from ingest_core.model.partition import Partition
from ingest_core.model.spec import AuthSpec, RateSpec

URL = "https://api.crossref.org/works"
PAGE = b'{"message": {"items": [{"DOI": "a"}], "total-results": 1}}'


class ScriptedUpstream:
    """An Upstream that answers as told, then always with a page."""

    def __init__(self, *answers: Response | Exception) -> None:
        self.answers = list(answers)
        self.requests: list[Request] = []

    def send(self, request: Request) -> Response:
        """The next answer of the script."""
        self.requests.append(request)
        answer = self.answers.pop(0) if self.answers else Response(URL, 200, {}, PAGE, 0.25)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def knows(self, auth: AuthSpec) -> bool:
        """Whether the secret is there: `env:KNOWN` is."""
        return auth.credential_ref == "env:KNOWN"


class ScriptedGate:
    """A RateGate that makes each asker wait as told, then not at all; `today` replaces the planned rate."""

    def __init__(self, *waits: timedelta, today: RateSpec | None = None) -> None:
        self.waits = list(waits)
        self.today = today
        self.turns: list[tuple[str, RateSpec]] = []
        self.heard: list[Feedback] = []
        self.permits: list[Permit] = []
        """Permits to give before those of `waits`."""

    def limits(self, partition: Partition, planned: RateSpec) -> Limits:
        """Today's rate, for everything."""
        return Limits(self.today or planned, self.today or planned)

    def acquire(self, gate: Gate, asker: Asker, deadline: timedelta) -> Permit:
        """The next permit or wait of the script."""
        self.turns.append((gate.key, gate.rate))
        if self.permits:
            return self.permits.pop(0)
        wait = self.waits.pop(0) if self.waits else timedelta(0)
        if wait > deadline:
            return Permit(GateDecision.REJECT, wait)
        return Permit(GateDecision.WAIT if wait else GateDecision.ALLOW, wait)

    def feedback(self, gate: Gate, asker: Asker, said: Feedback) -> None:
        """Note it."""
        self.heard.append(said)

    def closed(self, gate: Gate) -> timedelta:
        """Never."""
        return timedelta(0)

    def succeeded_since(self, gate: Gate, moment: datetime) -> bool:
        """Always: each failure counts."""
        return True

    def estimate(self, gate: Gate, horizon: timedelta, priority: int = 5) -> Horizon:
        """What the rate gives."""
        rate = gate.rate.requests_per_second
        return Horizon(int(rate * horizon.total_seconds()), rate, timedelta(0))


def status(code: int, body: bytes = b"", **headers: str) -> Response:
    """An answer of that status."""
    return Response(URL, code, {name.replace("_", "-"): value for name, value in headers.items()}, body, 0.1)
