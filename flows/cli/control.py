"""`patra retry`, `cancel`, `pause` and `resume`: controlling planned and running work."""

from typing import Annotated, Any

import typer

from flows.cli.help import CommandTree, Heading
from flows.cli.screen import AsJson, console, on_terminal, print_facts, print_json
from flows.process.application import open_app
from ingest_core.bootstrap import App
from ingest_core.model.codes import Operation
from ingest_core.model.errors import BadInput
from ingest_core.model.naming import counted
from ingest_core.model.partition import Partition
from ingest_core.model.scope import ScopeKind, WorkScope
from ingest_core.registry.rows import partitions_of

PlanId = Annotated[str | None, typer.Option("--plan", metavar="ID", help="All tasks of this plan.", show_default=False)]
SliceId = Annotated[
    str | None, typer.Option("--slice", metavar="ID", help="The task of this slice.", show_default=False)
]
TaskId = Annotated[str | None, typer.Option("--task", metavar="ID", help="This task.", show_default=False)]
FlowRunId = Annotated[
    str | None, typer.Option("--flow-run", metavar="ID", help="The tasks of this flow run.", show_default=False)
]
AcceptShortfall = Annotated[
    bool,
    typer.Option(
        "--accept-shortfall",
        help="Accept that records are missing: the total states more, or the end cannot be confirmed. Needs --task.",
    ),
]
RetryReason = Annotated[
    str | None,
    typer.Option("--reason", help="Why missing records are acceptable; stored in quarantine.", show_default=False),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
SourceArgument = Annotated[str, typer.Argument(help="Code of the source, such as crossref.")]
EndpointOption = Annotated[str | None, typer.Option("--endpoint", metavar="NAME", help="Only this endpoint.")]
OperationOption = Annotated[Operation | None, typer.Option("--operation", help="Only this operation.")]
Reason = Annotated[str, typer.Option("--reason", help="Reason; stored and shown with the state.")]
AcceptDrift = Annotated[
    bool,
    typer.Option(
        "--accept-drift",
        help="Retry the tasks that failed by schema drift, and accept the page each failed at: its unusable records"
        " go to quarantine.",
    ),
]


def register(app: CommandTree) -> None:
    """Hang these commands into the tree."""
    app.command("retry", rich_help_panel=Heading.CONTROL, epilog="Example: patra retry --plan 17")(retry)
    app.command("cancel", rich_help_panel=Heading.CONTROL, epilog="Example: patra cancel --plan 17 --yes")(cancel)
    example = 'Example: patra pause crossref --reason "maintenance at the provider"'
    app.command("pause", rich_help_panel=Heading.CONTROL, epilog=example)(pause)
    example = 'Example: patra resume crossref --reason "the new key is in place"'
    app.command("resume", rich_help_panel=Heading.CONTROL, epilog=example)(resume)


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
    """Retry tasks that failed or ended early.

    Queues FAILED tasks again, and PARTIAL tasks with no pending re-slice request. Each continues where it stopped.
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
    """Cancel unfinished tasks; a running one stops at its next page."""
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
    """Pause a source until it is resumed.

    Nothing is planned or claimed in the meantime; running tasks continue.
    """
    with open_app() as app:
        changed = app.control.pause(_partitions(app, source, endpoint, operation), reason)
    _tell_partitions("paused", changed, as_json=as_json)


def resume(
    source: SourceArgument,
    reason: Reason,
    endpoint: EndpointOption = None,
    operation: OperationOption = None,
    *,
    accept_drift: AcceptDrift = False,
    as_json: AsJson = False,
) -> None:
    """Resume a source that was paused, or stopped by a fuse."""
    with open_app() as app:
        partitions = _partitions(app, source, endpoint, operation)
        # Before the partitions are resumed: if this is interrupted, the same command can be given again.
        count = app.control.accept_drift(partitions, _checked_reason(reason)) if accept_drift else None
        changed = app.control.resume(partitions, reason)
    _tell_partitions("resumed", changed, as_json=as_json, accepted=count)


def _checked_reason(reason: str) -> str:
    """The reason as it is kept with the accepted pages; BadInput for an empty one."""
    if not reason.strip():
        raise BadInput("REASON_MISSING", "it is empty", where="--reason", remedy="say why the records are acceptable")
    return reason.strip()


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


def _tell_partitions(what: str, changed: list[Partition], *, as_json: bool, accepted: int | None = None) -> None:
    if as_json:
        tasks = {} if accepted is None else {"tasks": accepted}
        print_json({what: [_json(one) for one in changed], **tasks})
        return
    console.print(f"{what}: " + (", ".join(map(str, changed)) or "no change"), markup=False)
    if accepted is not None:
        failed = "queued again, each with the page it failed at accepted" if accepted else "had failed by schema drift"
        console.print(f"{counted(accepted, 'task') if accepted else 'no task'} {failed}")


def _json(partition: Partition) -> dict[str, Any]:
    return {
        "provenance": partition.provenance_code,
        "endpoint": partition.endpoint_name,
        "operation": partition.operation_code.value,
    }
