"""`patra retry`, `cancel`, `pause` and `resume`: what people do to work that is under way."""

from typing import Annotated, Any

import typer

from flows.cli.screen import AsJson, console, on_terminal, print_facts, print_json
from flows.process.application import open_app
from flows.text.wording import counted
from ingest_core.bootstrap import App
from ingest_core.model.codes import Operation
from ingest_core.model.errors import BadInput
from ingest_core.model.partition import Partition
from ingest_core.model.scope import ScopeKind, WorkScope
from ingest_core.registry.rows import partitions_of

PlanId = Annotated[str | None, typer.Option("--plan", help="All of this plan's tasks.", show_default=False)]
SliceId = Annotated[str | None, typer.Option("--slice", help="This slice's task.", show_default=False)]
TaskId = Annotated[str | None, typer.Option("--task", help="This task.", show_default=False)]
FlowRunId = Annotated[str | None, typer.Option("--flow-run", help="What this flow run worked.", show_default=False)]
AcceptShortfall = Annotated[
    bool,
    typer.Option(
        "--accept-shortfall",
        help="Accept what the provider gives, although its total states more or its end cannot be confirmed.",
    ),
]
RetryReason = Annotated[
    str | None,
    typer.Option("--reason", help="Why missing records are acceptable; kept in quarantine.", show_default=False),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
SourceArgument = Annotated[str, typer.Argument(help="The source's code.")]
EndpointOption = Annotated[str | None, typer.Option("--endpoint", help="Only this endpoint.")]
OperationOption = Annotated[Operation | None, typer.Option("--operation", help="Only this operation.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; shown to whoever asks.")]


def register(app: typer.Typer) -> None:
    """Hang these commands into the tree."""
    app.command("retry", epilog="Example: patra retry --plan 17")(retry)
    app.command("cancel", epilog="Example: patra cancel --plan 17 --yes")(cancel)
    app.command("pause", epilog='Example: patra pause crossref --reason "they are moving house"')(pause)
    app.command("resume", epilog='Example: patra resume crossref --reason "the new key is in place"')(resume)


def retry(
    task: TaskId = None,
    plan: PlanId = None,
    flow_run: FlowRunId = None,
    accept_shortfall: AcceptShortfall = False,
    reason: RetryReason = None,
    *,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Queue FAILED tasks again, and PARTIAL ones without a pending re-slice request.

    Each task continues where it stopped.
    """
    scope = _scope({ScopeKind.TASK: task, ScopeKind.PLAN: plan, ScopeKind.FLOW_RUN: flow_run})
    accepted = _accepted(scope, reason) if accept_shortfall or reason else None
    with open_app() as app:
        _ask("Retry", scope, app, yes=yes or as_json)
        count = app.control.retry(scope, accepted)
    _tell("queued again", scope, count, as_json=as_json)


def _accepted(scope: WorkScope, reason: str | None) -> str:
    """The operator's reason for accepting missing records; BadInput without one, or for more than one task."""
    if scope.kind != ScopeKind.TASK or not (reason and reason.strip()):
        raise BadInput(
            "USAGE",
            "--accept-shortfall goes with --task and --reason",
            remedy='write: patra retry --task 17 --accept-shortfall --reason "the total counts withdrawn records"',
        )
    return reason.strip()


def cancel(
    plan: PlanId = None, slice_id: SliceId = None, task: TaskId = None, *, yes: Yes = False, as_json: AsJson = False
) -> None:
    """Cancel tasks that are not over; a worker in the midst of one stops at its next page."""
    scope = _scope({ScopeKind.PLAN: plan, ScopeKind.SLICE: slice_id, ScopeKind.TASK: task})
    with open_app() as app:
        _ask("Cancel", scope, app, yes=yes or as_json)
        count = app.control.cancel(scope)
    _tell("cancelled", scope, count, as_json=as_json)


def _scope(given: dict[ScopeKind, str | None]) -> WorkScope:
    named = [WorkScope(kind, value) for kind, value in given.items() if value is not None]
    if len(named) != 1:
        options = ", ".join(f"--{kind}" for kind in given)
        raise BadInput("USAGE", f"name one of {options}", remedy="see: patra status, or the flow run's page")
    return named[0]


def _ask(what: str, scope: WorkScope, app: App, *, yes: bool) -> None:
    """On a terminal, show what it is about and ask."""
    if yes or not on_terminal():
        return
    print_facts(str(scope), app.control.tasks_of(scope).items())
    if not typer.confirm(f"{what}?"):
        raise typer.Abort


def _tell(what: str, scope: WorkScope, count: int, *, as_json: bool) -> None:
    if as_json:
        print_json({"scope": str(scope.kind), "id": scope.id, "tasks": count})
    else:
        console.print(f"{scope}: {counted(count, 'task')} {what}", markup=False)


def pause(
    source: SourceArgument,
    reason: Reason,
    endpoint: EndpointOption = None,
    operation: OperationOption = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Let a source rest: nothing of it is planned or claimed until it is resumed; what is under way goes on."""
    with open_app() as app:
        changed = app.control.pause(_partitions(app, source, endpoint, operation), reason)
    _tell_partitions("paused", changed, as_json=as_json)


def resume(
    source: SourceArgument,
    reason: Reason,
    endpoint: EndpointOption = None,
    operation: OperationOption = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Let a source that was paused, or stopped by a fuse, work again."""
    with open_app() as app:
        changed = app.control.resume(_partitions(app, source, endpoint, operation), reason)
    _tell_partitions("resumed", changed, as_json=as_json)


def _partitions(app: App, source: str, endpoint: str | None, operation: Operation | None) -> list[Partition]:
    found = [
        one
        for one in partitions_of(app.registry.rows(source))
        if endpoint in (None, one.endpoint_name) and operation in (None, one.operation_code)
    ]
    if not found:
        raise BadInput(
            "ENDPOINT_UNKNOWN",
            f"no endpoint {endpoint or 'of it'} serves {operation or 'any operation'}",
            where=f"source {source!r}",
            remedy=f"see: patra registry show {source}",
        )
    return found


def _tell_partitions(what: str, changed: list[Partition], *, as_json: bool) -> None:
    if as_json:
        print_json({what: [_json(one) for one in changed]})
    else:
        console.print(f"{what}: " + (", ".join(map(str, changed)) or "nothing, it was so already"), markup=False)


def _json(partition: Partition) -> dict[str, Any]:
    return {
        "provenance": partition.provenance_code,
        "endpoint": partition.endpoint_name,
        "operation": partition.operation_code.value,
    }
