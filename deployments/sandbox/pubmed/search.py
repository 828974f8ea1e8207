"""esearch: the ids of a query, newest number first, and only the first 9,999 of them."""

from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import escape

import orjson

from deployments.sandbox.provider import Reply
from deployments.sandbox.pubmed.failure import ESEARCH_TYPE, JSON, XML
from deployments.sandbox.pubmed.fields import ENTERED, MODIFIED, PUBLISHED, Facts, Test, dated
from deployments.sandbox.pubmed.form import Form
from deployments.sandbox.pubmed.span import Span, read_span
from deployments.sandbox.pubmed.term import Term, read_term

REACHABLE = 9999
DEFAULT_ROWS = 20
SORTS = frozenset({"", "relevance", "pub_date", "pub date", "author", "journalname", "journal", "most recent"})
DATES = {"mdat": MODIFIED, "edat": ENTERED, "pdat": PUBLISHED}


@dataclass(frozen=True, slots=True)
class Search:
    """What is searched and which part of it is asked for; `modified` is `limit` where days of change bound it."""

    term: Term
    limit: Test | None
    modified: Span | None
    said: str
    retstart: int
    retmax: int
    sort: str
    json: bool
    warnings: list[str] = field(default_factory=list)

    @property
    def by_publication(self) -> bool:
        """True when the latest published come first."""
        return self.sort in {"pub_date", "pub date"}

    def fits(self, facts: Facts) -> bool:
        """True when the record is found."""
        return (self.limit is None or self.limit(facts)) and self.term.fits(facts)

    def page(self, ids: list[str]) -> list[str]:
        """The asked part, which ends at the 9,999th id however many there are."""
        return ids[:REACHABLE][self.retstart : self.retstart + self.retmax]


def read_search(form: Form) -> Search:
    """The search of these parameters; UnbalancedTermError as `read_term` raises it."""
    sort = form.text("sort").replace("+", " ").lower()
    kind, first, last = form.text("datetype") or "edat", form.text("mindate"), form.text("maxdate")
    # The documentation asks for both bounds; one alone limits nothing.
    limited = bool(first and last)
    said = form.text("term")
    return Search(
        term=read_term(said),
        limit=_limit(kind.lower(), first, last) if limited else None,
        modified=read_span(first, last) if limited and kind.lower() == "mdat" else None,
        said=f"({said}) AND {first}:{last}[{kind}]" if limited else said,
        retstart=form.number("retstart", 0),
        retmax=min(form.number("retmax", DEFAULT_ROWS), REACHABLE),
        sort=sort,
        json=form.text("retmode").lower() == "json",
        warnings=[] if sort in SORTS else [f"Unknown sort schema '{form.text('sort')}' ignored"],
    )


def render_search(search: Search, found: list[str]) -> Reply:
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


def _limit(kind: str, first: str, last: str) -> Test:
    names = DATES.get(kind)
    return dated(kind, first, last) if names else (lambda _: False)


def _remarks(search: Search, found: list[str]) -> dict[str, Any]:
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
