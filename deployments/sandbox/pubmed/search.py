"""esearch: the ids of a query, newest number first, and only the first 9,999 of them."""

from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import escape

import orjson

from deployments.sandbox.provider import Reply
from deployments.sandbox.pubmed.failure import ESEARCH_TYPE, JSON, XML
from deployments.sandbox.pubmed.fields import Finder, dated
from deployments.sandbox.pubmed.form import Form
from deployments.sandbox.pubmed.listing import NOWHERE, Facts, Listing
from deployments.sandbox.pubmed.term import Term, read_term

REACHABLE = 9999
DEFAULT_ROWS = 20
SORTS = frozenset({"", "relevance", "pub_date", "pub date", "author", "journalname", "journal", "most recent"})
DATES = frozenset({"mdat", "edat", "pdat"})


@dataclass(frozen=True, slots=True)
class Search:
    """What is searched and which part of it is asked for."""

    term: Term
    limit: Finder | None
    said: str
    retstart: int
    retmax: int
    sort: str
    json: bool
    reach: int = REACHABLE
    warnings: list[str] = field(default_factory=list)

    @property
    def by_publication(self) -> bool:
        """True when the latest published come first."""
        return self.sort in {"pub_date", "pub date"}

    def find(self, listing: Listing) -> list[Facts]:
        """Every record found, in the order asked for: the highest number first unless by publication."""
        places = self.term.find(listing)
        found = listing.at(places if self.limit is None else places & self.limit(listing))
        return sorted(found, key=_last_published) if self.by_publication else found

    def page(self, found: list[Facts]) -> list[str]:
        """The ids of the asked part, which ends where no more can be reached."""
        return [str(facts.pmid) for facts in found[: self.reach][self.retstart : self.retstart + self.retmax]]


def read_search(form: Form, reach: int = REACHABLE) -> Search:
    """The search of these parameters; UnbalancedTermError as `read_term` raises it."""
    sort = form.text("sort").replace("+", " ").lower()
    kind, first, last = form.text("datetype") or "edat", form.text("mindate"), form.text("maxdate")
    # The documentation asks for both bounds; one alone limits nothing.
    limited = bool(first and last)
    said = form.text("term")
    return Search(
        term=read_term(said),
        limit=_limit(kind.lower(), first, last) if limited else None,
        said=f"({said}) AND {first}:{last}[{kind}]" if limited else said,
        retstart=form.number("retstart", 0),
        retmax=min(form.number("retmax", DEFAULT_ROWS), reach),
        sort=sort,
        json=form.text("retmode").lower() == "json",
        reach=reach,
        warnings=[] if sort in SORTS else [f"Unknown sort schema '{form.text('sort')}' ignored"],
    )


def render_search(search: Search, found: list[Facts]) -> Reply:
    """A page of ids; every number is a string."""
    page = search.page(found)
    if not search.json:
        return Reply(200, _xml(search, page, len(found)), XML, ids=tuple(page))
    result: dict[str, Any] = {
        "count": str(len(found)),
        "retmax": str(len(page)),
        "retstart": str(search.retstart),
        "idlist": page,
        "translationset": [],
        "querytranslation": search.said,
        **_remarks(search, found),
    }
    answer = {"header": {"type": "esearch", "version": "0.3"}, "esearchresult": result}
    return Reply(200, orjson.dumps(answer) + b"\n", JSON, ids=tuple(page))


def _limit(kind: str, first: str, last: str) -> Finder:
    return dated(kind, first, last) if kind in DATES else (lambda _: NOWHERE)


def _last_published(facts: Facts) -> int:
    return -facts.template.published.from_ms if facts.template.published else 0


def _remarks(search: Search, found: list[Facts]) -> dict[str, Any]:
    """What PubMed adds when it found nothing, or did not understand everything."""
    remarks: dict[str, Any] = {}
    if search.term.unknown_fields:
        remarks["errorlist"] = {"phrasesnotfound": [], "fieldsnotfound": search.term.unknown_fields}
    messages = search.warnings + ([] if found else ["No items found."])
    if messages:
        remarks["warninglist"] = {"phrasesignored": [], "quotedphrasesnotfound": [], "outputmessages": messages}
    return remarks


def _xml(search: Search, page: list[str], count: int) -> bytes:
    ids = "\n".join(f"<Id>{pmid}</Id>" for pmid in page)
    listed = f"<IdList>\n{ids}\n</IdList>" if page else "<IdList/>"
    text = (
        f"{ESEARCH_TYPE}<eSearchResult><Count>{count}</Count><RetMax>{len(page)}</RetMax>"
        f"<RetStart>{search.retstart}</RetStart>{listed}<TranslationSet/>"
        f"<QueryTranslation>{escape(search.said)}</QueryTranslation></eSearchResult>\n"
    )
    return text.encode()
