"""The ways Crossref says no."""

from typing import Any

import orjson

from deployments.sandbox.provider import Refused, Reply

NOT_FOUND = Reply(404, b"Resource not found.", {"content-type": "text/plain;charset=utf-8"})


class ValidationFailureError(Refused):
    """A request Crossref answers with 400; its `message` is a list."""

    def __init__(self, kind: str, value: str, message: str) -> None:
        super().__init__(message)
        self.entry = {"type": kind, "value": value, "message": message}

    def reply(self) -> Reply:
        """The recorded 400."""
        headers = {"content-type": "application/json;charset=utf-8", "vary": "Accept"}
        return Reply(400, _failed("validation-failure", self.entry), headers)


def cursor_invalid(cursor: str) -> Reply:
    """The recorded 404 for a cursor that is unknown or has expired."""
    entry = {"type": "cursor-invalid", "value": cursor, "message": "Cursor specified but it is invalid"}
    return Reply(404, _failed("resource-failure", entry), {"content-type": "application/json"})


def _failed(kind: str, entry: dict[str, str]) -> bytes:
    document: dict[str, Any] = {"status": "failed", "message-type": kind, "message": [entry]}
    return orjson.dumps(document)
