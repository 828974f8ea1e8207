"""Crossref's `filter` parameter."""

from dataclasses import dataclass

from deployments.sandbox.crossref.failure import ValidationFailureError
from deployments.sandbox.crossref.stamp import read_stamp
from deployments.sandbox.crossref.template import Template
from deployments.sandbox.logic import ALWAYS, Span

DATES = ("from-index-date", "until-index-date", "from-update-date", "until-update-date")
NAMES = (*DATES, "type", "prefix", "doi")


@dataclass(frozen=True, slots=True)
class Filters:
    """What a work must be to be found; values of one filter are alternatives."""

    indexed: Span = ALWAYS
    updated: Span = ALWAYS
    types: frozenset[str] = frozenset()
    prefixes: frozenset[str] = frozenset()
    dois: frozenset[str] = frozenset()

    def fit(self, template: Template) -> bool:
        """True when the work fits by what all its versions share; DOI and index time are not."""
        return (
            self.updated.holds(template.deposited_ms)
            and (not self.types or template.type in self.types)
            and (not self.prefixes or template.prefix in self.prefixes)
        )


def read_filters(text: str | None) -> Filters:
    """The filters of `name:value,name:value`."""
    given: dict[str, set[str]] = {}
    for part in text.split(",") if text else ():
        name, _, value = part.partition(":")
        if name not in NAMES:
            raise ValidationFailureError("filter-not-available", name, _no_such(name))
        given.setdefault(name, set()).add(value)
    return Filters(
        indexed=_span(given, "index"),
        updated=_span(given, "update"),
        types=frozenset(given.get("type", ())),
        prefixes=frozenset(given.get("prefix", ())),
        dois=frozenset(doi.lower() for doi in given.get("doi", ())),
    )


def _span(given: dict[str, set[str]], what: str) -> Span:
    """Both ends are inclusive: `until` reaches to the end of the hour or day it names."""
    starts = [read_stamp(value)[0] for value in given.get(f"from-{what}-date", ())]
    ends = [read_stamp(value)[1] for value in given.get(f"until-{what}-date", ())]
    return Span(from_ms=max(starts, default=None), to_ms=min(ends, default=None))


def _no_such(name: str) -> str:
    valid = ", ".join(NAMES)
    return (
        f"Filter {name} specified but there is no such filter for this route. Valid filters for this route are: {valid}"
    )
