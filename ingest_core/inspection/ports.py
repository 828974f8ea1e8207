"""What looking at a source needs."""

from typing import Any, Protocol

from ingest_core.execution.ports import Request, Upstream
from ingest_core.model.spec import HttpSpec


class VisibleUpstream(Upstream, Protocol):
    """An upstream that can show a request as it would be sent, without its secrets."""

    def preview(self, request: Request) -> dict[str, Any]:
        """Method, URL, headers and body; a credential is masked."""


class ReachableUpstream(VisibleUpstream, Protocol):
    """An upstream that can also say what it lacks to send a request."""

    def why_missing(self, reference: str) -> str | None:
        """Why the secret of that reference cannot be read; none if it can."""

    def reach(self, source: str, http: HttpSpec, seconds: float) -> None:
        """Connect to where the source is asked, or to the proxy on the way, and hang up; NotSent says why not."""
