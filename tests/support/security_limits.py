"""The tables of limits in docs/explanation/security.md: each number is read from its constant or default."""

from collections.abc import Iterator
from typing import NamedTuple

from tests.support.limits_table import EXECUTION, GATE, REGISTRY, TRANSPORT, value_at

FIXED = "fixed"


class Defence(NamedTuple):
    """A threat, the limit that stops it, where the limit is set, and the places of the numbers in these texts."""

    threat: str
    limit: str
    setting: str = FIXED
    limit_places: tuple[str, ...] = ()
    setting_places: tuple[str, ...] = ()


ANSWERS = (
    Defence(
        "an answer that arrives byte by byte or never ends, in head, body, error or redirect",
        "one deadline for the whole exchange; then the answer counts as lost",
        "`http.deadline` ({}, at most {})",
        (),
        ("http.deadline_ms", f"{REGISTRY}.source_file.MAX_DEADLINE"),
    ),
    Defence("a slow token URL", "{:g} s within that deadline", FIXED, (f"{TRANSPORT}.http.TOKEN_TIMEOUT_SECONDS",)),
    Defence(
        "a slow webhook",
        "{:g} s; the body of a 2xx answer is not read",
        FIXED,
        (f"{TRANSPORT}.webhook.DEADLINE_SECONDS",),
    ),
    Defence(
        "endless `100 Continue` or `103`, an endless head",
        "{:,} bytes before the body",
        FIXED,
        (f"{TRANSPORT}.exchange.MAX_HEAD_BYTES",),
    ),
    Defence(
        "a large answer, or a small one that decompresses to a large one",
        "size as sent and decompressed, counted while it is decompressed",
        "`http.max_body_bytes` ({:,}, at most {:,})",
        (),
        ("http.max_body_bytes", f"{REGISTRY}.source_file.MAX_BODY_BYTES"),
    ),
    Defence("stacked or unknown content codings", "one of gzip and deflate"),
    Defence(
        "millions of values",
        "counted before JSON is parsed, and while XML is",
        "`http.max_values` ({:,}, at most {:,})",
        (),
        ("http.max_values", f"{REGISTRY}.source_file.MAX_VALUES"),
    ),
    Defence(
        "deep nesting, long texts, many names in XML, entities",
        "see [limits of an answer](../reference/sources.md#limits-of-an-answer); entity declarations are refused",
    ),
    Defence("one record that cannot be read", "that record goes to quarantine; its neighbours are stored"),
    Defence(
        "a next token with control characters, or one that is too long",
        "{:,} characters; otherwise `NEXT_TOKEN_INVALID`, the task fails",
        FIXED,
        (f"{EXECUTION}.statements.MAX_PLACE_CHARS",),
    ),
    Defence("a value that the database refuses", "`DATA_REFUSED`; the task fails, the executor continues"),
    Defence("cookies", "never stored, sent or shown"),
    Defence(
        "a redirect or next page at another host",
        "same scheme, host and port, or a host that the source file lists",
        "`http.max_redirects` ({}, at most {}), `pagination.next_hosts` (none)",
        (),
        ("http.max_redirects", f"{REGISTRY}.source_file.MAX_REDIRECTS"),
    ),
    Defence(
        "values that grow when they are mapped",
        "{:,} characters and {:,} values of common fields a record",
        FIXED,
        (f"{REGISTRY}.bounds.MAX_COMMON_CHARS", f"{REGISTRY}.bounds.MAX_COMMON_VALUES"),
    ),
    Defence(
        "text that acts on a terminal or forges a log line",
        "control characters, writing-direction overrides and line separators are shown as escapes in output, logs, "
        "stored messages and Prefect's pages",
    ),
    Defence(
        "`Retry-After` of years",
        "followed for at most {}; `patra gate clear KEY --reason TEXT` ends it",
        FIXED,
        (f"{GATE}.taxonomy.MAX_RETRY_AFTER",),
    ),
    Defence(
        "an answer that ends the worker's process",
        "a task whose workers are lost fails after {} expired leases that are held against it, or {} of any kind; "
        "until then it waits longer each time",
        FIXED,
        (f"{EXECUTION}.expiry.MAX_BLAMED", f"{EXECUTION}.expiry.MAX_EXPIRIES"),
    ),
    Defence(
        "results without an end",
        "{} pages in a row without a new record, {} empty ones, or {} times the slice's budget or {} times its first "
        "total; then the task fails",
        FIXED,
        (
            f"{EXECUTION}.completeness.MAX_FRUITLESS_PAGES",
            f"{EXECUTION}.paging.stopping.MAX_EMPTY_PAGES",
            f"{EXECUTION}.completeness.BUDGETS",
            f"{EXECUTION}.completeness.TOTALS",
        ),
    ),
)

SOURCE_FILES = (
    Defence(
        "a path that leads to another host or port, with the credential",
        "a path begins with exactly one `/`; values in it are percent-encoded; scheme, host and port are compared "
        "before every request",
    ),
    Defence(
        "a host in the operator's network",
        "hosts must be at public addresses; the address that was checked is the one connected to",
        "`PATRA_ALLOW_PRIVATE_ADDRESSES` ({:d})",
        (),
        ("PATRA_ALLOW_PRIVATE_ADDRESSES",),
    ),
    Defence(
        "a secret of another program, or the database's URL",
        "only listed names may be read; names that begin with `PATRA_` or `PREFECT_` never",
        "`PATRA_CREDENTIAL_NAMES` (those of the shipped sources)",
    ),
    Defence(
        "a pattern that never ends or takes all memory",
        "{:,} characters when it is applied; {:g} s of matching a record, {:g} s a page, with the interpreter lock "
        "released",
        FIXED,
        (
            f"{REGISTRY}.patterns.MAX_PATTERN_CHARS",
            f"{REGISTRY}.patterns.RECORD_SECONDS",
            f"{REGISTRY}.patterns.PAGE_SECONDS",
        ),
    ),
    Defence(
        "a path that finds more values than the document has",
        "{:,} characters, one `..`, no arithmetic, no patterns",
        FIXED,
        (f"{REGISTRY}.paths.MAX_PATH_CHARS",),
    ),
    Defence(
        "YAML that grows or nests without end",
        "{:,} bytes, {} levels, {:,} values with aliases written out, {:,} characters of a value; counted before "
        "anything is built",
        FIXED,
        (
            f"{REGISTRY}.yaml_bounds.MAX_BYTES",
            f"{REGISTRY}.yaml_bounds.MAX_DEPTH",
            f"{REGISTRY}.yaml_bounds.MAX_NODES",
            f"{REGISTRY}.yaml_bounds.MAX_TEXT_CHARS",
        ),
    ),
    Defence(
        "headers that decide where a request goes or how it is read",
        "refused, as are names and values that are not printable ASCII",
    ),
    Defence(
        "a device or FIFO as `ca_bundle` or as a file argument",
        "regular files of a bounded size only; {:,} bytes of a `ca_bundle`",
        FIXED,
        (f"{TRANSPORT}.certificates.MOST_BYTES",),
    ),
)


def defence_rows(defences: tuple[Defence, ...]) -> Iterator[tuple[str, str, str]]:
    """Threat, limit and setting, with today's numbers; LookupError for a constant that is gone."""
    for one in defences:
        limit = one.limit.format(*map(value_at, one.limit_places))
        yield one.threat, limit, one.setting.format(*map(value_at, one.setting_places))
