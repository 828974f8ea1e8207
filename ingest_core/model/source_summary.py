"""Registered sources in short."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class EndpointSummary:
    """An endpoint and the operations it serves."""

    name: str
    operations: list[str]


@dataclass(frozen=True)
class SourceSummary:
    """A source and its endpoints in force."""

    code: str
    name: str
    endpoints: list[EndpointSummary]

    def json(self) -> dict[str, Any]:
        """As scripts read it."""
        endpoints = [{"name": one.name, "operations": one.operations} for one in self.endpoints]
        return {"code": self.code, "name": self.name, "endpoints": endpoints}
