"""What a way of slicing is given, and what it gives."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ingest_core.model.errors import BadInput
from ingest_core.model.id_range import IdRange
from ingest_core.model.spec import SpecSnapshot, WindowSpec
from ingest_core.model.window import Window
from ingest_core.planning.estimate import Estimate, Estimator
from ingest_core.planning.needs import Need


@dataclass(frozen=True)
class SliceContext:
    """All that cutting may look at."""

    spec: SpecSnapshot
    config: WindowSpec
    window: Window
    needs: Sequence[Need]
    estimator: Estimator
    newest_first: bool = False
    ids: Iterator[str] = field(default_factory=lambda: iter(()))


@dataclass(frozen=True)
class Piece:
    """One slice to be: what it owns, and how much that may be."""

    window: Window
    estimate: Estimate
    range: IdRange | None = None
    ids: tuple[str, ...] = ()
    bounds: Mapping[str, Any] = field(default_factory=dict)
    """Further sections of its specification, `range` or `cursor`."""


class Strategy(Protocol):
    """A way of cutting; its pieces together are exactly what needs reading."""

    @property
    def code(self) -> str:
        """Its code in the dictionary."""

    def refusal(self, spec: SpecSnapshot) -> str | None:
        """Why a source cannot be cut this way, if it cannot."""

    def pieces(self, context: SliceContext) -> Iterator[Piece]:
        """The slices, one after the other, the most wanted first."""


class StrategyRegistry:
    """Every strategy by its code."""

    def __init__(self, strategies: Sequence[Strategy]) -> None:
        self._strategies = {strategy.code: strategy for strategy in strategies}

    @property
    def codes(self) -> frozenset[str]:
        """The codes that can be chosen."""
        return frozenset(self._strategies)

    def choose(self, code: str, spec: SpecSnapshot) -> Strategy:
        """The strategy of that code, if the source can be cut so."""
        strategy = self._strategies.get(code)
        refusal = f"no strategy {code!r} is installed" if strategy is None else strategy.refusal(spec)
        if strategy is None or refusal:
            raise BadInput(
                "STRATEGY_UNAVAILABLE",
                f"{code}: {refusal}",
                where=f"source {spec.provenance_code!r}, endpoint {spec.endpoint_name!r}",
                remedy=f"set slicing.strategy to one of {', '.join(sorted(self._strategies))}",
            )
        return strategy
