"""The ways ClinicalTrials.gov says no: always in plain text."""

from deployments.sandbox.provider import Refused, Reply

PLAIN = {"content-type": "text/plain;charset=utf-8"}
NOT_FOUND = Reply(404, b"Not found", PLAIN)
TOO_MANY = Reply(429, b"Too Many Requests", PLAIN)


class BadRequestError(Refused):
    """A request that is answered with 400 and one line of text."""

    def reply(self) -> Reply:
        """The 400."""
        return Reply(400, str(self).encode(), PLAIN)


def no_study(nct_id: str) -> Reply:
    """The 404 of an id that is not registered."""
    return Reply(404, f"NCT number {nct_id} not found".encode(), PLAIN)
