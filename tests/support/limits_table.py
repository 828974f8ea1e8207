"""The table of limits in docs/architecture.md: each number is read from its constant."""

from collections.abc import Iterator
from datetime import timedelta
from pydoc import locate
from typing import Any

from ingest_core.model.spec import DriftSpec
from ingest_core.registry.merge import PLATFORM
from ingest_core.settings import load_settings

EXECUTION, GATE, OUTBOX, PLANNING = (f"ingest_core.{one}" for one in ("execution", "gate", "outbox", "planning"))
REGISTRY, TRANSPORT = "ingest_core.registry", "ingest_core.transport"

LIMITS: list[tuple[str, str, list[str]]] = [
    ("attempts at a transaction", "{}", ["ingest_core.store.engine.database._CONFLICT_ATTEMPTS"]),
    (
        "lease of a task",
        "{} s, renewed with every write and {} times within that time while it waits",
        ["PATRA_LEASE_TTL_SECONDS", f"{EXECUTION}.lease_keeper.RENEWALS_PER_TTL"],
    ),
    (
        "expired leases held against a task, without a committed page in between",
        "{}, then `FAILED`",
        [f"{EXECUTION}.expiry.MAX_BLAMED"],
    ),
    (
        "expired leases of a task for any cause, without a committed page in between",
        "{}, then `FAILED`",
        [f"{EXECUTION}.expiry.MAX_EXPIRIES"],
    ),
    (
        "attempts of a task that end with a passing fault",
        "{}, then `FAILED`; not if the upstream is unreachable, or a page was committed at the client's position",
        [f"{EXECUTION}.outcomes.MAX_ATTEMPTS"],
    ),
    ("restarts of a slice", "{}, then `FAILED`", [f"{EXECUTION}.outcomes.MAX_RESTARTS"]),
    (
        "restarts of a slice whose position is the provider's and whose time can be cut",
        "{}, then `PARTIAL`",
        [f"{EXECUTION}.outcomes.RESTARTS_OF_A_SCROLL"],
    ),
    (
        "wait before the next attempt",
        "{}, doubled each time, at most {}",
        [f"{EXECUTION}.outcomes.FIRST_RETRY", f"{EXECUTION}.outcomes.LONGEST_RETRY"],
    ),
    (
        "wait at the rate gate inside a run",
        "{}; a longer wait returns the task to the queue",
        [f"{EXECUTION}.fetch.MAX_GATE_WAIT"],
    ),
    (
        "Retry-After",
        "followed for at most {}; {} after a 429 without one",
        [f"{GATE}.taxonomy.MAX_RETRY_AFTER", f"{GATE}.feedback.UNTOLD_COOL_DOWN"],
    ),
    (
        "unusable records in a page",
        "{} or more, and more than {:.0%}: `SCHEMA_DRIFT`, the task fails",
        ["source.drift_records", "source.drift_share"],
    ),
    ("passes over a slice", "{}, then `PARTIAL`", [f"{EXECUTION}.completeness.MAX_PASSES"]),
    ("rewinds within a pass", "{}", [f"{EXECUTION}.paging.stopping.MAX_REWINDS"]),
    (
        "empty pages in a row, each with a next place",
        "{}, then `EMPTY_PAGES`",
        [f"{EXECUTION}.paging.stopping.MAX_EMPTY_PAGES"],
    ),
    (
        "body of a page, as sent and decompressed",
        "{:,} bytes, at most {:,}",
        ["http.max_body_bytes", f"{REGISTRY}.source_file.MAX_BODY_BYTES"],
    ),
    ("body of an answer that is no success", "{:,} bytes", [f"{TRANSPORT}.http.ERROR_BODY_BYTES"]),
    ("body of a token answer", "{:,} bytes", [f"{TRANSPORT}.http.TOKEN_BYTES"]),
    (
        "a whole exchange: connecting, head, interim answers, body, redirects",
        "{}, at most {}",
        ["http.deadline_ms", f"{REGISTRY}.source_file.MAX_DEADLINE"],
    ),
    ("a token request, within that deadline", "{:g} s", [f"{TRANSPORT}.http.TOKEN_TIMEOUT_SECONDS"]),
    ("a webhook request", "{:g} s", [f"{TRANSPORT}.webhook.DEADLINE_SECONDS"]),
    ("head of an answer, with the interim answers before it", "{:,} bytes", [f"{TRANSPORT}.exchange.MAX_HEAD_BYTES"]),
    ("members of a gzip body", "{:,}", [f"{TRANSPORT}.body.MAX_MEMBERS"]),
    ("payload and common fields of a record", "{:,} bytes", [f"{EXECUTION}.records.MAX_RECORD_BYTES"]),
    ("id of a record", "{} characters", [f"{EXECUTION}.routing.MAX_ID_CHARS"]),
    (
        "patterns of a source file: one record; one page",
        "{:g} s; {:g} s of processor time",
        [f"{REGISTRY}.patterns.RECORD_SECONDS", f"{REGISTRY}.patterns.PAGE_SECONDS"],
    ),
    ("fragment in quarantine", "{:,} bytes", [f"{EXECUTION}.unusable.FRAGMENT_BYTES"]),
    ("sample of a response", "{} characters", [f"{EXECUTION}.evidence.SAMPLE_CHARS"]),
    (
        "redirects, to the same host",
        "{}, at most {}",
        ["http.max_redirects", f"{REGISTRY}.source_file.MAX_REDIRECTS"],
    ),
    (
        "values of a page, and records",
        "{:,}, at most {:,}; one record for each {} values",
        ["http.max_values", f"{REGISTRY}.source_file.MAX_VALUES", f"{EXECUTION}.records.VALUES_PER_RECORD"],
    ),
    ("next token or URL", "{:,} characters", [f"{EXECUTION}.statements.MAX_PLACE_CHARS"]),
    (
        "nesting of XML: a record; the document",
        "{}, then quarantine; {}, then the page is refused",
        [f"{EXECUTION}.xml_page.MAX_DEPTH", f"{EXECUTION}.xml_page.MAX_PAGE_DEPTH"],
    ),
    ("copies of an XML record's text", "{}", [f"{EXECUTION}.xml_page.TEXT_COPIES"]),
    ("message of an error in the ledger", "{:,} characters", ["ingest_core.model.redaction.MESSAGE_CHARS"]),
    (
        "text of a query; its nesting",
        "{:,} characters; {} levels",
        [f"{REGISTRY}.query_text.MAX_QUERY_CHARS", f"{REGISTRY}.query_text.MAX_DEPTH"],
    ),
    (
        "queued tasks of a partition; of all",
        "{:,}; {:,}; the rest is planned later",
        ["slicing.max_queued", "PATRA_MAX_QUEUED"],
    ),
    (
        "questions for sizes in a plan",
        "as many as the configured rate allows in {} s, at most {}",
        [f"{PLANNING}.estimate.PROBING_SECONDS", f"{PLANNING}.estimate.MAX_PROBES"],
    ),
    ("age of a size that the provider stated", "{}", [f"{PLANNING}.ports.FRESH"]),
    (
        "slice: target; tolerance; tiny",
        "{} pages; {} times the target; the target divided by {}",
        [f"{PLANNING}.sizing.TARGET_PAGES", f"{PLANNING}.sizing.TOLERANCE", f"{PLANNING}.sizing.TINY_SHARE"],
    ),
    ("tiny slices joined, without `max_window`", "{} steps", [f"{PLANNING}.strategies.time_slices.JOINED_STEPS"]),
    (
        "safety lag, learned",
        "{} s to {:,} s, not below a configured one",
        [f"{PLANNING}.lag.LEAST_SECONDS", f"{PLANNING}.lag.MOST_SECONDS"],
    ),
    ("re-slice requests served by a plan", "{:,}", [f"{PLANNING}.reslice.MOST_AT_ONCE"]),
    (
        "name of a campaign; id to refresh",
        "{} characters; {} characters",
        [f"{PLANNING}.request.MAX_CAMPAIGN_CHARS", f"{PLANNING}.request.MAX_ID_CHARS"],
    ),
    (
        "attempts at a message",
        "{} if it is refused, otherwise {}; then `DEAD`",
        [f"{OUTBOX}.retry.MAX_REFUSALS", f"{OUTBOX}.retry.MAX_ATTEMPTS"],
    ),
    (
        "wait before a message's next attempt",
        "{}, doubled each time, at most {}",
        [f"{OUTBOX}.retry.FIRST_WAIT", f"{OUTBOX}.retry.LONGEST_WAIT"],
    ),
    ("messages claimed and sent together", "{}", [f"{OUTBOX}.relay.CLAIM_LIMIT"]),
    ("faults of a publisher in a row", "{}, then the relay stops", [f"{OUTBOX}.relay.FAULTS_IN_A_ROW"]),
    ("wait of `--until-idle`", "continues if a task is due within {}", [f"{EXECUTION}.shift.NEAR"]),
]


def limit_rows() -> Iterator[tuple[str, str, str]]:
    """Limit, value, and where it is set; LookupError for a constant that is gone."""
    for limit, words, places in LIMITS:
        shown = ", ".join(f"`{_place(place)}`" for place in places)
        yield limit, words.format(*map(value_at, places)), shown


def _place(place: str) -> str:
    """A module's constant by file, a setting or a source file's key by name."""
    if not place.startswith("ingest_core."):
        return place.removesuffix("_ms")
    module, _, name = place.removeprefix("ingest_core.").rpartition(".")
    return f"{name}` in `{module.replace('.', '/')}.py"


def value_at(place: str) -> Any:
    """What a constant, a setting's default or the platform's default of a key is today."""
    if place.startswith("PATRA_"):
        return getattr(load_settings({}), place.removeprefix("PATRA_").lower())
    if place.startswith("source.drift_"):
        return getattr(DriftSpec(), place.removeprefix("source.drift_"))
    if not place.startswith("ingest_core."):
        block, _, key = place.partition(".")
        value = PLATFORM[block][key]
        return _span(timedelta(milliseconds=value)) if key.endswith("_ms") else value
    found = locate(place)
    if found is None:
        raise LookupError(place)
    return _span(found) if isinstance(found, timedelta) else found


def _span(span: timedelta) -> str:
    """A length of time in its largest whole unit."""
    for name, unit in (("day", timedelta(days=1)), ("h", timedelta(hours=1)), ("min", timedelta(minutes=1))):
        if span >= unit and not span % unit:
            count = span // unit
            return f"{count} {name}{'s' if name == 'day' and count != 1 else ''}"
    return f"{span.total_seconds():g} s"
