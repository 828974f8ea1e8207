"""Crossref's headers, which depend on the pool a client is served from."""

from deployments.sandbox.provider import Request

STEADY = {
    "content-type": "application/json",
    "access-control-allow-headers": (
        "X-Requested-With, Accept, Accept-Encoding, Accept-Charset, Accept-Language, Accept-Ranges, Cache-Control"
    ),
    "access-control-allow-origin": "*",
    "access-control-expose-headers": "Link",
    "permissions-policy": "interest-cohort=()",
    "server": "Jetty(9.4.40.v20210413)",
    "vary": "Accept-Encoding",
}
LIMITS = {"public": ("5", "1"), "polite": ("10", "3")}


def pool_headers(request: Request, enforced_limit: int | None) -> dict[str, str]:
    """The headers of every answer: who says where to reach them is in the polite pool."""
    polite = "mailto" in request.query or "mailto:" in request.headers.get("user-agent", "").lower()
    pool = "polite" if polite else "public"
    limit, concurrency = LIMITS[pool]
    return {
        **STEADY,
        "x-api-pool": pool,
        "x-concurrency-limit": concurrency,
        "x-rate-limit-interval": "1s",
        "x-rate-limit-limit": limit if enforced_limit is None else str(enforced_limit),
    }
