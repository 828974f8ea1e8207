"""Who may ask, and how much of the daily budget is left.

A key that begins with `spent` has used its budget up, one that begins with `invalid` is not known; any other is good.
"""

from collections import Counter

from deployments.sandbox.instant import DAY_MS
from deployments.sandbox.openalex.failure import RefusalError, too_many
from deployments.sandbox.provider import Reply, Request

CREDITS = 100_000
UPDATES = ("from_updated_date", "to_updated_date", "from-updated-date", "to-updated-date", "updated_date")
INSUFFICIENT = (
    "Insufficient budget. This request costs $0.0001 but you only have $0 remaining. Resets at midnight UTC. "
    "Need more? Get an API key or upgrade at https://openalex.org/pricing"
)


class Allowance:
    """Counts what each key has used today."""

    def __init__(self) -> None:
        self._used: Counter[str] = Counter()

    def check(self, request: Request) -> None:
        """Refuse a key that is not known, and a search by update time from nobody at all."""
        key = read_key(request)
        if key is not None and (not key or key.startswith("invalid")):
            raise RefusalError(401, "Invalid or missing API key", "API key not found")
        asked = f"{request.query.get('filter', '')},{request.query.get('sort', '')}"
        named = next((name for name in UPDATES if name in asked), None)
        if named and not (key or request.query.get("mailto")):
            message = f'You must include a valid API key to use "{named}" with filter'
            raise RefusalError(403, "Forbidden", message)

    def spend(self, request: Request, now_ms: int, credits_used: int) -> tuple[dict[str, str], Reply | None]:
        """The headers of the answer, and the answer itself when the budget is gone."""
        key = read_key(request) or ""
        seconds = seconds_to_midnight(now_ms)
        if key.startswith("spent"):
            headers = _headers(0, seconds, 0)
            return headers, too_many(INSUFFICIENT, seconds, headers) if credits_used else None
        self._used[key] += credits_used
        return _headers(max(CREDITS - self._used[key], 0), seconds, credits_used), None


def read_key(request: Request) -> str | None:
    """The API key, from the query or the header."""
    bearer = request.headers.get("authorization", "")
    if bearer.lower().startswith("bearer "):
        return bearer[7:].strip()
    return request.query.get("api_key", request.query.get("api-key"))


def seconds_to_midnight(now_ms: int) -> int:
    """How long the day's budget still has to last."""
    return -(-(DAY_MS - now_ms % DAY_MS) // 1000)


def _headers(remaining: int, seconds: int, credits_used: int) -> dict[str, str]:
    """The limits; `Reset` is seconds from now, not an instant."""
    return {
        "x-ratelimit-limit": str(CREDITS),
        "x-ratelimit-remaining": str(remaining),
        "x-ratelimit-reset": str(seconds),
        "x-ratelimit-credits-used": str(credits_used),
    }
