"""The providers the sandbox simulates; a new one is a sibling package and a line here."""

from collections.abc import Callable

from deployments.sandbox.clock import SandboxClock
from deployments.sandbox.corpus import Corpus
from deployments.sandbox.crossref.api import CrossrefApi
from deployments.sandbox.provider import Provider
from deployments.sandbox.settings import Behaviour

PROVIDERS: dict[str, Callable[[Corpus, SandboxClock, Behaviour], Provider]] = {
    "crossref": CrossrefApi,
}
