"""Which rate limiters a request stands under: the provider's, and a slower one of its own where there is one."""

from dataclasses import dataclass

from ingest_core.model.codes import GateScope
from ingest_core.model.partition import Partition
from ingest_core.model.spec import RateSpec

OWN = "/"
"""Separates the provider's key from the endpoint and operation that have a slower limiter of their own."""

ASKED = "asked"
"""Marks the limiter of plans that asked for a slower rate."""


@dataclass(frozen=True)
class Gate:
    """One rate limiter: its key, and the rate the Registry allows it today."""

    key: str
    rate: RateSpec


@dataclass(frozen=True)
class Limits:
    """The rates that hold today for a partition's requests."""

    own: RateSpec
    """The partition's."""
    provider: RateSpec
    """The fastest that holds for anything under the same limiter."""


def chain_of(limits: Limits, partition: Partition, credential: str | None, *, known: bool) -> list[Gate]:
    """The limiters a request takes one permit of each, the narrowest first, the provider's last.

    A rate below the provider's, for an operation or endpoint, has a limiter of its own: it slows nothing else.
    """
    provider, own = limits.provider.for_caller(known=known), limits.own.for_caller(known=known)
    last = Gate(provider_key(provider, partition, credential), provider)
    if own.requests_per_second >= provider.requests_per_second:
        return [last]
    # The provider's limiter counts the quota, and its circuit and cool-down hold for all.
    slower = own.model_copy(update={"daily_quota": None, "hourly_quota": None, "quota_cost": 0})
    return [Gate(f"{last.key}{OWN}{partition.endpoint_name}/{partition.operation_code}", slower), last]


def asked_gate(source: str, fingerprint: str, rate: RateSpec) -> Gate:
    """The limiter of all plans that asked for the same slower rate in the same way."""
    slower = RateSpec(requests_per_second=rate.requests_per_second, burst=1, cost=rate.cost, quota_cost=0)
    return Gate(f"{source}:{ASKED}:{fingerprint}", slower)


def provider_key(rate: RateSpec, partition: Partition, credential: str | None) -> str:
    """The key of the provider's limiter, by what the source file says is shared."""
    if rate.share is not None:
        return f"share:{rate.share}"
    source = partition.provenance_code
    if rate.scope == GateScope.SOURCE:
        return source
    if rate.scope == GateScope.ENDPOINT:
        return f"{source}:{credential or '-'}:{partition.endpoint_name}"
    return f"{source}:{credential or '-'}"
