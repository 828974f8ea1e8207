"""The envelopes of the API; whatever it has to say, it says with a 200."""

from typing import Any

import orjson

from deployments.sandbox.provider import Reply

JSON = {"content-type": "application/json; charset=utf-8", "access-control-allow-origin": "*"}
NO_POSTS = {"status": "no posts found"}


def listed(message: dict[str, Any], collection: list[dict[str, Any]], ids: tuple[str, ...], page: int | None) -> Reply:
    """A page of preprints."""
    return Reply(200, orjson.dumps({"messages": [message], "collection": collection}), JSON, ids=ids, page=page)


def nothing() -> Reply:
    """An interval without a post: a message, and no collection at all."""
    return Reply(200, orjson.dumps({"messages": [NO_POSTS]}), JSON)


def past_the_end() -> Reply:
    """A cursor beyond the last post, or an unknown DOI: the same message, no counts, an empty collection."""
    return Reply(200, orjson.dumps({"messages": [NO_POSTS], "collection": []}), JSON)


def misunderstood(what: str) -> Reply:
    """A request the API cannot read."""
    return Reply(200, orjson.dumps({"messages": [{"status": f"Error : {what}"}]}), JSON)
