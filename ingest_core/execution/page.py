"""A decoded page."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ingest_core.model.record import Gone


@dataclass(frozen=True)
class DecodedPage:
    """A page's records, parsed and as received, and what it says about the result.

    In two phases `listed` are the ids the search gave, and `failed` those whose records the provider would not give.
    `declarations` has, for each record of an XML page, the namespace declarations that its text alone lacks.
    `gone` are records known to be deleted before their details are read: the search says so, or their id is not found.
    """

    items: Sequence[Any]
    raw: list[str]
    total: int | None
    next_token: str | None
    has_more: bool | None
    long_numbers: bool = False
    step: int | None = None
    listed: list[str] | None = None
    hits: list[str] = field(default_factory=list)
    """The texts of the search results that `listed` names."""
    failed: dict[str, str] = field(default_factory=dict)
    repeated: frozenset[str] = frozenset()
    """Listed ids whose records came in the pass before and were not asked for again."""
    declarations: list[str] = field(default_factory=list)
    gone: list[Gone] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many records the result moved on by."""
        return len(self.items) if self.listed is None else len(self.listed)


NO_RECORDS = DecodedPage([], [], None, None, None)
