"""How a source is reached: where requests go, how they look, and how they are authorised."""

from ingest_core.model.codes import AuthLocation, AuthType, BodyFormat, HttpMethod
from ingest_core.model.credential_names import CredentialNames, how_to_allow
from ingest_core.model.header import is_header_name, is_header_text
from ingest_core.model.spec import AuthSpec, HttpSpec
from ingest_core.model.web_address import address_problem
from ingest_core.registry.merge import Merged
from ingest_core.registry.params import refuse_reserved, refuse_secret, template_names
from ingest_core.registry.problems import BlockRules, Findings
from ingest_core.registry.rows import Row

_REQUEST_NAMES = frozenset({"contact"})


def http_part(block: Merged, definition: Row, found: Findings) -> HttpSpec | None:
    """Where and how requests are sent."""
    rules = BlockRules("http", "reg_prov_http_cfg", found)
    url = block["base_url"]
    if not rules.need(url, "BASE_URL_MISSING", "base_url", None, "no base URL", "add http.base_url"):
        return None
    plain = url.startswith("http://") and block["allow_plain_http"]
    rules.need(
        url.startswith("https://") or plain, "BASE_URL_NOT_HTTPS", "base_url", masked_url(url),
        f"{masked_url(url)!r} is not https",
        "use https, or set http.allow_plain_http: true if that is meant",
    )  # fmt: skip
    broken = address_problem(url, ("http", "https")) if url.startswith(("http://", "https://")) else None
    rules.need(
        broken is None, "BASE_URL_INVALID", "base_url", masked_url(url), f"not a base URL: {broken}",
        "write it as https://api.example.org/v1",
    )  # fmt: skip
    rules.need(
        "@" not in url and "?" not in url, "BASE_URL_UNSAFE", "base_url", masked_url(url),
        "a base URL holds neither credentials nor a query", "use the `credential` block and http.query",
    )  # fmt: skip
    _check_templates(block, rules, found)
    proxy = block["proxy_url"]
    rules.need(
        not proxy or "@" not in proxy, "PROXY_UNSAFE", "proxy", "***", "a proxy's URL must not hold credentials",
        "set them in the environment (HTTPS_PROXY)",
    )  # fmt: skip
    broken = None if proxy is None else address_problem(proxy, ("http", "https"))
    rules.need(
        broken is None, "PROXY_INVALID", "proxy", masked_url(proxy), f"not a proxy's URL: {broken}",
        "write it as http://proxy.example.org:3128",
    )  # fmt: skip
    found.warn(block["verify_tls"] is False, "http.verify_tls is false: the provider's certificate is not checked")
    found.warn(plain, f"http.base_url {url!r} is plain http: whoever is on the way can read and change it")
    body_format = _body_format(definition, found)
    return HttpSpec(
        method=definition["http_method_code"],
        base_url=url,
        path=definition["path_template"],
        headers=block["headers"],
        query=block["query_params"],
        connect_timeout_seconds=block["connect_timeout_ms"] / 1000,
        read_timeout_seconds=block["read_timeout_ms"] / 1000,
        allow_plain_http=block["allow_plain_http"],
        body_format=body_format,
        body=definition.get("body_template"),
        user_agent=block["user_agent"],
        max_redirects=block["max_redirects"],
        proxy=proxy,
        verify_tls=block["verify_tls"],
        ca_bundle=block["ca_bundle"],
        deadline_seconds=block["deadline_ms"] / 1000,
        max_body_bytes=block["max_body_bytes"],
        max_values=block["max_values"],
    )


def masked_url(url: str | None) -> str | None:
    """A URL without the user and password that may stand in it, and without its query."""
    if not url:
        return url
    before, at, address = url.rpartition("@")
    scheme, slashes, _ = before.partition("//")
    masked = f"{scheme}//***@{address}" if slashes else f"***@{address}"
    return (masked if at else url).partition("?")[0]


def _is_plain_https(url: str | None) -> bool:
    return bool(url) and address_problem(str(url), ("https",)) is None and "@" not in str(url) and "?" not in str(url)


def _check_templates(block: Merged, rules: BlockRules, found: Findings) -> None:
    for key, column in (("headers", "headers"), ("query", "query_params")):
        for name, template in block[column].items():
            secret = refuse_secret(name, "reg_prov_http_cfg", f"http.{key}.{name}", found)
            if key == "headers":
                refuse_reserved(name, "reg_prov_http_cfg", f"http.{key}.{name}", found)
            _only_known(template, f"{key}.{name}", rules, found, hidden=secret)
            if key == "headers":
                _check_header(name, template, f"headers.{name}", rules, hidden=secret)
    if block["user_agent"]:
        _check_header("User-Agent", block["user_agent"], "user_agent", rules)
        _only_known(block["user_agent"], "user_agent", rules, found)


def _check_header(name: str, value: str, key: str, rules: BlockRules, *, hidden: bool = False) -> None:
    """A header that HTTP can carry: what it cannot would fail with every request, or begin another header."""
    rules.need(
        is_header_name(name) and is_header_text(value), "HEADER_INVALID", key, "***" if hidden else value,
        "a header has a name of letters, digits and -, and a value of printable ASCII without spaces at its ends",
        "write it so; encode other letters as the provider asks",
    )  # fmt: skip


def _only_known(template: str, key: str, rules: BlockRules, found: Findings, *, hidden: bool = False) -> None:
    for name in template_names(template, "reg_prov_http_cfg", f"http.{key}", found, hidden=hidden) - _REQUEST_NAMES:
        rules.add("TEMPLATE_NAME_UNKNOWN", key, "***" if hidden else template, f"unknown name {{{name}}}",
            f"known here: {', '.join(_REQUEST_NAMES)}",
        )  # fmt: skip


def _body_format(definition: Row, found: Findings) -> BodyFormat | None:
    code = definition.get("body_format_code")
    found.need(
        not code or definition["http_method_code"] == HttpMethod.POST, "GET_WITH_BODY", "reg_prov_endpoint_def",
        f"endpoints.{definition['endpoint_name']}.body", code, "a GET request has no body", "set method: POST",
    )  # fmt: skip
    if code:
        return BodyFormat(code)
    return BodyFormat.FORM if definition["http_method_code"] == HttpMethod.POST else None


def auth_part(
    block: Merged,
    definition: Row,
    hooks: frozenset[str] | None,
    allowed: CredentialNames | None,
    found: Findings,
) -> AuthSpec:
    """How requests are authorised; every kind needs what it needs."""
    rules = BlockRules("credential", "reg_prov_credential", found)
    kind = AuthType(block["auth_type_code"])
    location = AuthLocation(block["auth_location_code"] or AuthLocation.HEADER.value)
    _need_references(kind, block, rules)
    for key, column in (("ref", "credential_ref"), ("username_ref", "username_ref")):
        reference = block[column]
        rules.need(
            allowed is None or not reference or allowed.allow(reference), "CREDENTIAL_REFUSED", key, reference,
            f"sources may not use {reference!r} here", how_to_allow(reference or ""),
        )  # fmt: skip
    rules.need(
        kind != AuthType.API_KEY or block["auth_name"], "API_KEY_UNNAMED", "name", None,
        "an API_KEY needs the header or parameter it goes in", "add credential.name, such as x-api-key",
    )  # fmt: skip
    if kind == AuthType.API_KEY and location == AuthLocation.HEADER and block["auth_name"]:
        refuse_reserved(block["auth_name"], "reg_prov_credential", "credential.name", found)
    named = block["auth_name"]
    rules.need(
        not named or location != AuthLocation.HEADER or is_header_name(named), "HEADER_INVALID", "name", named,
        f"{named!r} is not the name of a header", "use letters, digits and -, such as x-api-key",
    )  # fmt: skip
    in_body_of_get = location == AuthLocation.BODY and definition.get("http_method_code") == HttpMethod.GET
    rules.need(
        not in_body_of_get, "GET_WITH_BODY", "location", location.value,
        "a GET request has no body to carry a credential", "use HEADER or QUERY",
    )  # fmt: skip
    rules.need(
        kind != AuthType.CUSTOM or block["credential_ref"] or not block["is_optional"], "OPTIONAL_WITHOUT_REF",
        "optional", "true", "an optional signature needs a secret it depends on", "add credential.ref, or always sign",
    )  # fmt: skip
    hook = block["signing_hook"]
    rules.need(
        kind != AuthType.CUSTOM or hook, "SIGNING_HOOK_MISSING", "signing_hook", None, "CUSTOM needs a signing hook",
        "name an entry point of group patra.signing_hooks",
    )  # fmt: skip
    rules.need(
        not hook or hooks is None or hook in hooks, "SIGNING_HOOK_UNKNOWN", "signing_hook", hook,
        f"no signing hook {hook!r} is installed", f"installed: {', '.join(sorted(hooks or ())) or 'none'}",
    )  # fmt: skip
    token_url = block["token_url"]
    rules.need(
        kind != AuthType.OAUTH2 or _is_plain_https(token_url), "TOKEN_URL_MISSING", "token_url",
        masked_url(token_url), "OAUTH2 needs an https token_url to get and refresh tokens at",
        "add credential.token_url",
    )  # fmt: skip
    return AuthSpec(
        type=kind,
        credential_ref=block["credential_ref"],
        username_ref=block["username_ref"],
        location=location,
        name=block["auth_name"],
        optional=bool(block["is_optional"]),
        token_url=token_url,
        scope=block["oauth_scope"],
        signing_hook=hook,
    )


def _need_references(kind: AuthType, block: Merged, rules: BlockRules) -> None:
    needs_secret = kind not in (AuthType.NONE, AuthType.CUSTOM)
    rules.need(
        not needs_secret or block["credential_ref"], "CREDENTIAL_MISSING", "ref", None, f"{kind} needs a credential",
        "add credential.ref: env:NAME or prefect:BLOCK",
    )  # fmt: skip
    needs_user = kind in (AuthType.BASIC, AuthType.OAUTH2)
    rules.need(
        not needs_user or block["username_ref"], "USERNAME_MISSING", "username_ref", None,
        f"{kind} needs a user or client id", "add credential.username_ref: env:NAME",
    )  # fmt: skip
