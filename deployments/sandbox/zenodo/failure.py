"""The ways Zenodo says no."""

from typing import Any

import orjson

from deployments.sandbox.provider import Refused, Reply

JSON = {"content-type": "application/json"}
OUT_OF_REACH = "Invalid querystring parameters."
UNREADABLE = "The syntax of the search query is invalid."


class RefusedError(Refused):
    """A request Zenodo answers with 400; a field and its message, or a message alone."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field

    def reply(self) -> Reply:
        """The 400."""
        if self.field is None:
            return error(400, str(self))
        return error(400, "A validation error occurred.", errors=[{"field": self.field, "messages": [str(self)]}])


def error(status: int, message: str, **more: Any) -> Reply:
    """An error of Zenodo."""
    return Reply(status, orjson.dumps({"status": status, "message": message, **more}), JSON)


NOT_FOUND = error(404, "The persistent identifier does not exist.")
NO_ROUTE = error(
    404,
    "The requested URL was not found on the server. If you entered the URL manually please check your spelling and "
    "try again.",
)
NOT_ALLOWED = error(405, "The method is not allowed for the requested URL.")
