"""The ways DataCite says no; `errors` is a list, but an object when the search engine refused."""

import orjson

from deployments.sandbox.page import error_page
from deployments.sandbox.provider import Refused, Reply

JSON = {"content-type": "application/json; charset=utf-8"}


class SearchRefusedError(Refused):
    """A search its engine answers with 400."""

    def reply(self) -> Reply:
        """The 400, whose `errors` is an object."""
        return Reply(400, orjson.dumps({"errors": {"title": str(self)}}), JSON)


def error(status: int, title: str) -> Reply:
    """An error of the application."""
    return Reply(status, orjson.dumps({"errors": [{"status": str(status), "title": title}]}), JSON)


def too_many() -> Reply:
    """The firewall's page, which is HTML and does not say how long to wait."""
    page = error_page(429)
    return Reply(page.status, page.body, {**page.headers, "server": "awselb/2.0"})


NOT_FOUND = error(404, "The resource you are looking for doesn't exist.")
NOT_ALLOWED = error(405, "Method not allowed")
