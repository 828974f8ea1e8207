"""Compiling the Registry's rows into the snapshot a plan runs on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from ingest_core.model.codes import EndpointRole, ExprOp, FieldType, OnRefresh, Operation
from ingest_core.model.credential_names import CredentialNames
from ingest_core.model.dictionary import DICTIONARY
from ingest_core.model.errors import BadInput
from ingest_core.model.expression import EVERYTHING, Node, Range, both, part_range
from ingest_core.model.id_range import IdRange
from ingest_core.model.spec import (
    AuthSpec,
    DetailSpec,
    ParamSpec,
    RateSpec,
    RuleSpec,
    SlicingSpec,
    SpecSnapshot,
    WindowSpec,
)
from ingest_core.registry.asked_ids import check_asked_ids
from ingest_core.registry.capability import check_query
from ingest_core.registry.checks import (
    check_dictionary,
    check_endpoint_auth,
    check_ids_sent,
    check_rules,
    check_scopes,
    check_twins,
    check_two_phase,
)
from ingest_core.registry.columns import LISTS, SETTINGS, iso_span
from ingest_core.registry.connection import auth_part, http_part
from ingest_core.registry.drift import drift_part, note_drift
from ingest_core.registry.limits import asked_rate, batch_size, rate_part, retry_part
from ingest_core.registry.merge import Merged, Overrides, Setting, list_identity, merge_block
from ingest_core.registry.ownership import check_owner, check_refreshes, owners
from ingest_core.registry.params import body_names, check_params, param_specs
from ingest_core.registry.problems import Findings
from ingest_core.registry.query_text import parse_query, query_error
from ingest_core.registry.render import Renderer, TimeText, Unrenderable, refuse_unrenderable
from ingest_core.registry.response import check_capability_patterns, check_id_pattern, check_response, response_part
from ingest_core.registry.rows import Row, Rows, in_force
from ingest_core.registry.traversal import PAGE_SIZE_SHARE, pagination_part, slicing_part, window_part
from ingest_core.registry.unset import note_unset

SNAPSHOT_VERSION = 2


@dataclass(frozen=True)
class CompileRequest:
    """The source, endpoint and operation to compile, and the trigger's additions."""

    source: str
    endpoint: str
    operation: Operation
    query: str | None = None
    overrides: Overrides = field(default_factory=dict)
    signing_hooks: frozenset[str] | None = None
    strategies: frozenset[str] | None = None
    credential_names: CredentialNames | None = None
    """The secrets a source may refer to; None where that is not known, and checked when a request is sent."""
    ids: Sequence[str] = ()
    """The ids an UPDATE is asked for."""
    timed: bool = False
    """Whether an UPDATE of an endpoint that could be asked by id follows its time filter instead."""
    from_file: bool = False
    """Whether the rows are a source file's: it must say keys that rows applied by older versions may lack."""


@dataclass(frozen=True)
class Compiled:
    """A snapshot, where each of its values came from, and what the provider makes us do less well."""

    spec: SpecSnapshot
    settings: list[Setting]
    warnings: list[str]
    degradations: list[str]
    traits: list[str] = field(default_factory=list)
    """What a check of the source says, and plans do not repeat: nothing is read less well for it."""

    def origins(self) -> dict[str, str]:
        """Each setting's key -> where its value came from."""
        return {setting.key: setting.origin for setting in self.settings}


def endpoint_for(rows: Rows, source: str, endpoint: str | None, operation: Operation) -> str:
    """The endpoint asked for, or the only one that serves the operation."""
    names = [row["endpoint_name"] for row in rows["reg_prov_endpoint_def"] if operation.value in row["operations"]]
    if endpoint is None and len(names) == 1:
        return str(names[0])
    if endpoint in names:
        return str(endpoint)
    if not names:
        served = sorted({one for row in rows["reg_prov_endpoint_def"] for one in row["operations"]})
        raise BadInput(
            "ENDPOINT_UNKNOWN",
            f"no endpoint serves {operation}",
            where=f"source {source!r}",
            remedy=f"it serves {', '.join(served) or 'nothing'}; UPDATE refreshes known records by id",
        )
    known = ", ".join(sorted(names))
    asked = "no endpoint named" if endpoint is None else f"no endpoint {endpoint!r}"
    raise BadInput(
        "ENDPOINT_UNKNOWN",
        f"{asked} for {operation}",
        where=f"source {source!r}",
        remedy=f"endpoints that serve {operation}: {known}",
    )


def compile_source(rows: Rows, request: CompileRequest, now: datetime) -> Compiled:
    """The frozen meaning, and how it came about; all problems at once."""
    return _Compiler(rows, request, now).run()


class _Compiler:
    """One compile: the merged blocks of one endpoint, and what was found on the way."""

    def __init__(self, rows: Rows, request: CompileRequest, now: datetime) -> None:
        self._rows = rows
        self._request = request
        self._now = now
        self._found = Findings(
            f"source {request.source!r}, endpoint {request.endpoint!r}, operation {request.operation}"
        )
        self._definition = _definition(rows, request.endpoint)
        self._endpoints = rows["reg_prov_endpoint_def"]
        self._by_id = request.operation == Operation.UPDATE and not self._timed()
        self._query_error: BadInput | None = None
        self._blocks = {name: self._merged(name, request.endpoint) for name in SETTINGS}

    def _timed(self) -> bool:
        """Whether an UPDATE follows time: it was asked to, or the endpoint cannot be asked by id."""
        searches = self._definition.get("endpoint_role_code") == EndpointRole.SEARCH
        by_id = self._definition.get("detail_endpoint_name")
        has_time = self._merged("window", self._request.endpoint)["offset_field_name"] is not None
        return searches and has_time and (self._request.timed or not by_id)

    def run(self) -> Compiled:
        found, blocks, definition = self._found, self._blocks, self._definition
        check_dictionary(self._rows, DICTIONARY, found)
        check_twins(self._rows, self._request.endpoint, self._request.operation.value, self._now, found)
        check_scopes(self._rows, found)
        check_id_pattern(self._rows["reg_provenance"][0], found)
        check_refreshes(self._endpoints, found)
        auth = self._auth(blocks["credential"], definition)
        check_endpoint_auth(definition, auth, found)
        http = http_part(blocks["http"], definition, found)
        pagination = None if self._by_id else pagination_part(blocks["pagination"], blocks["window"], found)
        window = None if self._by_id else window_part(blocks["window"], found)
        slicing = slicing_part(blocks["slicing"], self._request.strategies, found)
        params = self._params(self._request.endpoint, definition, pagination)
        rules = self._rules()
        self._check_split(slicing, rules)
        response = response_part(definition)
        mapping = self._mapping(definition)
        detail, owner = self._detail(), self._owner()
        check_response(
            definition, mapping, blocks["pagination"], self._request.operation, found, two_phase=bool(detail)
        )
        retry, rate = retry_part(blocks["retry"], found), self._rate()
        expression = self._expression()
        if window and http and not found.problems and self._query_error is None:
            self._check_rendering(rules, params, window, expression, slicing.split_field)
        self._note_degradations()
        self._refuse()
        check_asked_ids(self._rows["reg_provenance"][0], self._request.ids)
        assert http is not None
        spec = SpecSnapshot(
            snapshot_version=SNAPSHOT_VERSION,
            provenance_code=self._request.source,
            endpoint_name=self._request.endpoint,
            operation_code=self._request.operation,
            http=http,
            auth=auth,
            pagination=pagination,
            window=window,
            retry=retry,
            rate=rate,
            params=params,
            rules=rules,
            response=response,
            mapping=mapping,
            id_normalizer=self._rows["reg_provenance"][0]["id_normalizer_code"],
            on_equal=self._rows["reg_provenance"][0]["on_equal_code"],
            on_refresh=self._rows["reg_provenance"][0].get("on_refresh_code") or OnRefresh.OVERWRITE,
            expression=expression.json(),
            detail=detail,
            slicing=slicing,
            drift=drift_part(self._rows["reg_provenance"][0]),
            item_endpoint=owner,
        )
        note_unset(spec, found)
        note_drift(spec, found)
        return Compiled(spec, self._settings(spec), found.warnings, found.degradations, found.traits)

    def _refuse(self) -> None:
        """Everything that is wrong; a query alone that is, with its own words."""
        if self._query_error is not None:
            if not self._found.problems:
                raise self._query_error
            error = self._query_error
            self._found.add(error.code, "-", error.where, None, error.message, error.remedy)
        self._found.refuse()

    def _merged(self, block: str, endpoint: str) -> Merged:
        operation = self._request.operation.value
        return merge_block(self._rows, block, endpoint, operation, self._now, self._request.overrides)

    def _list(self, name: str, endpoint: str) -> list[Row]:
        """Of each thing the row that is in force and most specific."""
        table = LISTS[name].table
        found = in_force(self._rows.get(table, []), endpoint, self._request.operation.value, self._now)
        return list({list_identity(name, row): row for row in found}.values())

    def _auth(self, block: Merged, definition: Row) -> AuthSpec:
        return auth_part(block, definition, self._request.signing_hooks, self._request.credential_names, self._found)

    def _params(self, endpoint: str, definition: Row, pagination: Any) -> list[ParamSpec]:
        params = param_specs(self._list("params", endpoint))
        paging = None if definition["endpoint_role_code"] == EndpointRole.DETAIL or self._by_id else pagination
        rows = self._list("render_rules", endpoint)
        written = {name for row in rows for name in (row.get("rule_params") or {row.get("param_name"): None})}
        check_params(params, definition, paging, written, self._found)
        return params

    def _rules(self) -> list[RuleSpec]:
        fields = {row["field_code"] for row in self._rows.get("reg_expr_field_dict", [])}
        rows = self._list("render_rules", self._request.endpoint)
        window = None if self._by_id else self._blocks["window"]
        return check_rules(rows, fields, window, self._found)

    def _check_split(self, slicing: SlicingSpec, rules: list[RuleSpec]) -> None:
        """A second field that splits is a number, and can be asked for from one to another."""
        name = slicing.split_field
        if name is None or self._by_id:
            return
        kinds = {row["field_code"]: row["field_type_code"] for row in self._rows.get("reg_expr_field_dict", [])}
        rule = next((rule for rule in rules if rule.op == ExprOp.RANGE and rule.field == name), None)
        whole = rule and rule.open_start is not None and rule.open_end is not None
        self._found.need(
            kinds.get(name) == FieldType.NUMBER and whole, "SPLIT_FIELD_UNFIT", "reg_prov_slicing_cfg",
            "slicing.split_field", name, f"{name!r} cannot split a slice",
            "name a NUMBER field whose RANGE rule says open_start and open_end",
        )  # fmt: skip

    def _mapping(self, definition: Row) -> dict[str, Any]:
        source: dict[str, Any] = self._rows["reg_provenance"][0]["output_mapping"]
        linked = definition.get("detail_endpoint_name")
        own = definition.get("output_mapping") or (_definition(self._rows, linked) or {}).get("output_mapping")
        return own or source

    def _detail(self) -> DetailSpec | None:
        """The endpoint that gives whole records: the linked one, or the asked one itself for a refresh by id."""
        name = self._definition.get("detail_endpoint_name")
        if self._by_id and self._definition["endpoint_role_code"] == EndpointRole.DETAIL:
            name = self._request.endpoint
        definition = check_two_phase(self._rows, self._definition, name, self._found, by_id=self._by_id)
        if definition is None or name is None:
            return None
        if name != self._request.endpoint:
            check_response(definition, {}, self._blocks["pagination"], self._request.operation, self._found)
        batching = self._merged("batching", name)
        http = http_part(self._merged("http", name), definition, self._found)
        if http is None:
            return None
        params = self._params(name, definition, None)
        check_ids_sent(params, definition, self._found)
        auth = self._auth(self._merged("credential", name), definition)
        check_endpoint_auth(definition, auth, self._found)
        return DetailSpec(
            endpoint_name=name,
            http=http,
            params=params,
            response=response_part(definition),
            id_batch_size=batch_size(batching, self._found),
            auth=auth,
            rate=self._own_rate(name),
        )

    def _rate(self) -> RateSpec:
        """The Registry's rate, or the slower one that was asked for."""
        asked = self._request.overrides.get("rate_limit", {}).get("refill_rate_per_sec")
        return asked_rate(self._registered_rate(self._request.endpoint, self._found), asked, self._found)

    def _registered_rate(self, endpoint: str, found: Findings | None = None) -> RateSpec:
        """Whatever the trigger says."""
        merged = merge_block(self._rows, "rate_limit", endpoint, self._request.operation.value, self._now)
        return rate_part(merged, found)

    def _own_rate(self, detail: str) -> RateSpec | None:
        """The rate of a detail endpoint, where it is another than its search's."""
        rate = self._registered_rate(detail, self._found)
        return None if rate == self._registered_rate(self._request.endpoint) else rate

    def _owner(self) -> str | None:
        """The search whose records a detail endpoint refreshes, if it is not its own."""
        if not self._by_id:
            return None
        check_owner(self._endpoints, self._definition, self._found, required=self._request.from_file)
        return owners(self._endpoints).get(self._request.endpoint)

    def _expression(self) -> Node:
        """The standing query and the trigger's own, both."""
        fields = {
            row["field_code"]: FieldType(row["field_type_code"]) for row in self._rows.get("reg_expr_field_dict", [])
        }
        capabilities = {row["field_code"]: row for row in self._list("capabilities", self._request.endpoint)}
        check_capability_patterns(capabilities, self._found)
        node: Node = EVERYTHING
        standing = self._definition.get("query_text")
        for text, where in ((standing, "endpoints.query"), (self._request.query, "--query")):
            if text is not None:
                try:
                    node = both(node, _checked_query(text, where, fields, capabilities))
                except BadInput as error:
                    self._query_error = error
        return node

    def _check_rendering(
        self, rules: list[RuleSpec], params: list[ParamSpec], window: WindowSpec, query: Node, split_by: str | None
    ) -> None:
        """A query that cannot be written is refused now, not by the executor."""
        bounds = Range(window.field, self._now, self._now) if window.supports_updated_since else EVERYTHING
        part = part_range(IdRange(split_by)) if split_by else EVERYTHING
        try:
            rendered = Renderer(rules, TimeText(window.format)).render(both(query, bounds, part))
        except Unrenderable as error:
            raise refuse_unrenderable(error, self._found.where) from error
        carried = any(param.value == "query" for param in params) or "query" in body_names(
            self._definition.get("body_template")
        )
        self._found.need(
            rendered.text is None or carried,
            "QUERY_UNPLACED",
            "reg_prov_api_param_map",
            "params",
            None,
            "the query is written as text, and no parameter carries it",
            "add {name: ..., value: query} to `params`",
        )

    def _note_degradations(self) -> None:
        if self._by_id:
            return
        found, pagination, window = self._found, self._blocks["pagination"], self._blocks["window"]
        found.degrade(
            self._definition["total_path"] is None,
            "no total: completeness cannot be checked, every end is marked weak, and sizes are estimated",
        )
        found.mention(
            pagination["has_more_path"] is None,
            "no hasMore: pages go on until the provider names no next place, or a page is empty",
        )
        found.degrade(
            window["supports_updated_since"] is False,
            "no updatedSince: each harvest reads everything in order and filters here, one slice per plan",
        )

    def _settings(self, spec: SpecSnapshot) -> list[Setting]:
        """Every value with its origin; what is computed says from what."""
        unused = {"pagination", "window", "slicing"} if self._by_id else set()
        said = [setting for name, block in self._blocks.items() if name not in unused for setting in block.settings()]
        if spec.detail is not None and spec.detail.endpoint_name != spec.endpoint_name:
            for name in ("http", "batching"):
                own = self._merged(name, spec.detail.endpoint_name).settings()
                said += [replace(one, key=f"{spec.detail.endpoint_name}: {one.key}") for one in own]
        keys = {setting.key for setting in said}
        computed = []
        if spec.pagination is not None:
            share = f"{PAGE_SIZE_SHARE:.0%} of max_page_size"
            computed.append(Setting("pagination.page_size", spec.pagination.page_size, share))
        if spec.window is not None:
            recheck = iso_span(timedelta(seconds=spec.window.recheck_seconds))
            computed.append(Setting("window.recheck", recheck, "a quarter of lookback"))
        return [*said, *(one for one in computed if one.key not in keys)]


def _checked_query(
    text: str, where: str, fields: Mapping[str, FieldType], capabilities: Mapping[str | None, Row]
) -> Node:
    """The query, if the source can be asked all of it."""
    parsed = parse_query(text, where)
    finding = next(check_query(parsed, fields, capabilities), None)
    if finding is not None:
        raise query_error(text, finding.column or 1, finding.message, where)
    return parsed


def _definition(rows: Rows, endpoint: str | None) -> Row:
    return next((row for row in rows["reg_prov_endpoint_def"] if row["endpoint_name"] == endpoint), {})
