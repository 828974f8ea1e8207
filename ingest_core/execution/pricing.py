"""What a request costs, by the parameters it carries."""

from collections.abc import Sequence

from ingest_core.model.spec import RateSpec
from ingest_core.registry.patterns import compile_pattern


def priced(rate: RateSpec, query: Sequence[tuple[str, str]]) -> RateSpec:
    """The rate with what a request of these parameters costs, by the first rule that fits."""
    for rule in rate.query_costs:
        values = [value for name, value in query if name == rule.param]
        pattern = compile_pattern(rule.matches) if rule.matches is not None else None
        if any(pattern is None or pattern.search(value) for value in values):
            named = {"cost": rule.cost, "quota_cost": rule.quota_cost}
            return rate.model_copy(update={name: value for name, value in named.items() if value is not None})
    return rate
