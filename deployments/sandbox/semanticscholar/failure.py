"""The ways Semantic Scholar says no."""

import orjson

from deployments.sandbox.provider import Refused, Reply

JSON = {"content-type": "application/json"}
FORBIDDEN = Reply(403, b'{"message":"Forbidden"}', {**JSON, "x-amzn-errortype": "ForbiddenException"})
NO_ROUTE = Reply(
    403,
    b'{"message":"Missing Authentication Token"}',
    {**JSON, "x-amzn-errortype": "MissingAuthenticationTokenException"},
)
TOO_MANY = Reply(
    429,
    b'{"message": "Too Many Requests. Please wait and try again or apply for a key for higher rate limits. '
    b'https://www.semanticscholar.org/product/api#api-key-form", "code": "429"}',
    JSON,
)


class RefusalError(Refused):
    """A request Semantic Scholar answers with 400."""

    def reply(self) -> Reply:
        """The recorded 400: an object of `error`, also where a list is asked for."""
        return Reply(400, orjson.dumps({"error": str(self)}), JSON)
