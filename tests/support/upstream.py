"""Fakes of the ports a fetch goes through: an upstream that answers as told, and a gate that makes askers wait."""

from datetime import timedelta

from ingest_core.execution.ports import Request, Response
from ingest_core.gate.feedback import Feedback
from ingest_core.gate.ports import GateDecision, Permit
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
    """A RateGate that makes each asker wait as told, then not at all."""

    def __init__(self, *waits: timedelta) -> None:
        self.waits = list(waits)
        self.turns: list[tuple[str, RateSpec]] = []
        self.cooldowns: list[tuple[str, timedelta]] = []
        self.heard: list[Feedback] = []
        self.closures: list[bool] = []

    def acquire(self, key: str, rate: RateSpec, deadline: timedelta) -> Permit:
        """The next wait of the script."""
        self.turns.append((key, rate))
        wait = self.waits.pop(0) if self.waits else timedelta(0)
        return Permit(GateDecision.REJECT, wait) if wait > deadline else Permit.after(wait)

    def feedback(self, key: str, said: Feedback) -> None:
        """Note that nobody may ask."""
        self.heard.append(said)
        if said.cool_down:
            self.cooldowns.append((key, said.cool_down))

    def closed(self, key: str) -> bool:
        """Whether the script says so, once."""
        return bool(self.closures) and self.closures.pop(0)

    def live_rate(self, partition: Partition, planned: RateSpec) -> RateSpec:
        """Never asked for here."""
        raise NotImplementedError(f"the run asks for {partition} before it fetches, not the fetcher")


def status(code: int, body: bytes = b"", **headers: str) -> Response:
    """An answer of that status."""
    return Response(URL, code, {name.replace("_", "-"): value for name, value in headers.items()}, body, 0.1)
