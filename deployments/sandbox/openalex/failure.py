"""The ways OpenAlex says no."""

from typing import Any

import orjson

from deployments.sandbox.provider import Refused, Reply

JSON = {"content-type": "application/json"}
NOT_FOUND = Reply(
    404,
    b"<!doctype html>\n<html lang=en>\n<title>404 Not Found</title>\n<h1>Not Found</h1>\n<p>The requested URL was not"
    b" found on the server. If you entered the URL manually please check your spelling and try again.</p>\n",
    {"content-type": "text/html; charset=utf-8"},
)
NOT_ALLOWED = Reply(405, b"Method Not Allowed", {"content-type": "text/plain;charset=UTF-8"})


class RefusalError(Refused):
    """A request OpenAlex does not serve."""

    def __init__(self, status: int, error: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.document = {"error": error, "message": message}

    def reply(self) -> Reply:
        """The answer: a JSON object of `error` and `message`."""
        return Reply(self.status, orjson.dumps(self.document), JSON)


def bad_parameters(message: str) -> RefusalError:
    """A parameter or filter it cannot read."""
    return RefusalError(400, "Invalid query parameters error.", message)


def bad_paging(message: str) -> RefusalError:
    """A place in the result that cannot be reached."""
    return RefusalError(400, "Pagination error.", message)


def too_many(message: str, seconds: int, headers: dict[str, str]) -> Reply:
    """A 429, which says when to come back."""
    document: dict[str, Any] = {"error": "Rate limit exceeded", "message": message, "retryAfter": seconds}
    return Reply(429, orjson.dumps(document), {**JSON, "retry-after": str(seconds), **headers})
