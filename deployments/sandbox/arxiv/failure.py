"""The ways arXiv says no: an entry in a feed, or one line of plain text."""

from http import HTTPStatus

from deployments.sandbox.provider import Refused, Reply

RATE_EXCEEDED = Reply(429, b"Rate exceeded.", {"content-type": "text/plain; charset=utf-8"})


class QueryError(Refused):
    """A request that is answered with an entry titled `Error`, mostly in a 200."""

    def __init__(self, message: str, status: int = HTTPStatus.OK) -> None:
        super().__init__(message)
        self.status = int(status)
