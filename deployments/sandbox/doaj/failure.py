"""The ways DOAJ says no."""

import uuid

import orjson

from deployments.sandbox.provider import Refused, Reply

DEEP = """You cannot access results beyond {most} records via this API.
    If you would like to see more results, you can download all of our data from
    {base}/public-data-dump/. You can also harvest from our OAI-PMH endpoints; articles: {base}/oai.article, \
journals: {base}/oai"""
DISALLOWED = "Query contains disallowed Lucene features"


class BadRequestError(Refused):
    """A request DOAJ answers with 400."""

    def reply(self) -> Reply:
        """The 400, with a reference for the support desk."""
        return _error(400, "bad_request", str(self))


def not_executed() -> BadRequestError:
    """What is said of a query the search engine refused: not why."""
    return BadRequestError(f"There was an error executing your query (ref: {uuid.uuid1()})")


def not_found(path: str) -> Reply:
    """There is nothing at this path."""
    return _error(404, "not_found", f"No endpoint at {path.removeprefix('/api/')}.")


def _error(status: int, name: str, message: str) -> Reply:
    document = {"status": name, "error": f"{message} (ref: {uuid.uuid1()})"}
    return Reply(status, orjson.dumps(document), {"content-type": "application/json"})
