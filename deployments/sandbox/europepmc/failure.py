"""How Europe PMC says no: with a 200, and `errCode` in its body."""

import orjson

from deployments.sandbox.provider import Refused, Reply

JSON = {"content-type": "application/json;charset=UTF-8"}
XML = {"content-type": "application/xml;charset=UTF-8"}
VERSION = "6.9"


class QueryFailureError(Refused):
    """A request Europe PMC cannot answer."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code

    def reply(self, *, is_json: bool) -> Reply:
        """The error, in a 200."""
        if is_json:
            return Reply(200, orjson.dumps({"version": VERSION, "errCode": self.code, "errMsg": str(self)}), JSON)
        return Reply(200, f"<errorBean><errCode>{self.code}</errCode></errorBean>".encode(), XML)
