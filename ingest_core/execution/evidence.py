"""What the ledger keeps of a request and its answer: enough to explain it, nothing that leaks."""

import hashlib
from typing import Any

from ingest_core.execution.fetch import FetchedPage
from ingest_core.execution.ports import Request, Response
from ingest_core.model.canonical import canonical_json
from ingest_core.model.instant import format_instant
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
        "bodyHash": hashlib.sha256(response.body).hexdigest(),
        "sample": excerpt(response.clean_body()[: SAMPLE_CHARS * 3].decode("utf-8", "replace"), SAMPLE_CHARS),
        "total": fetched.page.total,
        **_rate(fetched),
        **({"details": fetched.details} if fetched.details else {}),
    }


def _rate(fetched: FetchedPage) -> dict[str, Any]:
    """The permit the request was sent with, and the remaining quota as the provider states it."""
    used, quota = fetched.permit, fetched.feedback.quota_json() if fetched.feedback else {}
    if used is None:
        return {}
    rate = {
        "limitKey": used.gate.key,
        "permitCost": used.gate.rate.cost,
        "waitMs": round(used.waited.total_seconds() * 1000),
        "decision": used.granted.decision.value,
        "r": used.granted.rate_now,
        "burst": used.granted.burst,
        "cooldownUntil": format_instant(used.granted.closed_until) if used.granted.closed_until else None,
    }
    return {"rate": rate, **({"quota": quota} if quota else {})}


def http_stats(fetched: FetchedPage) -> dict[str, Any]:
    """How long the answer took, and whether the page was asked for once more to be sure of its end."""
    probed = {"tailProbed": True} if fetched.tail_probed else {}
    return {
        "latencyMs": round(fetched.response.elapsed_seconds * 1000),
        "retryCount": fetched.retries,
        "429Count": fetched.too_many,
        "http": {"status": fetched.response.status, "bytes": len(fetched.response.body)},
        **probed,
    }
