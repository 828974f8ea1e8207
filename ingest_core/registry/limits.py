"""How often and how fast a source is asked, and for how much at once."""

from collections.abc import Iterator
from typing import Any

from ingest_core.model.spec import QueryCost, RateSpec, RetrySpec
from ingest_core.registry.merge import Merged
from ingest_core.registry.patterns import pattern_problem
from ingest_core.registry.problems import BlockRules, Findings


def retry_part(block: Merged, found: Findings) -> RetrySpec:
    """When and how often a request is sent again."""
    rules = BlockRules("retry", "reg_prov_retry_cfg", found)
    rules.need(
        block["initial_delay_ms"] <= block["max_delay_ms"], "RETRY_DELAYS_CROSSED", "initial",
        block["initial_delay_ms"], f"initial {block['initial_delay_ms']} ms is above max {block['max_delay_ms']} ms",
        "let initial be the smaller",
    )  # fmt: skip
    fatal = sorted({401, 403} & set(block["retry_statuses"]))
    rules.need(
        not fatal, "RETRY_OF_REFUSAL", "statuses", fatal, f"{fatal} say that we may not; asking again is no way",
        "leave them out",
    )  # fmt: skip
    return RetrySpec(
        policy=block["backoff_policy_code"],
        max_attempts=block["max_attempts"],
        initial_seconds=block["initial_delay_ms"] / 1000,
        max_seconds=block["max_delay_ms"] / 1000,
        multiplier=block["multiplier"],
        jitter=block["jitter"],
        retry_statuses=block["retry_statuses"],
    )


def rate_part(block: Merged, found: Findings | None = None) -> RateSpec:
    """How fast the provider may be asked; never faster than it allows."""
    if found is not None:
        rules = BlockRules("rate_limit", "reg_prov_rate_limit_cfg", found)
        cap = block["provider_cap_per_sec"]
        for key, column in (
            ("requests_per_second", "refill_rate_per_sec"),
            ("with_credential", "with_credential_per_sec"),
        ):
            rate = block[column]
            rules.need(
                cap is None or rate is None or rate <= cap, "RATE_ABOVE_CAP", key, rate,
                f"{rate} requests a second are above the provider's {cap}", f"use at most {cap}",
            )  # fmt: skip
        rules.need(
            not block["reset_header"] or block["reset_kind_code"], "RESET_KIND_MISSING", "reset_kind", None,
            "reset_header needs to say what it counts",
            "add reset_kind: SECONDS_LEFT, EPOCH_SECONDS, EPOCH_MILLIS or ISO_TIME",
        )  # fmt: skip
        rules.need(
            not block["interval_header"] or block["limit_header"], "LIMIT_HEADER_MISSING", "interval_header",
            block["interval_header"], "interval_header says over which time limit_header counts, and that is missing",
            "add limit_header, or remove interval_header",
        )  # fmt: skip
        _check_query_costs(block["query_costs"] or [], rules)
    return RateSpec(
        requests_per_second=block["refill_rate_per_sec"],
        burst=block["burst_capacity"],
        cost=block["permit_cost"],
        max_concurrency=block["max_concurrency"],
        with_credential_per_second=block["with_credential_per_sec"],
        daily_quota=block["daily_quota"],
        limit_header=block["limit_header"],
        remaining_header=block["remaining_header"],
        reset_header=block["reset_header"],
        reset_kind=block["reset_kind_code"],
        interval_header=block["interval_header"],
        concurrency_header=block["concurrency_header"],
        refusal_statuses=block["refusal_statuses"] or [],
        query_costs=[QueryCost(**one) for one in block["query_costs"] or []],
        **{name: value for name, value in _said(block) if value is not None},
    )


def _said(block: Merged) -> Iterator[tuple[str, Any]]:
    """Settings whose defaults are the specification's own, under its names."""
    yield from ((name, block[column]) for name, column in _OWN_DEFAULTS.items())
    for name, column in (("cool_down_seconds", "cool_down_ms"), ("open_seconds", "open_time_ms")):
        yield name, None if block[column] is None else block[column] / 1000


_OWN_DEFAULTS = {
    "scope": "scope_code",
    "share": "share_name",
    "demote": "demote_factor",
    "hourly_quota": "hourly_quota",
    "quota_cost": "quota_cost",
    "quota_margin": "quota_margin",
    "quota_reset_hour": "quota_reset_hour",
}


def _check_query_costs(rules_said: list[dict[str, Any]], rules: BlockRules) -> None:
    for number, said in enumerate(rules_said):
        pattern = said.get("matches")
        problem = pattern_problem(pattern)
        rules.need(
            problem is None, "PATTERN_INVALID", f"query_costs[{number}].matches", pattern, str(problem),
            "write a shorter pattern, such as '[.]search:'",
        )  # fmt: skip
        rules.need(
            "cost" in said or "quota_cost" in said, "QUERY_COST_EMPTY", f"query_costs[{number}]", said["param"],
            "the rule names neither cost nor quota_cost", "add quota_cost, such as {param: search, quota_cost: 10}",
        )  # fmt: skip


def asked_rate(allowed: RateSpec, asked: float | None, found: Findings) -> RateSpec:
    """The rate of a plan that wants to be slower than the Registry allows; faster it cannot be."""
    if asked is None:
        return allowed
    most = max(allowed.requests_per_second, allowed.with_credential_per_second or 0)
    BlockRules("rate_limit", "reg_prov_rate_limit_cfg", found).need(
        asked <= most, "RATE_ABOVE_REGISTRY", "requests_per_second", asked,
        f"{asked:g} requests a second are more than the Registry's {most:g}", f"ask for at most {most:g}",
    )  # fmt: skip
    return allowed.model_copy(update={"requests_per_second": asked, "asked_for": True})


def batch_size(block: Merged, found: Findings) -> int:
    """How many ids go into one request."""
    size, cap = block["id_batch_size"], block["max_ids"]
    BlockRules("batching", "reg_prov_batching_cfg", found).need(
        cap is None or size <= cap, "ID_BATCH_ABOVE_CAP", "id_batch_size", size,
        f"id_batch_size {size} is above max_ids {cap}", f"ask for at most {cap}",
    )  # fmt: skip
    return int(size)
