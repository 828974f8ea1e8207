"""The E-utilities over the corpus: esearch, esummary and efetch of PubMed."""

from dataclasses import replace

import orjson

from deployments.sandbox.corpus import Version
from deployments.sandbox.instant import DAY_MS
from deployments.sandbox.page import error_page
from deployments.sandbox.present import Present
from deployments.sandbox.provider import Reply, Request, Truth, tell
from deployments.sandbox.pubmed import failure
from deployments.sandbox.pubmed.catalogue import Catalogue
from deployments.sandbox.pubmed.form import Form, read_form, read_number
from deployments.sandbox.pubmed.limits import WITH_KEY, good_key, limit_for, limit_headers
from deployments.sandbox.pubmed.listing import Index
from deployments.sandbox.pubmed.search import REACHABLE, read_search, render_search
from deployments.sandbox.pubmed.summary import missing, summarise
from deployments.sandbox.pubmed.template import TEMPLATES
from deployments.sandbox.pubmed.term import UnbalancedTermError
from deployments.sandbox.rate import RateMeter
from deployments.sandbox.settings import Behaviour

MOST_SUMMARIES = 500
MOST_RECORDS = 10_000
CALLER = "203.0.113.7"
SET_TYPE = (
    '<?xml version="1.0" ?>\n<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2025//EN"'
    ' "https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_250101.dtd">\n'
)


class PubmedApi:
    """Answers as the E-utilities do for db=pubmed."""

    def __init__(self, present: Present, behaviour: Behaviour) -> None:
        self._present = present
        self._behaviour = behaviour
        self._reach = behaviour.reachable(REACHABLE)
        self._catalogue = Catalogue(present.corpus)
        self._index = Index(present, self._catalogue)
        self._without_key = RateMeter()

    def answer(self, request: Request) -> Reply:
        """What NCBI would answer."""
        form = read_form(request)
        headers = limit_headers(form, self._behaviour.rate_limit_per_second)
        reply = self._refusal(form) or self._route(request, form)
        return replace(reply, headers={**headers, **reply.headers})

    def refuse(self) -> Reply:
        """The 429, which is JSON whatever was asked for."""
        return failure.rate_limited(CALLER, self._behaviour.rate_limit_per_second or WITH_KEY)

    def asked(self, request: Request) -> list[Version]:
        """Every version the request finds now, in its order."""
        form = read_form(request)
        if request.path == "/esearch.fcgi":
            return [facts.version for facts in read_search(form, self._reach).find(self._index.listing())]
        return [version for pmid in form.ids() if (version := self._current(pmid))]

    def truth(self, from_ms: int | None, to_ms: int | None) -> list[Truth]:
        """The records visible now, by the day they were revised, which is all PubMed says."""
        return [self._true(version) for version in self._present.window(from_ms, to_ms, DAY_MS)]

    def expire_scrolls(self) -> int:
        """There are none: every page is a search of its own."""
        return 0

    def _true(self, version: Version) -> Truth:
        withheld, dated = self._catalogue.withheld(version.work), TEMPLATES.of(version.work).dated
        reason = "DETAIL_MISSING" if withheld else None if dated else "UPDATED_AT_MISSING"
        key = str(self._catalogue.pmid(version.work))
        return tell(version, key, reason, None if reason else self._catalogue.record, DAY_MS)

    def _refusal(self, form: Form) -> Reply | None:
        """Why the request is not looked at, if it is not."""
        if form.url_too_long:
            return failure.url_too_long()
        if not good_key(form):
            return failure.bad_key(form.text("api_key"))
        enforced = self._behaviour.rate_limit_per_second
        limit = limit_for(form, enforced)
        # With a key the server's own count holds; without one a caller has less.
        if limit is not None and limit != enforced and not self._without_key.admit(limit):
            return failure.rate_limited(CALLER, limit)
        return None

    def _route(self, request: Request, form: Form) -> Reply:
        utilities = {"/esearch.fcgi": self._search, "/esummary.fcgi": self._summarise, "/efetch.fcgi": self._fetch}
        utility = utilities.get(request.path)
        if utility is None:
            return error_page(404)
        if request.method not in {"GET", "POST"}:
            return error_page(405)
        if form.text("db", "pubmed") != "pubmed":
            return failure.bad_database(form.text("db"))
        return utility(form)

    def _search(self, form: Form) -> Reply:
        json = form.text("retmode").lower() == "json"
        if not form.text("term"):
            return failure.search_error(failure.NOTHING_ASKED, json=json)
        try:
            search = read_search(form, self._reach)
        except UnbalancedTermError:
            return failure.search_error(failure.UNBALANCED, json=json)
        if search.retstart >= search.reach:
            return failure.search_error(failure.too_far(search.reach), json=json)
        return render_search(search, search.find(self._index.listing()))

    def _summarise(self, form: Form) -> Reply:
        ids = form.ids()
        if form.text("retmode").lower() != "json":
            return failure.fetch_error(f"Unsupported retmode: {form.text('retmode')}")
        if not ids:
            return failure.no_ids_to_summarise()
        if len(ids) > MOST_SUMMARIES:
            return failure.summary_error(failure.TOO_MANY_IDS)
        found = {pmid: self._current(pmid) for pmid in ids}
        summaries = {
            pmid: summarise(self._catalogue.body(version)) if version else missing(pmid)
            for pmid, version in found.items()
        }
        answer = {"header": {"type": "esummary", "version": "0.3"}, "result": {"uids": ids, **summaries}}
        return Reply(200, orjson.dumps(answer) + b"\n", failure.JSON, ids=tuple(ids))

    def _fetch(self, form: Form) -> Reply:
        if form.text("WebEnv"):
            return failure.fetch_error(f"Unable to obtain query #{form.text('query_key')}")
        ids = [pmid for pmid in form.ids() if read_number(pmid)]
        if not ids:
            return failure.fetch_error("ID list is empty! Possibly it has no correct IDs.")
        if form.text("retmode", "xml") != "xml":
            return failure.fetch_error(f"Unsupported retmode: {form.text('retmode')}")
        found = {pmid: version for pmid in ids[:MOST_RECORDS] if (version := self._current(pmid))}
        records = "".join(f"\n{self._catalogue.body(version)}" for version in found.values())
        body = f"{SET_TYPE}<PubmedArticleSet>{records}</PubmedArticleSet>"
        return Reply(200, body.encode(), failure.XML, ids=tuple(found))

    def _current(self, pmid: str) -> Version | None:
        """The version served in full; None when PubMed has nothing to show."""
        work = self._catalogue.find(read_number(pmid) or 0)
        if work is None or self._catalogue.withheld(work):
            return None
        return self._present.current(work)
