"""A running sandbox, seen from a test: its truth, its log, its faults and its clock."""

from types import TracebackType
from typing import Any, Self, cast

import httpx

Row = dict[str, Any]


class Sandbox:
    """Steers the sandbox at a base URL, in this process or another."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        self._client = httpx.Client(base_url=f"{base_url}/_sandbox/", timeout=30, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Hang up; the sandbox runs on."""
        self._client.close()

    def url(self, source: str = "crossref") -> str:
        """The provider's base URL."""
        return f"{self.base_url}/{source}"

    def truth(
        self, source: str = "crossref", *, from_: str | None = None, to: str | None = None, record: bool = False
    ) -> list[Row]:
        """The records visible now, updated in `[from_, to)`; with `record`, also as they should be mapped."""
        asked = {"from": from_, "to": to, "record": "true" if record else None}
        params = {"source": source, **{name: value for name, value in asked.items() if value}}
        return cast("list[Row]", self._ask("GET", "truth", params=params))

    def requests(self, source: str | None = None) -> list[Row]:
        """Every request so far, oldest first."""
        return cast("list[Row]", self._ask("GET", "requests", params={"source": source} if source else {}))

    def clear_requests(self) -> None:
        """Forget the requests so far."""
        self._ask("DELETE", "requests")

    def faults(self) -> list[Row]:
        """The fault script, and how often each rule hit."""
        return cast("list[Row]", self._ask("GET", "faults"))

    def script(self, *rules: Row) -> list[Row]:
        """Replace the fault script; no rules, no faults."""
        return cast("list[Row]", self._ask("POST", "faults", json=list(rules)))

    def move_clock(self, now: str | None) -> Row:
        """Freeze the sandbox's time here; None lets it run with the real clock."""
        return cast("Row", self._ask("POST", "clock", json={"now": now}))

    def configure(self, **behaviour: Any) -> Row:
        """Change `scroll`, `scroll_ttl_seconds`, `rate_limit_per_second` or `shelf`."""
        return cast("Row", self._ask("POST", "config", json=behaviour))

    def expire_scrolls(self) -> int:
        """End every open scroll; the number ended."""
        return int(self._ask("POST", "scrolls/expire")["expired"])

    def _ask(self, method: str, path: str, **content: Any) -> Any:
        response = self._client.request(method, path, **content)
        if response.is_error:
            raise ValueError(f"sandbox: {method} {path} answered {response.status_code}: {response.text}")
        return response.json()
