"""What looking at a source needs."""

from typing import Any, Protocol

from ingest_core.execution.ports import Request, Upstream


class VisibleUpstream(Upstream, Protocol):
    """An upstream that can show a request as it would be sent, without its secrets."""

    def preview(self, request: Request) -> dict[str, Any]:
        """Method, URL, headers and body; a credential is masked."""
