"""What the real providers need and do not have: said before anything is started."""

from collections.abc import Callable, Iterator

from ingest_core.bootstrap import App, open_core_app
from ingest_core.inspection.readiness import Lack, LackKind, missing_contact, missing_keys, unreachable_providers
from ingest_core.model.errors import BadInput
from ingest_core.model.spec import SpecSnapshot
from ingest_core.planning.request import PlanRequest
from ingest_core.registry.rows import partitions_of
from ingest_core.settings import Settings

Say = Callable[[str], None]
_ENVIRONMENT = "env"


def say_missing_at_once(settings: Settings, say: Say) -> list[Lack]:
    """The contact, the keys of the environment and the providers that are missing, a line each."""
    with open_core_app(settings) as app:
        lacks: list[Lack] = []
        specs = list(_specs(app, lacks))
        lacks += [
            *missing_contact(specs, settings.contact),
            *missing_keys(specs, app.upstream, lambda kind: kind == _ENVIRONMENT),
            *unreachable_providers(specs, app.upstream),
        ]
    return _said(lacks, say)


def say_missing_blocks(app: App, say: Say) -> list[Lack]:
    """The keys that are missing on the Prefect server, now that it answers."""
    return _said(missing_keys(_specs(app, []), app.upstream, lambda kind: kind != _ENVIRONMENT), say)


def _said(lacks: list[Lack], say: Say) -> list[Lack]:
    for lack in lacks:
        say(f"missing: {lack.message}")
    return lacks


def _specs(app: App, lacks: list[Lack]) -> Iterator[SpecSnapshot]:
    """What each source in force is asked with; one that does not compile is added to what is missing."""
    for source in app.registry.sources():
        for one in partitions_of(app.registry.rows(source.code)):
            try:
                yield app.planner.compile(PlanRequest(source.code, one.operation_code, one.endpoint_name)).spec
            except BadInput as error:
                lacks.append(Lack(LackKind.SOURCE, (source.code,), f"source {source.code} cannot be planned: {error}"))
