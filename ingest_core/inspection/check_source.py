"""Checking a source: where each setting came from, the requests of its first slice, and one page if wanted."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from ingest_core.execution.decode import FIRST_ERROR_STATUS, parse_document
from ingest_core.execution.details import fetch_details, fetch_whole
from ingest_core.execution.fetch import FetchedPage, Fetcher, Spot
from ingest_core.execution.paging import paginator_of
from ingest_core.execution.ports import Request
from ingest_core.execution.request import Caller, render_detail, render_request
from ingest_core.execution.routing import Routed, Router
from ingest_core.gate.ports import RateGate
from ingest_core.gate.taxonomy import UpstreamError
from ingest_core.inspection.page_warnings import FirstPage, page_warnings
from ingest_core.inspection.ports import VisibleUpstream
from ingest_core.model.codes import Operation
from ingest_core.model.credential_names import CredentialNames
from ingest_core.model.errors import BadInput, PatraError, Unreachable
from ingest_core.model.expression import localize, window_range
from ingest_core.model.instant import format_instant
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.window import Window
from ingest_core.planning.request import PlanRequest
from ingest_core.planning.strategies.time_slices import slice_time
from ingest_core.planning.window import resolve_harvest
from ingest_core.registry.compile import Compiled, CompileRequest, compile_source, endpoint_for
from ingest_core.registry.connection import masked_url
from ingest_core.registry.merge import Setting, read_overrides
from ingest_core.registry.rows import Rows

SHOWN_RECORDS = 5
EXAMPLE_IDS = ["ID1", "ID2"]
CORRELATION = "check"

Json = dict[str, Any]


@dataclass(frozen=True)
class CheckRequest:
    """What to check, and with which window, query or ids."""

    endpoint: str | None = None
    operation: Operation | None = None
    user_from: datetime | None = None
    user_to: datetime | None = None
    query: str | None = None
    overrides: dict[str, str] = field(default_factory=dict)
    ids: tuple[str, ...] = ()
    shown: int = SHOWN_RECORDS


class SourceCheck:
    """Checks one source's rows as of `now`."""

    def __init__(
        self,
        rows: Rows,
        asked: CheckRequest,
        upstream: VisibleUpstream,
        now: datetime,
        contact: str | None = None,
        signing_hooks: frozenset[str] | None = None,
        strategies: frozenset[str] | None = None,
        credential_names: CredentialNames | None = None,
        mirror: str | None = None,
    ) -> None:
        self._source = str(rows["reg_provenance"][0]["provenance_code"])
        self._asked = asked
        self._upstream = upstream
        self._now = now
        self._caller = Caller(CORRELATION, contact)
        self._signing_hooks = signing_hooks
        self._strategies = strategies
        self._credential_names = credential_names
        self._mirror = mirror
        self.compiled = self._compile(rows)
        self.spec: SpecSnapshot = self.compiled.spec

    def _compile(self, rows: Rows) -> Compiled:
        operation = self._asked.operation or _first_operation(rows, self._asked.endpoint)
        endpoint = endpoint_for(rows, self._source, self._asked.endpoint, operation)
        overrides = read_overrides(self._asked.overrides)
        request = CompileRequest(
            self._source,
            endpoint,
            operation,
            self._asked.query,
            overrides,
            self._signing_hooks,
            self._strategies,
            timed=bool(self._asked.user_from or self._asked.user_to) and not self._asked.ids,
            credential_names=self._credential_names,
            ids=self._asked.ids,
        )
        return compile_source(rows, request, self._now)

    def describe(self) -> Json:
        """Everything that can be said without asking the provider."""
        compiled, spec = self.compiled, self.spec
        window = self._slice() if spec.window else None
        return {
            "source": self._source,
            "endpoint": spec.endpoint_name,
            "operation": spec.operation_code.value,
            "spec_fingerprint": spec.fingerprint,
            "expr_proto_hash": spec.expr_proto_hash,
            "warnings": compiled.warnings,
            "degradations": [*compiled.degradations, *compiled.traits],
            "settings": [self._in_use(one) for one in compiled.settings],
            "slice": window.json() if window else None,
            "expression": localize(spec.expression, window_range(spec.time.field, window)) if window else None,
            "requests": self._previews(window),
        }

    def _in_use(self, setting: Setting) -> Json:
        """The setting as requests use it: the operator's base URL replaces the source's."""
        told = {"key": setting.key, "value": setting.value, "origin": setting.origin}
        if self._mirror is None or not setting.key.endswith("http.base_url"):
            return told
        return {**told, "value": masked_url(self._mirror), "origin": f"PATRA_UPSTREAM_{self._source.upper()}"}

    def _slice(self) -> Window:
        """The first slice a harvest would read now, or the window that was asked for."""
        request = PlanRequest(
            self._source, Operation.HARVEST, user_from=self._asked.user_from, user_to=self._asked.user_to
        )
        decision = resolve_harvest(request, None, self.spec.time, self._now)
        if decision.window is None:
            raise BadInput("WINDOW_EMPTY", str(decision.reason), where="window", remedy="give an earlier --from")
        step = timedelta(seconds=self.spec.time.step_seconds)
        return next(slice_time([decision.window], step, self.spec.time.time_zone))

    def _preview(self, request: Request) -> Json:
        try:
            return self._upstream.preview(request)
        except UpstreamError as error:  # the request cannot be made at all
            raise _explained(error, self._source) from error

    def _previews(self, window: Window | None) -> list[Json]:
        shown = []
        if window is not None:
            request = render_request(self.spec, window, paginator_of(self.spec.paging).first(), self._caller)
            shown.append({"purpose": "first page", **self._preview(request)})
        if self.spec.detail is not None:
            ids = list(self._asked.ids) or EXAMPLE_IDS
            request = render_detail(self.spec, ids, self._caller)
            shown.append({"purpose": "records of these ids", **self._preview(request)})
        return shown

    def send(self, gate: RateGate) -> tuple[Json, list[str]]:
        """One page, through the gate: its first records mapped, what was rejected and why; and warnings about it."""
        fetcher = Fetcher(self.spec, gate, self._upstream)
        router = Router(self.spec)
        try:
            fetched = self._fetch(fetcher, router)
            routed = router.route(fetched.page, self._now, self._slice() if self._filters_here() else None)
        except UpstreamError as error:
            raise _explained(error, self._source) from error
        return self._page(fetched, routed, fetcher.tally.requests), self._warnings(fetched, routed)

    def _warnings(self, fetched: FetchedPage, routed: Routed) -> list[str]:
        """What the page shows of the source's settings; an answer that only says there is nothing shows nothing."""
        if self.spec.window is None or fetched.response.status >= FIRST_ERROR_STATUS:
            return []
        # A time in the future is replaced by that of the request, so it shows no order.
        times = [record.updated_at for record in routed.records if "flags" not in record.fields]
        document = parse_document(fetched.response.body, self.spec)
        return page_warnings(self.spec, FirstPage(fetched.page, document, times))

    def _filters_here(self) -> bool:
        return self.spec.window is not None and not self.spec.time.supports_updated_since

    def _fetch(self, fetcher: Fetcher, router: Router) -> FetchedPage:
        if self.spec.window is None:
            return self._fetch_by_id(fetcher)
        paginator = paginator_of(self.spec.paging)
        token = paginator.first()
        request = render_request(self.spec, self._slice(), token, self._caller)
        offset = paginator.offset(token)
        return fetch_whole(fetcher, router, request, self._caller, Spot(offset=offset))

    def _fetch_by_id(self, fetcher: Fetcher) -> FetchedPage:
        if not self._asked.ids:
            raise BadInput(
                "IDS_MISSING", "this source is asked by id", where=f"source {self._source!r}", remedy="give --ids A,B"
            )
        details = fetch_details(fetcher, list(self._asked.ids), self._caller, by_id=True)
        return details.as_page(list(self._asked.ids))

    def _page(self, fetched: FetchedPage, routed: Routed, requests: int) -> Json:
        page, shown = fetched.page, self._asked.shown
        return {
            "status": fetched.response.status,
            "bytes": len(fetched.response.body),
            "requests": requests,
            "received": len(routed.records) + len(routed.gone) + len(routed.rejected) + routed.outside,
            "total": page.total,
            "next": page.next_token,
            "mapped": len(routed.records),
            "records": [
                {
                    "provider_id": record.provider_id,
                    "updated_at": format_instant(record.updated_at),
                    "record": record.fields,
                }
                for record in routed.records[:shown]
            ],
            "gone": [
                {
                    "provider_id": one.provider_id,
                    "gone_at": format_instant(one.at) if one.at else None,
                    "reason_code": one.reason.value,
                    "merged_into": one.merged_into,
                }
                for one in routed.gone
            ],
            "rejected": [
                {
                    "provider_id": one.provider_id,
                    "reason_code": one.reason.value,
                    "json_path": one.json_path,
                    "fragment": one.fragment,
                }
                for one in routed.rejected
            ],
        }


def _first_operation(rows: Rows, endpoint: str | None) -> Operation:
    served = {
        operation
        for row in rows["reg_prov_endpoint_def"]
        if endpoint in (None, row["endpoint_name"])
        for operation in row["operations"]
    }
    return next((one for one in Operation if one.value in served), Operation.HARVEST)


def _explained(error: UpstreamError, source: str) -> PatraError:
    """A page that did not come, as people read it."""
    kind = Unreachable if error.unreachable else PatraError
    remedies = {
        "UNREACHABLE": f"check http.base_url, and PATRA_UPSTREAM_{source.upper()} if it is set",
        "PRIVATE_ADDRESS": f"set PATRA_UPSTREAM_{source.upper()}, or PATRA_ALLOW_PRIVATE_ADDRESSES for all sources",
        "ANSWER_TOO_LARGE": "raise http.max_body_bytes, or ask for smaller pages (pagination.page_size)",
        "CREDENTIAL_REFUSED": "see Secrets in docs/reference/settings.md",
        "CREDENTIAL_MISSING": "give it where the request is sent, or make it optional",
    }
    remedy = remedies.get(error.code, "correct the source, or ask again later")
    return kind(error.code, error.message, where=f"source {source!r}", remedy=remedy)
