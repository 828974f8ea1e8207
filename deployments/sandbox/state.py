"""What the parts of one running sandbox share."""

import asyncio
from dataclasses import dataclass, field

from deployments.sandbox.clock import SandboxClock
from deployments.sandbox.corpus import Corpus
from deployments.sandbox.faults import FaultScript
from deployments.sandbox.journal import Journal
from deployments.sandbox.present import Present
from deployments.sandbox.provider import Provider
from deployments.sandbox.providers import PROVIDERS
from deployments.sandbox.settings import Behaviour, Settings


@dataclass(frozen=True, slots=True)
class State:
    """One sandbox: its time, its faults, its log and its providers."""

    present: Present
    behaviour: Behaviour
    providers: dict[str, Provider]
    script: FaultScript = field(default_factory=FaultScript)
    journal: Journal = field(default_factory=Journal)
    closing: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def clock(self) -> SandboxClock:
        """The sandbox's time."""
        return self.present.clock


def open_state(settings: Settings) -> State:
    """A fresh sandbox over the corpus the settings describe."""
    behaviour = Behaviour(
        settings.scroll,
        settings.scroll_ttl_seconds,
        settings.rate_limit_per_second,
        settings.kept_pages,
        settings.reach,
    )
    present = Present(Corpus(settings), SandboxClock())
    providers = {name: build(present, behaviour) for name, build in PROVIDERS.items()}
    return State(present=present, behaviour=behaviour, providers=providers)
