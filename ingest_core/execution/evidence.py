"""What the ledger keeps of a request and its answer: enough to explain it, nothing that leaks."""

from typing import Any

from ingest_core.execution.fetch import FetchedPage
from ingest_core.execution.ports import Request, Response
from ingest_core.model.canonical import canonical_json, hash_text
from ingest_core.model.redaction import excerpt, redact

SAMPLE_CHARS = 500
BODY_CHARS = 2000


def request_digest(request: Request, response: Response) -> dict[str, Any]:
    """The request without its credential, addresses masked."""
    return {
        "method": request.method,
        "url": response.url,
        "query": [[name, redact(response.clean(value))] for name, value in request.query],
        "headers": sorted(request.headers),
        **({"body": excerpt(response.clean(canonical_json(request.body)), BODY_CHARS)} if request.body else {}),
    }


def response_digest(fetched: FetchedPage) -> dict[str, Any]:
    """Status, size, hash and the beginning of the answer."""
    response = fetched.response
    return {
        "status": response.status,
        "bytes": len(response.body),
        "bodyHash": hash_text(response.body.decode("utf-8", "replace")),
        "sample": excerpt(response.clean_body()[: SAMPLE_CHARS * 3].decode("utf-8", "replace"), SAMPLE_CHARS),
        "total": fetched.page.total,
        "rate": {"waitMs": round(fetched.waited.total_seconds() * 1000)},
        **({"details": fetched.details} if fetched.details else {}),
    }


def http_stats(fetched: FetchedPage) -> dict[str, Any]:
    """How long the answer took, and whether the page was asked for once more to be sure of its end."""
    probed = {"tailProbed": True} if fetched.tail_probed else {}
    return {"latencyMs": round(fetched.response.elapsed_seconds * 1000), **probed}
